"""The host's side: mlnx_qos of MLNX_OFED or DOCA, and the ecn folder of its mlx5 driver.

None of it outlives a reboot. The driver gives lossless priorities a buffer of their own by itself, for this cable.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.held import traffic_class_of
from netkit.roce.qos import PRIORITIES
from netkit.roce.sizes import Sizes
from netkit.roce.snippet import Dialect


def emit(intent: FabricIntent, _sizes: Sizes) -> str:
    """Return the commands for every interface, and what jobs are to set."""
    lines = [line for name in intent.host_interfaces for line in _interface(intent, name)]
    return "".join(f"{line}\n" for line in (*lines, *_jobs(intent)))


def _interface(intent: FabricIntent, name: str) -> Iterator[str]:
    lossless = intent.lossless_priorities
    bits = ",".join(str(int(priority in lossless)) for priority in PRIORITIES)
    ecn = f"/sys/class/net/{name}/ecn"
    yield f"ip link set dev {name} mtu {intent.mtu_bytes}"
    yield f"mlnx_qos -i {name} --trust dscp"
    yield f"mlnx_qos -i {name} --pfc {bits} --cable_len {intent.cable_metres}"
    yield from (f"mlnx_qos -i {name} --dscp2prio set,{dscp},{own}" for dscp, own in intent.stated.items())
    for priority in lossless:
        yield f"echo 1 > {ecn}/roce_np/enable/{priority}"
        yield f"echo 1 > {ecn}/roce_rp/enable/{priority}"
    yield f"echo {intent.cnp_dscp} > {ecn}/roce_np/cnp_dscp"
    yield f"echo {intent.cnp_priority} > {ecn}/roce_np/cnp_802p_prio"


def _jobs(intent: FabricIntent) -> Iterator[str]:
    for dscp, priority in sorted(intent.lossless.items()):
        yield f"# jobs on DSCP {dscp} (priority {priority}): NCCL_IB_TC={traffic_class_of(dscp)}"


DIALECT = Dialect(
    id="host",
    title="Host with NVIDIA NICs",
    source="mlnx_qos of DOCA; Documentation of mlx5's ecn attributes",
    emit=emit,
    comment="#",
)
