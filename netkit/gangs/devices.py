"""Which devices a pod holds: sources asked in order, from what the kubelet confirms to what a scheduler once wrote.

The first source that names devices of a kind is believed for that kind; later ones only add what they know of the same
device (by PCI address or id). A resource that is only counted (`rdma/<pool>`) names no device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from netkit.gangs.cluster import Cluster
from netkit.model.gang import Device, DeviceKind, Gang, Member
from netkit.model.kube_object import KubeObject

Reader = Callable[[KubeObject], Iterable[Device]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSource:
    """One family of places where devices are named; `prepare` indexes a cluster once and returns the reader of pods."""

    id: str
    title: str
    order: int
    prepare: Callable[[Cluster], Reader]


def with_devices(gangs: Sequence[Gang], cluster: Cluster, sources: Sequence[DeviceSource]) -> tuple[Gang, ...]:
    """Return gangs whose members know their devices."""
    readers = [source.prepare(cluster) for source in sorted(sources, key=lambda source: source.order)]
    pods = {(pod.namespace, pod.name, pod.uid): pod for pod in cluster.pods}

    def held(member: Member) -> Member:
        pod = pods.get((member.namespace, member.pod, member.uid))
        return replace(member, devices=devices_of(pod, readers)) if pod is not None else member

    return tuple(replace(gang, members=tuple(map(held, gang.members))) for gang in gangs)


def devices_of(pod: KubeObject, readers: Sequence[Reader]) -> tuple[Device, ...]:
    """Return the devices of a pod, each once."""
    believed: list[Device] = []
    for reader in readers:
        told = list(reader(pod))
        if not told:
            continue
        known = {device.kind for device in believed}
        believed = [_completed(device, told) for device in believed]
        believed += [device for device in _unique(told) if device.kind not in known]
    return tuple(believed)


def same_device(one: Device, other: Device) -> bool:
    """Tell whether two sources name one device."""
    if one.kind is not other.kind:
        return False
    return (one.pci is not None and one.pci == other.pci) or (one.id == other.id and one.id != "")


def _completed(device: Device, told: Sequence[Device]) -> Device:
    match = next((other for other in told if same_device(device, other)), None)
    if match is None:
        return device
    return replace(
        device,
        pci=device.pci or match.pci,
        pcie_root=device.pcie_root or match.pcie_root,
        pcie_switch=device.pcie_switch or match.pcie_switch,
        numa=match.numa if device.numa is None else device.numa,
        rdma=device.rdma or match.rdma,
        interface=device.interface or match.interface,
        healthy=match.healthy if device.healthy is None else device.healthy,
    )


def _unique(told: Sequence[Device]) -> list[Device]:
    found: list[Device] = []
    seen: set[tuple[DeviceKind, str | None]] = set()
    for device in told:
        names = {(device.kind, name) for name in (device.id or None, device.pci) if name}
        if not names & seen:
            found.append(device)
        seen |= names
    return found


def device_sources_of(devices: Sequence[Device], *kinds: DeviceKind) -> tuple[str, ...]:
    """Return who names devices of these kinds, nothing unless there is a device of each kind."""
    found = {kind: [device.source for device in devices if device.kind is kind] for kind in kinds}
    return tuple(sources[0] for sources in found.values()) if all(found.values()) else ()
