"""The network interfaces with hardware behind them: one target each, so that a NIC that hangs costs no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.text import visible
from netkit.sources.attributes import base_name, names
from netkit.sources.netdev import CLASS, MOST_INTERFACES, is_virtual
from netkit.sources.netlink.kernel import Kernel
from netkit.sources.pci import address_behind
from netkit_exporters.collecting import Machine, Reading, State, Target

_NO_KERNEL = "only files were recorded: no netlink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One interface and what stands behind it."""

    netdev: str
    device: str
    """The RDMA device of the same function; empty where there is none."""
    driver: str
    address: PciAddress | Missing

    @property
    def labels(self) -> tuple[str, str]:
        """Values of `device` and `netdev`."""
        return self.device, visible(self.netdev)


ReadNic = Callable[[Nic, Kernel], Reading]


class _NicTarget:
    """One interface, with a conversation of its own."""

    def __init__(self, machine: Machine, nic: Nic, read: ReadNic) -> None:
        self.key = nic.netdev
        self._machine = machine
        self._nic = nic
        self._read = read
        self._kernel: Kernel | None = None

    def read(self) -> Reading:
        """Read the interface once."""
        if self._kernel is None:
            assert self._machine.open_kernel is not None
            self._kernel = self._machine.open_kernel()
        return self._read(self._nic, self._kernel)

    def close(self) -> None:
        """Close the conversation."""
        close = getattr(self._kernel, "close", None)
        if close is not None:
            close()


class NicSource:
    """Targets for the interfaces of one machine; `choose` tells which interfaces are of interest."""

    def __init__(self, machine: Machine, read: ReadNic, choose: Callable[[Nic], bool] = lambda _: True) -> None:
        self._machine = machine
        self._read = read
        self._choose = choose
        self._targets: dict[str, tuple[str, _NicTarget]] = {}

    def targets(self) -> Sequence[Target] | Missing:
        """Return one target for each interface; Missing where netlink cannot be asked or no NIC is visible."""
        if self._machine.open_kernel is None:
            return Missing(reason=Reason.UNSUPPORTED, where=CLASS, detail=_NO_KERNEL)
        found = hardware_interfaces(self._machine)
        if isinstance(found, Missing):
            return found
        self._forget(found)
        for netdev, identity in found.items():
            if netdev not in self._targets:
                nic = read_nic(self._machine, netdev)
                if self._choose(nic):
                    self._targets[netdev] = (identity, _NicTarget(self._machine, nic, self._read))
        return tuple(target for _, target in self._targets.values())

    def _forget(self, here: Mapping[str, str]) -> None:
        for netdev, (identity, target) in tuple(self._targets.items()):
            if here.get(netdev) != identity:
                target.close()
                del self._targets[netdev]

    def close(self) -> None:
        """Close every conversation."""
        for _, target in self._targets.values():
            target.close()


def hardware_interfaces(machine: Machine) -> dict[str, str] | Missing:
    """Return the interfaces with a device behind them, by name, with where that device is.

    Asks only what a snapshot asks too, so that a recording answers.
    """
    tree = machine.tree
    found = tree.list(CLASS)
    if isinstance(found, Missing):
        return found
    virtual_too = machine.options.get("virtual_functions") == "1"
    here = {
        name: str(tree.link(f"{CLASS}/{name}/device"))
        for name in found[:MOST_INTERFACES]
        if isinstance(tree.link(f"{CLASS}/{name}/device/driver"), str) and (virtual_too or not is_virtual(tree, name))
    }
    nothing = "no host NIC is visible here: run in the host's network namespace (hostNetwork: true)"
    return here or Missing(reason=Reason.ABSENT, where=CLASS, detail=nothing)


def read_nic(machine: Machine, netdev: str) -> Nic:
    """Return what stands behind an interface."""
    at = f"{CLASS}/{netdev}/device"
    driver = base_name(machine.tree, f"{at}/driver")
    return Nic(
        netdev=netdev,
        device=next((visible(name) for name in names(machine.tree, f"{at}/infiniband")), ""),
        driver="" if isinstance(driver, Missing) else driver,
        address=address_behind(machine.tree, at),
    )


def told(faults: Sequence[Missing], any_sample: bool) -> State:
    """Return the state of a reading: nothing at all, only for want of support or of a privilege, is no data."""
    if any_sample:
        return State.OK
    quiet = {Reason.ABSENT, Reason.UNSUPPORTED, Reason.DENIED}
    return State.NO_DATA if all(fault.reason in quiet for fault in faults) else State.ERROR
