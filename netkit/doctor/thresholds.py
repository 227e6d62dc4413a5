"""The numbers rules compare with, in one place. Each says where it comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Defaults hold on the healthy machines netkit was tried on; a fleet may set its own."""

    smallest_read_request_bytes: int = 512
    """Below it a NIC cannot keep a Gen4 x16 link busy; the driver's default is 512."""
    roce_mtu_bytes: int = 4096
    roce_headers_bytes: int = 96
    """What the kernel takes off an interface's MTU (include/rdma/ib_addr.h, iboe_get_mtu): 4192 holds 4096."""
    slow_share: float = 0.5
    """A NIC below half the rate of the fastest is there for storage or administration."""
    pause_share: float = 0.01
    """Fraction of time a priority may be paused before somebody should look for the slow receiver."""
    most_lossless_priorities: int = 2
    flaps: int = 2
    """Kernel-log link losses of one interface in one boot that are still called an accident."""
    retransmissions_per_second: float = 1.0
    nccl_chunk_bytes: int = 1 << 20
    """From here on NCCL_CHUNK_SIZE corrupts data (NVIDIA/nccl issues 2408, 2409)."""
    most_hcas: int = 32
    """MAX_IB_DEVS of NCCL."""
    hot_module_celsius: float = 70.0
    """Where the module states no limit of its own: the case limit of commercial optics (SFF-8636, CMIS)."""
