"""The weather as input series of promtool, one sample a minute.

https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/#series: `a+bxn` are n + 1 samples, `_xn`
n missing ones; `stale` ends a series at once, as a failed scrape does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.fleet import Fleet, rows_of, series_of
from benchmarks.weather import CLIMATES, DAY, Node
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.metrics import Kind, Metric

MINUTE = 60
PART = 1024
"""Parts of a whole that sums of floating-point numbers keep exactly: a sum that is a hair too low is a reset."""
BURSTS = 1 / 40
"""Incasts a minute and port while a job runs."""
BOUNCES = 0.1
"""Share of links that go down once more while they come up after a restart."""
UNCORRECTED = 1 / (2 * DAY)
"""Symbols a minute and link that FEC cannot correct: one in two days, far within 1e-15 of the bits."""
CLEARED = 1 / 3
"""Share of counters that somebody clears once."""
Values = list[int | None]
"""One a minute; None while there is no sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a series is: its node, its rail or GPU, and chance of its own."""

    node: Node
    rail: int
    labels: Mapping[str, str]
    draw: random.Random


Growth = Callable[[Place, float], list[int]]
"""Growth in each minute, given the level a second of a busy and healthy fleet."""


def _steady(place: Place, level: float) -> list[int]:
    usual = level * MINUTE
    return [round(usual * busy) for busy in place.node.busy]


def _still(place: Place, _level: float) -> list[int]:
    return [0] * place.node.minutes


def _pauses(place: Place, _level: float) -> list[int]:
    """Parts of seconds; who receives an incast is paused little, who sends is paused much."""
    node, draw = place.node, place.draw
    if place.labels["direction"] == "sent":
        return [round(PART / 100 * busy) for busy in node.busy]
    usual, everyone = draw.uniform(*node.climate.paused), draw.uniform(*node.climate.all_to_all)
    found = [
        round(MINUTE * PART * (everyone if many else usual) * busy)
        for busy, many in zip(node.busy, node.all_to_all, strict=True)
    ]
    for at in range(node.minutes):
        if node.busy[at] and node.climate.burst[1] and draw.random() < BURSTS:
            for minute in range(at, min(at + draw.randint(1, 3), node.minutes)):
                found[minute] = round(MINUTE * PART * draw.uniform(*node.climate.burst))
    return found


def _marks(place: Place, _level: float) -> list[int]:
    return _steady(place, place.node.climate.marked)


def _out_of_order(place: Place, _level: float) -> list[int]:
    """Adaptive routing: one packet of a thousand to ten thousand, on every port."""
    return _steady(place, 4.5e6 * 10 ** place.draw.uniform(-4.0, -3.3))


def _corrected(place: Place, _level: float) -> list[int]:
    """Bits FEC corrects on PAM4 links: a ratio around 1e-8, within a factor of four from link to link."""
    return _steady(place, 3e11 * 1e-8 * 2 ** place.draw.uniform(-1.0, 1.0))


def _rare(place: Place, _level: float) -> list[int]:
    found = [int(place.draw.random() < UNCORRECTED) for _ in range(place.node.minutes)]
    return _at_restarts(place, found, 400)


def _training(place: Place, _level: float) -> list[int]:
    """Symbol errors while a link comes up."""
    return _at_restarts(place, _still(place, 0), 200)


def _at_restarts(place: Place, found: list[int], most: int) -> list[int]:
    for at in place.node.boots | place.node.reloads[place.rail]:
        found[at] += place.draw.randrange(most)
    return found


def _downs(place: Place, _level: float) -> list[int]:
    """A driver that is loaded again takes the link down, and a few come up at the second try."""
    found = _still(place, 0)
    for at in place.node.reloads[place.rail]:
        found[at] += 1 if "device" in place.labels and "port" in place.labels else 0
    for at in place.node.boots | place.node.reloads[place.rail]:
        found[min(at + 1, place.node.minutes - 1)] += place.draw.random() < BOUNCES
    return found


def _killed(most: int) -> Growth:
    def growth(place: Place, _level: float) -> list[int]:
        found = _still(place, 0)
        for at in place.node.kills:
            if at + 1 < place.node.minutes and place.draw.random() < 0.5:
                found[at] += place.draw.randint(1, most)
        return found

    return growth


def _xids(place: Place, _level: float) -> list[int]:
    found = _still(place, 0)
    if place.labels["class"] == "application":
        for at in place.node.kills:
            if at + 1 < place.node.minutes:
                found[at + 1] += place.draw.randint(1, 64)
    return found


def _answers(place: Place, _level: float) -> Values:
    return [PART * answers for answers in place.node.answers]


def _scrape_time(place: Place, level: float) -> Values:
    return [round(PART * level) if answers else _SLOW_SCRAPE * PART for answers in place.node.answers]


def _state(place: Place, level: float) -> Values:
    return [round(PART * level) if up else PART for up in place.node.up[place.rail]]


def _rate(place: Place, level: float) -> Values:
    """A port that is down shows the slowest rate."""
    return [round(PART * level) if up else round(PART * level / 10) for up in place.node.up[place.rail]]


def _devices(place: Place, _level: float) -> Values:
    return [PART * sum(minute) for minute in zip(*place.node.there, strict=True)]


def _size(place: Place, _level: float) -> Values:
    return [PART * len(place.node.there)] * place.node.minutes


def _gpus(place: Place, _level: float) -> Values:
    """The driver of GPUs is loaded two minutes after the exporter answers."""
    found: Values = [PART] * place.node.minutes
    for at in place.node.boots:
        found[at : at + 2] = [None] * len(found[at : at + 2])
    return found


def _last_probe(place: Place, _level: float) -> Values:
    return [PART * MINUTE * (minute - minute % 30) for minute in range(place.node.minutes)]


GAUGES: Mapping[str, Callable[[Place, float], Values]] = {
    "up": _answers,
    "scrape_duration_seconds": _scrape_time,
    "netkit_rdma_state_id": _state,
    "netkit_rdma_rate_bytes_per_second": _rate,
    "netkit_rdma_devices": _devices,
    "netkit_rdma_devices_expected": _size,
    "kube_node_status_capacity": _size,
    "netkit_gpu_info": _gpus,
    "netkit_nccl_probe_last_success_timestamp_seconds": _last_probe,
}
"""In parts."""
GROWTH: Mapping[str, Growth] = {
    "netkit_pfc_pause_seconds_total": _pauses,
    "netkit_rdma_np_ecn_marked_roce_packets_received_total": _marks,
    "netkit_rdma_np_cnp_packets_sent_total": _marks,
    "netkit_rdma_out_of_sequence_packets_received_total": _out_of_order,
    "netkit_phy_rx_corrected_bits_total": _corrected,
    "netkit_phy_rx_pcs_symbol_errors_total": _rare,
    "netkit_rdma_symbol_error_total": _training,
    "netkit_rdma_link_downed_total": _downs,
    "netkit_link_down_events_total": _downs,
    "netkit_rdma_local_link_integrity_errors_total": _training,
    "netkit_rdma_req_transport_retries_exceeded_total": _killed(8),
    "netkit_rdma_rnr_nak_retry_packets_received_total": _killed(20),
    "netkit_rdma_local_ack_timeout_errors_total": _killed(40),
    "netkit_gpu_xid_total": _xids,
}
_KEPT = (
    *("netkit_phy_", "netkit_rdma_link_", "netkit_rdma_symbol", "netkit_rdma_local_link", "netkit_rdma_port_"),
    *("netkit_gpu_", "netkit_nccl_"),
)
"""What firmware or others count: it outlives the driver of a NIC."""
_BY_OTHERS = ("up", "scrape_duration_seconds", "kube_node_status_capacity")
"""What Prometheus and kube-state-metrics know while the node does not answer."""
_OF_FAULTS = frozenset({"netkit_probe_finding_slowdown_ratio", "netkit_rdma_device_absent"})
"""Series only a fault brings."""
_IN_PARTS = "netkit_pfc_pause_seconds_total"
_SLOW_SCRAPE = 10
"""Seconds after which a scrape of a node that is away is given up."""


def series(
    profile: Profile, names: frozenset[str], *, nodes: int, rails: int, days: int, seed: int
) -> Iterator[dict[str, str]]:
    """Yield the series of the families that rules read, as promtool takes them."""
    fate = [Node(days, rails, CLIMATES[profile], random.Random(f"{seed} {profile} {node}")) for node in range(nodes)]
    fleet = Fleet(nodes=nodes, rails=rails, start=0.0, end=0.0, ill=None, names=names - _OF_FAULTS)
    for row in rows_of(fleet):
        for labels, level, _ in series_of(row, fleet):
            inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
            place = Place(
                node=fate[int(labels["instance"].partition(":")[0].removeprefix("n"))],
                rail=int(labels.get("rail") or labels.get("gpu") or 0),
                labels=labels,
                draw=random.Random(f"{seed} {row.name} {sorted(labels.items())}"),
            )
            yield {"series": f"{row.name}{{{inside}}}", "values": notation(*_values(row, place, level))}


def _values(row: Metric, place: Place, level: float) -> tuple[Values, int]:
    """Return whole numbers, and what to divide them by."""
    if row.kind is Kind.COUNTER:
        growth = GROWTH.get(row.name, _steady if level else _still)(place, level)
        return _counted(row, place, growth), PART if row.name == _IN_PARTS else 1
    found = GAUGES[row.name](place, level) if row.name in GAUGES else [round(level * PART)] * place.node.minutes
    away = row.name in _BY_OTHERS
    return [value if away or there else None for value, there in zip(found, _there(row, place), strict=True)], PART


def _there(row: Metric, place: Place) -> list[bool]:
    node = place.node
    if "device" not in row.labels:
        return node.answers
    return [answers and there for answers, there in zip(node.answers, node.there[place.rail], strict=True)]


def _counted(row: Metric, place: Place, growth: list[int]) -> Values:
    """Add up; begin at nothing with the machine, with the driver where it counts, and when somebody clears."""
    node, found, total = place.node, [], 0
    begins = set(node.boots) | ({place.draw.randrange(node.minutes)} if place.draw.random() < CLEARED else set())
    if not row.name.startswith(_KEPT) and "device" in row.labels:
        begins |= node.reloads[place.rail]
    for minute, (there, grown) in enumerate(zip(_there(row, place), growth, strict=True)):
        total = (0 if minute in begins else total) + grown
        found.append(total if there else None)
    return found


def notation(values: Values, divisor: int = 1) -> str:
    """Return values in promtool's notation, even growth as one item."""
    parts: list[str] = []
    at = 0
    while at < len(values):
        end = _end_of_run(values, at)
        first, count = values[at], end - at - 1
        if first is None:
            parts.append(f"stale _x{count}" if at and count else "stale" if at else f"_x{end}")
        else:
            step = (values[at + 1] or 0) - first if count else 0
            parts.append(f"{_number(first, divisor)}{'-' if step < 0 else '+'}{_number(abs(step), divisor)}x{count}")
        at = end
    return " ".join(parts)


def _end_of_run(values: Values, at: int) -> int:
    """Return where missing samples end, or where even growth does."""
    end, step = at + 1, _step(values, at)
    while end < len(values) and step == _step(values, end - 1) and (values[end] is None) == (values[at] is None):
        end += 1
    return end


def _step(values: Values, at: int) -> int | None:
    """Return the growth to the next value; None where either is missing."""
    here, there = values[at], values[at + 1] if at + 1 < len(values) else None
    return None if here is None or there is None else there - here


def _number(value: int, divisor: int) -> str:
    return f"{value / divisor:.10f}".rstrip("0").rstrip(".")
