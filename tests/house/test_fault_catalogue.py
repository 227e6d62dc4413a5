"""Every fault the documentation promises to handle has an executed test, and every such test is documented."""

from __future__ import annotations

import re
from pathlib import Path

HOME = Path(__file__).parents[2]


def documented() -> set[str]:
    rows = (HOME / "docs" / "faults.md").read_text().splitlines()
    return {match[1] for row in rows if (match := re.match(r"\| ([A-Z]\d\d) \|", row))}


def marked() -> set[str]:
    marks = re.compile(r"pytest\.mark\.fault\(\"([A-Z]\d\d)\"\)")
    return {name for path in (HOME / "tests").rglob("test_*.py") for name in marks.findall(path.read_text())}


def test_every_documented_fault_is_marked() -> None:
    """A promise without a test is no promise."""
    assert documented() - marked() == set()


def test_every_tested_fault_is_documented() -> None:
    """What is handled is told to people."""
    assert marked() - documented() == set()
