"""Programs of the real control plane: why one is not here is one line, and what is pinned decides what is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kube import go_tools
from tests.e2e.kube.go_tools import PROGRAMS, Program, UnavailableError, build, program

ONE = Program(name="one", module="m", package="example.com/one")


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tools folder with one module, an empty cache, and no go on PATH until a test puts one there."""
    module = tmp_path / "tools" / "m"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module m\n")
    (module / "go.sum").write_text("")
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(go_tools, "TOOLS", tmp_path / "tools")
    monkeypatch.setenv("NETKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


def put_go(folder: Path, build_does: str) -> None:
    """Synthetic: a go that knows its version, and does this where it is told to build."""
    script = folder / "bin" / "go"
    script.write_text(f'#!/bin/sh\ncase "$1" in env) echo go1.99 ;; build) shift; {build_does} ;; esac\n')
    script.chmod(0o755)


def test_without_go_the_reason_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests skip with it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"^no go here: the control plane of the tests is built from source$"):
        program("kwok")


def test_a_second_build_costs_nothing_until_what_is_pinned_changes(pinned: Path) -> None:
    """The place follows go.sum: another pin is another program."""
    put_go(pinned, 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    first = build(ONE)
    assert first.read_text() == "built\n"
    put_go(pinned, "exit 1")
    assert build(ONE) == first
    (pinned / "tools" / "m" / "go.sum").write_text("example.com/one v1.0.0 h1:x\n")
    with pytest.raises(RuntimeError, match="one: go build"):
        build(ONE)


@pytest.mark.parametrize(
    ("said", "fault"),
    [("dial tcp: lookup proxy: no such host", UnavailableError), ("undefined: Name", RuntimeError)],
)
def test_only_an_unreachable_proxy_is_a_reason_to_skip(pinned: Path, said: str, fault: type[Exception]) -> None:
    """A module that does not compile is a fault of the tests and stops them; nothing half-built is kept."""
    put_go(pinned, f"echo '{said}' >&2; exit 1")
    with pytest.raises(fault, match=said.partition(":")[0]):
        build(ONE)
    assert [path.name for path in (pinned / "cache").rglob("*") if path.is_file()] == ["lock"]


def test_what_is_not_built_yet_says_how(pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the program and the command that builds it."""
    put_go(pinned, "true")
    monkeypatch.setattr(go_tools, "PROGRAMS", (*PROGRAMS, ONE))
    with pytest.raises(UnavailableError, match=r"^one is not built: make kube-tools$"):
        program("one")
