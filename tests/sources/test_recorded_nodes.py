"""Every recorded node goes through every reader; made-up ones are what their description makes today."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

from netkit.sources.record import record_node
from netkit.sources.recording_file import load
from netkit.sources.snapshot import read_node
from tests.sources import made_up
from tests.sources.made_up_drivers import DRIVERS

SOURCES = {**made_up.SOURCES, **DRIVERS}
NODES = Path(__file__).parents[1] / "nodes"
RECORDINGS = sorted(NODES.glob("*.jsonl"))
_TAKEN_AT = 1767225600.0


def manifest(name: str) -> dict[str, object]:
    return tomllib.loads((NODES / f"{name}.toml").read_text())


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_node_is_read_in_full(path: Path) -> None:
    """No exception, and no reader asks for what the recording lacks: record it again when a reader learns more."""
    recording = load(path)
    again = record_node(recording.sources, recording.taken_at)
    assert "not in this recording" not in str(again.node)
    assert again.text.splitlines()[1:-1] == path.read_text().splitlines()[1:-1]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_node_can_be_redacted_and_read(path: Path, tmp_path: Path) -> None:
    """Redaction takes no answer away."""
    recording = load(path)
    place = tmp_path / "redacted"
    place.write_text(record_node(recording.sources, recording.taken_at, redact=True).text)
    again = load(place)
    node = read_node(again.tree, again.taken_at, kernel=again.kernel, drivers=again.drivers)
    assert "not in this recording" not in str(node)
    assert "left out by redaction" not in str(node)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_manifest_says_what_is_odd_about_a_node(path: Path) -> None:
    """One sentence, and whether the node is made up."""
    about = manifest(path.stem)
    assert set(about) == {"odd", "synthetic"}
    assert re.fullmatch(r"[A-Z].{20,}\.", str(about["odd"]))
    assert about["synthetic"] is (path.stem in SOURCES)


@pytest.mark.parametrize("name", SOURCES)
def test_a_made_up_node_is_what_its_description_makes(name: str) -> None:
    """The file and the description do not drift apart; NETKIT_REWRITE_GOLDEN=1 writes the file again."""
    made = record_node(SOURCES[name](), _TAKEN_AT)
    path = NODES / f"{name}.jsonl"
    if os.environ.get("NETKIT_REWRITE_GOLDEN"):
        path.write_text(made.text)
    assert made.text.splitlines()[1:-1] == path.read_text().splitlines()[1:-1]


def test_no_recording_names_a_real_machine() -> None:
    """What is not made up was redacted when it was recorded."""
    assert all(load(path).redacted for path in RECORDINGS if path.stem not in SOURCES)
