"""Signals of pairing, bandwidth and probes."""

from __future__ import annotations

from netkit.catalogue.metric_rows import nccl, topology
from netkit_playbooks.signals import Fold, Pick, Scope, Signal, grown


def _blamed(name: str, text: str, fault_class: str) -> Signal:
    return Signal(
        id=name, text=text, series=nccl.FINDINGS, equal={"class": fault_class}, otherwise=0.0, scope=Scope.FLEET
    )


SIGNALS = (
    Signal(
        id="pairing-ok",
        text="1 where every GPU uses a NIC as near as can be, 0 where one does not",
        series=topology.OK,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="gpus-paired-wrongly", text="findings about pairing", series=topology.FINDINGS, pick=Pick.SUM, narrow=False
    ),
    Signal(
        id="busbw-ratio",
        text="bus bandwidth of the last run as a share of what the platform reaches",
        series=nccl.BUSBW,
        per=nccl.EXPECTED,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="transport-socket",
        text="1 where the last run went over sockets",
        series=nccl.TRANSPORT,
        equal={"transport": "Socket"},
        otherwise=0.0,
    ),
    _blamed("slow-rail", "largest loss of one rail of one node, of its healthy rate", "rail"),
    _blamed("slow-node", "largest loss of all rails of one node", "node"),
    _blamed("slow-leaf", "largest loss of all ports of a leaf", "leaf"),
    _blamed("slow-uplink", "largest loss of traffic that leaves a leaf", "uplink"),
    _blamed("slow-pair", "largest loss of a pair whose ports are fine with others", "pair"),
    _blamed("slow-everywhere", "loss of everything alike, against the line rate", "uniform"),
    grown(
        "runs-incomplete",
        "runs in an hour that ended without a result",
        nccl.RUNS,
        "1h",
        equal={"result": "incomplete"},
    ),
    grown("runs-corrupt", "runs in an hour that computed wrong data", nccl.RUNS, "1h", equal={"result": "corrupt"}),
    grown("runs-good", "runs in six hours that succeeded", nccl.RUNS, "6h", equal={"result": "success"}),
    Signal(
        id="probe-age",
        text="seconds since the last good run",
        series=nccl.LAST_SUCCESS,
        fold=Fold.AGE,
        pick=Pick.LARGEST,
    ),
)
