"""Readings that the lab gave, replayed setting by setting, or all of them alike where nothing is to help.

`lab_readings.json` holds, by connections per peer, what four pairs moved on average between routing leaves with four
uplinks of equal cost, in payload bytes per second and in the order they were taken (`python -m benchmarks.sweep`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from netkit.sweep.space import Setting

RECORDING = Path(__file__).with_name("lab_readings.json")
_STRETCH = 4
"""Readings that are replayed in the order they were taken, so that what lingers, lingers."""


def replayed(seed: int, *, helps: bool) -> Callable[[Setting], float]:
    """Return a measurement of connections per peer as the lab gave it; of none that helps, the baseline's always."""
    readings: dict[str, list[float]] = json.loads(RECORDING.read_text())["readings"]
    rng = random.Random(seed)
    queues: dict[str, list[float]] = {}

    def measure(setting: Setting) -> float:
        name = setting[0] if helps else "1"
        queue = queues.setdefault(name, [])
        if not queue:
            start = rng.randrange(len(readings[name]) - _STRETCH + 1)
            queue.extend(readings[name][start : start + _STRETCH])
        return queue.pop(0)

    return measure
