"""Which driver statistic says what about pauses: names differ by driver, meanings do not.

Names: Linux Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst, and the string tables of
drivers/net/ethernet/{broadcom/bnxt,intel/ice,hisilicon/hns3,pensando/ionic}. A priority whose name is not there has no
PFC on it as far as the driver says; it is left out, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from netkit.model.counter import Counter


class PauseMeasure(StrEnum):
    """What is counted."""

    FRAMES = "frames"
    SECONDS = "seconds"
    TRANSITIONS = "transitions"
    RESUMES = "resumes"
    STORM_WARNINGS = "storm-warnings"
    STORM_ERRORS = "storm-errors"


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseCount:
    """One count; `received` means the peer stopped us, sent that we stopped the peer.

    `priority` is None for global (802.3x) pause and for drivers that keep one total.
    """

    measure: PauseMeasure
    received: bool | None
    priority: int | None
    value: float
    name: str


_MICROSECONDS = 1e-6
_Row = tuple[re.Pattern[str], PauseMeasure, float]


def _rows(*rows: tuple[str, PauseMeasure, float]) -> tuple[_Row, ...]:
    """Compile patterns where `RT` stands for the direction and `N` for the priority."""
    return tuple((re.compile(_filled(pattern)), measure, factor) for pattern, measure, factor in rows)


def _filled(pattern: str) -> str:
    return pattern.replace("RT", "(?P<way>rx|tx)").replace("N", "(?P<priority>[0-7])")


_F, _S, _T = PauseMeasure.FRAMES, PauseMeasure.SECONDS, PauseMeasure.TRANSITIONS
ROWS = MappingProxyType(
    {
        "mlx5_core": _rows(
            ("RT_prioN_pause", _F, 1),
            ("RT_prioN_pause_duration", _S, _MICROSECONDS),
            ("RT_prioN_pause_transition", _T, 1),
            ("RT_global_pause", _F, 1),
            ("RT_global_pause_duration", _S, _MICROSECONDS),
            ("RT_global_pause_transition", _T, 1),
            ("RT_pause_storm_warning_events", PauseMeasure.STORM_WARNINGS, 1),
            ("RT_pause_storm_error_events", PauseMeasure.STORM_ERRORS, 1),
        ),
        "bnxt_en": _rows(
            ("RT_pfc_ena_frames_priN", _F, 1),
            ("pfc_priN_RT_duration_us", _S, _MICROSECONDS),
            ("pfc_priN_RT_transitions", _T, 1),
            ("RT_pause_frames", _F, 1),
            ("continuous_roce_pause_events", PauseMeasure.STORM_WARNINGS, 1),
            ("continuous_pause_events", PauseMeasure.STORM_WARNINGS, 1),
        ),
        "ice": _rows(
            (r"RT_priority_N_xoff\.nic", _F, 1),
            (r"RT_priority_N_xon\.nic", PauseMeasure.RESUMES, 1),
            (r"link_xoff_RT\.nic", _F, 1),
            (r"link_xon_RT\.nic", PauseMeasure.RESUMES, 1),
        ),
        "ionic": _rows(
            ("frames_RT_pripause", _F, 1),
            ("frames_RT_pause", _F, 1),
            ("RT_pripause_N_1us_count", _S, _MICROSECONDS),
            ("RT_pause_1us_count", _S, _MICROSECONDS),
        ),
        "hns3": _rows(("mac_RT_pfc_priN_pkt_num", _F, 1), ("mac_RT_mac_pause_num", _F, 1)),
    }
)
"""By driver, as the link `/sys/class/net/<interface>/device/driver` names it."""


def pause_counts(driver: str, statistics: Iterable[Counter]) -> tuple[PauseCount, ...]:
    """Return what a driver's statistics say about pauses, in their order; a driver not listed says nothing here."""
    rows = ROWS.get(driver, ())
    known = ((counter.name, counter.raw) for counter in statistics if isinstance(counter.raw, int))
    return tuple(found for name, raw in known if (found := _count(rows, name, raw)))


def _count(rows: tuple[_Row, ...], name: str, raw: int) -> PauseCount | None:
    for pattern, measure, factor in rows:
        match = pattern.fullmatch(name)
        if match:
            parts = match.groupdict()
            priority, way = parts.get("priority"), parts.get("way")
            return PauseCount(
                measure=measure,
                received=None if way is None else way == "rx",
                priority=None if priority is None else int(priority),
                value=raw * factor,
                name=name,
            )
    return None
