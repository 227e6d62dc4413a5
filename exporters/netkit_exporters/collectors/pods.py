"""Which pod holds which GPU, NIC and queue pair: one info family to join on, so that no other series grows a label.

The kubelet's pod-resources service names devices; SR-IOV devices by PCI address. Shared RDMA devices have no owner, so
their queue pairs are followed to a process (RDMA netlink), its control group and its pod.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

from netkit.catalogue.metric_rows import pods as rows
from netkit.errors import SourceError
from netkit.model.missing import Missing, Reason
from netkit.sources.netlink.kernel import Kernel
from netkit.sources.netlink.nldev import read_device_indexes, read_queue_pairs
from netkit.sources.podresources import SOCKET, HeldDevice, read_held_devices
from netkit.sources.process_pods import LOGS, pod_names, pod_uid
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, State, Target
from netkit_exporters.held_devices import KEPT_SECONDS, identify

_REASONS = {
    errno.ENOENT: Reason.ABSENT,
    errno.ECONNREFUSED: Reason.ABSENT,
    errno.EACCES: Reason.DENIED,
    errno.EPERM: Reason.DENIED,
    errno.ETIMEDOUT: Reason.TIMEOUT,
}


class _Devices:
    """What the kubelet says."""

    key = "kubelet"

    def __init__(self, machine: Machine) -> None:
        self._tree = machine.tree
        self._socket = machine.options.get("pod_resources", SOCKET)
        self._last: tuple[HeldDevice, ...] = ()
        self._answered = float("-inf")

    def read(self) -> Reading:
        """Ask once; an answer that does not come leaves the last one standing for a minute."""
        try:
            self._last = read_held_devices(self._socket)
        except SourceError as fault:
            return self._without_answer(fault)
        self._answered = monotonic()
        return Reading(samples=(Sample(rows.READABLE, ("",), 1.0), *self._samples()))

    def _without_answer(self, fault: SourceError) -> Reading:
        if monotonic() - self._answered > KEPT_SECONDS:
            self._last = ()
        why = Missing(reason=_reason(fault), where=fault.where, detail=fault.what)
        samples = (Sample(rows.READABLE, (str(why.reason),), 0.0), *self._samples())
        return Reading(samples=samples, faults=(why,))

    def _samples(self) -> Iterator[Sample]:
        seen: set[tuple[str, ...]] = set()
        for held in self._last:
            found = identify(self._tree, held)
            where = (held.namespace, held.pod, held.container, held.resource)
            labels = (*where, found.uuid, found.device, found.pci_bus_id)
            if labels not in seen:
                seen.add(labels)
                yield Sample(rows.DEVICE, labels, 1.0)


def _reason(fault: SourceError) -> Reason:
    return _REASONS.get(fault.errno or 0, Reason.MALFORMED)


class _QueuePairs:
    """Who uses shared RDMA devices."""

    key = "queue pairs"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._logs = Path(machine.options.get("pod_logs", str(LOGS)))
        self._kernel: Kernel | None = None

    def read(self) -> Reading:
        """Count the queue pairs of each pod on each device."""
        if self._kernel is None:
            assert self._machine.open_kernel is not None
            self._kernel = self._machine.open_kernel()
        indexes = read_device_indexes(self._kernel)
        if isinstance(indexes, Missing):
            return Reading(faults=(indexes,), state=State.NO_DATA)
        counted, faults = self._counted(self._kernel, indexes)
        known = pod_names(self._logs)
        samples = [
            Sample(rows.QUEUE_PAIRS, (*known.get(uid, ("", "")), uid, device), float(count))
            for (uid, device), count in counted.items()
        ]
        return Reading(samples=samples, faults=faults)

    def _counted(self, kernel: Kernel, indexes: dict[str, int]) -> tuple[Counter[tuple[str, str]], list[Missing]]:
        counted: Counter[tuple[str, str]] = Counter()
        faults: list[Missing] = []
        pods: dict[int, str | None] = {}
        for device, index in indexes.items():
            pairs = read_queue_pairs(kernel, index, device)
            if isinstance(pairs, Missing):
                faults.append(pairs)
                continue
            for process in (pair for pair in pairs if pair is not None):
                if process not in pods:
                    pods[process] = pod_uid(self._machine.tree, process)
                uid = pods[process]
                if uid is not None:
                    counted[uid, device] += 1
        return counted, faults

    def close(self) -> None:
        """Close the conversation."""
        close = getattr(self._kernel, "close", None)
        if close is not None:
            close()


class _Pods:
    """The kubelet, and RDMA netlink where it can be asked."""

    def __init__(self, machine: Machine) -> None:
        self._devices = _Devices(machine)
        self._pairs = _QueuePairs(machine) if machine.open_kernel is not None else None

    def targets(self) -> Sequence[Target] | Missing:
        """Return both."""
        return (self._devices, self._pairs) if self._pairs else (self._devices,)

    def close(self) -> None:
        """Close the conversation with the kernel."""
        if self._pairs:
            self._pairs.close()


COLLECTOR = Collector(
    id="pods",
    question="Which pod holds which GPU, NIC and queue pair?",
    open=_Pods,
    metrics=rows.ROWS,
    interval_seconds=15.0,
    deadline_seconds=5.0,
    default=False,
)
