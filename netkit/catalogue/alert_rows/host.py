"""Alerts on the host: PCIe that stalls or came up short, GPUs that fail, vanish or slow down."""

from __future__ import annotations

from netkit.catalogue.alerts import DEVICE, MINUTE, NODE, Alert, Severity, Supply
from netkit.catalogue.metric_rows import ethtool, exporter, gpu, pcie
from netkit.catalogue.neighbours import GPU_CAPACITY
from netkit.catalogue.promql import increase, rate, select

_STALLED = ethtool.COUNTERS["pcie_outbound_stalled_seconds"]
_GPU = (*NODE, "pci_bus_id")
_EVENT = 1 / MINUTE
"""One event a minute, as growth a second."""
_NIC = {"kind": "nic"}
_CAPACITY = f"max by (cluster, node) ({select(GPU_CAPACITY, {'resource': 'nvidia_com_gpu'})})"
_SEEN = f"count by (cluster, node) ({gpu.INFO.name})"

ALERTS = (
    Alert(
        name="NicPcieStalled",
        component="host",
        severity=Severity.WARNING,
        condition=f"{rate(_STALLED, '5m')} > $limit",
        identity=(*DEVICE, "netdev", "operation"),
        limit=0.1,
        hold=10 * MINUTE,
        summary="PCIe stalls the NIC {{ $labels.node }} {{ $labels.device }}",
        description="{{ $value | humanizePercentage }} of seconds stall for more than 30 % ({{ $labels.operation }}).",
        action="Look at PCIe width, ordering and IOMMU of this NIC; the receiver is slow, not the fabric.",
        playbook="slow-receiver",
        dashboard="netkit-node",
        panel="PCIe stalls",
        source="Linux mlx5 counters.rst, outbound_pci_stalled_*_events; the number is netkit's own",
        trial=(Supply(series=_STALLED, quiet=0.095, firing=0.5),),
    ),
    Alert(
        name="PcieLinkDegraded",
        component="host",
        severity=Severity.CRITICAL,
        condition=(
            f"{pcie.WIDTH.name} < {pcie.MAX_WIDTH.name} or {select(pcie.SPEED, _NIC)} < {select(pcie.MAX_SPEED, _NIC)}"
        ),
        identity=(*_GPU, "kind"),
        hold=5 * MINUTE,
        summary="PCIe link of {{ $labels.kind }} {{ $labels.pci_bus_id }} on {{ $labels.node }} came up short",
        description="Lanes or speed are {{ $value | humanize }}, below what both ends can do. Idle GPUs may be slow.",
        action="Reseat the card or riser; a reboot trains the link again.",
        playbook="pcie-degraded",
        dashboard="netkit-gpu",
        panel="PCIe links below their width",
        source="sichek, tree speed and width",
        trial=(
            Supply(series=pcie.WIDTH, quiet=16.0, firing=8.0, labels=_NIC),
            Supply(series=pcie.MAX_WIDTH, quiet=16.0, firing=16.0, labels=_NIC),
            Supply(series=pcie.SPEED, quiet=32e9, firing=32e9, labels=_NIC),
            Supply(series=pcie.MAX_SPEED, quiet=32e9, firing=32e9, labels=_NIC),
        ),
    ),
    Alert(
        name="GpuXidHardware",
        component="gpu",
        severity=Severity.CRITICAL,
        condition=f"{increase(gpu.XIDS, '10m', **{'class': 'hardware'})} > 0",
        identity=_GPU,
        summary="GPU {{ $labels.pci_bus_id }} of {{ $labels.node }} reports a hardware fault",
        description="{{ $value | humanize }} XIDs in ten minutes; codes of user code do not count.",
        action="Read the code in the kernel log; drain the node for a reset or an exchange.",
        playbook="gpu-xid",
        dashboard="netkit-gpu",
        panel="XIDs by class",
        source="NVIDIA Xid catalogue; DCGM's gauge stays for ever and misses codes",
        requires="CAP_SYSLOG, to read the kernel log",
        trial=(Supply(series=gpu.XIDS, quiet=0.0, firing=_EVENT, labels={"class": "hardware"}),),
    ),
    Alert(
        name="GpuRowRemapFailure",
        component="gpu",
        severity=Severity.CRITICAL,
        condition=f"{gpu.REMAP_FAILED.name} > 0",
        identity=(*_GPU, "gpu"),
        summary="GPU {{ $labels.gpu }} of {{ $labels.node }} cannot replace a row of its memory",
        description="Its spare rows are used up: the GPU is to be exchanged.",
        action="Drain the node and have the GPU exchanged.",
        playbook="gpu-xid",
        dashboard="netkit-gpu",
        panel="Row remaps",
        source="NVIDIA GPU memory error management: failure means exchange",
        trial=(Supply(series=gpu.REMAP_FAILED, quiet=0.0, firing=1.0),),
    ),
    Alert(
        name="NvlinkErrors",
        component="gpu",
        severity=Severity.WARNING,
        condition=f"rate({select(gpu.NVLINK_ERRORS, like={'type': 'crc_flit|recovery'})}[10m]) > 0",
        identity=(*_GPU, "gpu", "type"),
        hold=10 * MINUTE,
        summary="NVLink errors on GPU {{ $labels.gpu }} of {{ $labels.node }}",
        description="{{ $value | humanize }} errors a second ({{ $labels.type }}): traffic is repeated.",
        action="Look at nvidia-smi nvlink -e; plan a reset, then an exchange.",
        playbook="nvlink",
        dashboard="netkit-gpu",
        panel="NVLink errors",
        requires="NVML; from dcgm-exporter, its NVLINK counters, which are off by default",
        trial=(Supply(series=gpu.NVLINK_ERRORS, quiet=0.0, firing=1.0, labels={"type": "crc_flit"}),),
    ),
    Alert(
        name="GpuMissing",
        component="gpu",
        severity=Severity.CRITICAL,
        # A node that is away (a reboot) is the business of NetkitExporterDown.
        condition=f"{_CAPACITY} - ({_SEEN} or 0 * {_CAPACITY}) > 0 and on (cluster, node) {exporter.BUILD_INFO.name}",
        identity=NODE,
        hold=5 * MINUTE,
        summary="{{ $labels.node }} lacks {{ $value }} GPU(s)",
        description="Kubernetes has more GPUs on this node than the driver shows now.",
        action="Look for XID 79 in the kernel log; the GPU fell off the bus.",
        playbook="gpu-missing",
        dashboard="netkit-gpu",
        panel="GPUs seen",
        source="dcgm-exporter issue 348",
        requires="kube-state-metrics",
        trial=(
            Supply(series=GPU_CAPACITY, quiet=1.0, firing=2.0, labels={"resource": "nvidia_com_gpu"}),
            Supply(series=gpu.INFO, quiet=1.0, firing=1.0),
            Supply(series=exporter.BUILD_INFO, quiet=1.0, firing=1.0),
        ),
    ),
    Alert(
        name="GpuThermalThrottle",
        component="gpu",
        severity=Severity.WARNING,
        condition=f"{rate(gpu.THROTTLE_TIME, '5m', reason='thermal')} > $limit",
        identity=(*_GPU, "gpu"),
        limit=0.1,
        hold=10 * MINUTE,
        summary="Heat slows GPU {{ $labels.gpu }} of {{ $labels.node }} down",
        description="{{ $value | humanizePercentage }} of the time its clocks are held back. One hot GPU slows a job.",
        action="Look at fans, filters and inlet temperature of this node.",
        playbook="gpu-throttle",
        dashboard="netkit-gpu",
        panel="Time throttled",
        source="Time, not temperature: a fixed 85 degrees fired daily on healthy cards; the number is netkit's own",
        trial=(Supply(series=gpu.THROTTLE_TIME, quiet=0.095, firing=0.5, labels={"reason": "thermal"}),),
    ),
)
