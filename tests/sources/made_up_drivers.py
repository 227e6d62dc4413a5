"""One made-up node for each RDMA driver of the catalogue, with every counter the driver names. All synthetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from netkit.catalogue.counter import CounterRow, CounterTable, tables
from netkit.sources.node_sources import NodeSources
from tests.sources import made_up_kernel as kernel
from tests.sources.made_up import PMA, Machine

_OF_THE_DEVICE = {"efa": 12, "cxgb4": 8, "mlx4": 5}
"""How many of a driver's first counters belong to the device, not to a port."""
_PLACE = "pci0000:40/0000:40:01.0/0000:41:00.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What stands behind one RDMA device."""

    table: str
    driver: str
    vendor: str
    device: str
    layer: str = "Ethernet"
    rate: str = "100 Gb/sec (4X EDR)"
    pma: bool = False
    pauses: Mapping[str, int] = field(default_factory=dict)
    """Statistics about pauses as the driver spells them."""
    lossless: tuple[int, ...] | None = None


def _each(pattern: str, priorities: Iterable[int] = range(8)) -> dict[str, int]:
    return {pattern.replace("N", str(priority)): 100 * priority + len(pattern) for priority in priorities}


_MLX5_PAUSES = {
    **_each("rx_prioN_pause", (3,)),
    **_each("tx_prioN_pause", (3,)),
    "rx_prio3_pause_duration": 2_500_000,
    "tx_prio3_pause_duration": 40,
    "rx_prio3_pause_transition": 31,
    "tx_pause_storm_warning_events": 2,
    "tx_pause_storm_error_events": 1,
}
_BNXT_PAUSES = {
    **_each("rx_pfc_ena_frames_priN"),
    **_each("tx_pfc_ena_frames_priN"),
    **_each("pfc_priN_rx_duration_us", (3,)),
    **_each("pfc_priN_tx_transitions", (3,)),
    "rx_pause_frames": 4,
    "continuous_roce_pause_events": 5,
}
_ICE_PAUSES = {**_each("rx_priority_N_xoff.nic"), **_each("tx_priority_N_xon.nic"), "link_xoff_rx.nic": 9}
_IONIC_PAUSES = {"frames_rx_pripause": 12, "frames_tx_pause": 3, **_each("rx_pripause_N_1us_count", (3,))}
_HNS_PAUSES = {**_each("mac_rx_pfc_priN_pkt_num"), **_each("mac_tx_pfc_priN_pkt_num"), "mac_tx_mac_pause_num": 6}

CARDS = (
    Card(
        table="mlx5", driver="mlx5_core", vendor="0x15b3", device="0x1021", pma=True, pauses=_MLX5_PAUSES, lossless=(3,)
    ),
    Card(table="bnxt", driver="bnxt_en", vendor="0x14e4", device="0x1760", pauses=_BNXT_PAUSES, lossless=(3,)),
    Card(table="irdma", driver="ice", vendor="0x8086", device="0x1592", pauses=_ICE_PAUSES, lossless=()),
    Card(table="ionic", driver="ionic", vendor="0x1dd8", device="0x1002", pauses=_IONIC_PAUSES),
    Card(table="hns", driver="hns3", vendor="0x19e5", device="0xa222", pauses=_HNS_PAUSES, lossless=(0, 3)),
    Card(table="efa", driver="efa", vendor="0x1d0f", device="0xefa2", layer="Unspecified"),
    Card(table="mlx4", driver="mlx4_core", vendor="0x15b3", device="0x1003", layer="InfiniBand", pma=True),
    Card(table="erdma", driver="erdma", vendor="0x1ded", device="0x107f"),
    Card(table="cxgb4", driver="cxgb4", vendor="0x1425", device="0x6807"),
)


def table(name: str) -> CounterTable:
    return next(one for one in tables() if one.id == name)


def counted(listed: Iterable[CounterRow]) -> dict[str, str | int]:
    """A value for each row, no two alike."""
    return {row.name: str(11 * place) for place, row in enumerate(listed)}


def statistics(card: Card, carrying: Iterable[int] = (0, 3)) -> dict[str, int]:
    """What the driver counts: every row of its table, eight priorities where the name has one, and pauses."""
    found: dict[str, int] = {"rx_queue_0_packets": 7}
    for place, row in enumerate(table(card.table).statistics):
        numbers = range(8) if row.numbered else (None,)
        for number in numbers:
            alive = number is None or number in carrying
            found[row.name.replace("%d", str(number))] = 13 * place + (number or 0) if alive else 0
    return found | dict(card.pauses)


def node(card: Card) -> Machine:
    """A machine with one such card."""
    machine = Machine()
    machine.host()
    at = machine.pci(_PLACE, "0x020000", card.vendor, device=card.device, driver=card.driver)
    listed = table(card.table).hardware
    of_device = listed[: _OF_THE_DEVICE.get(card.table, 0)]
    device = machine.rdma(at, f"{card.table}_0", guid="0211:22ff:fe33:4455", hca_type=card.table)
    if of_device:
        machine.texts(f"{device}/hw_counters", {"lifespan": "10", **counted(of_device)})
    pma: dict[str, str | int] = dict.fromkeys(PMA, "5") if card.pma else {}
    hardware = counted(listed[len(of_device) :])
    machine.port(device, layer=card.layer, rate=card.rate, counters=pma, hw=hardware)
    if card.pauses:
        machine.netdev("eth0", at)
        machine.answers |= answers(card)
    return machine


def answers(card: Card) -> kernel.Answers:
    """What the kernel says of the card's interface."""
    found = kernel.interfaces([(7, "eth0", "0000:41:00.0")])
    found |= kernel.statistics("eth0", statistics(card)) | kernel.pause("eth0", on=card.lossless is None)
    found |= kernel.link("eth0", 7, corrected=1234 if card.driver == "mlx5_core" else None)
    return found if card.lossless is None else found | kernel.bridging("eth0", card.lossless)


def soft_roce() -> Machine:
    """RDMA in software: a device without a bus behind it."""
    machine = Machine()
    machine.host("vm-1", virtual=True)
    machine.netdev("eth0")
    folder = "sys/devices/virtual/infiniband/rxe0"
    machine.texts(folder, {"node_guid": "0211:22ff:fe33:4456", "node_type": "1: CA", "parent": "eth0"})
    machine.link("sys/class/infiniband/rxe0", folder)
    machine.port(folder, rate="2.5 Gb/sec (1X SDR)", hw=counted(table("rxe").hardware))
    return machine


def _of(build: Callable[[], Machine]) -> Callable[[], NodeSources]:
    return lambda: build().sources()


DRIVERS: Mapping[str, Callable[[], NodeSources]] = MappingProxyType(
    {f"{card.table}-counters": _of(partial(node, card)) for card in CARDS} | {"rxe-counters": _of(soft_roce)}
)
