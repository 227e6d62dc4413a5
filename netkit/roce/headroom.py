"""How many bytes can still arrive after a port asked its peer to pause: the headroom a lossless buffer needs.

IEEE 802.1Qbb-2011, annex O (buffer requirements): the pause frame waits behind one maximal frame, crosses the cable,
is digested by the peer, and one maximal frame plus what is on the cable still comes back.
"""

from __future__ import annotations

_PROPAGATION_SECONDS_PER_METRE = 5e-9
"""Light in fibre or copper, two thirds of c."""
_PEER_SECONDS = 614.4e-9 + 1.0e-6
"""60 quanta of 512 bits at 50 Gbit/s the standard allows a peer, and a microsecond of its pipeline."""
_PAUSE_FRAME_BYTES = 84
_FRAME_OVERHEAD_BYTES = 38
"""Ethernet header, checksum, preamble and gap around one packet of the MTU."""


def headroom_bytes(rate: float, metres: float, mtu_bytes: int) -> int:
    """Return the bytes needed at `rate` bytes per second over a cable of `metres`, both ends sending `mtu_bytes`."""
    frame = mtu_bytes + _FRAME_OVERHEAD_BYTES
    on_the_way = rate * (2 * metres * _PROPAGATION_SECONDS_PER_METRE + _PEER_SECONDS)
    return round(2 * frame + _PAUSE_FRAME_BYTES + on_the_way)
