"""The bytes a declared fabric needs: headroom behind a pause, thresholds of congestion marking; each with its formula.

Headroom: IEEE 802.1Qbb-2011, annex O. Upper ECN threshold: two bandwidth-delay products (Huawei CloudEngine AI Fabric
deployment guide EDOC1100155250, "Configuring Static ECN": two to three). Lower: a seventh of one (Alizadeh et al.,
DCTCP, SIGCOMM 2010, section 3.3: K > RTT x C / 7).
"""

from __future__ import annotations

from dataclasses import dataclass

from netkit.errors import InputError
from netkit.model.units import show_size
from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.headroom import headroom_bytes

MARK_PERCENT = 30
"""Of the packets at the upper threshold, as the same table of Huawei gives for two products."""
DETECTION_MS = 200
RESTORATION_MS = 200
"""PFC watchdog, as SONiC's own `pfcwd start_default` for one lossless queue."""
_LARGEST_HEADROOM_SHARE = 0.5
"""More headroom than half the buffer leaves less for traffic than for accidents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One computed number of bytes, and why it is that."""

    name: str
    bytes: int
    formula: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What every dialect writes down."""

    headroom: Size
    mark_from: Size
    mark_all_from: Size

    @property
    def listed(self) -> tuple[Size, ...]:
        """All of them, in the order they are shown."""
        return (self.headroom, self.mark_from, self.mark_all_from)


def sizes_of(intent: FabricIntent) -> Sizes:
    """Return the sizes an intent needs; InputError when the declared buffer cannot hold the headroom."""
    product = intent.speed * intent.rtt_microseconds * 1e-6
    sizes = Sizes(
        headroom=Size(
            name="headroom",
            bytes=headroom_bytes(intent.speed, intent.cable_metres, intent.mtu_bytes),
            formula=f"2 x ({intent.mtu_bytes} + 38) + 84 + speed x (2 x {intent.cable_metres} m x 5 ns/m + 1.614 us)",
            source="IEEE 802.1Qbb-2011, annex O",
        ),
        mark_from=Size(
            name="ECN, some marked from",
            bytes=round(product / 7),
            formula=f"speed x {intent.rtt_microseconds} us round trip / 7",
            source="DCTCP, SIGCOMM 2010, section 3.3",
        ),
        mark_all_from=Size(
            name=f"ECN, {MARK_PERCENT}% and then all from",
            bytes=round(2 * product),
            formula=f"2 x speed x {intent.rtt_microseconds} us round trip",
            source="Huawei EDOC1100155250, Configuring Static ECN",
        ),
    )
    _refuse_small_buffer(intent, sizes.headroom.bytes)
    return sizes


def _refuse_small_buffer(intent: FabricIntent, headroom: int) -> None:
    if intent.buffer_bytes is None:
        return
    ports, priorities = len(intent.switch_ports), len(intent.lossless_priorities)
    needed = headroom * ports * priorities
    if needed > intent.buffer_bytes * _LARGEST_HEADROOM_SHARE:
        raise InputError(
            f"a buffer of {show_size(intent.buffer_bytes)} for {ports} ports with {priorities} lossless priorities, "
            f"whose headroom alone is {show_size(needed)}",
            "headroom of at most half the buffer: fewer lossless ports, shorter cables or a larger buffer",
        )
