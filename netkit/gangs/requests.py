"""Devices that pods ask for: extended resources of GPU, NPU and RDMA plug-ins, and resource claims."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from netkit.model.gang import DeviceKind
from netkit.model.kube_object import KubeObject, number_of
from netkit.model.missing import Missing

_KINDS = (
    (
        DeviceKind.NPU,
        re.compile(
            r"huawei\.com/Ascend\w+|huawei\.com/npu.*|habana\.ai/gaudi|google\.com/tpu|aws\.amazon\.com/neuron\w*"
        ),
    ),
    (
        DeviceKind.GPU,
        re.compile(
            r"(?:nvidia|amd|metax-tech|mthreads|enflame|hygon|iluvatar|biren)\.com/(?:gpu|mig-.*|gcu|dcu\w*|sgpu|vgpu)"
            r"|koordinator\.sh/gpu.*|volcano\.sh/(?:vgpu-number|gpu-number)|aliyun\.com/gpu-.*|cambricon\.com/\w*mlu.*"
            r"|gpu\.intel\.com/\w+|iluvatar\.ai/.*"
        ),
    ),
    (
        DeviceKind.NIC,
        re.compile(
            r"rdma/.*|koordinator\.sh/rdma|[\w.-]*/(?:\w*(?:rdma|sriov|roce|hca|ibvf|mlnx|mlx5|vf)\w*)(?:[-_.]\w+)*|vpc\.amazonaws\.com/efa"
        ),
    ),
)


@lru_cache(maxsize=4096)
def kind_of_resource(name: str) -> DeviceKind | None:
    """Return what kind of device a resource is, None for one that is no device, such as cpu or memory."""
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(name)), None)


def requests(pod: KubeObject) -> Iterator[tuple[str, DeviceKind, int]]:
    """Yield each device resource a pod asks for, its kind, and the number over all containers."""
    totals: dict[str, int] = {}
    for container in pod.rows("spec", "containers"):
        asked = KubeObject("", container).fields("resources", "limits") or KubeObject("", container).fields(
            "resources", "requests"
        )
        for name, written in asked.items():
            count = number_of(written, name)
            if not isinstance(count, Missing):
                totals[name] = totals.get(name, 0) + count
    for name, count in totals.items():
        kind = kind_of_resource(name)
        if kind is not None and count:
            yield name, kind, count


def asks_for_devices(pod: KubeObject) -> bool:
    """Tell whether a pod asks for any device: plug-in resources or resource claims."""
    return next(requests(pod), None) is not None or bool(pod.rows("spec", "resourceClaims"))
