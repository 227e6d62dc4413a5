"""Days on which nothing is wrong wake nobody; the full figure is `python -m benchmarks.quiet`."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.quiet import Rules, rules_of, simulate
from benchmarks.weather_series import notation, series
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.rules import RECORDINGS
from netkit_dashboards.lint.expression import selectors

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
ONLY_OF_FAULTS = {"netkit_probe_finding_slowdown_ratio", "netkit_rdma_device_absent"}


def read_by(rules: Rules) -> frozenset[str]:
    return frozenset(one.name for group in rules for rule in group["rules"] for one in selectors(rule["expr"]))


@needs_promtool
@pytest.mark.parametrize("profile", [Profile.PFC_ONLY, Profile.INFINIBAND])
def test_a_busy_day_pages_nobody(profile: Profile) -> None:
    """Jobs that are killed, incast, a reboot, drivers loaded again, counters cleared: no page."""
    fired = simulate(profile, rules_of(profile, pages_only=True), nodes=3, rails=1, days=1, seed=5)

    assert {name: count for (name, severity), count in fired.items() if severity == "critical"} == {}


@needs_promtool
def test_the_same_day_would_page_without_care() -> None:
    """The days hold what wakes people: rules that do not forgive restarts and killed jobs page."""
    careless = [{"name": "all", "rules": [_without_exception(rule) for rule in _critical_of_links_and_queue_pairs()]}]
    fired = simulate(Profile.INFINIBAND, careless, nodes=3, rails=1, days=1, seed=5)

    assert {name for name, _ in fired} >= {"RdmaLinkDowned", "RdmaTransportRetryExceeded"}


def _critical_of_links_and_queue_pairs() -> list[dict[str, object]]:
    (group,) = rules_of(Profile.INFINIBAND, pages_only=True)
    return [rule for rule in group["rules"] if rule.get("alert") in ("RdmaLinkDowned", "RdmaTransportRetryExceeded")]


def _without_exception(rule: dict[str, object]) -> dict[str, object]:
    condition, _, exception = str(rule["expr"]).partition(" unless ")
    assert exception
    return {**rule, "expr": f"{condition})"}


@pytest.mark.parametrize("profile", Profile)
def test_a_day_has_every_series_a_page_reads(profile: Profile) -> None:
    """A rule without data pages nobody and proves nothing."""
    names = read_by(rules_of(profile, pages_only=True)) - {rule.name for rule in RECORDINGS}
    there = {one["series"].partition("{")[0] for one in series(profile, names, nodes=1, rails=1, days=1, seed=5)}

    assert names - there <= ONLY_OF_FAULTS


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0, 0, 0], "0+0x2"),
        ([1, 3, 5, 5], "1+2x2 5+0x0"),
        ([5, 0, 1], "5-5x1 1+0x0"),
        ([None, None, 7], "_x2 7+0x0"),
        ([7, None], "7+0x0 stale"),
        ([7, None, None, None, 7, 7], "7+0x0 stale _x2 7+0x1"),
    ],
)
def test_values_are_written_as_promtool_reads_them(values: list[int | None], text: str) -> None:
    """Even growth is one item, a missing sample ends a series."""
    assert notation(values) == text


def test_parts_are_written_exactly() -> None:
    """A sum that is a hair too low would be a reset."""
    assert notation([1, 2, 3], 1024) == "0.0009765625+0.0009765625x2"
