"""Network links: up or down, how fast, how often they went down, and why one is down now.

`/sys/class/net/<interface>`: Linux Documentation/ABI/testing/sysfs-class-net; the reason is ethtool netlink's extended
state (LINKSTATE_GET), asked only of a link that is down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.catalogue.metric_rows import link as rows
from netkit.catalogue.metrics import Metric
from netkit.model.missing import Missing
from netkit.sources.attributes import hexadecimal, natural, text
from netkit.sources.netdev import CLASS
from netkit.sources.netlink.ethtool import read_state
from netkit.sources.tree import Tree
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, Target
from netkit_exporters.nics import Nic, hardware_interfaces, read_nic
from netkit_exporters.readout import label

_BYTES_PER_MEGABIT = 125_000
_UP = 0x1
"""IFF_UP of `include/uapi/linux/if.h`: somebody switched the interface on, whether or not it has a carrier."""
_FILES: tuple[tuple[Metric, str, float], ...] = (
    (rows.UP, "carrier", 1),
    (rows.SPEED, "speed", _BYTES_PER_MEGABIT),
    (rows.UPS, "carrier_up_count", 1),
    (rows.DOWNS, "carrier_down_count", 1),
)


class _Link:
    """One interface."""

    def __init__(self, machine: Machine, nic: Nic) -> None:
        self.key = nic.netdev
        self._machine = machine
        self._nic = nic

    def read(self) -> Reading:
        """Read the interface once."""
        found = dict(_values(self._machine.tree, self._nic.netdev))
        labels = self._nic.labels
        samples = [Sample(metric, labels, value) for metric, value in found.items() if not isinstance(value, Missing)]
        samples += self._about()
        if not found[rows.UP]:
            samples += self._why_down()
        faults = [value for value in found.values() if isinstance(value, Missing)]
        return Reading(samples=samples, faults=faults)

    def _about(self) -> Iterator[Sample]:
        state = text(self._machine.tree, f"{CLASS}/{self._nic.netdev}/operstate")
        address = "" if isinstance(self._nic.address, Missing) else str(self._nic.address)
        shown = "" if isinstance(state, Missing) else label(state)
        yield Sample(rows.INFO, (*self._nic.labels, self._nic.driver, address, shown), 1.0)

    def _why_down(self) -> Iterator[Sample]:
        flags = hexadecimal(self._machine.tree, f"{CLASS}/{self._nic.netdev}/flags")
        if not isinstance(flags, Missing):
            yield Sample(rows.ENABLED, self._nic.labels, float(flags & _UP))
        if self._machine.open_kernel is None:
            return
        kernel = self._machine.open_kernel()
        state = read_state(kernel, self._nic.netdev)
        close = getattr(kernel, "close", None)
        if close is not None:
            close()
        if not isinstance(state, Missing) and isinstance(state.why_down, str):
            yield Sample(rows.REASON, (*self._nic.labels, label(state.why_down)), 1.0)


def _values(tree: Tree, netdev: str) -> Iterator[tuple[Metric, float | Missing]]:
    up = natural(tree, f"{CLASS}/{netdev}/carrier")
    for metric, name, factor in _FILES:
        # The kernel refuses to name the speed or carrier of a link that is down or switched off (EINVAL).
        value = natural(tree, f"{CLASS}/{netdev}/{name}")
        if metric is rows.UP:
            yield metric, _carrier(tree, netdev, up)
        elif metric is not rows.SPEED or up == 1:
            yield metric, value if isinstance(value, Missing) else value * factor


def _carrier(tree: Tree, netdev: str, up: int | Missing) -> float | Missing:
    if isinstance(up, Missing) and text(tree, f"{CLASS}/{netdev}/operstate") == "down":
        return 0.0
    return up if isinstance(up, Missing) else float(up)


class _Links:
    """The interfaces of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._links: dict[tuple[str, str], _Link] = {}

    def targets(self) -> Sequence[Target] | Missing:
        """Return one target for each interface with a device behind it."""
        found = hardware_interfaces(self._machine)
        if isinstance(found, Missing):
            return found
        self._links = {
            key: self._links.get(key) or _Link(self._machine, read_nic(self._machine, key[0])) for key in found.items()
        }
        return tuple(self._links.values())

    def close(self) -> None:
        """Nothing stays open."""


COLLECTOR = Collector(
    id="link",
    question="Are the links up, at which speed, and how often did they go down?",
    open=_Links,
    metrics=rows.ROWS,
)
