"""For each collector a machine that shows all it gives, and one where something is missing. Everything is made up."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from types import MappingProxyType

from netkit.lab.virtual_node import virtual_sources
from netkit.model.missing import Missing, Reason
from netkit.sources.drivers import Drivers
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.nvml.values import Plain
from netkit_exporters.collecting import Machine
from tests.exporters.full_node import full_node
from tests.sources import made_up, made_up_drivers
from tests.sources import made_up_kernel as kernel
from tests.sources.gpu.test_amd import machine as amd_machine
from tests.sources.gpu.test_ascend import HCCN, INFO
from tests.sources.gpu.test_tables import CNMON_5, HY_SMI


class SaidDrivers:
    """Drivers that say what they are given; what they are not given is not installed."""

    def __init__(self, answer: Plain | None = None, texts: Mapping[tuple[str, ...], str] | None = None) -> None:
        self._answer = answer
        self._texts = texts or {}

    def nvml(self) -> Plain | Missing:
        return self._answer or Missing(reason=Reason.ABSENT, where="nvml", detail="not installed")

    def tool(self, *words: str) -> str | Missing:
        return self._texts.get(words) or Missing(reason=Reason.ABSENT, where=words[0], detail="not installed")


def with_drivers(drivers: Drivers) -> Machine:
    """A machine without files of interest."""
    return Machine(tree=MemoryTree({}), open_kernel=None, open_drivers=lambda: drivers)


def five_cards() -> Machine:
    """One NIC of each driver that counts pauses, in one machine."""
    built = made_up.Machine()
    answers: kernel.Answers = {}
    cards = [card for card in made_up_drivers.CARDS if card.pauses]
    for number, card in enumerate(cards, start=1):
        place = f"pci0000:{number}0/0000:{number}0:01.0/0000:{number}1:00.0"
        at = built.pci(place, "0x020000", card.vendor, device=card.device, driver=card.driver)
        built.rdma(at, f"{card.table}_0", guid=f"0211:22ff:fe33:000{number}")
        name = f"eth-{card.table}"
        built.netdev(name, at)
        answers |= kernel.statistics(name, made_up_drivers.statistics(card)) | kernel.pause(
            name, on=card.lossless is None
        )
        answers |= kernel.link(name, number, corrected=1234 if card.driver == "mlx5_core" else None)
        answers |= {} if card.lossless is None else kernel.bridging(name, card.lossless)
    said = kernel.MadeUpKernel(answers)
    return Machine(tree=built.tree(), open_kernel=lambda: said, options={"dcb": "all"})


def silent_kernel() -> Machine:
    """A NIC whose driver answers nothing."""
    card = made_up_drivers.CARDS[0]
    said = kernel.MadeUpKernel({})
    return Machine(tree=made_up_drivers.node(card).tree(), open_kernel=lambda: said)


def ascend() -> Machine:
    """Three devices; the tools answer for the first one's port."""
    port: dict[tuple[str, ...], str] = {("hccn_tool", "-i", "0", f"-{name}", "-g"): text for name, text in HCCN.items()}
    return with_drivers(SaidDrivers(texts={("npu-smi", "info"): INFO, **port}))


def two_rails() -> Machine:
    """Files of two healthy rails, of a named machine type."""
    return Machine(
        tree=made_up.roce_two_rails().tree(), open_kernel=None, options={"platform": "hgx-h100", "widths": "1"}
    )


def odd_drivers() -> Machine:
    """Counters that are texts, errors, or not there."""
    return Machine(tree=made_up.irdma_without_counters().tree(), open_kernel=None)


def two_gpus() -> Machine:
    """Two of eight GPUs with everything NVML counts, and a log with XIDs."""
    whole = full_node()
    assert whole.open_drivers is not None
    answer = whole.open_drivers().nvml()
    assert not isinstance(answer, Missing)
    few = {**answer, "devices": answer["devices"][:2]}
    log = "6,{0},{0}000000,-;NVRM: Xid (PCI:0000:1d:00): {1}, pid=1\n"
    files = {**made_up.roce_two_rails().files, "kmsg": "".join(map(log.format, (1, 2, 3), (79, 31, 79))).encode()}
    tree = MemoryTree(files, made_up.roce_two_rails().links)
    return Machine(tree=tree, open_kernel=None, open_drivers=lambda: SaidDrivers(few))


def lost_gpu() -> Machine:
    """One GPU that is lost, and a log that may not be read."""
    silent = {"index": 1, "uuid": "GPU-aa", "bus_id": "00000000:3D:00.0", "error": 15}
    machine = made_up.roce_two_rails()
    machine.files["kmsg"] = errno.EPERM
    drivers = SaidDrivers({"driver": "570.0", "devices": [silent]})
    return Machine(tree=machine.tree(), open_kernel=None, open_drivers=lambda: drivers)


def nothing() -> Machine:
    """A machine without anything."""
    return Machine(tree=MemoryTree({}), open_kernel=None)


def optical() -> Machine:
    """One NIC with the module of the lab's first rail."""
    built = made_up.Machine()
    built.netdev("rail0", built.pci("pci0000:10/0000:10:01.0/0000:11:00.0", "0x020000", driver="mlx5_core"))
    said = virtual_sources("optical").kernel
    assert said is not None
    return Machine(tree=built.tree(), open_kernel=lambda: said)


Scene = Callable[[], Machine]
WHOLE: Mapping[str, Scene] = MappingProxyType(
    {
        "rdma": two_rails,
        "link": two_rails,
        "pcie": two_rails,
        "topology": two_rails,
        "pfc": five_cards,
        "ethtool": five_cards,
        "dcb": five_cards,
        "optics": optical,
        "gpu": two_gpus,
        "amd": lambda: Machine(tree=amd_machine().tree(), open_kernel=None),
        "ascend": ascend,
        "cambricon": lambda: with_drivers(SaidDrivers(texts={("cnmon",): CNMON_5})),
        "hygon": lambda: with_drivers(SaidDrivers(texts={("hy-smi",): HY_SMI})),
    }
)
"""By collector; `pods` and `nccl` have tests of their own with a kubelet and with files."""
INCOMPLETE: Mapping[str, Scene] = MappingProxyType(
    {
        "rdma": odd_drivers,
        "link": odd_drivers,
        "pcie": lambda: Machine(tree=made_up.hidden_pcie().tree(), open_kernel=None),
        "topology": lambda: Machine(tree=made_up.hidden_pcie().tree(), open_kernel=None),
        "pfc": silent_kernel,
        "ethtool": silent_kernel,
        "dcb": silent_kernel,
        "optics": silent_kernel,
        "gpu": lost_gpu,
        "amd": nothing,
        "cambricon": lambda: with_drivers(SaidDrivers()),
        "hygon": lambda: with_drivers(SaidDrivers(texts={("hy-smi",): "no driver"})),
        "ascend": lambda: with_drivers(SaidDrivers(texts={("npu-smi", "info"): INFO})),
    }
)
