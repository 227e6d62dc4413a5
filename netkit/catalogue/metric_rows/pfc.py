"""Series of priority flow control and pause frames, the same for every driver.

`received` means that the peer stopped this node (the fabric is congested), `sent` that this node stopped the peer (it
is slow itself). A series that is not there is not zero: the driver does not count it, or PFC is off for the priority.
"""

from __future__ import annotations

from netkit.catalogue.metrics import Area

_NIC = ("device", "netdev")
_PFC = Area(collector="pfc", prefix="pfc_", labels=_NIC, privilege="host network namespace")
_PAUSE = Area(collector="pfc", prefix="", labels=_NIC, privilege="host network namespace")

FRAMES = _PFC.counter(
    "pause_frames_total",
    "Packets received and sent: PFC pause frames by priority, `all` where the driver keeps one total.",
    "direction",
    "priority",
)
SECONDS = _PFC.counter(
    "pause_seconds_total",
    "Seconds paused by the peer (received) or pausing it (sent), by priority.",
    "direction",
    "priority",
    unit="seconds",
)
TRANSITIONS = _PFC.counter(
    "pause_transitions_total",
    "Events received and sent: changes from paused to running, by priority.",
    "direction",
    "priority",
)
RESUMES = _PFC.counter(
    "resume_frames_total", "Packets received and sent: frames that end a pause, by priority.", "direction", "priority"
)
LOSSLESS = _PFC.gauge("priority_lossless", "1 when PFC is on for this priority, 0 when it is off.", "priority")
STORMS = _PAUSE.counter(
    "pause_storm_events_total",
    "Events received and sent: pausing too long; at level error the NIC stopped pausing and packets may be lost.",
    "direction",
    "level",
)
GLOBAL_FRAMES = _PAUSE.counter(
    "global_pause_frames_total", "Packets received and sent: 802.3x pause frames of the whole link.", "direction"
)
GLOBAL_SECONDS = _PAUSE.counter(
    "global_pause_seconds_total",
    "Seconds the whole link was paused by the peer (received) or paused it (sent).",
    "direction",
    unit="seconds",
)
GLOBAL_TRANSITIONS = _PAUSE.counter(
    "global_pause_transitions_total", "Events received and sent: changes from paused to running.", "direction"
)
GLOBAL_RESUMES = _PAUSE.counter(
    "global_resume_frames_total", "Packets received and sent: frames that end a pause of the link.", "direction"
)
PROFILE = _PAUSE.gauge(
    "fabric_profile_info", "Always 1: how this port keeps packets from being lost: pfc, global or none.", "flow_control"
)

ROWS = (
    *(FRAMES, SECONDS, TRANSITIONS, RESUMES, LOSSLESS, STORMS),
    *(GLOBAL_FRAMES, GLOBAL_SECONDS, GLOBAL_TRANSITIONS, GLOBAL_RESUMES, PROFILE),
)
