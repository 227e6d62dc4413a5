"""Go programs the tests run, built from the modules under tools/ once, into a cache outside the checkout.

go.mod and go.sum there pin what is built (https://go.dev/ref/mod). `python -m tests.e2e.kube.go_tools` builds what is
missing, which takes minutes; `make e2e` calls it, and the tests only look.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).parent / "tools"
BUILD_SECONDS = 3600
_MOST_SAID = 3000
# What the module proxy and the resolver say when this machine may not reach them; anything else is a broken module.
UNREACHABLE = ("dial tcp", "i/o timeout", "no such host", "connection refused", "403 Forbidden", "proxyconnect")


class UnavailableError(Exception):
    """A program cannot be had on this machine; the message is the reason in one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """One command of a Go module: `module` is a folder under tools/, `package` what `go build` is given."""

    name: str
    module: str
    package: str
    version_variable: str = ""

    @property
    def linker_flags(self) -> str:
        return f"-s -w {self.version_variable}".strip()


# Modules that are completed by the files below additions/ before they are used: folder under tools/, module.
COMPLETED = {"volcano": "volcano.sh/apis"}
KUBERNETES = "-X k8s.io/component-base/version.gitVersion=v1.36.3"
PROGRAMS = (
    *(
        Program(name=name, module="kubernetes", package=f"k8s.io/kubernetes/cmd/{name}", version_variable=KUBERNETES)
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    ),
    Program(name="kwok", module="kubernetes", package="sigs.k8s.io/kwok/cmd/kwok"),
    Program(name="jobset", module="kubernetes", package="sigs.k8s.io/jobset"),
    Program(name="kueue", module="kubernetes", package="sigs.k8s.io/kueue/cmd/kueue"),
    Program(name="vc-scheduler", module="volcano", package="volcano.sh/volcano/cmd/scheduler"),
    Program(name="vc-controller-manager", module="volcano", package="volcano.sh/volcano/cmd/controller-manager"),
)


def program(name: str) -> Path:
    """Return the built program, or say in one line why there is none."""
    _go_version()
    place = _place(next(row for row in PROGRAMS if row.name == name))
    if not place.exists():
        raise UnavailableError(f"{name} is not built: make kube-tools")
    return place


@functools.cache
def module_folder(tools: str, path: str) -> Path:
    """Return where the module cache holds the module `path`, as go.mod of this folder below tools/ requires it."""
    done = _go(tools, "mod", "download", "-json", path)
    answer = json.loads(done.stdout or "{}")
    if "Dir" not in answer:
        raise UnavailableError(f"{path}: {_last_line(answer.get('Error', '') or done.stderr)}")
    return Path(answer["Dir"])


def build(row: Program) -> Path:
    """Build one program unless the cache holds it; a build that fails leaves nothing behind."""
    place = _place(row)
    place.parent.mkdir(parents=True, exist_ok=True)
    with (place.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _compile(row, place)
    return place


def _compile(row: Program, place: Path) -> None:
    began = time.monotonic()
    fresh = place.with_suffix(".new")
    flags = ["-mod=readonly", "-trimpath", "-ldflags", row.linker_flags, *_completed(row.module, place.parent)]
    done = _go(row.module, "build", *flags, "-o", str(fresh), row.package)
    if done.returncode:
        fresh.unlink(missing_ok=True)
        raise _failure(row, done.stderr)
    fresh.rename(place)
    seconds, mebibytes = time.monotonic() - began, place.stat().st_size / 2**20
    print(f"{row.name}: {mebibytes:.0f} MiB, built in {seconds:.0f} s", flush=True)


def _completed(tools: str, scratch: Path) -> list[str]:
    """Copy the module that needs completing, lay our files over it, and return the flags that build with the copy."""
    if tools not in COMPLETED:
        return []
    copy = scratch / "completed"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(module_folder(tools, COMPLETED[tools]), copy, copy_function=shutil.copyfile)
    for folder in (copy, *(inner for inner in copy.rglob("*") if inner.is_dir())):
        folder.chmod(0o755)  # folders of the module cache are read-only, and so are their copies
    for file in _additions(tools):
        shutil.copyfile(file, copy / file.relative_to(TOOLS / tools / "additions"))
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(TOOLS / tools / name, scratch / name)
    _go(tools, "mod", "edit", "-replace", f"{COMPLETED[tools]}={copy}", str(scratch / "go.mod"))
    return ["-modfile", str(scratch / "go.mod")]


def _additions(tools: str) -> list[Path]:
    return sorted((TOOLS / tools / "additions").rglob("*.go"))


def _failure(row: Program, said: str) -> Exception:
    if any(word in said for word in UNREACHABLE):
        return UnavailableError(f"{row.name}: go build: {_last_line(said)}")
    return RuntimeError(f"{row.name}: go build:\n{said[-_MOST_SAID:]}")


def _go(tools: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return subprocess.run(
        ["go", *words], cwd=TOOLS / tools, env=env, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )


def _place(row: Program) -> Path:
    files = [TOOLS / row.module / "go.mod", TOOLS / row.module / "go.sum", *_additions(row.module)]
    pinned = [file.read_bytes() for file in files]
    said = f"{_go_version()} {row.package} {row.linker_flags}".encode()
    key = hashlib.sha256(b"\0".join([*pinned, said])).hexdigest()[:16]
    return _cache() / f"{row.name}-{key}" / row.name


def _cache() -> Path:
    found = os.environ.get("NETKIT_CACHE")
    return (Path(found) if found else Path.home() / ".cache" / "netkit") / "go"


def _go_version() -> str:
    if not shutil.which("go"):
        raise UnavailableError("no go here: the control plane of the tests is built from source")
    return subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()


def _last_line(said: str) -> str:
    return (said.strip().splitlines() or ["it said nothing"])[-1].strip()


def _build_all() -> None:
    reasons = dict.fromkeys(filter(None, map(_why_not_built, PROGRAMS)))
    for why in reasons:
        print(f"kube-tools: {why}; the tests that need it will be skipped", file=sys.stderr)


def _why_not_built(row: Program) -> str:
    try:
        build(row)
    except UnavailableError as why:
        return str(why)
    return ""


if __name__ == "__main__":
    _build_all()
