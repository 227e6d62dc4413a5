"""Every signal playbooks may ask for, as rows; a series that is not exported is an error when this is read."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from netkit.catalogue.metric_rows import ethtool, link, optics, pfc, rdma
from netkit.errors import InputError
from netkit.model.text import visible
from netkit_playbooks.signals import Fold, Pick, Scope, Signal

_E = ethtool.COUNTERS
_RX, _TX = {"direction": "received"}, {"direction": "sent"}
_RATE, _INCREASE = Fold.RATE, Fold.INCREASE

_PORTS = (
    Signal(id="port-state", text="state of the port; 4 is active, 1 is down", series=rdma.STATE, pick=Pick.SMALLEST),
    Signal(
        id="port-physical-state",
        text="physical state of the port; 5 is link up, 3 is disabled, 2 is polling for a peer",
        series=rdma.PHYSICAL_STATE,
        pick=Pick.SMALLEST,
    ),
    Signal(id="link-up", text="1 with a carrier, 0 without", series=link.UP, pick=Pick.SMALLEST),
    Signal(
        id="link-enabled",
        text="1 for an interface its owner switched on, 0 for one switched off",
        series=link.ENABLED,
        pick=Pick.SMALLEST,
    ),
    Signal(
        id="signal-lost",
        text="lanes of the module without light; 0 where the module sees all of it",
        series=optics.LOST,
        pick=Pick.SUM,
    ),
)

_PAUSES = (
    Signal(
        id="storm-errors",
        text="pause storms in ten minutes after which the NIC stopped pausing",
        series=pfc.STORMS,
        equal={"level": "error"},
        fold=_INCREASE,
        window="10m",
    ),
    Signal(
        id="storm-warnings",
        text="pause storms in ten minutes past the warning watermark",
        series=pfc.STORMS,
        equal={"level": "warning"},
        fold=_INCREASE,
        window="10m",
    ),
    Signal(
        id="pause-received", text="share of time the fabric pauses this node", series=pfc.SECONDS, equal=_RX, fold=_RATE
    ),
    Signal(
        id="pause-sent",
        text="share of time this node pauses the fabric",
        series=pfc.SECONDS,
        equal=_TX,
        fold=_RATE,
    ),
    Signal(
        id="pause-sent-elsewhere",
        text="largest share of time another node pauses the fabric",
        series=pfc.SECONDS,
        equal=_TX,
        fold=_RATE,
        scope=Scope.OTHERS,
    ),
    Signal(
        id="pcie-stall",
        text="share of seconds in which PCIe holds the NIC back for more than 30 % of the time",
        series=_E["pcie_outbound_stalled_seconds"],
        fold=_RATE,
    ),
)

SIGNALS: Mapping[str, Signal] = MappingProxyType({row.id: row for row in (*_PORTS, *_PAUSES)})


def chosen(names: Sequence[str]) -> tuple[Signal, ...]:
    """Return the signals of these names, or all; InputError naming the nearest for one there is none of."""
    for name in names:
        if name not in SIGNALS:
            nearest = difflib.get_close_matches(name, SIGNALS, n=1)
            raise InputError(
                f"signal {visible(name)!r}", "one of the playbooks' signals", nearest[0] if nearest else None
            )
    return tuple(SIGNALS[name] for name in names or SIGNALS)
