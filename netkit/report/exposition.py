"""Metric families as text, in the Prometheus exposition format 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/ defines the lines and the escapes; node_exporter's
textfile collector accepts exactly this, without timestamps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netkit.model.text import visible
from netkit.report.probe_facts import finite

_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One series; a value of None is left out, never written as 0."""

    labels: Mapping[str, str]
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One gauge and its series."""

    name: str
    help: str
    samples: tuple[Sample, ...]


def render_families(families: Iterable[Family]) -> str:
    """Return the families as exposition text; a family without a known value is left out whole."""
    return "".join(_family(family) for family in families)


def _family(family: Family) -> str:
    lines = [_sample(family.name, sample) for sample in family.samples if finite(sample.value) is not None]
    if not lines:
        return ""
    head = f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}\n# TYPE {family.name} gauge\n"
    return head + "".join(lines)


def _sample(name: str, sample: Sample) -> str:
    labels = ",".join(f'{label}="{visible(text).translate(_LABEL_ESCAPES)}"' for label, text in sample.labels.items())
    return f"{name}{{{labels}}} {_number(sample.value or 0.0)}\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
