"""Platform tables set against the devices of one node: which platform this is, and which NICs each GPU should have."""

from __future__ import annotations

from collections.abc import Iterable

from netkit.catalogue.platforms import Platform, PlatformGroup, platforms
from netkit.model.pci import PciAddress
from netkit.model.topology import DeviceMatrix, NicEnd

_ENOUGH = 0.5


def golden(matrix: DeviceMatrix, platform: Platform) -> dict[str, tuple[str, ...]]:
    """Return, for each GPU the platform knows by address, the names its NICs have here.

    A NIC that is not here is named by what the platform calls it, so that its absence can be told.
    """
    names: dict[PciAddress | str | None, str] = {nic.address: nic.name for nic in matrix.nics}
    names |= {nic.name: nic.name for nic in matrix.nics}
    group_of = {gpu: group for group in platform.groups for gpu in group.gpus}
    return {
        gpu.id: tuple(names.get(nic, str(nic)) for nic in group_of[gpu.address].nics)
        for gpu in matrix.gpus
        if gpu.address in group_of
    }


def identify(matrix: DeviceMatrix) -> Platform | None:
    """Return the platform whose GPUs are exactly these and whose NICs are mostly here, None when there is none.

    Only platforms known by address for GPUs and NICs count: device names are anybody's, and one baseboard, hence one
    set of GPU addresses, serves several vendors.
    """
    here = {gpu.address for gpu in matrix.gpus}
    if None in here or len(here) != len(matrix.gpus):
        return None
    fitting = (one for one in platforms().values() if one.addressed and {*_gpus(one.groups)} == here)
    return next((one for one in fitting if _present(one, matrix.nics) >= _ENOUGH), None)


def _gpus(groups: Iterable[PlatformGroup]) -> list[PciAddress]:
    return [gpu for group in groups for gpu in group.gpus]


def _present(platform: Platform, nics: Iterable[NicEnd]) -> float:
    here = {nic.address for nic in nics}
    meant = [nic for group in platform.groups for nic in group.nics]
    return sum(nic in here for nic in meant) / len(meant)
