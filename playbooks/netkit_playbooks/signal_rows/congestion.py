"""Signals of pauses, marks and notifications."""

from __future__ import annotations

from netkit.catalogue.metric_rows import ethtool, pfc, rdma
from netkit.catalogue.rules import CONGESTED_5M, CONGESTED_6H
from netkit_playbooks.signals import Given, Pick, Scope, Signal, grown, rated

_R, _E = rdma.COUNTERS, ethtool.COUNTERS
_RX, _TX = {"direction": "received"}, {"direction": "sent"}
_LOSSLESS = Given(series=pfc.LOSSLESS, value=1.0)
_LOSSY = Given(series=pfc.LOSSLESS, value=0.0)
_PFC = Given(series=pfc.PROFILE, value=1.0, equal={"flow_control": "pfc"})

SIGNALS = (
    grown(
        "storm-errors",
        "pause storms in ten minutes after which the NIC stopped pausing",
        pfc.STORMS,
        "10m",
        equal={"level": "error"},
    ),
    grown(
        "storm-warnings",
        "pause storms in ten minutes past the warning watermark",
        pfc.STORMS,
        "10m",
        equal={"level": "warning"},
    ),
    rated("pause-received", "share of time the fabric pauses this node", pfc.SECONDS, equal=_RX),
    rated("pause-sent", "share of time this node pauses the fabric", pfc.SECONDS, equal=_TX),
    rated(
        "pause-sent-elsewhere",
        "largest share of time another node pauses the fabric",
        pfc.SECONDS,
        equal=_TX,
        scope=Scope.OTHERS,
    ),
    rated(
        "pause-received-fleet",
        "share of time ports are paused by the fabric, median of all",
        pfc.SECONDS,
        equal=_RX,
        pick=Pick.MEDIAN,
        scope=Scope.FLEET,
    ),
    rated(
        "pause-received-elsewhere",
        "largest share of time another node is paused",
        pfc.SECONDS,
        equal=_RX,
        scope=Scope.OTHERS,
    ),
    rated("lossy-pauses", "pause frames a second on priorities that are not lossless here", pfc.FRAMES, given=_LOSSY),
    rated("lossless-pauses", "pause frames a second on priorities that are lossless here", pfc.FRAMES, given=_LOSSLESS),
    rated("global-pauses", "global pause frames a second", pfc.GLOBAL_FRAMES),
    rated(
        "global-pauses-beside-pfc",
        "global pause frames a second on ports set up for PFC",
        pfc.GLOBAL_FRAMES,
        given=_PFC,
    ),
    Signal(
        id="lossless-priorities",
        text="priorities that are lossless, of the port that has fewest",
        series=pfc.LOSSLESS,
        pick=Pick.FEWEST,
    ),
    rated(
        "lossless-discards", "packets a second of lossless priorities dropped", _E["priority_discards"], given=_LOSSLESS
    ),
    rated(
        "lossless-buffer-discards",
        "of these, for want of receive buffer",
        _E["priority_buffer_discards"],
        given=_LOSSLESS,
    ),
    rated(
        "lossless-congestion-discards",
        "of these, because the queue was too long",
        _E["priority_congestion_discards"],
        given=_LOSSLESS,
    ),
    rated("nic-out-of-buffer", "packets a second the NIC had no room for", _E["nic_rx_out_of_buffer"]),
    rated("ecn-marked", "packets a second that arrive marked as congested", _R["np_ecn_marked_roce_packets_received"]),
    rated("cnp-sent", "congestion notifications a second that this node sends", _R["np_cnp_packets_sent"]),
    rated("cnp-handled", "congestion notifications a second that slow this node", _R["rp_cnp_packets_handled"]),
    rated(
        "cnp-ignored", "congestion notifications a second that this node ignores", _R["rp_cnp_ignored_packets_received"]
    ),
    Signal(
        id="fabric-congested",
        text="share of ports congested in the last five minutes",
        series=CONGESTED_5M,
        scope=Scope.FLEET,
    ),
    Signal(
        id="fabric-congested-6h",
        text="share of port-minutes congested in six hours",
        series=CONGESTED_6H,
        scope=Scope.FLEET,
    ),
)
