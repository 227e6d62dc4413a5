"""A sweep's result, drawn and as JSON, schema `netkit.sweep/1`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from statistics import median

from netkit.model.units import show_duration, show_percent, show_rate
from netkit.report.blocks import Banner, Block, Cell, Column, Listing, Prose, Table, Tone
from netkit.sweep.course import SweepReport, SweepVerdict
from netkit.sweep.form import csv_form, env_form
from netkit.sweep.space import Setting, Space

SCHEMA = "netkit.sweep/1"
_WORDS = {
    SweepVerdict.IMPROVED: ("IMPROVED", Tone.GOOD),
    SweepVerdict.NO_EFFECT: ("NO EFFECT", Tone.PLAIN),
    SweepVerdict.INCONCLUSIVE: ("INCONCLUSIVE", Tone.WARN),
}


def render(report: SweepReport, *, one_line: bool = False) -> str:
    """Return the result as one JSON object, ending in a newline."""
    named = None if report.best is None else report.space.named(report.best)
    improved = named is not None and report.verdict is SweepVerdict.IMPROVED
    found = {
        "schema": SCHEMA,
        "verdict": report.verdict.value,
        "why": report.why,
        "baseline": report.space.named(report.space.baseline),
        "best": named,
        "effect": None if report.effect is None else asdict(report.effect),
        "noise": report.noise,
        "seconds": report.seconds,
        "gpu_seconds": report.gpu_seconds,
        "forms": {"env": env_form(named), "csv": csv_form(named)} if improved and named is not None else None,
        "trials": [
            {
                "number": one.number,
                "phase": one.phase.value,
                "setting": report.space.named(one.setting),
                "reading": one.reading,
                "seconds": one.seconds,
            }
            for one in report.trials
        ],
    }
    return json.dumps(found, ensure_ascii=True, allow_nan=False, indent=None if one_line else 1) + "\n"


def blocks(report: SweepReport) -> Iterator[Block]:
    """Yield the verdict, what every setting reached, and what to set."""
    word, tone = _WORDS[report.verdict]
    best = "" if report.best is None else f"{shown(report.space, report.best)}: "
    yield Banner(word=word, text=f"{best}{report.why}", tone=tone)
    spent = show_duration(report.seconds)
    yield Prose(
        text=f"{len(report.trials)} measurements in {spent}; one reading of the baseline varies by "
        f"{show_percent(report.noise)}. The interval holds the true factor in 98 of 100 sweeps."
    )
    yield _settings(report)
    if report.verdict is SweepVerdict.IMPROVED and report.best is not None:
        lines = env_form(report.space.named(report.best)).splitlines()
        yield Listing(title="To be set, and measured once more with the job itself:", items=tuple(lines))


def shown(space: Space, setting: Setting) -> str:
    """Return a setting as `name=value` words."""
    return " ".join(f"{name}={value}" for name, value in space.named(setting).items())


def _settings(report: SweepReport) -> Table:
    readings: dict[Setting, list[float]] = {report.space.baseline: []}
    for trial in report.trials:
        readings.setdefault(trial.setting, []).append(trial.reading)
    order = sorted(readings, key=lambda one: -median(readings[one] or [0.0]))
    return Table(
        title="Settings",
        columns=tuple(
            Column(title=title, numeric=title != "setting")
            for title in ("setting", "measured", "median", "lowest", "highest")
        ),
        rows=tuple(_row(report, setting, readings[setting]) for setting in order),
    )


def _row(report: SweepReport, setting: Setting, readings: list[float]) -> tuple[Cell, ...]:
    mark = " (baseline)" if setting == report.space.baseline else ""
    rates = (show_rate(pick(readings)) for pick in (median, min, max)) if readings else ("-",) * 3
    texts = (shown(report.space, setting) + mark, str(len(readings)), *rates)
    tone = Tone.STRONG if setting == report.best else Tone.PLAIN
    return tuple(Cell(text=text, tone=tone) for text in texts)
