"""Koordinator: GPUs and NICs allotted together, in an annotation; a Device object for each node says where they sit.

`scheduling.koordinator.sh/device-allocated` lists minors, for RDMA also PCI addresses and virtual functions; the Device
of the node joins PCIe switch, NUMA node and address. Source: koordinator-sh/koordinator apis/extension/device_share.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.gangs.pci_text import pci_address
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject, number_of, rows_of, text_of

ID = "koordinator"
_ANNOTATION = "scheduling.koordinator.sh/device-allocated"
_NODES = "devices.scheduling.koordinator.sh"
_KINDS = {"gpu": DeviceKind.GPU, "rdma": DeviceKind.NIC, "xpu": DeviceKind.NPU}


def _prepare(cluster: Cluster) -> Reader:
    nodes = {one.name: one for one in cluster.objects(_NODES)}

    def read(pod: KubeObject) -> Iterator[Device]:
        allotted = pod.annotated_json(_ANNOTATION)
        known = _known(nodes.get(pod.text("spec", "nodeName")))
        for name, rows in allotted.items() if isinstance(allotted, dict) else ():
            for row in rows_of(rows):
                kind = _KINDS.get(name, DeviceKind.OTHER)
                yield from _devices(kind, row, known.get((name, text_of(row.get("minor"))), {}))

    return read


def _known(node: KubeObject | None) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    rows = node.rows("spec", "devices") if node is not None else ()
    return {(text_of(row.get("type")), text_of(row.get("minor"))): row for row in rows}


def _devices(kind: DeviceKind, row: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[Device]:
    topology = known.get("topology")
    place = topology if isinstance(topology, dict) else {}
    numa = number_of(place.get("nodeID"), "nodeID")
    told = text_of(row.get("id")) or text_of(known.get("id"))
    physical = pci_address(text_of(place.get("busID"))) or pci_address(told)
    for address in _functions(row) or [physical]:
        yield Device(
            kind=kind,
            id=told or f"minor {text_of(row.get('minor'))}",
            source=ID,
            pci=address,
            pcie_switch=text_of(place.get("pcieID")),
            numa=numa if isinstance(numa, int) and numa >= 0 else None,
            healthy=known.get("health") if isinstance(known.get("health"), bool) else None,
        )


def _functions(row: Mapping[str, Any]) -> list[str | None]:
    extension = row.get("extension")
    rows = rows_of(extension.get("vfs")) if isinstance(extension, dict) else ()
    return [pci_address(text_of(one.get("busID"))) for one in rows]


SOURCE = DeviceSource(id=ID, title="Koordinator annotation and Device", order=31, prepare=_prepare)
