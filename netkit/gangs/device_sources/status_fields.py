"""Devices the kubelet confirms in `status.containerStatuses[].allocatedResourcesStatus` (KEP-4680).

Ids are those of the device plug-in: a GPU or MIG UUID, the PCI address of an AMD GPU or a virtual function, and for
claims `claim:<claim>/<request>`, which the claim itself tells better. Absent before 1.36, or with the gate off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.gangs.pci_text import pci_address
from netkit.gangs.requests import kind_of_resource
from netkit.model.gang import Device
from netkit.model.kube_object import KubeObject, rows_of, text_of

ID = "status_fields"


def _prepare(_cluster: Cluster) -> Reader:
    return _read


def _read(pod: KubeObject) -> Iterator[Device]:
    for status in pod.rows("status", "containerStatuses"):
        for resource in rows_of(status.get("allocatedResourcesStatus")):
            yield from _devices(resource, text_of(status.get("name")))


def _devices(resource: Mapping[str, Any], container: str) -> Iterator[Device]:
    name = text_of(resource.get("name"))
    kind = kind_of_resource(name)
    # The shared RDMA plug-in numbers shares, not devices: every HCA of the pool is in the pod.
    if kind is None or name.startswith("rdma/"):
        return
    for row in rows_of(resource.get("resources")):
        told = text_of(row.get("resourceID"))
        if told and not told.startswith("claim:"):
            yield Device(
                kind=kind,
                id=told.partition("::")[0],
                source=ID,
                container=container,
                resource=name,
                pci=pci_address(told),
                healthy={"Healthy": True, "Unhealthy": False}.get(text_of(row.get("health"))),
            )


SOURCE = DeviceSource(id=ID, title="status of the pod (kubelet)", order=10, prepare=_prepare)
