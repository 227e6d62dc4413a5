"""Whole lines of a log, freed from colour and from what launchers and log collectors write in front of them.

A line counts only once its newline has arrived: the last characters of a cut log may be half a number. The
prefixes are those of `srun --label`, `mpirun --tag-output` (Open MPI 4 and 5), MPICH `-prepend-rank`, `pdsh`,
`kubectl logs --prefix --timestamps` and the CRI log files under /var/log/pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# ECMA-48 control sequences and operating system commands; none of them spans a line.
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_TABLE_TEXT = r"(?= *(?:#|[0-9]+ +[0-9]+ ))"
_PREFIX = re.compile(
    r"(?:"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})? "
    r"|std(?:out|err) [FP] "
    r"|\[pod/[^\]\s]{1,600}\] "
    r"|\[[^\]\s]{0,300}[0-9]+,[0-9]+\]<std(?:out|err|diag)>:"
    r"|\[[0-9]{1,7}\] "
    r"| {0,6}[0-9]{1,7}: "
    rf"|[A-Za-z0-9][A-Za-z0-9_.-]{{0,253}}: {_TABLE_TEXT}"
    r")"
)
_MOST_PREFIXES = 4
# nccl-tests builds its lines in 2,048 bytes; whatever is longer is somebody else's.
_LONGEST_LINE = 4096


def whole_lines(text: str) -> Iterator[str]:
    """Yield the lines of `text` that end in a newline, without colour, prefixes, or carriage return."""
    clean = _COLOUR.sub("", text) if "\x1b" in text else text
    end = clean.rfind("\n")
    if end >= 0:
        yield from (_without_prefix(line) for line in clean[:end].split("\n") if len(line) <= _LONGEST_LINE)


def _without_prefix(line: str) -> str:
    line = line.rstrip()
    for _ in range(_MOST_PREFIXES):
        # Rows and most comments begin with a space or `#`: the common case costs no search.
        if line[:2] in ("  ", "# ", "#") or not (match := _PREFIX.match(line)):
            break
        line = line[match.end() :]
    return line
