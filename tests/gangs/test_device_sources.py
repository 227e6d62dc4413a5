"""Where devices of a pod are named, in every documented form, and which source is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from netkit.gangs.alignment import misaligned
from netkit.gangs.cluster import Cluster
from netkit.gangs.device_sources import device_sources
from netkit.gangs.devices import devices_of
from netkit.model.gang import Device, DeviceKind
from tests.gangs.synthetic_cluster import Body, pod, snapshot, thing

GPU_A, GPU_B = "GPU-aaaaaaaa-0000-0000-0000-000000000001", "GPU-aaaaaaaa-0000-0000-0000-000000000002"


def devices(*bodies: Body) -> tuple[Device, ...]:
    """Devices of the first pod among objects."""
    cluster = Cluster(snapshot(*bodies))
    return devices_of(cluster.pods[0], [source.prepare(cluster) for source in device_sources()])


def shown(found: tuple[Device, ...]) -> list[tuple[Any, ...]]:
    return [(one.source, one.kind.value, one.id, one.pci, one.numa, one.rdma, one.container) for one in found]


def annotated(**annotations: str) -> Body:
    keys = {key.replace("__", "/").replace("_o_", "."): value for key, value in annotations.items()}
    return pod("p-0", node="n0", annotations=keys, spec={"containers": [{"name": "a"}, {"name": "b"}]})


def status_of(resource: str, *ids: str) -> Body:
    rows = [{"resourceID": one, "health": "Healthy"} for one in ids]
    allotted = [{"name": resource, "resources": rows}]
    return pod("p-0", node="n0", status={"containerStatuses": [{"name": "main", "allocatedResourcesStatus": allotted}]})


HAMI = f"{GPU_A},NVIDIA,20000,30:;{GPU_B},NVIDIA,20000,30:;"
MULTUS = [
    {"name": "default/cni", "interface": "eth0", "default": True},
    {
        "name": "ns/rail0",
        "interface": "net1",
        "device-info": {"type": "pci", "pci": {"pci-address": "0000:18:00.2", "rdma-device": "mlx5_7,mlx5_8"}},
    },
    {"name": "ns/macvlan", "interface": "net2"},
]
ASCEND = {
    "pod_name": "p-0",
    "server_id": "10.0.0.5",
    "devices": [{"device_id": "3", "device_ip": "192.168.100.1"}],
}

CASES: dict[str, tuple[Body, list[tuple[Any, ...]]]] = {
    "kubelet-gpu": (status_of("nvidia.com/gpu", GPU_A), [("status_fields", "gpu", GPU_A, None, None, "", "main")]),
    "time-sliced": (
        status_of("nvidia.com/gpu", f"{GPU_A}::2"),
        [("status_fields", "gpu", GPU_A, None, None, "", "main")],
    ),
    "amd-bdf": (
        status_of("amd.com/gpu", "0000:c1:00.0"),
        [("status_fields", "gpu", "0000:c1:00.0", "0000:c1:00.0", None, "", "main")],
    ),
    "sriov-vf": (
        status_of("nvidia.com/sriov_rdma", "0000:18:00.2"),
        [("status_fields", "nic", "0000:18:00.2", "0000:18:00.2", None, "", "main")],
    ),
    "rdma-shared": (status_of("rdma/hca_shared", "0", "17"), []),
    "claims-are-told-by-claims": (status_of("nvidia.com/gpu", "claim:c/gpu"), []),
    "hami-nvidia": (
        annotated(**{"hami.io/vgpu-devices-allocated": HAMI}),
        [("hami", "gpu", GPU_A, None, None, "", "a"), ("hami", "gpu", GPU_B, None, None, "", "b")],
    ),
    "hami-mig": (
        annotated(**{"hami.io/vgpu-devices-allocated": f"{GPU_A}[0-1],NVIDIA,10000,0:;"}),
        [("hami", "gpu", f"{GPU_A}[0-1]", None, None, "", "a")],
    ),
    "hami-mlu": (
        annotated(**{"hami.io/cambricon-mlu-devices-allocated": "MLU-1,MLU,1024,10:;"}),
        [("hami", "gpu", "MLU-1", None, None, "", "a")],
    ),
    "hami-ascend": (
        annotated(**{"hami.io/Ascend910B4-devices-allocated": "uuid-9,Ascend910B4,1024,10:;"}),
        [("hami", "npu", "uuid-9", None, None, "", "a")],
    ),
    "hami-kunlun": (
        annotated(**{"hami.io/kunlun-allocated": "K-1,kunlun,1,1:;"}),
        [("hami", "npu", "K-1", None, None, "", "a")],
    ),
    "volcano-vgpu": (
        annotated(**{"volcano.sh/vgpu-ids-new": f"{GPU_A},NVIDIA,1000,10:;"}),
        [("volcano", "gpu", GPU_A, None, None, "", "a")],
    ),
    "volcano-gpu-index": (
        annotated(**{"volcano.sh/gpu-index": "0, 3"}),
        [("volcano", "gpu", "index 0", None, None, "", ""), ("volcano", "gpu", "index 3", None, None, "", "")],
    ),
    "gpushare": (
        annotated(ALIYUN_COM_GPU_MEM_IDX="2"),
        [("gpushare", "gpu", "index 2", None, None, "", "")],
    ),
    "ascend-910": (
        annotated(**{"ascend.kubectl.kubernetes.io/ascend-910-configuration": json.dumps(ASCEND)}),
        [("ascend", "npu", "npu3", None, None, "", ""), ("ascend", "nic", "192.168.100.1", None, None, "", "")],
    ),
    "ascend-real": (
        annotated(**{"huawei.com/AscendReal": "Ascend910-0,Ascend910-5"}),
        [("ascend", "npu", "npu0", None, None, "", ""), ("ascend", "npu", "npu5", None, None, "", "")],
    ),
    "sriov-network-status": (
        annotated(**{"k8s.v1.cni.cncf.io/network-status": json.dumps(MULTUS)}),
        [
            ("multus", "nic", "0000:18:00.2", "0000:18:00.2", None, "mlx5_7", ""),
            ("multus", "nic", "net2", None, None, "", ""),
        ],
    ),
    "no-json": (annotated(**{"k8s.v1.cni.cncf.io/network-status": "[{"}), []),
    "another-shape": (annotated(**{"scheduling.koordinator.sh/device-allocated": '["gpu"]'}), []),
    "empty-text": (annotated(**{"hami.io/vgpu-devices-allocated": ":;:;"}), []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_form_is_read(name: str) -> None:
    """Each documented form yields its devices; what names no device yields none."""
    body, wanted = CASES[name]
    assert shown(devices(body)) == wanted


def koordinator(*nics: int) -> tuple[Body, ...]:
    """A pod with GPU 0 and some NICs; on its node three NICs sit below the GPU's switch, the rest elsewhere."""
    allotted = {"gpu": [{"minor": 0}], "rdma": [{"minor": nic, "id": f"0000:{nic + 9:02x}:00.0"} for nic in nics]}
    rows = [
        {
            "type": "gpu",
            "minor": 0,
            "id": GPU_A,
            "health": True,
            "topology": {"nodeID": 0, "pcieID": "s0", "busID": "0000:08:00.0"},
        },
        *(
            {
                "type": "rdma",
                "minor": nic,
                "id": f"0000:{nic + 9:02x}:00.0",
                "topology": {"nodeID": 0, "pcieID": f"s{max(0, nic - 2)}"},
            }
            for nic in range(10)
        ),
    ]
    node = thing(
        "scheduling.koordinator.sh/v1alpha1", "Device", "n0", spec={"devices": rows}, metadata={"namespace": ""}
    )
    key = "scheduling.koordinator.sh/device-allocated"
    return pod("p-0", node="n0", annotations={key: json.dumps(allotted)}), node


