"""Ascend's tools as records; the texts follow the documented layouts and are synthetic."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.sources.ascend import parse_hccn, parse_npu_smi

INFO = (Path(__file__).parents[2] / "data" / "gpu" / "npu_smi_info.txt").read_text()

HCCN = {
    "link": "link status: DOWN\n",
    "ip": "ipaddr:10.86.1.80\nnetmask:255.255.255.0\n",
    "speed": "Speed: 200000 Mb/s\n",
    "net_health": "net health status: Success\n",
    "fec": "fec mode: rs FEC mode\n",
    "pfc": "PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    0 0 0 0 1 0 0 0\n",
    "tls": "dev_id:0, tls switch[0](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset)\n",
    "stat": "packet statistics:\nmac_tx_mac_pause_num:0\nmac_rx_pfc_pkt_num:7321\nroce_out_of_order_num:12\n",
    "link_stat": "[device 0]current time        : Wed Jun  7 10:08:28 2023\n[device 0]link up count       : 2\n",
    "optical": "optical info:\npresent              : present\ntemperature          : 47 C\nTx Power0 : 0.9 mW\n",
}


def test_the_table_gives_every_chip_with_its_processes() -> None:
    """A card with two chips is two devices; memory is HBM in bytes; `-` is missing."""
    found = parse_npu_smi(INFO)
    assert found.driver == "24.1.rc1"
    assert [str(gpu.address) for gpu in found.gpus] == ["0000:c1:00.0", "0000:9d:00.0", "0000:9f:00.0"]
    first, _, third = found.gpus
    assert (first.name, first.memory.used_bytes, first.memory.total_bytes) == ("910B3", 53984 << 20, 65536 << 20)
    assert (first.utilisation.compute, first.power.draw_watts, first.temperature.core_celsius) == (0.87, 93.6, 40.0)
    assert not isinstance(first.processes, Missing)
    assert [(one.pid, one.name) for one in first.processes] == [(1712733, "python3")]
    assert isinstance(third.power.draw_watts, Missing)
    assert isinstance(third.pcie.width, Missing)


def test_the_port_inside_the_device_is_read() -> None:
    """Everything the tool says; speed in bytes per second, counters under the tool's names."""
    port = parse_hccn(0, HCCN)
    assert (port.up, port.speed_bytes_per_second, port.health, port.fec) == (False, 25e9, "Success", "rs FEC mode")
    assert (port.address, port.lossless) == ("10.86.1.80", (4,))
    assert (port.tls, port.link_ups, port.module_present, port.module_celsius) == (False, 2, True, 47.0)
    assert not isinstance(port.counters, Missing)
    assert {one.name: one.value for one in port.counters} == {
        "mac_tx_mac_pause_num": 0,
        "mac_rx_pfc_pkt_num": 7321,
        "roce_out_of_order_num": 12,
    }


@pytest.mark.parametrize("name", sorted(HCCN))
def test_each_question_fails_alone(name: str) -> None:
    """One that was not asked is absent, one that was refused is unsupported; all others stay."""
    whole = parse_hccn(0, HCCN)
    without = parse_hccn(0, {key: text for key, text in HCCN.items() if key != name})
    refused = parse_hccn(0, {**HCCN, name: "hccn_tool is busy, please try again later\n"})
    fields = {field: getattr(whole, field) for field in whole.__slots__}
    lost = [field for field, value in fields.items() if getattr(without, field) != value]
    assert lost
    for field in lost:
        assert getattr(without, field).reason is Reason.ABSENT
        assert getattr(refused, field).reason is Reason.UNSUPPORTED
    kept = fields.keys() - set(lost)
    assert all(getattr(refused, field) == fields[field] for field in kept)


@pytest.mark.parametrize(
    "text", ["", "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\ndcmi model initialized failed", INFO[:700]]
)
def test_what_is_no_table_is_refused(text: str) -> None:
    """An error message, or a table cut before its first device, is not a node without devices."""
    with pytest.raises(InputError, match="npu-smi"):
        parse_npu_smi(text)


@settings(deadline=None)
@given(st.integers(0, len(INFO)))
def test_a_table_cut_anywhere_gives_a_prefix_of_devices(length: int) -> None:
    """Devices come whole or not at all."""
    try:
        cut = parse_npu_smi(INFO[:length])
    except InputError:
        return
    whole = parse_npu_smi(INFO)
    assert [gpu.address for gpu in cut.gpus] == [gpu.address for gpu in whole.gpus][: len(cut.gpus)]
    assert [gpu.memory for gpu in cut.gpus] == [gpu.memory for gpu in whole.gpus][: len(cut.gpus)]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(HCCN)), st.text(max_size=200)))
def test_any_answer_is_read(texts: dict[str, str]) -> None:
    """Nothing is raised, whatever the tool prints."""
    assert parse_hccn(3, texts).device == 3
