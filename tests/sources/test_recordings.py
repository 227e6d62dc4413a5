"""Record, replay, refuse: a recording gives the same answers again, and a hostile one gives none."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netkit
from netkit.errors import ExitStatus, InputError
from netkit.model.missing import Missing, Reason
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.node_sources import live_sources
from netkit.sources.record import record_node
from netkit.sources.recording import NOT_RECORDED, Op, RecordedTree, RecordingTree
from netkit.sources.recording_file import MOST_LINES, dump, load
from netkit.sources.snapshot import read_node
from netkit.sources.tree import LiveTree, Tree
from tests.sources.made_up import MACHINES

_HEADER = {"schema": "netkit.snapshot/1", "netkit": "0", "taken_at": 1.0, "redacted": False}
_GOOD = {"op": "read", "path": "sys/x", "text": "1\n"}


def write(path: Path, *rows: Any, header: Any = _HEADER, sign: bool = True) -> Path:
    """A recording of these rows, with a right digest unless told otherwise."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in (header, *rows)]
    body = b"".join(lines)
    end = {"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()}
    path.write_bytes(body + (json.dumps(end).encode() + b"\n" if sign else b""))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        load(path)
    message = str(refused.value)
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize("name", MACHINES)
def test_a_replay_is_the_identity(name: str, tmp_path: Path) -> None:
    """Read live, read while recording, read from memory, read from the file: four times the same node."""
    tree = MACHINES[name]().tree()
    live = read_node(tree, 5.0)
    recorder = RecordingTree(tree)
    assert read_node(recorder, 5.0) == live
    path = tmp_path / "node.jsonl"
    path.write_text(dump(recorder.answers, taken_at=5.0, redacted=False))
    loaded = load(path)
    assert loaded.answers == recorder.answers
    assert read_node(loaded.tree, loaded.taken_at) == live


def test_this_machine_replays_too(tmp_path: Path) -> None:
    """Files, netlink and drivers of the machine that runs this test."""
    path = tmp_path / "node.jsonl"
    with live_sources() as sources:
        recorded = record_node(sources, 5.0)
    path.write_text(recorded.text)
    loaded = load(path)
    assert read_node(loaded.tree, 5.0, kernel=loaded.kernel, drivers=loaded.drivers) == recorded.node


def test_a_recording_of_a_replay_is_the_recording() -> None:
    """Recording what was recorded adds and loses nothing."""
    first = RecordingTree(MACHINES["roce-two-rails"]().tree())
    read_node(first, 0.0)
    second = RecordingTree(RecordedTree(first.answers))
    read_node(second, 0.0)
    assert dict(second.answers) == dict(first.answers)


def test_a_question_asked_twice_has_one_answer(tmp_path: Path) -> None:
    """A value that changes while it is recorded is the first one, now and in the replay."""
    (tmp_path / "x").write_text("1\n")
    recorder = RecordingTree(LiveTree({"sys": tmp_path}))
    assert recorder.read("sys/x") == b"1\n"
    (tmp_path / "x").write_text("2\n")
    assert recorder.read("sys/x") == b"1\n"


def test_what_was_not_asked_then_is_not_absent() -> None:
    """A newer reader over an older recording hears "not recorded", never "not there"."""
    tree = RecordedTree({})
    for found in (tree.read("sys/x"), tree.list("sys"), tree.link("sys/x"), tree.lines("kmsg", re.compile(b"."), 1)):
        assert isinstance(found, Missing)
        assert (found.reason, found.detail) == (Reason.UNSUPPORTED, NOT_RECORDED)
    assert not tree.exists("sys/x")


@given(
    st.dictionaries(st.from_regex(r"sys/[a-z]{1,8}", fullmatch=True), st.binary(max_size=60), max_size=5),
    st.floats(0, 2**39),
)
def test_any_answers_survive_the_file(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], at: float
) -> None:
    """Whatever bytes a file held, the recording gives them back."""
    recorder = RecordingTree(MemoryTree(files))
    for asked in (*files, "sys/none", "proc"):
        recorder.read(asked)
        recorder.list(asked)
        recorder.link(asked)
        recorder.exists(asked)
    path = tmp_path_factory.mktemp("recording") / "r.jsonl"
    path.write_text(dump(recorder.answers, taken_at=at, redacted=False))
    loaded = load(path)
    assert dict(loaded.answers) == dict(recorder.answers)
    assert loaded.taken_at == at