def test_koordinator_joins_what_the_node_says() -> None:
    """A joint allotment becomes a GPU and a NIC with switch, NUMA node and address, and they are aligned."""
    gpu, nic = devices(*koordinator(1))
    assert (gpu.id, gpu.pci, gpu.pcie_switch, gpu.numa) == (GPU_A, "0000:08:00.0", "s0", 0)
    assert (nic.pci, nic.pcie_switch) == ("0000:0a:00.0", "s0")
    assert list(misaligned((gpu, nic))) == []


def test_same_numa_and_another_switch_is_found_from_the_api_alone() -> None:
    """Several NICs sit below the first switch: counting NICs up gives GPU 0 one of another."""
    (found,) = misaligned(devices(*koordinator(5)))
    assert (found.by, found.same_numa, found.gpu.id) == ("PCIe switch", True, GPU_A)


def dra(nic_root: str, version: str = "v1", generation: int = 2) -> tuple[Body, ...]:
    """A claim for a GPU and a NIC, slices of two generations; the older one would align everything."""

    def device(name: str, **attributes: Any) -> Body:
        inner = {"attributes": {key.replace("__", "/"): value for key, value in attributes.items()}}
        return {"name": name, "basic": inner} if version == "v1beta1" else {"name": name, **inner}

    def slices(driver: str, number: int, *rows: Body) -> Body:
        spec = {"driver": driver, "pool": {"name": "n0", "generation": number}, "devices": list(rows)}
        return thing(
            f"resource.k8s.io/{version}", "ResourceSlice", f"{driver}-{number}", spec=spec, metadata={"namespace": ""}
        )

    results = [
        {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n0", "device": "gpu-0"},
        {"request": "nic", "driver": "dra.net", "pool": "n0", "device": "net-1"},
    ]
    network = [{"driver": "dra.net", "pool": "n0", "device": "net-1", "networkData": {"interfaceName": "eth7"}}]
    claim = thing(
        f"resource.k8s.io/{version}",
        "ResourceClaim",
        "p-0-claim",
        status={"allocation": {"devices": {"results": results}}, "devices": network},
    )
    root = "resource.kubernetes.io/pcieRoot"
    gpu = device(
        "gpu-0",
        uuid={"string": GPU_A},
        pciBusID={"string": "0000:08:00.0"},
        numaNode={"int": 1},
        **{root: {"string": "pci0000:00"}},
    )
    nic = device(
        "net-1",
        **{"dra.net/rdmaDevice": {"string": "mlx5_3"}, "dra.net/numaNode": {"int": 1}, root: {"string": nic_root}},
    )
    old = device("net-1", **{root: {"string": "pci0000:00"}, "dra.net/rdma": {"bool": True}})
    holder = pod(
        "p-0",
        node="n0",
        spec={"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}], "containers": [{"name": "main"}]},
        status={"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "p-0-claim"}]},
    )
    return (
        holder,
        claim,
        slices("gpu.nvidia.com", 1, gpu),
        slices("dra.net", generation, nic),
        slices("dra.net", generation - 1, old),
    )


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(("root", "found"), [("pci0000:00", 0), ("pci0000:40", 1)])
def test_claims_name_gpu_and_nic_with_their_roots(version: str, root: str, found: int) -> None:
    """DRA, aligned and misaligned, new and old shape; only the newest generation of a pool counts."""
    gpu, nic = devices(*dra(root, version))
    assert (gpu.kind, gpu.id, gpu.pci, gpu.numa) == (DeviceKind.GPU, GPU_A, "0000:08:00.0", 1)
    assert (nic.kind, nic.rdma, nic.interface, nic.pcie_root) == (DeviceKind.NIC, "mlx5_3", "eth7", root)
    assert len(list(misaligned((gpu, nic)))) == found


def test_katalyst_names_the_consumer() -> None:
    """The node resource lists NIC and GPU by NUMA node with the pod that holds them."""
    zone = [
        {
            "type": "Socket",
            "name": "0",
            "children": [
                {
                    "type": "Numa",
                    "name": "1",
                    "children": [
                        {"type": "NIC", "name": "eth4", "allocations": [{"consumer": "team-a/p-0/uid-of-p-0"}]},
                        {"type": "GPU", "name": "0000:08:00.0", "allocations": [{"consumer": "team-a/other/u"}]},
                    ],
                }
            ],
        }
    ]
    node = thing(
        "node.katalyst.kubewharf.io/v1alpha1",
        "CustomNodeResource",
        "n0",
        status={"topologyZone": zone},
        metadata={"namespace": ""},
    )
    (nic,) = devices(pod("p-0", node="n0"), node)
    assert (nic.kind, nic.interface, nic.numa) == (DeviceKind.NIC, "eth4", 1)


def test_every_source_is_named_as_its_file_and_has_a_form() -> None:
    """A source without a form that it reads is nothing; ids are file names."""
    read = {row[0] for _, rows in CASES.values() for row in rows} | {"koordinator", "dra", "katalyst"}
    assert {source.id for source in device_sources()} == read
    for source in device_sources():
        assert source.prepare.__module__ == f"netkit.gangs.device_sources.{source.id}"
        assert source.title


def test_the_kubelet_is_believed_before_an_annotation() -> None:
    """A stale annotation cannot change which GPU it is; it may add what it knows of the same device."""
    body = status_of("nvidia.com/gpu", GPU_B)
    body["metadata"]["annotations"] = {"hami.io/vgpu-devices-allocated": HAMI}
    node = thing(
        "v1",
        "Node",
        "n0",
        metadata={
            "namespace": "",
            "annotations": {"hami.io/node-nvidia-register": json.dumps([{"id": GPU_B, "numa": 1}])},
        },
    )
    (gpu,) = devices(body, node)
    assert (gpu.source, gpu.id, gpu.numa, gpu.healthy) == ("status_fields", GPU_B, 1, True)


def test_an_unknown_place_is_not_judged() -> None:
    """A NIC whose switch nobody tells may be the near one."""
    gpu = Device(kind=DeviceKind.GPU, id="g", source="x", pcie_switch="s0")
    far = Device(kind=DeviceKind.NIC, id="n", source="x", pcie_switch="s1")
    unknown = Device(kind=DeviceKind.NIC, id="m", source="x")
    assert len(list(misaligned((gpu, far)))) == 1
    assert list(misaligned((gpu, far, unknown))) == []
    assert list(misaligned((gpu,))) == []
