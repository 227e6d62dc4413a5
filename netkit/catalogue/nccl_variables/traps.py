"""What goes wrong with a variable although it is set as somebody's guide says.

NVIDIA NCCL user guide and source, public issues of NVIDIA/nccl; documents of vendors where they are named.
"""

from __future__ import annotations

from types import MappingProxyType

_ROWS = {
    "NCCL_IB_TC": (
        "it is the whole ToS byte: 106 is DSCP 26 with ECN-capable packets, 104 the same DSCP without (RFC 2474, 3168)",
        "cma_roce_tos does not reach NCCL, which connects without RDMA-CM: only this does (NCCL, src/transport/net_ib)",
        "mlx5 maps DSCP 24 to 31 to priority 3 only where DSCP is trusted; the tag is its default (NVIDIA mlnx_qos)",
        "the switch must map the DSCP to its lossless class too: netkit check qos --switch proves it",
    ),
    "NCCL_IB_FIFO_TC": (
        "a lower priority than the data's makes senders wait for credit; unset it follows NCCL_IB_TC (NCCL 2.22.3)",
    ),
    "NCCL_IB_GID_INDEX": (
        "rows move with addresses, interfaces and pods; NCCL finds the row by itself since 2.21 (nccl issue 890)",
        "inside pods the row of the host's table is often empty or another address (nccl issue 1538)",
    ),
    "NCCL_IB_HCA": (
        "names are prefixes: mlx5_1 also takes mlx5_10 to mlx5_19; a leading = takes them exactly, ^ leaves them out",
        "a name that matches nothing is skipped without a word; at most 32 ports are used (NCCL, src/transport/net_ib)",
    ),
    "NCCL_IB_QPS_PER_CONNECTION": (
        "a bond with one queue pair uses one of its ports (nccl issue 1015)",
        "fabrics of many paths need several flows, one path gains nothing by them; published values are 1, 4 and 16",
    ),
    "NCCL_IB_SPLIT_DATA_ON_QPS": (
        "0 sends whole messages over the pairs in turn, 1 cuts each of them; one pair makes it idle (nccl issue 1401)",
    ),
    "NCCL_IB_TIMEOUT": (
        "4.096 us x 2^value a try, times NCCL_IB_RETRY_CNT: 22 waits two minutes, 0 and 32 or more for ever",
        "longer than the framework's watchdog, the watchdog ends the job and nobody names the link",
    ),
    "NCCL_IB_PCI_RELAXED_ORDERING": ("it matters most in guests with ACS and ATS on (nccl issue 1205)",),
    "NCCL_NET_GDR_LEVEL": (
        "SYS hides a NIC of the other socket; a log that says PHB may mean a missing driver (nccl issue 489)",
    ),
    "NCCL_CROSS_NIC": ("0 breaks dual-port NICs that share a GUID (nccl issue 2097)",),
    "NCCL_CHUNK_SIZE": ("from 1 MiB on results are silently wrong, or Xid 31 (nccl issues 1496, 2408 and 2409)",),
    "NCCL_PROTO": ("naming LL128 forces it where the way to the NIC tears 128-byte stores: wrong data (user guide)",),
    "NCCL_TOPO_FILE": (
        "bus ids that are not here are ignored without a word; an empty value is no file (azurehpc-health-checks)",
        "unset, /var/run/nvidia-topologyd/virtualTopology.xml is read where it exists (NCCL, src/graph/xml.cc)",
    ),
    "NCCL_CONF_FILE": ("/etc/nccl.conf and ~/.nccl.conf count too: a stale one decides what the job does not set",),
    "NCCL_SOCKET_IFNAME": (
        "names are prefixes, = makes them exact; an interface other nodes cannot reach hangs the job at start",
    ),
    "NCCL_CUMEM_ENABLE": (
        "inside containers multi-node NVLink needs an IMEX channel device with it (k8s-dra-driver-gpu issue 892)",
    ),
    "NCCL_MNNVL_ENABLE": ("it needs IMEX and cuMem; from 44 ranks on health masks may differ (nccl issue 2186)",),
    "NCCL_IGNORE_NET_MISMATCH": ("since 2.30 nodes with fewer NICs are accepted: nobody hears of the missing one",),
    "NCCL_IB_DATA_DIRECT": ("ConnectX-8 uses the direct path by itself; Azure AKS switches it off on GB300",),
    "NCCL_IB_ADAPTIVE_ROUTING": ("1 without adaptive routing on NIC and switch reorders packets for nothing",),
    "NCCL_BUFFSIZE": ("it takes no K, M or G: NCCL reads the digits and drops the letter (NCCL, src/misc/param.cc)",),
    "NCCL_IB_MERGE_NICS": ("both ports of a NIC count as one: half the ports in the log is no fault",),
    "NCCL_NETDEVS_POLICY": ("known since 2.28: older versions ignore it without a word",),
    "NCCL_CHECKS_DISABLE": ("IBM's published settings still carry it, deprecated since 2.2.12",),
    "HCCL_RDMA_TC": ("it must be a multiple of 4: DSCP in the upper six bits (hiascend.com)",),
}
TRAPS = MappingProxyType(_ROWS)
"""Sentences by variable; what is not here has no trap that was published."""