def test_a_good_recording_is_read(tmp_path: Path) -> None:
    """The form the refusals below differ from by one thing."""
    assert load(write(tmp_path / "r", _GOOD)).tree.read("sys/x") == b"1\n"


_PATHS: list[object] = [
    *("../../etc/passwd", "/etc/passwd", "sys/../etc/passwd", "etc/passwd", "sys//x", "sys/./x", "sys/", "", "."),
    *("sys/" + "x" * 300, "sys/" + "/".join("a" * 200 for _ in range(40)), "sys/a\0b", 7, None, ["sys/x"], {}),
]


@pytest.mark.fault("K01")
@pytest.mark.parametrize("path", _PATHS, ids=[repr(path)[:30] for path in _PATHS])
def test_a_path_outside_or_odd_is_refused(tmp_path: Path, path: object) -> None:
    """Nothing in a recording is ever opened; still such a path is a forgery, and is named."""
    message = refusal(write(tmp_path / "r", _GOOD | {"path": path}))
    assert "line 2" in message


@pytest.mark.fault("K01")
@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "sys/../../x", "proc/a\0"])
def test_a_link_that_leaves_is_refused(tmp_path: Path, target: str) -> None:
    """Where a link leads has the same form as a path."""
    refusal(write(tmp_path / "r", {"op": "link", "path": "sys/x", "link": target}))


@pytest.mark.fault("K01")
@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\0b", "x" * 256, 5, None])
def test_a_name_that_is_no_name_is_refused(tmp_path: Path, name: object) -> None:
    """Readers build paths from names."""
    refusal(write(tmp_path / "r", {"op": "list", "path": "sys/x", "names": ["fine", name]}))


@pytest.mark.fault("K01")
def test_only_regular_files_are_recordings(tmp_path: Path) -> None:
    """A pipe does not make it wait, a folder and a device are no recordings."""
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        refusal(place)


def test_a_recording_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    """What was given, what is accepted and which command makes one: in one line, with exit status 2."""
    with pytest.raises(InputError) as caught:
        load(tmp_path / "none")
    said = str(caught.value)
    assert said.startswith(f"recording {tmp_path}/none: No such file or directory: accepted is a regular file of")
    assert said.endswith("`netkit snapshot` writes one")
    assert caught.value.exit_status is ExitStatus.BAD_INPUT


@pytest.mark.fault("K02")
def test_nothing_is_ever_extracted(tmp_path: Path) -> None:
    """No archive is opened anywhere in netkit, so no flaw of an archive library applies."""
    source = Path(netkit.__file__).parent
    importing = re.compile(r"^\s*(?:import|from) (?:tarfile|zipfile|gzip|zlib|bz2|lzma|shutil)\b", re.MULTILINE)
    found = [path.name for path in (source / "sources").rglob("*.py") if importing.search(path.read_text())]
    assert found == []
    refusal(write(tmp_path / "r", header=b"x.tar" + bytes(300) + b"\n"))


_ROWS = [
    b"not json\n",
    b"[1,2]\n",
    b"7\n",
    b"\xff\xfe\n",
    b"\n",
    b"[" * 100_000 + b"\n",
    b'{"op":"read","path":"sys/x","text":' + b"9" * 5000 + b"}\n",
    {"op": "write", "path": "sys/x", "text": "1"},
    {"op": ["read"], "path": "sys/x", "text": "1"},
    {"path": "sys/x", "text": "1"},
    {"op": "read", "path": "sys/x"},
    {"op": "read", "path": "sys/x", "text": 7},
    {"op": "read", "path": "sys/x", "text": "\ud800"},
    {"op": "read", "path": "sys/x", "text": "1", "errno": "EIO"},
    {"op": "read", "path": "sys/x", "link": "sys/y"},
    {"op": "read", "path": "sys/x", "base64": "!!"},
    {"op": "read", "path": "sys/x", "errno": "ENOTANERRNO"},
    {"op": "read", "path": "sys/x", "errno": 5},
    {"op": "list", "path": "sys/x", "names": "abc"},
    {"op": "list", "path": "sys/x", "names": {"a": 1}},
    {"op": "link", "path": "sys/x", "link": 1},
    {"op": "exists", "path": "sys/x", "exists": "yes"},
    {"op": "exists", "path": "sys/x", "errno": "EIO"},
]


