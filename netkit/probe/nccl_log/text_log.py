"""The text that nccl-tests and RCCL-tests print, with whatever else shares the log.

One table is one run: header, rows, closing lines (`writeResultHeader`, `writeResultFooter` in NVIDIA nccl-tests
`src/util.cu`). Lines that are none of these are other ranks', launchers' and NCCL's own, and are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from netkit.errors import InputError
from netkit.model.collective import CollectiveReport
from netkit.model.text import visible
from netkit.probe.nccl_log.columns import Layout, is_group_line, is_header, read_header
from netkit.probe.nccl_log.lines import whole_lines
from netkit.probe.nccl_log.preamble import Connections, Preamble
from netkit.probe.nccl_log.rows import Knowledge, judge_line
from netkit.probe.nccl_log.tally import MOST_PROBLEMS, Tally

NOT_A_LOG = "output of nccl-tests or rccl-tests, as text or as the JSON of -J"

_WRONG = re.compile(r"#? *Out of bounds values *: *(?P<count>[0-9]{1,12}) *(?P<word>OK|FAILED)")
_AVERAGE = re.compile(r"#? *Avg bus bandwidth *: *(?P<value>\S{1,40})(?: +(?P<word>OK|FAILED))?")
_BITWISE = re.compile(r"# Bitwise mismatches *: *(?P<count>[0-9]{1,12}) *FAILED")
_FAILURE = re.compile(r"(?:\S{1,255}: )?Test (?:NCCL|CUDA|HIP|MPI) failure .*")
_LAST_ERROR = re.compile(r"# error: (?P<text>\S.*)")


@dataclass(slots=True)
class Run:
    """One table and everything that belongs to it."""

    tally: Tally
    layout: Layout
    knowledge: Knowledge
    connections: Connections

    def report(self) -> CollectiveReport:
        """Close the run."""
        return self.tally.report(self.connections)

    def read_row(self, line: str) -> None:
        """Take in one line that begins with a digit."""
        judged = judge_line(line, self.layout, self.knowledge) if self.layout.times_operation else None
        if judged is None:
            return
        if self.tally.summaries:
            self.tally.faults.append("rows follow the summary: several processes write into this log")
            return
        self.tally.add(judged)

    def read_closing(self, line: str) -> bool:
        """Take in one closing line, if it is one."""
        if match := _WRONG.match(line):
            self.tally.summarise(int(match["count"]), match["word"] == "FAILED")
        elif match := _AVERAGE.match(line):
            self.tally.average = match["value"]
            if match["word"] == "FAILED":
                self.tally.notes.append("the average is below the NCCL_TESTS_MIN_BW this run was given")
        elif match := _BITWISE.match(line):
            self.tally.notes.append(f"{match['count']} bits differ between repetitions of the same operation")
        elif match := _LAST_ERROR.match(line):
            self.tally.notes.append(last_error(match["text"]))
        else:
            return False
        return True


def last_error(text: str) -> str:
    """NCCL keeps its last error even when the run went on, so it is worth a note and no more."""
    return f"NCCL's last error: {visible(text, 200)}"


@dataclass(slots=True)
class TextLog:
    """A log while it is read, line by line."""

    runs: list[Run] = field(default_factory=list)
    preamble: Preamble = field(default_factory=Preamble)
    connections: Connections = field(default_factory=Connections)
    failures: list[str] = field(default_factory=list)
    recognised: bool = False
    _group_line: str | None = None

    def read(self, line: str) -> None:
        """Take in one whole line."""
        # Only where a column stands matters for rows and header; some launchers put a space before every line.
        words = line.lstrip(" ")
        if words[:1].isdigit():
            self._read_row(line)
        elif is_header(line):
            self._begin(line)
        elif is_group_line(words):
            self._group_line = words
        elif not self._read_closing(words):
            self._read_other(words)

    def _read_row(self, line: str) -> None:
        if self.runs:
            self.runs[-1].read_row(line)

    def _begin(self, line: str) -> None:
        layout = read_header(line, self._group_line)
        tally = Tally(preamble=self.preamble, ranks=self.preamble.group_ranks)
        if not layout.times_operation:
            tally.faults.append("the times are the processor's (-C 1), not the operation's: no row can be used")
        self.runs.append(Run(tally=tally, layout=layout, knowledge=tally.knowledge, connections=self.connections))
        self.preamble, self._group_line = Preamble(), None

    def _read_closing(self, line: str) -> bool:
        if ": " not in line:
            return False
        if not self.runs:
            self.recognised |= bool(_WRONG.match(line) or _AVERAGE.match(line))
            return False
        closing = self.runs[-1].read_closing(line)
        if closing and self.runs[-1].tally.summarised:
            self.connections = Connections()
        return closing

    def _read_other(self, line: str) -> None:
        if self.preamble.read(line):
            self.recognised = True
        elif _FAILURE.match(line):
            if len(self.failures) <= MOST_PROBLEMS:
                self.failures.append(f"the benchmark stopped: {visible(line, 200)}")
        else:
            self.connections.read(line)


def read_text(text: str) -> tuple[CollectiveReport, ...]:
    """Return one report for each table in `text`; a log that stops before its first table has one without rows.

    Raises:
        InputError: nothing in `text` is of nccl-tests, or its header names columns netkit does not know.
    """
    log = TextLog()
    for line in whole_lines(text):
        log.read(line)
    if not log.runs:
        if not (log.recognised or log.failures):
            raise InputError("no table of a collective benchmark", NOT_A_LOG)
        # Without a table below it, a list of ranks may be cut: its length is not the number of ranks.
        tally = Tally(preamble=Preamble(tool_version=log.preamble.tool_version), ranks=None, faults=log.failures)
        return (tally.report(log.connections),)
    log.runs[-1].tally.faults += log.failures
    return tuple(run.report() for run in log.runs)
