# Every command a person needs; `make help` lists them. PYTHON chooses the interpreter of the environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo check test kube-tools e2e drills bench golden docs wheel clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## create the environment in .venv (other commands do it when needed)

$(VENV)/.ready: pyproject.toml
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh .ci/environment
	@touch $@

demo: $(VENV)/.ready ## build a small cluster of namespaces, slow one rail, probe it, name it
	@mkdir -p build && $(BIN)/netkit demo --report build/demo.html

check: $(VENV)/.ready ## style, types, import floors, then the fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

test: $(VENV)/.ready ## the fast tests
	$(BIN)/pytest -m "not e2e" -n auto -rs

kube-tools: $(VENV)/.ready ## build the control plane of the real tests, once (minutes; needs Go)
	$(BIN)/python -m tests.e2e.kube.go_tools

# The control plane of tests/e2e/kube keeps processors busy: what measures time runs before it, not beside it.
e2e: $(VENV)/.ready kube-tools ## the tests on real parts: kernel links, sshd, a browser
	$(BIN)/pytest -m e2e -rs --timeout 600 --ignore tests/e2e/kube
	$(BIN)/pytest -m e2e -rs --timeout 600 tests/e2e/kube

drills: $(VENV)/.ready ## raise every alert by a real fault, and have its playbook name the cause
	NETKIT_DRILLS=all $(BIN)/pytest -m e2e -rs --timeout 900 tests/e2e/test_drills.py

bench: $(VENV)/.ready ## the figures of docs/benchmarks.md, measured again
	$(BIN)/python -m benchmarks

golden: $(VENV)/.ready ## rewrite expected outputs; review the difference
	NETKIT_REWRITE_GOLDEN=1 $(BIN)/pytest -q -m "not e2e" tests/cli tests/sources tests/exporters

docs: $(VENV)/.ready ## regenerate the generated pages of docs/
	$(BIN)/python -m docs.generate
	$(BIN)/python -m netkit_dashboards.rendered dashboards/rendered

wheel: $(VENV)/.ready ## build the wheel into dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## remove the environment and what was built
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