@pytest.mark.parametrize("row", _ROWS, ids=[str(row)[:40] for row in _ROWS])
def test_a_row_of_another_form_is_refused_by_its_line(tmp_path: Path, row: object) -> None:
    """One line says which line of the file is wrong and what would be right."""
    assert "line 3" in refusal(write(tmp_path / "r", _GOOD, row))


_ASKED = {"op": "kernel", "channel": "rdma", "command": 5121, "dump": True, "body": "", "where": "rdma devices"}
_ANSWERED = _ASKED | {"answer": ["CAABAA=="], "partial": False}
_TOLD: dict[str, object] = {"op": "tool", "words": ["npu-smi", "info"], "text": "x"}


def test_answers_of_kernel_and_drivers_are_read(tmp_path: Path) -> None:
    """The form the refusals below differ from by one thing; a file without such lines has neither."""
    loaded = load(write(tmp_path / "r", _GOOD, _ANSWERED, _TOLD))
    assert loaded.kernel is not None
    assert loaded.drivers is not None
    assert len(loaded.kernel) == len(loaded.drivers) == 1
    assert loaded.drivers.tool("npu-smi", "info") == "x"
    old = load(write(tmp_path / "old", _GOOD))
    assert (old.kernel, old.drivers) == (None, None)


_KERNEL_ROWS: list[dict[str, object]] = [
    _ASKED,
    _ANSWERED | {"missing": "absent", "detail": ""},
    _ANSWERED | {"lines": []},
    _ANSWERED | {"channel": "smoke"},
    _ANSWERED | {"channel": ["rdma"]},
    _ANSWERED | {"command": "5121"},
    _ANSWERED | {"command": True},
    _ANSWERED | {"dump": 1},
    _ANSWERED | {"body": "?"},
    _ANSWERED | {"body": 7},
    _ANSWERED | {"where": None},
    _ANSWERED | {"where": "x" * 5000},
    _ANSWERED | {"answer": "CAABAA=="},
    _ANSWERED | {"answer": [7]},
    _ASKED | {"missing": "mislaid", "detail": ""},
    _ASKED | {"missing": {}, "detail": ""},
    _ASKED | {"lines": [7]},
    {"op": "kernel"},
    _TOLD | {"words": []},
    {"op": "nvml", "answer": []},
]


@pytest.mark.parametrize("row", _KERNEL_ROWS, ids=[str(row)[60:110] for row in _KERNEL_ROWS])
def test_an_answer_of_another_form_is_refused_by_its_line(tmp_path: Path, row: object) -> None:
    """Netlink and driver answers are as untrusted as files."""
    assert "line 3" in refusal(write(tmp_path / "r", _GOOD, row))


@pytest.mark.parametrize("row", [_ANSWERED, _TOLD], ids=["kernel", "tool"])
def test_two_answers_of_a_kernel_or_a_tool_are_refused(tmp_path: Path, row: dict[str, object]) -> None:
    """As with files."""
    assert "again" in refusal(write(tmp_path / "r", _GOOD, row, row))


def test_two_answers_to_one_question_are_refused(tmp_path: Path) -> None:
    """Which one counts would depend on who reads."""
    assert "again" in refusal(write(tmp_path / "r", _GOOD, _GOOD | {"text": "2\n"}))


@pytest.mark.fault("K03")
def test_bombs_are_refused_at_once_and_cost_little(tmp_path: Path) -> None:
    """Ten gigabytes, compressed zeros, a line without end, a million lines, a name of 64 kB: under a second each."""
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(10 << 30)
    zeros = tmp_path / "zeros.gz"
    zeros.write_bytes(gzip.compress(bytes(10 << 20)))
    endless = write(tmp_path / "endless", b'{"op":"read","path":"sys/x","text":"' + b"a" * (8 << 20) + b'"}\n')
    row = b'{"op":"exists","path":"sys/%07d","exists":true}\n'
    crowd = write(tmp_path / "crowd", *(row % number for number in range(MOST_LINES + 10)))
    name = write(tmp_path / "name", {"op": "list", "path": "sys/x", "names": ["x" * 65536]})
    for path in (huge, zeros, endless, crowd, name):
        started = time.process_time()
        assert re.search(r"line \d+|bytes", refusal(path))
        assert time.process_time() - started < 1, path.name


