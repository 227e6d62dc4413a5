"""`netkit read`: what it prints for logs, how it ends, and what it says to files that are none."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netkit.cli import read as command
from netkit.cli.output import OutputForm
from netkit.errors import InputError
from tests.probe import nccl_tests_logs as logs
from tests.probe.nccl_tests_logs import Sample

DATA = Path(__file__).parent.parent / "data" / "nccl_tests"
GOOD = DATA / "v2_18_all_reduce_two_nodes.log"
CORRUPT = DATA / "wrong_values.log"
PROMISED_ROW = {"bytes", "time_seconds", "algbw_bytes_per_second", "busbw_bytes_per_second", "wrong"}


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A log without its end."""
    path = tmp_path / "cut.log"
    path.write_bytes(GOOD.read_bytes()[:-150])
    return path


def as_json(capsys: pytest.CaptureFixture[str], *logs_given: Path | str) -> tuple[int, dict[str, Any]]:
    status = command.read([str(log) for log in logs_given], OutputForm.JSON)
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, document


def test_one_log_is_one_flat_object(capsys: pytest.CaptureFixture[str]) -> None:
    """The promised keys, at the top."""
    status, document = as_json(capsys, GOOD)

    assert status == 0
    assert document["schema"] == "netkit.read/1"
    assert (document["collective"], document["ranks"], document["nodes"]) == ("all_reduce", 16, 2)
    assert (document["corrupt"], document["complete"]) == (False, True)
    assert all(row.keys() >= PROMISED_ROW for row in document["rows"])
    assert document["rows"][-1]["bytes"] == 1073741824
    assert document["rows"][-1]["busbw_bytes_per_second"] == 48650000000.0


def test_several_logs_are_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    """One schema, one report for each table of each file, in the order given."""
    status, document = as_json(capsys, GOOD, DATA / "two_tables.log")

    assert status == 0
    assert document["schema"] == "netkit.read/1"
    assert [report["collective"] for report in document["reports"]] == ["all_reduce", "all_reduce", "all_gather"]
    assert [Path(report["file"]).name for report in document["reports"]] == [GOOD.name, *["two_tables.log"] * 2]


def test_json_lines_are_one_object_each(capsys: pytest.CaptureFixture[str]) -> None:
    """For jq and friends."""
    command.read([str(GOOD), str(CORRUPT)], OutputForm.JSONL)

    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [document["corrupt"] for document in documents] == [False, True]


def test_standard_input_is_a_log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads what another program prints."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.read_bytes())))

    status, document = as_json(capsys, "-")

    assert status == 0
    assert document["file"] == "stdin"


