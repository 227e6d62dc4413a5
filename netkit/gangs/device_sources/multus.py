"""Multus: interfaces of a pod in `k8s.v1.cni.cncf.io/network-status`, with PCI address and RDMA device where told.

`device-info` is there only if the CNI plug-in writes a device-info file; `rdma-device` may be a list with commas.
Source: k8snetworkplumbingwg/network-attachment-definition-client pkg/apis/k8s.cni.cncf.io/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.gangs.pci_text import pci_address
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject, embedded_json, rows_of, text_of

ID = "multus"
_STATUS = ("k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status")


def _prepare(_cluster: Cluster) -> Reader:
    return _read


def _read(pod: KubeObject) -> Iterator[Device]:
    text = pod.annotation(*_STATUS)
    for row in rows_of(embedded_json(text, f"{pod} annotation {_STATUS[0]}")) if text else ():
        if row.get("default") is not True:
            yield _device(row)


def _device(row: Mapping[str, Any]) -> Device:
    info = row.get("device-info")
    pci = info.get("pci") if isinstance(info, dict) else None
    told = pci if isinstance(pci, dict) else {}
    interface = text_of(row.get("interface"))
    return Device(
        kind=DeviceKind.NIC,
        id=text_of(told.get("pci-address")) or interface or text_of(row.get("name")),
        source=ID,
        resource=text_of(row.get("name")),
        pci=pci_address(text_of(told.get("pci-address"))),
        rdma=text_of(told.get("rdma-device")).partition(",")[0],
        interface=interface,
    )


SOURCE = DeviceSource(id=ID, title="Multus network status", order=40, prepare=_prepare)
