"""What the numbers of ethtool netlink mean.

Linux: include/uapi/linux/ethtool.h (connectors, link modes, extended link states), ethtool_netlink.h (statistics,
named in net/ethtool/strset.c after the clauses of IEEE 802.3 and RFC 2819).
"""

from __future__ import annotations

from types import MappingProxyType

CONNECTORS = MappingProxyType(
    {0: "twisted-pair", 1: "aui", 2: "mii", 3: "fibre", 4: "bnc", 5: "direct-attach", 0xEF: "none", 0xFF: "other"}
)
LINK_MODE_FEC = MappingProxyType({20: "baser", 49: "off", 50: "rs", 51: "baser", 74: "llrs"})
"""ETHTOOL_LINK_MODE_*_BIT of the corrections."""

_WHY_DOWN = (
    (
        "negotiation",
        "no partner detected",
        "acknowledgement not received",
        "next page exchange failed",
        "no partner detected in forced mode",
        "correction differs between the ends",
        "no common speed",
    ),
    (
        "link training failed",
        "frame lock not acquired",
        "link inhibit timeout",
        "partner did not set receiver ready",
        "remote fault",
    ),
    (
        "logical mismatch",
        "no block lock",
        "no alignment marker lock",
        "no alignment status",
        "fc-fec not locked",
        "rs-fec not locked",
    ),
    (
        "bad signal",
        "many physical errors",
        "unsupported rate",
        "serdes reference clock lost",
        "serdes loss of signal",
    ),
    ("no cable",),
    ("cable issue", "unsupported cable", "cable test failed"),
    ("module memory unreadable",),
    ("calibration failed",),
    ("power budget exceeded",),
    ("module too hot",),
    ("module", "management interface not ready"),
)
"""ETHTOOL_LINK_EXT_STATE_*, each followed by its substates, which start at 1."""
EXT_STATES = MappingProxyType({code: words[0] for code, words in enumerate(_WHY_DOWN)})
EXT_SUBSTATES = MappingProxyType(
    {(code, detail): word for code, words in enumerate(_WHY_DOWN) for detail, word in enumerate(words) if detail}
)

_MAC = (
    *("FramesTransmittedOK", "SingleCollisionFrames", "MultipleCollisionFrames", "FramesReceivedOK"),
    *("FrameCheckSequenceErrors", "AlignmentErrors", "OctetsTransmittedOK", "FramesWithDeferredXmissions"),
    *("LateCollisions", "FramesAbortedDueToXSColls", "FramesLostDueToIntMACXmitError", "CarrierSenseErrors"),
    *("OctetsReceivedOK", "FramesLostDueToIntMACRcvError", "MulticastFramesXmittedOK", "BroadcastFramesXmittedOK"),
    *("FramesWithExcessiveDeferral", "MulticastFramesReceivedOK", "BroadcastFramesReceivedOK", "InRangeLengthErrors"),
    *("OutOfRangeLengthField", "FrameTooLongErrors"),
)
_CONTROL = ("MACControlFramesTransmitted", "MACControlFramesReceived", "UnsupportedOpcodesReceived")
_RMON = ("etherStatsUndersizePkts", "etherStatsOversizePkts", "etherStatsFragments", "etherStatsJabbers")


def _numbered(words: tuple[str, ...]) -> MappingProxyType[int, str]:
    return MappingProxyType(dict(enumerate(words)))


STATISTICS = MappingProxyType(
    {
        0: ("eth-phy", _numbered(("SymbolErrorDuringCarrier",))),
        1: ("eth-mac", _numbered(_MAC)),
        2: ("eth-ctrl", _numbered(_CONTROL)),
        3: ("rmon", _numbered(_RMON)),
    }
)
"""ETHTOOL_STATS_*: the group's name, and its counters' names by number."""
