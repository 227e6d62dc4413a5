"""Alerts on what collectives reach: pairing of GPUs and NICs, bandwidth of probes, transports, probes that stop."""

from __future__ import annotations

from netkit.catalogue.alerts import GONE, HOUR, MINUTE, NODE, Alert, Severity, Supply
from netkit.catalogue.metric_rows import nccl, topology
from netkit.catalogue.promql import select
from netkit.catalogue.rules import BUSBW

_RUN = ("cluster", "node", "probe")
_SIZE = (*_RUN, "collective", "size")
_PROBE_EVERY = 6 * HOUR
_STALE_AFTER = 2 * _PROBE_EVERY + MINUTE
_FAILED = select(nccl.RUNS, like={"result": "corrupt|incomplete"})

ALERTS = (
    Alert(
        name="GpuNicPairingMismatch",
        component="topology",
        severity=Severity.WARNING,
        condition=f"{topology.OK.name} == 0",
        identity=(*NODE, "gpu", "pci_bus_id"),
        hold=10 * MINUTE,
        summary="GPU {{ $labels.gpu }} of {{ $labels.node }} uses a NIC far from it",
        description="A nearer NIC is free: its collectives cross a PCIe root or a socket for nothing.",
        action="Run netkit topo explain on this node for the GPU.",
        playbook="gpu-nic-pairing",
        dashboard="netkit-gpu",
        panel="GPU-NIC pairing",
        source="UFM topology check fails from one wrong link on",
        trial=(Supply(series=topology.OK, quiet=1.0, firing=0.0),),
    ),
    Alert(
        name="NcclBusBandwidthLow",
        component="nccl",
        severity=Severity.WARNING,
        condition=f"{BUSBW.name} < $limit",
        identity=_SIZE,
        limit=0.9,
        summary="{{ $labels.collective }} reaches less than it should in probe {{ $labels.probe }}",
        description="{{ $value | humanizePercentage }} of the platform's bus bandwidth at {{ $labels.size }}.",
        action="Probe the gang pair by pair: netkit probe names the slow link.",
        playbook="nccl-slow",
        dashboard="netkit-nccl",
        panel="Bus bandwidth of expected",
        source="Azure: 460 GB/s expected of an H100 node; the share is netkit's own",
        requires="--platform and result files of a probe",
        trial=(
            Supply(series=nccl.BUSBW, quiet=0.92 * 400e9, firing=0.7 * 400e9),
            Supply(series=nccl.EXPECTED, quiet=400e9, firing=400e9),
        ),
    ),
    Alert(
        name="NcclBusBandwidthCollapsed",
        component="nccl",
        severity=Severity.CRITICAL,
        condition=f"{BUSBW.name} < $limit",
        identity=_SIZE,
        limit=0.5,
        summary="{{ $labels.collective }} collapsed in probe {{ $labels.probe }}",
        description="{{ $value | humanizePercentage }} of the platform's bus bandwidth at {{ $labels.size }}.",
        action="Look at the transport first, then probe pair by pair.",
        playbook="nccl-slow",
        dashboard="netkit-nccl",
        panel="Bus bandwidth of expected",
        requires="--platform and result files of a probe",
        trial=(
            Supply(series=nccl.BUSBW, quiet=0.52 * 400e9, firing=0.1 * 400e9),
            Supply(series=nccl.EXPECTED, quiet=400e9, firing=400e9),
        ),
    ),
    Alert(
        name="NcclSlowLink",
        component="nccl",
        severity=Severity.WARNING,
        condition=f"{nccl.FINDINGS.name} > $limit",
        identity=("cluster", "probe", "id", "node", "rail", "peer"),
        limit=0.2,
        summary="Probe {{ $labels.probe }} blames {{ $labels.node }} rail {{ $labels.rail }}",
        description="{{ $value | humanizePercentage }} of its healthy rate is lost, against the median of its peers.",
        action="Read the probe's report; it names what was acquitted too.",
        playbook="nccl-slow-link",
        dashboard="netkit-nccl",
        panel="Slow links",
        requires="result files of netkit probe, and honor_labels in the scrape: `node` is the blamed one",
        trial=(Supply(series=nccl.FINDINGS, quiet=0.19, firing=0.4),),
    ),
    Alert(
        name="NcclFellBackToSocket",
        component="nccl",
        severity=Severity.CRITICAL,
        condition=f"{select(nccl.TRANSPORT, {'transport': 'Socket'})} == 1",
        identity=_RUN,
        summary="NCCL runs over sockets in probe {{ $labels.probe }}",
        description="No error is raised, and collectives take five to twenty times as long.",
        action="Look at NCCL_IB_HCA, at GIDs, and whether the container sees the RDMA devices.",
        playbook="nccl-socket-fallback",
        dashboard="netkit-nccl",
        panel="Transport of the last run",
        source="a community note says 5 to 20 times slower",
        requires="result files of a probe with NCCL_DEBUG=INFO",
        trial=(
            Supply(series=nccl.TRANSPORT, quiet=GONE, firing=1.0, labels={"transport": "Socket"}),
            Supply(series=nccl.TRANSPORT, quiet=1.0, firing=GONE, labels={"transport": "IB"}),
        ),
    ),
    Alert(
        name="NcclProbeFailing",
        component="nccl",
        severity=Severity.WARNING,
        condition=f"sum by ({', '.join(_RUN)}) (increase({_FAILED}[1h])) > $limit",
        identity=_RUN,
        limit=1.5,
        summary="Probe {{ $labels.probe }} fails",
        description="{{ $value | humanize }} runs of the last hour ended without a result, or with wrong data.",
        action="Read the log of the last run; netkit read says what is missing of it.",
        playbook="nccl-probe-failing",
        dashboard="netkit-nccl",
        panel="Probe runs",
        trial=(Supply(series=nccl.RUNS, quiet=1.4 / HOUR, firing=4 / HOUR, labels={"result": "incomplete"}),),
    ),
    Alert(
        name="NcclProbeStale",
        component="nccl",
        severity=Severity.WARNING,
        condition=f"time() - {nccl.LAST_SUCCESS.name} > $limit",
        identity=_RUN,
        limit=_STALE_AFTER,
        hold=5 * MINUTE,
        summary="Probe {{ $labels.probe }} has had no good run for {{ $value | humanizeDuration }}",
        description="Slow links would not be noticed: the limit is two rounds of a probe every six hours.",
        action="Look whether the probe's job still starts; gangs without free nodes wait for ever.",
        playbook="nccl-probe-failing",
        dashboard="netkit-nccl",
        panel="Probe age",
        source="Oracle oci-hpc-oke, npd-check-stale: twice the interval and a minute",
        trial=(Supply(series=nccl.LAST_SUCCESS, quiet=-_STALE_AFTER / 2, firing=-1.5 * _STALE_AFTER),),
    ),
)
