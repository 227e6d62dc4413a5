"""Every series the exporter serves is on a dashboard or in a rule, or carries the reason why not."""

from __future__ import annotations

import pytest

from netkit_dashboards.lint.coverage import findings, findings_of


def test_every_series_is_read_or_marked() -> None:
    """None is forgotten, and no mark is untrue."""
    assert [f"{one.where}: {one.text}" for one in findings()] == []


@pytest.mark.parametrize(
    ("served", "read", "marked", "said"),
    [
        ("ab", "ab", "", []),
        ("ab", "a", "b", []),
        ("ab", "a", "", ["b: metric-unused"]),
        ("ab", "ab", "b", ["b: mark-untrue"]),
        ("a", "a", "b", ["b: mark-unknown"]),
    ],
)
def test_each_way_to_be_wrong_is_named(served: str, read: str, marked: str, said: list[str]) -> None:
    """A series nobody reads, a mark on one that is read, a mark on one that is not served."""
    found = findings_of(frozenset(served), frozenset(read), dict.fromkeys(marked, "because"))

    assert [f"{one.where}: {one.rule}" for one in found] == said
