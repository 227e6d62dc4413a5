"""`--compat`: samples a second time, as node_exporter and dcgm-exporter would give them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from netkit.errors import InputError
from netkit.model.missing import Missing
from netkit_exporters.collecting import Collector, Machine
from netkit_exporters.collectors import gpu, pfc, rdma, topology
from netkit_exporters.other_names import dialects, under_other_names, with_names
from tests.exporters import scrape
from tests.exporters.fake_kubelet import kubelet, reply
from tests.exporters.full_node import full_node
from tests.sources.extra_recordings import h100

WANTED = dialects(["node_exporter", "dcgm"])


def names(collector: Collector, machine: Machine) -> list[str]:
    return scrape.lines(scrape.samples(under_other_names(collector, WANTED), machine))


def test_ours_stay_and_theirs_come_beside() -> None:
    """The same numbers under both names; their labels, their order."""
    plain = scrape.lines(scrape.samples(rdma.COLLECTOR, full_node()))
    both = names(rdma.COLLECTOR, full_node())
    assert set(plain) < set(both)
    assert 'node_infiniband_state_id{device="mlx5_0",port="1"} 4' in both
    assert 'node_infiniband_out_of_buffer_drops_total{device="mlx5_3",port="1"} 12345' in both


def test_gpus_look_as_dcgm_shows_them() -> None:
    """In MiB, MHz and percent."""
    used = [line for line in names(gpu.COLLECTOR, full_node()) if line.startswith("DCGM_FI_DEV_FB_USED")]
    assert len(used) == 8
    assert used[0].endswith(" 61440")
    assert re.search(r'\{gpu="0",UUID="GPU-[^"]+",pci_bus_id="[^"]+",device="nvidia0"\}', used[0])


def test_pauses_are_in_microseconds() -> None:
    """node_exporter's ethtool collector passes on what mlx5 counts."""
    shown = names(pfc.COLLECTOR, full_node())
    assert 'node_ethtool_received_prio3_pause_duration{device="rail0"} 2500000' in shown


def test_a_collector_without_other_names_is_left_alone() -> None:
    """No wrapping, no cost."""
    assert under_other_names(topology.COLLECTOR, WANTED) is topology.COLLECTOR
    assert with_names([rdma.COLLECTOR], []) == (rdma.COLLECTOR,)


def test_a_target_stays_the_same_one() -> None:
    """A runner keeps its thread as long as the device is the same."""
    source = under_other_names(rdma.COLLECTOR, WANTED).open(full_node())
    first, second = source.targets(), source.targets()
    assert not isinstance(first, Missing)
    assert not isinstance(second, Missing)
    assert [id(target) for target in first] == [id(target) for target in second]


def test_pods_are_on_their_series_too(tmp_path: Path) -> None:
    """With --pod-labels all, as dcgm-exporter does it."""
    place = tmp_path / "kubelet.sock"
    machine = replace(full_node(), options={"pod_labels": "all", "pod_resources": str(place)})
    uuid = "GPU-00000000-0000-4000-8000-000000000003"
    with kubelet(place, lambda: reply([("team-a", "trainer-0", "main", "nvidia.com/gpu", [uuid])])):
        shown = names(gpu.COLLECTOR, machine)
    (power,) = [line for line in shown if line.startswith("DCGM_FI_DEV_POWER_USAGE") and uuid in line]
    assert 'namespace="team-a",pod="trainer-0",container="main"' in power


def test_an_unknown_dialect_is_refused() -> None:
    """In one line that lists the known ones."""
    with pytest.raises(InputError, match="node_exporter, dcgm"):
        dialects(["telegraf"])


def test_the_h100_tree_has_the_names_node_exporter_gives() -> None:
    """Families of counters, state, rate and info of nine ports; the collector knows a few that never count there."""
    machine = Machine(tree=h100(), open_kernel=None)
    given = scrape.samples(under_other_names(rdma.COLLECTOR, WANTED), machine)
    theirs = [sample for sample in given if sample.metric.name.startswith("node_infiniband_")]
    assert len(theirs) >= 450
    assert {"node_infiniband_info", "node_infiniband_rate_bytes_per_second", "node_infiniband_symbol_error_total"} <= {
        sample.metric.name for sample in theirs
    }
