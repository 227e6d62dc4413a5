"""Devices come and go; a folder that is not there says nothing about them."""

from __future__ import annotations

import pytest

from netkit.model.missing import Missing, Reason
from netkit.sources.roster import Roster

_GONE = Missing(reason=Reason.ABSENT, where="sys/class/infiniband", detail="ENOENT")


@pytest.mark.fault("C18")
def test_a_missing_class_folder_makes_nobody_absent() -> None:
    """A driver reload takes the whole folder away: nothing is known, so nothing changes."""
    roster = Roster().after(["a", "b"])
    for _ in range(10):
        roster = roster.after(_GONE)
    assert roster.present == {"a", "b"}
    assert roster.absent == set()


@pytest.mark.fault("C18")
@pytest.mark.parametrize(("misses", "absent"), [(1, set()), (2, set()), (3, {"b"}), (9, {"b"})])
def test_three_readings_in_a_row_without_a_device_make_it_absent(misses: int, absent: set[str]) -> None:
    """One slow reading is not a lost card."""
    roster = Roster().after(["a", "b"])
    for _ in range(misses):
        roster = roster.after(["a"])
    assert roster.absent == absent
    assert roster.present == {"a"}


@pytest.mark.fault("C06")
def test_a_device_that_comes_back_is_present_again() -> None:
    """The count starts anew."""
    roster = Roster().after(["a"]).after([]).after([]).after(["a"]).after([])
    assert roster.absent == set()
