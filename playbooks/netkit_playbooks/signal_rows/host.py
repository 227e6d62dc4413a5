"""Signals of PCIe and GPUs."""

from __future__ import annotations

from netkit.catalogue import neighbours
from netkit.catalogue.metric_rows import ethtool, gpu, pcie
from netkit_playbooks.signals import Pick, Scope, Signal, grown, rated

_E = ethtool.COUNTERS
_THERMAL = {"reason": "thermal"}


def _xids(name: str, text: str, codes: str) -> Signal:
    # Codes are exported once they were seen: their growth would miss the first, often the only one.
    return Signal(id=name, text=text, series=gpu.XID_CODES, like={"xid": codes}, pick=Pick.SUM, otherwise=0.0)


SIGNALS = (
    rated(
        "pcie-stall",
        "share of seconds in which PCIe holds the NIC back for more than 30 % of the time",
        _E["pcie_outbound_stalled_seconds"],
    ),
    Signal(
        id="pcie-width-ratio",
        text="lanes in use as a share of what both ends have",
        series=pcie.WIDTH,
        per=pcie.MAX_WIDTH,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="pcie-nic-speed-ratio",
        text="PCIe speed of NICs as a share of what both ends can do",
        series=pcie.SPEED,
        equal={"kind": "nic"},
        per=pcie.MAX_SPEED,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="pcie-gpu-speed-ratio",
        text="the same of GPUs, which run an idle link slower to save power",
        series=pcie.SPEED,
        equal={"kind": "gpu"},
        per=pcie.MAX_SPEED,
        pick=Pick.SMALLEST,
    ),
    grown(
        "pcie-uncorrectable",
        "uncorrectable PCIe errors in an hour",
        pcie.ERRORS,
        "1h",
        equal={"severity": "uncorrectable"},
    ),
    grown(
        "pcie-correctable", "correctable PCIe errors in an hour", pcie.ERRORS, "1h", equal={"severity": "correctable"}
    ),
    grown("pcie-replays", "PCIe packets sent again by GPUs in an hour", gpu.REPLAYS, "1h"),
    grown("xid-hardware", "XIDs of the hardware in ten minutes", gpu.XIDS, "10m", equal={"class": "hardware"}),
    grown("xid-application", "XIDs of programs in ten minutes", gpu.XIDS, "10m", equal={"class": "application"}),
    _xids("xid-bus", "XIDs since boot that say the GPU fell off the bus (79)", "79"),
    _xids("xid-memory", "XIDs since boot about memory (48, 63, 64, 92, 94, 95)", "48|63|64|92|94|95"),
    _xids("xid-nvlink", "XIDs since boot about NVLink (74, 144 to 150)", "74|14[4-9]|150"),
    _xids("xid-gsp", "XIDs since boot about the GPU's own processor (119, 120, 143)", "119|120|143"),
    grown(
        "ecc-uncorrected",
        "memory errors in an hour that were not corrected",
        gpu.ECC,
        "1h",
        equal={"kind": "uncorrected"},
    ),
    Signal(id="remap-failed", text="1 where a row could not be replaced", series=gpu.REMAP_FAILED),
    Signal(id="remap-pending", text="1 where a row waits for a reset", series=gpu.REMAP_PENDING),
    Signal(id="gpus-lost", text="GPUs the driver lost", series=gpu.LOST, pick=Pick.SUM, otherwise=0.0, narrow=False),
    Signal(id="gpus-seen", text="GPUs the driver shows", series=gpu.INFO, pick=Pick.COUNT, otherwise=0.0, narrow=False),
    Signal(
        id="gpus-promised",
        text="GPUs that Kubernetes counts on this node",
        series=neighbours.GPU_CAPACITY,
        equal={"resource": "nvidia_com_gpu"},
    ),
    grown(
        "nvlink-crc", "NVLink CRC errors in ten minutes", gpu.NVLINK_ERRORS, "10m", like={"type": "crc_flit|crc_data"}
    ),
    grown(
        "nvlink-recoveries", "NVLink recoveries in ten minutes", gpu.NVLINK_ERRORS, "10m", equal={"type": "recovery"}
    ),
    Signal(
        id="nvlinks-up",
        text="NVLinks up, of the GPU with fewest",
        series=gpu.LINKS_UP,
        pick=Pick.SMALLEST,
        narrow=False,
    ),
    Signal(id="nvlinks-up-most", text="NVLinks up, of the GPU with most", series=gpu.LINKS_UP, narrow=False),
    Signal(
        id="fabric-ready",
        text="1 where every GPU may use NVSwitch, 0 where one may not",
        series=gpu.FABRIC,
        pick=Pick.SMALLEST,
        narrow=False,
    ),
    rated("throttle-thermal", "share of time clocks are held back by heat", gpu.THROTTLE_TIME, equal=_THERMAL),
    rated(
        "throttle-power", "share of time clocks are held back by power", gpu.THROTTLE_TIME, equal={"reason": "power"}
    ),
    rated(
        "throttle-thermal-least",
        "the same by heat, of the GPU of the node with least",
        gpu.THROTTLE_TIME,
        equal=_THERMAL,
        pick=Pick.SMALLEST,
        narrow=False,
    ),
    rated(
        "throttle-thermal-elsewhere",
        "the same by heat, of the worst GPU of other nodes",
        gpu.THROTTLE_TIME,
        equal=_THERMAL,
        scope=Scope.OTHERS,
    ),
    Signal(
        id="power-brake",
        text="GPUs whose clocks an outside signal holds back (power brake)",
        series=gpu.THROTTLED,
        equal={"reason": "hardware-power-brake"},
        pick=Pick.COUNT,
        otherwise=0.0,
    ),
)
