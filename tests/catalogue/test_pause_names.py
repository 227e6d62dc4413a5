"""Pause counters under five drivers' names."""

from __future__ import annotations

import json

import pytest

from netkit.catalogue.pause_names import ROWS, PauseMeasure, pause_counts
from netkit.model.counter import Counter, CounterForm
from netkit.model.missing import Missing, Reason
from tests.sources.extra_recordings import extra_data


def counters(**values: int | Missing) -> list[Counter]:
    return [Counter(name=name.replace("_nic", ".nic"), raw=raw, form=CounterForm()) for name, raw in values.items()]


CASES = [
    ("mlx5_core", "rx_prio3_pause", PauseMeasure.FRAMES, True, 3, 5.0),
    ("mlx5_core", "tx_prio0_pause_duration", PauseMeasure.SECONDS, False, 0, 5e-6),
    ("mlx5_core", "rx_prio7_pause_transition", PauseMeasure.TRANSITIONS, True, 7, 5.0),
    ("mlx5_core", "tx_global_pause", PauseMeasure.FRAMES, False, None, 5.0),
    ("mlx5_core", "tx_pause_storm_error_events", PauseMeasure.STORM_ERRORS, False, None, 5.0),
    ("bnxt_en", "rx_pfc_ena_frames_pri3", PauseMeasure.FRAMES, True, 3, 5.0),
    ("bnxt_en", "pfc_pri3_tx_duration_us", PauseMeasure.SECONDS, False, 3, 5e-6),
    ("bnxt_en", "continuous_roce_pause_events", PauseMeasure.STORM_WARNINGS, None, None, 5.0),
    ("ice", "tx_priority_4_xoff_nic", PauseMeasure.FRAMES, False, 4, 5.0),
    ("ice", "rx_priority_4_xon_nic", PauseMeasure.RESUMES, True, 4, 5.0),
    ("ionic", "frames_rx_pripause", PauseMeasure.FRAMES, True, None, 5.0),
    ("ionic", "tx_pripause_2_1us_count", PauseMeasure.SECONDS, False, 2, 5e-6),
    ("hns3", "mac_tx_pfc_pri6_pkt_num", PauseMeasure.FRAMES, False, 6, 5.0),
]


@pytest.mark.fault("D06")
@pytest.mark.parametrize(("driver", "name", "measure", "received", "priority", "value"), CASES)
def test_one_meaning_under_many_names(
    driver: str, name: str, measure: PauseMeasure, received: bool | None, priority: int | None, value: float
) -> None:
    """Direction, priority and unit come from the name."""
    (found,) = pause_counts(driver, counters(**{name: 5}))
    assert (found.measure, found.received, found.priority) == (measure, received, priority)
    assert found.value == pytest.approx(value)


@pytest.mark.fault("D06")
def test_a_priority_without_a_name_has_no_count() -> None:
    """mlx5 names a priority only while PFC is on for it: what is not named is left out, never 0."""
    found = pause_counts("mlx5_core", counters(rx_prio3_pause=0, rx_prio0_bytes=9))
    assert [(each.priority, each.value) for each in found] == [(3, 0.0)]


@pytest.mark.fault("D06")
def test_a_name_means_nothing_for_another_driver() -> None:
    """What is not in the driver's own table is no pause, whatever it is called."""
    given = counters(rx_prio3_pause=1, rx_pause_ctrl_phy=2)
    assert len(pause_counts("mlx5_core", given)) == 1
    assert pause_counts("e1000e", given) == ()


def test_an_unread_statistic_is_no_count() -> None:
    """Missing stays missing."""
    gone = Missing(reason=Reason.TIMEOUT, where="here")
    assert pause_counts("mlx5_core", counters(rx_prio3_pause=gone)) == ()


@pytest.mark.fault("D06")
@pytest.mark.parametrize(
    ("driver", "listed"),
    [("mlx5_core", "mlx5e"), ("bnxt_en", "bnxt"), ("ice", "ice"), ("ionic", "ionic"), ("hns3", "hns3")],
)
def test_every_row_names_something_the_driver_has(driver: str, listed: str) -> None:
    """Against the names in the sources of a stock kernel, patterns filled in."""
    place = extra_data() / "exporters" / "kernel" / "counters-catalogue-linux-6.12.json"
    if not place.exists():
        pytest.skip("no list of a kernel's counter names in the extra recordings")
    catalogue = json.loads(place.read_text())["ethtool_S"]
    names = {name for key, groups in catalogue.items() if listed in key for name in flat(groups)}
    words = [("%d", "3"), ("%u", "3"), ("%s", "prio3"), ("%s", "global")]
    filled = {name.replace(hole, word) for name in names for hole, word in words}
    unused = [pattern.pattern for pattern, _, _ in ROWS[driver] if not any(map(pattern.fullmatch, filled))]
    assert unused == [], sorted(name for name in filled if "pause" in name or "pri" in name or "xo" in name)


def flat(groups: object) -> list[str]:
    if isinstance(groups, str):
        return [groups]
    inside = groups.values() if isinstance(groups, dict) else groups if isinstance(groups, list) else ()
    return [name for each in inside for name in flat(each)]
