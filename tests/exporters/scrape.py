"""One collector read once over a machine, as lines of text; goldens are kept one a collector."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from netkit.model.missing import Missing
from netkit_exporters.collecting import Collector, Machine, Reading, Sample

GOLDEN = Path(__file__).parent / "golden"


def readings(collector: Collector, machine: Machine) -> dict[str, Reading] | Missing:
    """Every target read once; Missing where the machine has no such thing."""
    source = collector.open(machine)
    try:
        found = source.targets()
        return found if isinstance(found, Missing) else {target.key: target.read() for target in found}
    finally:
        source.close()


def samples(collector: Collector, machine: Machine) -> list[Sample]:
    """What all targets gave together."""
    found = readings(collector, machine)
    assert not isinstance(found, Missing), found
    return [sample for reading in found.values() for sample in reading.samples]


def faults(collector: Collector, machine: Machine) -> list[Missing]:
    """What all targets could not read."""
    found = readings(collector, machine)
    assert not isinstance(found, Missing), found
    return [fault for reading in found.values() for fault in reading.faults]


def line(sample: Sample) -> str:
    """A sample as exposed: `name{label="value"} 1`."""
    value = sample.value.decode() if isinstance(sample.value, bytes) else f"{sample.value:.17g}"
    labels = ",".join(f'{k}="{v}"' for k, v in zip(sample.metric.labels, sample.labels, strict=True))
    return f"{sample.metric.name}{{{labels}}} {value}" if labels else f"{sample.metric.name} {value}"


def lines(given: Iterable[Sample]) -> list[str]:
    """Samples as sorted lines."""
    return sorted(map(line, given))


def check_golden(name: str, given: Iterable[Sample]) -> None:
    """Compare with the golden of this name; NETKIT_REWRITE_GOLDEN=1 writes it instead."""
    path = GOLDEN / f"{name}.txt"
    shown = "\n".join(lines(given)) + "\n"
    if os.environ.get("NETKIT_REWRITE_GOLDEN"):
        path.write_text(shown)
    assert shown == path.read_text()


def values(given: Iterable[Sample], name: str) -> dict[tuple[str, ...], float]:
    """The values of one family by labels."""
    return {sample.labels: float(sample.value) for sample in given if sample.metric.name == name}
