"""Ascend device plug-in: NPUs, and in one annotation the address of the RoCE port of each.

`ascend.kubectl.kubernetes.io/ascend-910-configuration` (older prefix `atlas.`) holds device_id and device_ip, which is
the NPU's own NIC; `huawei.com/AscendReal` and `huawei.com/Ascend910` list devices only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject, rows_of, text_of

ID = "ascend"
_TABLES = tuple(
    f"{prefix}.kubectl.kubernetes.io/ascend-{chip}-configuration"
    for prefix in ("ascend", "atlas")
    for chip in ("910", "310P")
)
_LISTS = ("huawei.com/AscendReal", "huawei.com/Ascend910", "huawei.com/Ascend310P", "huawei.com/kltDev")
_NAME = re.compile(r"Ascend[\w.]*?-?(\d+)")


def _prepare(_cluster: Cluster) -> Reader:
    return _read


def _read(pod: KubeObject) -> Iterator[Device]:
    tables = [pod.annotated_json(key) for key in _TABLES if pod.annotation(key)]
    for table in tables:
        for row in rows_of(table.get("devices")) if isinstance(table, dict) else ():
            yield from _with_port(text_of(row.get("device_id")), text_of(row.get("device_ip")))
    if not tables:
        yield from _listed(pod.annotation(*_LISTS))


def _with_port(number: str, address: str) -> Iterator[Device]:
    if number:
        yield Device(kind=DeviceKind.NPU, id=f"npu{number}", source=ID, pcie_switch=f"npu{number}")
    if number and address:
        # The port sits on the NPU itself: nothing lies between them.
        yield Device(kind=DeviceKind.NIC, id=address, source=ID, interface=address, pcie_switch=f"npu{number}")


def _listed(names: str) -> Iterator[Device]:
    for name in names.split(","):
        match = _NAME.fullmatch(name.strip())
        if match:
            yield Device(kind=DeviceKind.NPU, id=f"npu{match[1]}", source=ID)


SOURCE = DeviceSource(id=ID, title="Ascend annotations", order=35, prepare=_prepare)
