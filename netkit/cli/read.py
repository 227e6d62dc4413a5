"""`netkit read`: what a benchmark log measured, and whether all of it is there."""

from __future__ import annotations

import difflib
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, TextIO

import typer

from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit, talk
from netkit.errors import ExitStatus, InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.model.collective import CollectiveReport

LARGEST_LOG_BYTES = 64 * 1024 * 1024
_STDIN = "-"
_A_LOG = "a log file, or - for stdin"
_FORMS = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.JSONL)
_COMPRESSED = {b"\x1f\x8b": "zcat", b"\x28\xb5\x2f\xfd": "zstdcat", b"\xfd7zXZ": "xzcat", b"BZh": "bzcat"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read(
    logs: Annotated[list[str], typer.Argument(help="Logs of nccl-tests or rccl-tests, text or -J; - is stdin.")],
    output: OutputOption = None,
) -> int:
    """What did this collective benchmark measure, and is all of it there?

    Ends with 1 when the benchmark found wrong data, 2 when a file is no such log, 3 when a log is incomplete.

    Example: netkit read all_reduce.log --output json
    """
    form = chosen_form(output)
    if form not in _FORMS:
        raise InputError(f"--output {form}", ", ".join(_FORMS))
    reports, refused = _read_all(logs)
    if reports:
        _show(reports, form)
    return int(_status([report for _, report in reports], refused))


def _read_all(logs: list[str]) -> tuple[list[tuple[str, CollectiveReport]], bool]:
    """Read every log; with several, one that cannot be read does not hide the others."""
    reports: list[tuple[str, CollectiveReport]] = []
    refused = False
    for log in logs:
        try:
            reports += [(_name(log), report) for report in _reports(log)]
        except InputError as fault:
            if len(logs) == 1:
                raise
            talk(f"netkit: {visible(str(fault), limit=2000)}")
            refused = True
    return reports, refused


def _reports(log: str) -> tuple[CollectiveReport, ...]:
    from netkit.probe.backends.nccl_tests import BACKEND

    text = _text(log)
    try:
        return BACKEND.parse(text)
    except InputError as fault:
        raise InputError(f"{_name(log)}: {fault.given}", fault.accepted, fault.nearest) from fault


def _show(reports: list[tuple[str, CollectiveReport]], form: OutputForm) -> None:
    from netkit.cli import tables
    from netkit.report import collective_json, collective_plain, collective_table

    if form is OutputForm.TABLE:
        for file, report in reports:
            tables.show(collective_table.blocks(file, report))
        return
    renderers = {
        OutputForm.PLAIN: collective_plain.render,
        OutputForm.JSON: collective_json.render,
        OutputForm.JSONL: collective_json.render_lines,
    }
    emit(renderers[form](reports))


def _status(reports: list[CollectiveReport], refused: bool) -> ExitStatus:
    """Corruption outranks everything: it is the one thing that was positively seen."""
    if any(report.corrupt for report in reports):
        return ExitStatus.FINDINGS
    if refused:
        return ExitStatus.BAD_INPUT
    return ExitStatus.OK if all(report.complete for report in reports) else ExitStatus.NOT_MEASURED


def _name(log: str) -> str:
    return "stdin" if log == _STDIN else visible(log)


def _text(log: str) -> str:
    data = _bytes(log)
    if tool := next((tool for magic, tool in _COMPRESSED.items() if data.startswith(magic)), None):
        raise InputError(f"{_name(log)} is compressed", f"text: {tool} {_name(log)} | netkit read -")
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    text = data.decode(encoding, errors="replace")
    if "\0" in text:
        raise InputError(f"{_name(log)} is a binary file", "the text or JSON that nccl-tests writes")
    return text


def _bytes(log: str) -> bytes:
    try:
        if log == _STDIN:
            return _bounded(_standard_input(), "stdin")
        with Path(log).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
                raise InputError(f"{_name(log)} is no regular file", _A_LOG)
            return _bounded(file, _name(log))
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else "cannot be read"
        nearest = _nearest(log) if isinstance(fault, FileNotFoundError) else None
        raise InputError(f"{_name(log)}: {reason}", _A_LOG, nearest) from fault


def _standard_input() -> BinaryIO:
    # A process started with stdin closed has no sys.stdin at all.
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise InputError("stdin is closed", _A_LOG)
    return stream.buffer


def _bounded(file: BinaryIO, name: str) -> bytes:
    data = file.read(LARGEST_LOG_BYTES + 1)
    if len(data) > LARGEST_LOG_BYTES:
        limit = LARGEST_LOG_BYTES // 1024**2
        raise InputError(
            f"{name} is larger than {limit} MiB", f"up to {limit} MiB: keep the lines of rank 0 without NCCL INFO"
        )
    return data


def _nearest(log: str) -> str | None:
    try:
        names = [entry.name for entry in Path(log).parent.iterdir()][:1000]
    except (OSError, ValueError):
        return None
    found = difflib.get_close_matches(Path(log).name, names, n=1)
    return visible(str(Path(log).with_name(found[0]))) if found else None