@pytest.mark.parametrize("form", [OutputForm.PLAIN, OutputForm.TABLE])
def test_people_get_the_largest_size_first_and_every_size_below(
    form: OutputForm, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line says whether all is there and what to quote; no line is wider than a terminal."""
    status = command.read([str(GOOD)], form)

    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert "COMPLETE" in lines[0]
    assert any("48.6 GB/s at 1 GiB" in line for line in lines[:3])
    assert all(any(line.split()[:2] == size.split() for line in lines) for size in ("1 KiB", "256 KiB", "1 GiB"))
    assert all(len(line) <= 80 for line in lines[1:])


@pytest.mark.fault("I02")
def test_corruption_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong data is a finding, and the first word."""
    assert command.read([str(CORRUPT)], OutputForm.PLAIN) == 1
    assert capsys.readouterr().out.startswith("CORRUPT")


@pytest.mark.fault("I01")
def test_a_cut_log_is_shown_and_ends_with_three(cut: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What arrived is there, marked as a part."""
    status, document = as_json(capsys, cut)

    assert status == 3
    assert not document["complete"]
    assert 0 < len(document["rows"]) < 12
    assert document["problems"]


def test_one_bad_file_hides_no_other(cut: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are printed, the bad one is said on stderr, and corruption outranks bad input and cuts."""
    nowhere = str(cut.with_name("nowhere.log"))

    assert command.read([nowhere, str(GOOD), str(cut)], OutputForm.JSON) == 2
    said = capsys.readouterr()
    assert len(json.loads(said.out)["reports"]) == 2
    assert said.err.count("\n") == 1
    assert "nowhere.log: No such file" in said.err
    assert command.read([nowhere, str(GOOD), str(CORRUPT)], OutputForm.JSON) == 1
    assert command.read([str(GOOD), str(cut)], OutputForm.JSON) == 3


def test_a_typing_mistake_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    """As for every command."""
    (tmp_path / "all_reduce.log").write_text("x")

    with pytest.raises(InputError, match=r"did you mean '.*all_reduce\.log'"):
        command.read([str(tmp_path / "all_reduce.lgo")], OutputForm.JSON)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no table of a collective benchmark"),
        (b"hello\n", "no table of a collective benchmark"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0", "is a binary file"),
        (b"\x1f\x8b\x08\0", "zcat"),
        (b"\x28\xb5\x2f\xfd\0", "zstdcat"),
        (b"#  size count joules algbw busbw\n", "joules"),
    ],
)
def test_files_that_are_no_logs_are_named_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    """What was given, and what would be accepted."""
    path = tmp_path / "some.log"
    path.write_bytes(content)

    with pytest.raises(InputError, match=said) as caught:
        command.read([str(path)], OutputForm.JSON)
    assert "some.log" in str(caught.value)


def test_folders_and_devices_are_refused(tmp_path: Path) -> None:
    """Neither is read from."""
    with pytest.raises(InputError, match="Is a directory"):
        command.read([str(tmp_path)], OutputForm.JSON)
    with pytest.raises(InputError, match="no regular file"):
        command.read([os.devnull], OutputForm.JSON)


def test_a_log_over_the_limit_is_refused(tmp_path: Path) -> None:
    """64 MiB of NCCL INFO is somebody's mistake; a sparse file stands for it."""
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        file.truncate(command.LARGEST_LOG_BYTES + 1)

    with pytest.raises(InputError, match="larger than 64 MiB"):
        command.read([str(path)], OutputForm.JSON)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_logs_saved_on_windows_are_read(encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Byte order mark, two bytes a character, CRLF."""
    path = tmp_path / "saved.log"
    path.write_bytes(logs.modern_text(Sample()).replace("\n", "\r\n").encode(encoding))

    assert as_json(capsys, path)[0] == 0


@pytest.mark.parametrize("form", [OutputForm.HTML, OutputForm.PROMETHEUS])
def test_forms_it_has_not_are_refused(form: OutputForm) -> None:
    """The accepted ones are listed."""
    with pytest.raises(InputError, match="table, plain, json, jsonl"):
        command.read([str(GOOD)], form)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "netkit", "read", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.mark.fault("J07")
def test_an_ascii_terminal_of_no_width_without_colour_is_enough() -> None:
    """No locale, no columns, NO_COLOR: no traceback and no escape sequence."""
    ended = run(str(GOOD), "--output", "table", LC_ALL="C", PYTHONUTF8="0", COLUMNS="1", NO_COLOR="1", TERM="dumb")

    assert ended.returncode == 0
    assert ended.stderr == ""
    assert "\x1b" not in ended.stdout
    assert ended.stdout.isascii()


@pytest.mark.fault("J07")
def test_a_reader_that_leaves_ends_it_quietly() -> None:
    """`netkit read … | head -1` ends with 0 or 141 and says nothing."""
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(
        [sys.executable, "-m", "netkit", "read", str(GOOD), "--output", "json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writer)

    assert ended.returncode in (0, 141)
    assert ended.stderr == b""


def test_status_and_message_reach_the_shell(cut: Path) -> None:
    """One line on stderr for bad input; 3 for a part."""
    bad = run(str(cut.with_name("nowhere.log")))

    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("netkit: ")
    assert bad.stderr.count("\n") == 1
    assert run(str(cut)).returncode == 3
