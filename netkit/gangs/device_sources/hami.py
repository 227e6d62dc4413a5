"""HAMi: annotations `hami.io/<vendor>-devices-allocated` for NVIDIA, Cambricon, Hygon, Ascend and the rest.

NUMA nodes come from what nodes register. Source: Project-HAMi/HAMi pkg/device/*/device.go, pkg/util/types.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.gangs.pci_text import pci_address
from netkit.gangs.vgpu_text import slices
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject, number_of, rows_of, text_of

ID = "hami"
_ALLOTTED = re.compile(r"hami\.io/(?P<vendor>[\w.-]+?)(?:-devices)?-allocated")
_REGISTER = re.compile(r"hami\.io/node-(?:register-[\w.-]+|[\w.-]+-register)")
_NPU = re.compile(r"Ascend|neuron|xpu|kunlun", re.IGNORECASE)


def _prepare(cluster: Cluster) -> Reader:
    numa = _numa_nodes(cluster.objects("nodes"))

    def read(pod: KubeObject) -> Iterator[Device]:
        names = [text_of(row.get("name")) for row in pod.rows("spec", "containers")]
        for key in pod.annotations:
            match = _ALLOTTED.fullmatch(key)
            if match:
                yield from _devices(pod.annotation(key), match["vendor"], names, numa)

    return read


def _devices(text: str, vendor: str, containers: list[str], numa: Mapping[str, int]) -> Iterator[Device]:
    kind = DeviceKind.NPU if _NPU.search(vendor) else DeviceKind.GPU
    for part in slices(text):
        whole = part.id.partition("[")[0]
        yield Device(
            kind=kind,
            id=part.id,
            source=ID,
            container=containers[part.container] if part.container < len(containers) else "",
            resource=part.type,
            pci=pci_address(part.id),
            numa=numa.get(whole),
        )


def _numa_nodes(nodes: tuple[KubeObject, ...]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        for key in node.annotations:
            if _REGISTER.fullmatch(key):
                for row in rows_of(node.annotated_json(key)):
                    number = number_of(row.get("numa"), key)
                    if isinstance(number, int):
                        found[text_of(row.get("id"))] = number
    return found


SOURCE = DeviceSource(id=ID, title="HAMi annotations", order=32, prepare=_prepare)
