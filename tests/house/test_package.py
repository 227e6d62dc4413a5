"""The wheel alone: it installs exactly four top-level names, and its command answers."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
HEAVY = ("kubernetes", "grafanalib", "pyroute2", "rich", "psutil", "prometheus_client")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built wheel installed and nothing else."""
    dist, site = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(dist), str(HOME)]
    subprocess.run(build, check=True, cwd=dist)
    (wheel,) = dist.glob("netkit-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)], check=True)
    return site


def run_installed(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    dependencies = sysconfig.get_path("purelib")
    code = f"import sys; sys.path[1:1] = [{str(site)!r}, {dependencies!r}]; from netkit.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=site,
        env={"PATH": os.environ["PATH"]},
    )


def test_the_wheel_adds_exactly_four_top_level_names(installed: Path) -> None:
    """No generic name such as `exporters` lands in anybody's site-packages."""
    names = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info") and path.name != "bin"}
    assert names == {"netkit", "netkit_exporters", "netkit_dashboards", "netkit_playbooks"}


def test_the_installed_wheel_answers(installed: Path) -> None:
    """`netkit --help` and `--version` work from the wheel, not from the checkout."""
    answered = run_installed(installed, "--help")
    assert answered.returncode == 0, answered.stderr
    assert "probe" in answered.stdout
    assert run_installed(installed, "--version").stdout.startswith("netkit ")


def processor_seconds(*command: str) -> tuple[float, str]:
    """Return the processor time of a command and what it wrote to standard error."""
    before = os.times()
    done = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, done.stderr


def test_the_installed_wheel_holds_its_playbooks(installed: Path) -> None:
    """Every page and the schema of their front matter are in the wheel, and the cases they carry come out."""
    tried = run_installed(installed, "playbook", "test")
    assert tried.returncode == 0, tried.stderr
    pages = {path.stem for path in (HOME / "playbooks" / "netkit_playbooks" / "texts").glob("*.md")}
    assert {line.split()[1].rstrip(":") for line in tried.stdout.splitlines()} == pages
    assert (installed / "netkit_playbooks" / "schema.json").is_file()


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    """Best of five within 0.3 s of processor time, more only where all imports are slow; nothing heavy is imported."""
    code = "import sys; from netkit.cli.app import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    runs = [
        (processor_seconds("-c", "import typer.core")[0], *processor_seconds("-c", code, "--help")) for _ in range(5)
    ]
    library, seconds, _ = map(min, zip(*runs, strict=True))
    # A busy machine slows everybody's imports alike: typer's own take 0.07 s on a quiet one.
    assert seconds <= 0.3 * max(1.0, library / 0.07)
    imported = set(runs[0][2].split())
    assert not imported.intersection(HEAVY)