def crowds() -> dict[str, list[bytes]]:
    """Files that are small to store and large to hold."""
    row = b'{"op":"read","path":"sys/%06d","text":""}\n'
    names = b'{"op":"list","path":"sys/%02d","names":[' + b",".join([b'"ab"'] * 100_000) + b"]}\n"
    messages = b",".join([b'""'] * 100_000)
    message = (
        b'{"op":"kernel","channel":"rdma","command":%d,"dump":true,"body":"","where":"","answer":[%s],"partial":true}\n'
    )
    return {
        "answers": [row % number for number in range(MOST_LINES - 2)],
        "names": [names % number for number in range(12)],
        "messages": [message % (number, messages) for number in range(12)],
        "tools": [b'{"op":"tool","words":["%d"],"text":"x"}\n' % number for number in range(MOST_LINES - 2)],
        "objects": [b'{"op":[' + b",".join([b"{}"] * 600_000) + b"]}\n"],
    }


@pytest.mark.fault("K03")
@pytest.mark.parametrize("kind", ["answers", "names", "messages", "tools", "objects"])
def test_no_recording_costs_more_than_64_mebibytes(tmp_path: Path, kind: str) -> None:
    """As many answers as may be, too many names, one line of many objects: measured at the peak."""
    path = write(tmp_path / "crowd", *crowds()[kind])
    tracemalloc.start()
    try:
        with contextlib.suppress(InputError):
            load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


@pytest.mark.fault("K04")
@pytest.mark.parametrize("schema", ["netkit.snapshot/2", "netkit.snapshot/99"])
def test_a_newer_recording_is_refused_by_its_version(tmp_path: Path, schema: str) -> None:
    """The line says which format it is and what to do."""
    message = refusal(write(tmp_path / "r", _GOOD, header=_HEADER | {"schema": schema}))
    assert schema.rpartition("/")[2] in message
    assert "netkit.snapshot/1" in message


@pytest.mark.fault("K04")
@pytest.mark.parametrize(
    "header",
    [
        {"schema": "netkit.probe/1"},
        {"schema": "netkit.snapshot/one"},
        {"schema": "netkit.snapshot/²"},
        {"schema": 1},
        {},
        _HEADER | {"taken_at": "now"},
        _HEADER | {"taken_at": float("nan")},
        _HEADER | {"taken_at": -1},
        _HEADER | {"taken_at": True},
        _HEADER | {"redacted": "no"},
    ],
)
def test_another_header_is_refused(tmp_path: Path, header: dict[str, object]) -> None:
    """A file of another kind is named on its first line."""
    assert "line 1" in refusal(write(tmp_path / "r", _GOOD, header=header))


@pytest.mark.fault("K04")
def test_an_edited_recording_is_refused(tmp_path: Path) -> None:
    """One digit changed, a line taken out, a line put after the end, an end cut off."""
    path = tmp_path / "r"
    whole = write(path, _GOOD, _GOOD | {"path": "sys/y"}).read_bytes()
    lines = whole.splitlines(keepends=True)
    edits = {
        "digest": [whole.replace(b'"1\\n"', b'"2\\n"', 1), lines[0] + lines[1] + lines[3]],
        "after the digest": [whole + lines[1], whole + b"\n"],
        "cut short": [b"".join(lines[:3]), b"".join(lines[:2])],
    }
    for word, changed in ((word, data) for word, several in edits.items() for data in several):
        path.write_bytes(changed)
        assert word in refusal(path)


@pytest.mark.fault("K04")
def test_a_recording_cut_at_any_byte_is_refused(tmp_path: Path) -> None:
    """Half a recording is never half a machine."""
    path = tmp_path / "r"
    whole = write(path, _GOOD, {"op": "list", "path": "sys", "names": ["x"]}).read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            load(path)


@given(st.binary(max_size=300))
def test_any_file_is_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Bytes of any kind end in the one error meant for them."""
    path = tmp_path_factory.mktemp("any") / "r"
    path.write_bytes(data)
    assert refusal(path).isprintable()


def test_every_question_has_a_form() -> None:
    """A question added to `Tree` is recorded as well."""
    assert {str(op) for op in Op} == {name for name in vars(Tree) if not name.startswith("_")}
