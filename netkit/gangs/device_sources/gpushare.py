"""GPUShare of Alibaba: the index of a GPU on its node, in `ALIYUN_COM_GPU_MEM_IDX`.

Source: AliyunContainerService/gpushare-scheduler-extender pkg/utils/const.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject

ID = "gpushare"


def _prepare(_cluster: Cluster) -> Reader:
    return _read


def _read(pod: KubeObject) -> Iterator[Device]:
    for index in pod.annotation("ALIYUN_COM_GPU_MEM_IDX").replace(" ", "").split(","):
        if index.isascii() and index.isdigit():
            yield Device(kind=DeviceKind.GPU, id=f"index {index}", source=ID, resource="aliyun.com/gpu-mem")


SOURCE = DeviceSource(id=ID, title="GPUShare annotation", order=34, prepare=_prepare)
