"""Other exporters' names: all of theirs that can be had, in their units, with their labels."""

from __future__ import annotations

import re

import pytest

from netkit.catalogue.compat import CompatRow, Dialect, by_source, compat_rows
from netkit.catalogue.metric_rows import gpu, pcie, pfc, rdma
from netkit.catalogue.metrics import Kind
from tests.sources.extra_recordings import extra_data


def row(dialect: Dialect, name: str) -> CompatRow:
    return next(row for row in compat_rows(dialect) if row.name == name)


@pytest.mark.parametrize("dialect", Dialect)
def test_rows_are_well_formed(dialect: Dialect) -> None:
    """Labels come from labels that the source has; no name twice; counters stay counters."""
    names = [row.name for row in compat_rows(dialect)]
    assert len(names) == len(set(names))
    for one in compat_rows(dialect):
        assert {label.source for label in one.labels} <= set(one.source.labels), one.name
        assert set(one.when) <= set(one.source.labels), one.name
        assert one in by_source(dialect)[one.source]


def test_a_pci_address_becomes_four_labels() -> None:
    """As node_exporter's pcidevice collector has them."""
    speed = row(Dialect.NODE_EXPORTER, "node_pcidevice_current_link_transfers_per_second")
    assert speed.source is pcie.SPEED
    assert speed.translate(("0000:3b:00.1", "nic")) == ("0000", "3b", "00", "1")


def test_a_priority_becomes_part_of_the_name() -> None:
    """Only samples of that priority and direction; seconds become microseconds."""
    paused = row(Dialect.NODE_EXPORTER, "node_ethtool_received_prio3_pause_duration")
    assert (paused.source, paused.factor) == (pfc.SECONDS, 1e6)
    assert paused.translate(("mlx5_0", "eth0", "received", "3")) == ("eth0",)
    assert paused.translate(("mlx5_0", "eth0", "received", "4")) is None
    assert paused.translate(("mlx5_0", "eth0", "sent", "3")) is None


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("DCGM_FI_DEV_FB_USED", 80 * 2**30, 81920),
        ("DCGM_FI_DEV_SM_CLOCK", 1.98e9, 1980),
        ("DCGM_FI_DEV_GPU_UTIL", 0.97, 97),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 12.5, 12500),
        ("DCGM_FI_DEV_THERMAL_VIOLATION", 2.0, 2e9),
    ],
)
def test_units_are_theirs(name: str, ours: float, theirs: float) -> None:
    """MiB, MHz, percent, millijoules, nanoseconds."""
    assert ours * row(Dialect.DCGM, name).factor == pytest.approx(theirs)


def test_a_gpu_is_named_as_dcgm_names_it() -> None:
    """Index, UUID, address, device node."""
    used = row(Dialect.DCGM, "DCGM_FI_DEV_FB_USED")
    assert used.source is gpu.MEMORY_USED
    assert used.translate(("3", "GPU-aa", "0000:3b:00.0")) == ("3", "GPU-aa", "0000:3b:00.0", "nvidia3")


def test_dcgms_types_are_kept() -> None:
    """As far as its shipped lists name the field."""
    text = (extra_data() / "exporters/dcgm-exporter/default-counters.csv").read_text()
    listed = dict(re.findall(r"^#? ?(DCGM_FI_DEV_\w+) *, *(gauge|counter),", text, re.MULTILINE))
    known = [one for one in compat_rows(Dialect.DCGM) if one.name in listed]
    assert len(known) >= 15
    assert {one.name: str(one.kind) for one in known} == {one.name: listed[one.name] for one in known}


def test_every_infiniband_family_of_node_exporter_has_a_row() -> None:
    """But the legacy ones, which no current kernel fills."""
    text = (extra_data() / "exporters/node_exporter/e2e-output.infiniband-network-pcidevice.txt").read_text()
    theirs = set(re.findall(r"^# HELP (node_infiniband_\w+)", text, re.MULTILINE))
    ours = {one.name for one in compat_rows(Dialect.NODE_EXPORTER)}
    assert {name for name in theirs - ours if "_legacy_" not in name} == set()


def test_counters_stay_counters() -> None:
    """A rate over them means the same."""
    for one in compat_rows(Dialect.NODE_EXPORTER):
        assert one.kind is one.source.kind
    assert row(Dialect.NODE_EXPORTER, "node_infiniband_link_downed_total").kind is Kind.COUNTER
    assert row(Dialect.NODE_EXPORTER, "node_infiniband_state_id").source is rdma.STATE
