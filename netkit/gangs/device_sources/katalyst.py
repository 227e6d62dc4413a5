"""Katalyst: NICs and GPUs of a node by NUMA node, with the pods that hold them, in CustomNodeResource.

`status.topologyZone` nests Socket, Numa, GPU and NIC zones; an allocation's consumer is namespace/name/uid.
Source: kubewharf/katalyst-api pkg/apis/node/v1alpha1/types.go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.gangs.pci_text import pci_address
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject, rows_of, text_of

ID = "katalyst"
_NODES = "customnoderesources.node.katalyst.kubewharf.io"
_KINDS = {"GPU": DeviceKind.GPU, "NIC": DeviceKind.NIC}
_DEEPEST = 8

Held = dict[str, list[Device]]


def _prepare(cluster: Cluster) -> Reader:
    held: Held = defaultdict(list)
    for node in cluster.objects(_NODES):
        _walk(node.rows("status", "topologyZone"), None, held, 0)

    def read(pod: KubeObject) -> Iterator[Device]:
        yield from held.get(f"{pod.namespace}/{pod.name}/{pod.uid}", ())

    return read


def _walk(zones: Sequence[Mapping[str, Any]], numa: int | None, held: Held, depth: int) -> None:
    for zone in zones if depth < _DEEPEST else ():
        kind, name = text_of(zone.get("type")), text_of(zone.get("name"))
        inside = int(name) if kind == "Numa" and name.isascii() and name.isdigit() else numa
        if kind in _KINDS:
            for allocation in rows_of(zone.get("allocations")):
                held[text_of(allocation.get("consumer"))].append(_device(_KINDS[kind], name, inside, zone))
        _walk(rows_of(zone.get("children")), inside, held, depth + 1)


def _device(kind: DeviceKind, name: str, numa: int | None, zone: Mapping[str, Any]) -> Device:
    attributes = {text_of(row.get("name")): text_of(row.get("value")) for row in rows_of(zone.get("attributes"))}
    address = next((found for value in (name, *attributes.values()) if (found := pci_address(value))), None)
    interface = name if kind is DeviceKind.NIC and address != name else ""
    return Device(kind=kind, id=name, source=ID, pci=address, numa=numa, interface=interface)


SOURCE = DeviceSource(id=ID, title="Katalyst node resource", order=36, prepare=_prepare)
