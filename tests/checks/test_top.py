"""What moves between two readings: rates, pauses both ways, congestion, losses, the GPU beside the NIC, and flags."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from netkit.doctor.context import Wishes, context_of
from netkit.doctor.live import PortRates, pulse_of, rates
from netkit.lab.virtual_node import virtual_sources
from netkit.model.counter import CodedText
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.report import top_json, top_table
from netkit.report.plain_text import plain_text
from netkit.sources.pulse import PulseReader
from netkit.sources.tree import READ_LIMIT, Tree
from tests.checks.scenes import HCAS, counted, healthy, with_link, with_port

SECONDS = 10
LINE = 50e9


def busy(node: NodeSnapshot, share: float = 0.9) -> NodeSnapshot:
    """Ten seconds later, every NIC having sent and received this share of its line."""
    words = round(LINE * share * SECONDS / 4)
    for name in HCAS:
        for counter in ("port_xmit_data", "port_rcv_data"):
            node = with_port(node, name, partial(_grow, group="counters", counter=counter, more=words))
    return replace(node, taken_at=node.taken_at + SECONDS)


def _grow(port: Any, group: str, counter: str, more: int) -> Any:
    return replace(port, **{group: counted(getattr(port, group), counter, more)})


def _driver(link: Any, counter: str, more: int) -> Any:
    return replace(link, driver_statistics=counted(link.driver_statistics, counter, more))


def seen(before: NodeSnapshot, after: NodeSnapshot) -> dict[str, PortRates]:
    pulses = [pulse_of(node, context_of(node, Wishes())) for node in (before, after)]
    return {one.name: one for one in rates(pulses[0], pulses[1], 0.01)}


@pytest.fixture(scope="module")
def node() -> NodeSnapshot:
    return healthy()


def test_a_busy_healthy_node_is_normal(node: NodeSnapshot) -> None:
    """Rates in bytes per second against the line, the GPU beside each NIC, nothing flagged."""
    found = seen(node, busy(node))
    assert set(found) == set(HCAS)
    one = found["mlx5_2"]
    assert one.received == pytest.approx(0.9 * LINE)
    assert one.load == pytest.approx(0.9)
    assert one.busy == pytest.approx(0.98)
    assert all(port.gpus for port in found.values())
    assert [port.flags for port in found.values()] == [()] * 8


def test_pauses_are_shares_of_time_by_priority_and_direction(node: NodeSnapshot) -> None:
    """3.5 s of 10 s that the peer stopped us on priority 3, and 0.5 s that we stopped the peer."""
    after = with_link(busy(node), "rail1", partial(_driver, counter="rx_prio3_pause_duration", more=3_500_000))
    after = with_link(after, "rail1", partial(_driver, counter="tx_prio3_pause_duration", more=500_000))
    one = seen(node, after)["mlx5_1"]
    shares = {(pause.priority, pause.received): pause.share for pause in one.pauses}
    assert shares == {(3, True): pytest.approx(0.35), (3, False): pytest.approx(0.05)}
    assert one.flags == ("paused by its peer on priority 3 35%", "pausing its peer on priority 3 5.0%")


@pytest.mark.parametrize(
    ("counter", "field", "flag"),
    [
        ("packet_seq_err", "retries", "repeats 60/s"),
        ("out_of_buffer", "drops", "drops 60/s"),
        ("np_ecn_marked_roce_packets", "marked", None),
        ("np_cnp_sent", "notified", None),
        ("rp_cnp_handled", "slowed", None),
    ],
)
def test_events_are_per_second_and_losses_are_flagged(
    node: NodeSnapshot, counter: str, field: str, flag: str | None
) -> None:
    """Marks and notifications are congestion control at work; repeats and drops are not normal."""
    after = with_port(busy(node), "mlx5_5", partial(_grow, group="hw_counters", counter=counter, more=600))
    one = seen(node, after)["mlx5_5"]
    assert getattr(one, field) == pytest.approx(60)
    assert one.flags == (() if flag is None else (flag,))


def test_a_nic_far_behind_its_siblings_is_flagged(node: NodeSnapshot) -> None:
    """Its siblings carry 90 % of the line, it carries 10 %; an idle node flags nobody."""
    words = -round(LINE * 0.8 * SECONDS / 4)
    after = busy(node)
    for counter in ("port_xmit_data", "port_rcv_data"):
        after = with_port(after, "mlx5_6", partial(_grow, group="counters", counter=counter, more=words))
    assert seen(node, after)["mlx5_6"].flags == ("at 10%, its siblings at 90%",)
    idle = seen(node, busy(node, share=0.0))
    assert not any(port.flags for port in idle.values())


def test_a_port_that_is_down_is_flagged_and_a_reset_counter_is_not_told(node: NodeSnapshot) -> None:
    """A counter that went down says nothing about the span; never a negative rate."""
    down = partial(_put_state, state=CodedText(code=1, text="DOWN"))
    after = with_port(busy(node), "mlx5_0", down)
    before = with_port(node, "mlx5_4", partial(_grow, group="counters", counter="port_rcv_data", more=10**15))
    found = seen(before, after)
    assert found["mlx5_0"].flags == ("down",)
    assert found["mlx5_4"].received is None
    assert found["mlx5_4"].sent == pytest.approx(0.9 * LINE)


def _put_state(port: Any, state: CodedText) -> Any:
    return replace(port, state=state)


def test_a_view_prints_and_what_is_not_told_is_a_dash(node: NodeSnapshot) -> None:
    """Table and JSON of one view; unknown is null, never zero."""
    rows = tuple(seen(node, busy(node)).values())
    text = plain_text(top_table.blocks(rows, SECONDS))
    assert text.startswith("NORMAL: 8 ports")
    assert "360 Gbit/s" in text
    blind = (replace(rows[0], received=None, sent=None, retries=None, pauses=()),)
    assert '"received_bytes_per_second": null' in top_json.render(blind, 0.0, 1.0)
    assert " - " in plain_text(top_table.blocks(blind, 1.0))


def test_the_cheap_reader_sees_what_a_whole_reading_sees(node: NodeSnapshot) -> None:
    """Same ports and counters, file by file and statistic by statistic."""
    first = pulse_of(node, context_of(node, Wishes()))
    reader = PulseReader(virtual_sources("n0"), first)
    again = reader.read(1.0)
    reader.close()
    for whole, cheap in zip(first.ports, again.ports, strict=True):
        same = {name: value for name, value in cheap.counters.items() if name in whole.counters}
        assert same == dict(whole.counters)
    assert again.busy == first.busy


def test_a_port_that_goes_down_while_it_is_watched_is_seen(node: NodeSnapshot) -> None:
    """Its state is read with its counters."""
    first = pulse_of(node, context_of(node, Wishes()))
    sources = virtual_sources("n0")
    tree = _Overlaid(sources.tree, "sys/class/infiniband/mlx5_3/ports/1/state", b"1: DOWN\n")
    reader = PulseReader(replace(sources, tree=cast("Tree", tree)), first)
    down = [port.name for port in reader.read(1.0).ports if not port.active]
    assert down == ["mlx5_3"]


class _Overlaid:
    """A tree with one other file."""

    def __init__(self, tree: Tree, path: str, data: bytes) -> None:
        self._tree, self._path, self._data = tree, path, data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        return self._data if path == self._path else self._tree.read(path, limit)
