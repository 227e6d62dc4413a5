"""What vendors publish for communication libraries on their machines: values by variable, each with its source.

They contradict each other, and all of them may be right on their own fabric: whoever shows one shows the others too.
`products` are beginnings of what DMI calls the machine; `platforms` are ids of `netkit.catalogue.platforms`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorProfile:
    """One vendor's published settings for one kind of machine.

    A profile without `platforms` and `products` has no mark that tells its machines from the vendor's others: it is
    shown beside other values and never proposed.
    """

    id: str
    name: str
    source: str
    settings: Mapping[str, str]
    platforms: tuple[str, ...] = ()
    products: tuple[str, ...] = ()


_OCI = "oracle-quickstart/oci-hpc"
_AWS = "aws/aws-ofi-nccl, src/platform-aws.cpp"
_AWS_ALL = {"NCCL_BUFFSIZE": "8388608", "NCCL_P2P_NET_CHUNKSIZE": "524288"}
_AWS_P5 = _AWS_ALL | {
    "NCCL_NVLSTREE_MAX_CHUNKSIZE": "524288",
    "NCCL_NVLS_CHUNKSIZE": "524288",
    "NCCL_NET_FORCE_FLUSH": "0",
}
_OCI_ALL = {
    "NCCL_IB_TC": "41",
    "NCCL_IB_SL": "0",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_IB_SPLIT_DATA_ON_QPS": "0",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_CUMEM_ENABLE": "0",
    "NCCL_IGNORE_CPU_AFFINITY": "1",
}

PROFILES = (
    VendorProfile(
        id="aws-p4d",
        name="AWS p4d",
        source=_AWS,
        settings=_AWS_ALL,
        platforms=("aws-p4d",),
        products=("p4d.", "p4de."),
    ),
    VendorProfile(
        id="aws-p5", name="AWS p5", source=_AWS, settings=_AWS_P5, platforms=("aws-p5",), products=("p5.", "p5e.")
    ),
    VendorProfile(
        id="aws-p5en",
        name="AWS p5en, p6-b200",
        source=_AWS,
        settings=_AWS_P5 | {"NCCL_NETDEVS_POLICY": "max:1"},
        products=("p5en.", "p6-b200."),
    ),
    VendorProfile(
        id="azure-nd",
        name="Azure NDv4, NDv5",
        source="microsoft/superbenchmark; Azure/azurehpc-health-checks",
        settings={"NCCL_IB_PCI_RELAXED_ORDERING": "1", "NCCL_SOCKET_IFNAME": "eth0"},
        platforms=("azure-ndv4", "azure-ndv5"),
    ),
    VendorProfile(
        id="azure-gb300",
        name="Azure ND GB300 v6",
        source="Azure/AKS blog on DRA networking",
        settings={"NCCL_NET_GDR_LEVEL": "PHB", "NCCL_IB_DATA_DIRECT": "0"},
        platforms=("azure-gb300",),
    ),
    VendorProfile(
        id="gcp-gib",
        name="Google Cloud A3 Ultra, A4 (gIB)",
        source="Google Cloud gIB environment, published in public repositories",
        settings={
            "NCCL_NET": "gIB",
            "NCCL_CROSS_NIC": "0",
            "NCCL_NET_GDR_LEVEL": "PIX",
            "NCCL_P2P_NET_CHUNKSIZE": "131072",
            "NCCL_P2P_PCI_CHUNKSIZE": "131072",
            "NCCL_P2P_NVL_CHUNKSIZE": "524288",
            "NCCL_NVLS_CHUNKSIZE": "524288",
            "NCCL_IB_ADAPTIVE_ROUTING": "1",
            "NCCL_IB_QPS_PER_CONNECTION": "4",
            "NCCL_IB_TC": "52",
            "NCCL_IB_FIFO_TC": "84",
            "NCCL_IB_GID_INDEX": "3",
        },
    ),
    VendorProfile(
        id="oci-h100",
        name="OCI BM.GPU.H100 and newer",
        source=_OCI,
        settings=_OCI_ALL | {"NCCL_IB_QPS_PER_CONNECTION": "1"},
        platforms=("oci-h100", "oci-h200", "oci-b200", "oci-gb200"),
    ),
    VendorProfile(
        id="oci-a100",
        name="OCI A100",
        source=_OCI,
        settings=_OCI_ALL | {"NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_ALGO": "Ring"},
    ),
    VendorProfile(
        id="ibm-h100",
        name="IBM VPC H100",
        source="IBM Cloud VPC documents (NCCL 2.22.3)",
        settings={
            "NCCL_IB_QPS_PER_CONNECTION": "16",
            "NCCL_IB_ADAPTIVE_ROUTING": "1",
            "NCCL_IB_TIMEOUT": "22",
            "NCCL_IB_RETRY_CNT": "10",
            "NCCL_CROSS_NIC": "2",
            "NCCL_IB_PCI_RELAXED_ORDERING": "2",
            "NCCL_CHECKS_DISABLE": "1",
        },
    ),
    VendorProfile(
        id="amd-ainic",
        name="AMD AINIC (Pollara)",
        source="AMD documents for AINIC clusters",
        settings={
            "NCCL_IB_TC": "104",
            "NCCL_IB_FIFO_TC": "192",
            "NCCL_IB_GID_INDEX": "1",
            "NCCL_IB_QPS_PER_CONNECTION": "1",
            "NCCL_IB_USE_INLINE": "1",
            "NCCL_GDR_FLUSH_DISABLE": "1",
        },
        platforms=("mi300x",),
    ),
    VendorProfile(
        id="oci-mi300x",
        name="OCI MI300X with AINIC",
        source=_OCI,
        settings={"NCCL_IB_TC": "41", "NCCL_IB_FIFO_TC": "185"},
        platforms=("oci-mi300x",),
    ),
    VendorProfile(
        id="nvidia-spectrum",
        name="NVIDIA Cumulus and Onyx RoCE default",
        source="NVIDIA NVUE and Onyx documents: DSCP 26 on priority 3",
        settings={"NCCL_IB_TC": "106"},
    ),
    VendorProfile(
        id="ascend",
        name="Huawei Ascend (HCCL default)",
        source="hiascend.com, HCCL environment variables",
        settings={"HCCL_RDMA_TC": "132"},
        platforms=("ascend-910b",),
    ),
    VendorProfile(
        id="metax",
        name="MetaX MCCL guide",
        source="developer.metax-tech.com, document 869",
        settings={"MCCL_NET_GDR_LEVEL": "SYS", "MCCL_CROSS_NIC": "1"},
    ),
)


def published(variable: str) -> Iterator[tuple[VendorProfile, str]]:
    """Yield every profile that sets this variable, with its value."""
    for profile in PROFILES:
        if variable in profile.settings:
            yield profile, profile.settings[variable]


def profiles_for(platform: str | None, product: str | None) -> tuple[VendorProfile, ...]:
    """Return the profiles meant for a platform of the catalogue, or for what DMI calls the machine."""
    return tuple(
        one
        for one in PROFILES
        if (platform is not None and platform in one.platforms)
        or (product is not None and product.startswith(one.products))
    )
