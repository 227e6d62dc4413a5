"""How a fabric controls congestion decides what is abnormal: no CNPs are a fault on one and the plan on another."""

from __future__ import annotations

from enum import StrEnum


class Profile(StrEnum):
    """The fabrics rules are rendered for; the value is the `fabric_profile` label of every alert."""

    PFC_ONLY = "pfc-only"
    """RoCE, lossless by priority flow control alone, DCQCN off."""
    DCQCN_PFC = "dcqcn+pfc"
    """RoCE with ECN marks and DCQCN, priority flow control behind it."""
    ECN_ONLY = "ecn-only"
    """RoCE with ECN marks and DCQCN on a lossy fabric."""
    RTTCC = "rttcc"
    """RoCE with round-trip-time congestion control."""
    INFINIBAND = "infiniband"
    """Credits of the link layer; no pause frames."""


ALL = frozenset(Profile)
ROCE = ALL - {Profile.INFINIBAND}
WITH_PFC = frozenset({Profile.PFC_ONLY, Profile.DCQCN_PFC, Profile.RTTCC})
WITH_ECN = frozenset({Profile.DCQCN_PFC, Profile.ECN_ONLY})
