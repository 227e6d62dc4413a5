"""The lab node of eight GPUs and eight NICs with everything its cards can count, mlx5 and NVML in full. Synthetic."""

from __future__ import annotations

import re
from typing import Any

from netkit.catalogue.counter import tables
from netkit.lab.virtual_node import virtual_sources
from netkit.model.missing import Missing, Reason
from netkit.sources.drivers import Drivers
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.netlink.kernel import Answer, Channel, Kernel, Question
from netkit.sources.nvml.values import Plain
from netkit.sources.tree import READ_LIMIT
from netkit_exporters.collecting import Machine
from tests.sources.made_up import PMA
from tests.sources.made_up_drivers import CARDS, statistics

_OPTIONAL = ("cc_rx_ce_pkts", "cc_rx_cnp_pkts", "cc_tx_cnp_pkts")
HARDWARE = tuple(
    row.name for table in tables() if table.id == "mlx5" for row in table.hardware if row.name not in _OPTIONAL
)
_COUNTS = (
    *("energy_millijoules", "nvlink_sent_kibibytes", "nvlink_received_kibibytes", "pcie_sent_bytes"),
    *("pcie_received_bytes", "throttle_power_nanoseconds", "throttle_thermal_nanoseconds"),
    *(f"nvlink_{kind}_errors" for kind in ("replay", "recovery", "crc_flit", "crc_data")),
)


class FullTree:
    """Every port with all 31 hardware counters."""

    def __init__(self, tree: MemoryTree) -> None:
        self._tree = tree

    def list(self, path: str) -> tuple[str, ...] | Missing:
        found = self._tree.list(path)
        if isinstance(found, Missing):
            return found
        return (
            (*HARDWARE, "lifespan") if path.endswith("/hw_counters") else PMA if path.endswith("/counters") else found
        )

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        if "/hw_counters/" in path or re.search("/counters/.*(data|packets)$", path):
            return b"12345\n"
        return b"0\n" if "/counters/" in path else self._tree.read(path, limit)

    def exists(self, path: str) -> bool:
        return path.endswith("/hw_counters/lifespan") or self._tree.exists(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)


class FullKernel:
    """Every interface with all statistics of mlx5, two priorities with traffic, one of them lossless."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        card = next(card for card in CARDS if card.table == "mlx5")
        self._lines = tuple(f"{name}: {value}".encode() for name, value in statistics(card).items())

    def ask(self, question: Question) -> Answer | Missing:
        if question.channel is Channel.DRIVER_STATISTICS:
            return Answer(bodies=self._lines)
        if question.where.startswith("rdma statistics"):
            return Missing(reason=Reason.UNSUPPORTED, where=question.where)
        return self._kernel.ask(question)


class FullDrivers:
    """Every GPU with all counts NVML keeps."""

    def __init__(self, drivers: Drivers) -> None:
        self._drivers = drivers

    def nvml(self) -> Plain | Missing:
        answer = self._drivers.nvml()
        assert not isinstance(answer, Missing)
        devices = [self._full(device) for device in answer["devices"]]
        return {**answer, "devices": devices}

    def tool(self, *words: str) -> str | Missing:
        return self._drivers.tool(*words)

    @staticmethod
    def _full(device: Plain) -> Plain:
        values = {**device["fields"].get("values", {}), "counts": dict.fromkeys(_COUNTS, 1000)}
        return {**device, "fields": {**device["fields"], "values": values}}


def full_node() -> Machine:
    """The machine, with the platform's expectations."""
    sources = virtual_sources("full-node")
    assert isinstance(sources.tree, MemoryTree)
    assert sources.kernel is not None
    assert sources.drivers is not None
    kernel, drivers = FullKernel(sources.kernel), FullDrivers(sources.drivers)
    return Machine(
        tree=FullTree(sources.tree),
        open_kernel=lambda: kernel,
        open_drivers=lambda: drivers,
        options={"platform": "hgx-h100"},
    )
