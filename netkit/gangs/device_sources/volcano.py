"""Volcano: parts of GPUs in `volcano.sh/vgpu-ids-new`, shared GPUs by index in `volcano.sh/gpu-index`.

Source: volcano-sh/volcano pkg/scheduler/api/devices.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.gangs.vgpu_text import slices
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject, text_of

ID = "volcano"


def _prepare(_cluster: Cluster) -> Reader:
    return _read


def _read(pod: KubeObject) -> Iterator[Device]:
    names = [text_of(row.get("name")) for row in pod.rows("spec", "containers")]
    for part in slices(pod.annotation("volcano.sh/vgpu-ids-new")):
        container = names[part.container] if part.container < len(names) else ""
        yield Device(kind=DeviceKind.GPU, id=part.id, source=ID, container=container, resource=part.type)
    for index in filter(str.isdigit, pod.annotation("volcano.sh/gpu-index").replace(" ", "").split(",")):
        yield Device(kind=DeviceKind.GPU, id=f"index {index}", source=ID, resource="volcano.sh/gpu-memory")


SOURCE = DeviceSource(id=ID, title="Volcano annotations", order=33, prepare=_prepare)
