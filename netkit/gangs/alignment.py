"""GPU and NIC of one pod on different PCIe switches: found from the API alone, where it says enough.

The topology manager and most plug-ins align by NUMA node, which is not enough: below one NUMA node there are several
switches, and traffic between them crosses the processor. GB300 with Data Direct NICs shares no root by design.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netkit.model.gang import Device, DeviceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Misaligned:
    """A GPU none of whose pod's NICs shares its switch or root."""

    gpu: Device
    nics: tuple[Device, ...]
    by: str
    """What was compared: PCIe switch or PCIe root."""
    same_numa: bool | None
    """Whether one of the NICs is on the GPU's NUMA node; None when the API does not tell."""


def misaligned(devices: Sequence[Device]) -> Iterator[Misaligned]:
    """Yield each GPU without a near NIC; GPUs and NICs whose place is unknown are not judged."""
    nics = [device for device in devices if device.kind is DeviceKind.NIC]
    for gpu in devices:
        if gpu.kind is DeviceKind.GPU:
            yield from _judged(gpu, nics)


def _judged(gpu: Device, nics: Sequence[Device]) -> Iterator[Misaligned]:
    for by, place in (("PCIe switch", "pcie_switch"), ("PCIe root", "pcie_root")):
        own = getattr(gpu, place)
        known = [nic for nic in nics if getattr(nic, place)]
        # Every NIC must be known: the one that is not may be the near one.
        if own and known and len(known) == len(nics):
            if not any(getattr(nic, place) == own for nic in known):
                yield Misaligned(gpu=gpu, nics=tuple(known), by=by, same_numa=_same_numa(gpu, known))
            return


def _same_numa(gpu: Device, nics: Sequence[Device]) -> bool | None:
    nodes = [nic.numa for nic in nics if nic.numa is not None]
    return gpu.numa in nodes if gpu.numa is not None and nodes else None
