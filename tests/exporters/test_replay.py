"""The exporter over a recording: every collector gives what was recorded for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkit_exporters.discovery import chosen
from netkit_exporters.machine import machine_of
from netkit_exporters.options import Options
from tests.exporters.scrape import samples

NODE = Path(__file__).parents[1] / "nodes" / "healthy-hgx.jsonl"
GIVEN = {
    "rdma": "netkit_rdma_port_info",
    "pfc": "netkit_pfc_pause_frames_total",
    "ethtool": "netkit_phy_rx_discards_total",
    "dcb": "netkit_dcb_configuration_info",
    "link": "netkit_link_up",
    "optics": "netkit_module_info",
    "pcie": "netkit_pcie_current_link_width",
    "gpu": "netkit_gpu_info",
    "topology": "netkit_topology_pairing_ok",
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_recorded_node_is_exported_as_if_it_were_here(name: str) -> None:
    """Netlink's and the drivers' answers are in the recording, and no collector asks for what a snapshot does not."""
    (collector,) = chosen((name,))
    found = {sample.metric.name for sample in samples(collector, machine_of(Options(snapshot=NODE)))}
    assert GIVEN[name] in found
