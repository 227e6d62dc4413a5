"""NVIDIA GPUs: NVML in a child process that may hang alone, `nvidia-smi` where NVML is not there; XIDs of the log.

nvml.h; NVIDIA "Xid Errors". A gauge of the last XID stays for ever and misses repeats, so XIDs are counted here, from
the kernel log, for as long as this process lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from netkit.catalogue.metric_rows import gpu as rows
from netkit.catalogue.xids import XidClass, xid_class
from netkit.model.host import KernelEvent, KernelEventKind
from netkit.model.missing import Missing, Reason
from netkit.sources.accelerators import read_nvidia
from netkit.sources.drivers import Drivers
from netkit.sources.kernel_log import read_kernel_events
from netkit.sources.pci import DEVICES, read_pci_devices
from netkit.sources.tree import Tree
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, State, Target
from netkit_exporters.gpu_samples import reading_of
from netkit_exporters.pod_labels import maybe_with_pods

_NVIDIA = 0x10DE
_DISPLAY = 0x03


class _Nvml:
    """All NVIDIA GPUs: one child asks them in turn, each with its own deadline."""

    key = "nvml"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._drivers: Drivers | None = None

    def read(self) -> Reading:
        """Ask once."""
        if self._drivers is None:
            assert self._machine.open_drivers is not None
            self._drivers = self._machine.open_drivers()
        return reading_of(read_nvidia(self._drivers))

    def close(self) -> None:
        """End the child."""
        close = getattr(self._drivers, "close", None)
        if close is not None:
            close()


class _Log:
    """XIDs, counted as they appear; those already in the log at the start are part of the count."""

    key = "kernel log"

    def __init__(self, machine: Machine) -> None:
        self._tree = machine.tree
        self.gpus: tuple[str, ...] = ()
        self._seen: tuple[KernelEvent, ...] = ()
        self._codes: Counter[tuple[str, int]] = Counter()
        self._last: dict[str, float] = {}

    def read(self) -> Reading:
        """Look through the log once."""
        events = read_kernel_events(self._tree)
        if isinstance(events, Missing):
            state = State.NO_DATA if events.reason is not Reason.TIMEOUT else State.ERROR
            return Reading(faults=(events,), state=state)
        xids = tuple(event for event in events if event.kind is KernelEventKind.XID)
        for event in xids[_known(self._seen, xids) :]:
            self._count(event)
        self._seen = xids
        return Reading(samples=self._samples())

    def _count(self, event: KernelEvent) -> None:
        if isinstance(event.code, Missing):
            return
        address = "" if isinstance(event.address, Missing) else str(event.address)
        self._codes[address, event.code] += 1
        if not isinstance(event.seconds_since_boot, Missing):
            self._last[address] = event.seconds_since_boot

    def _samples(self) -> list[Sample]:
        classes: Counter[tuple[str, XidClass]] = Counter()
        for address in self.gpus:
            classes.update(dict.fromkeys(((address, kind) for kind in XidClass), 0))
        for (address, code), count in self._codes.items():
            classes[address, xid_class(code)] += count
        samples = [Sample(rows.XIDS, (address, kind.value), float(count)) for (address, kind), count in classes.items()]
        samples += [Sample(rows.XID_CODES, (at, str(code)), float(n)) for (at, code), n in self._codes.items()]
        samples += [Sample(rows.XID_LAST, (address,), when) for address, when in self._last.items()]
        return samples


def _known(before: tuple[KernelEvent, ...], now: tuple[KernelEvent, ...]) -> int:
    """Return how many events of `now` were counted: the log is a ring, so its oldest events go away."""
    for gone in range(len(before) + 1):
        rest = before[gone:]
        if now[: len(rest)] == rest:
            return len(rest)
    return 0


class _Gpus:
    """The driver where it can be asked, and the log on a machine with GPUs of NVIDIA."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._log = _Log(machine)
        self._nvml = _Nvml(machine) if machine.open_drivers is not None else None
        self._functions: tuple[str, ...] = ()

    def targets(self) -> Sequence[Target] | Missing:
        """Return what there is to ask."""
        found = self._machine.tree.list(DEVICES)
        if isinstance(found, Missing) and self._nvml is None:
            return found
        if not isinstance(found, Missing) and found != self._functions:
            self._functions = found
            self._log.gpus = _nvidia_gpus(self._machine.tree)
        log = (self._log,) if self._log.gpus else ()
        return (*log, self._nvml) if self._nvml else log

    def close(self) -> None:
        """End the child."""
        if self._nvml:
            self._nvml.close()


def _nvidia_gpus(tree: Tree) -> tuple[str, ...]:
    devices = read_pci_devices(tree)
    known = () if isinstance(devices, Missing) else devices
    return tuple(str(one.address) for one in known if one.vendor == _NVIDIA and one.class_code >> 16 == _DISPLAY)


COLLECTOR = Collector(
    id="gpu",
    question="How busy, warm and healthy are the NVIDIA GPUs, their NVLinks and their place in the fabric?",
    open=maybe_with_pods(_Gpus),
    metrics=rows.ROWS + rows.LOG_ROWS,
    deadline_seconds=20.0,
)
