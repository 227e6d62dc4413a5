"""How wide counters are, by the catalogue."""

from __future__ import annotations

from netkit.catalogue.counter import hardware_rows, port_rows
from netkit.model.counter import CounterForm, Overflow
from netkit.model.missing import Missing

UNKNOWN_FORM = CounterForm()
_PACKETS = CounterForm(unit="packets", bits=64, overflow=Overflow.WRAPS)
_BYTES = CounterForm(unit="bytes", bits=64, overflow=Overflow.WRAPS)


def port_form(name: str) -> CounterForm:
    """Return the form of a file under `counters/`."""
    row = port_rows().get(name)
    return row.form if row else UNKNOWN_FORM


def hw_form(name: str, driver: str | Missing) -> CounterForm:
    """Return the form of a file under `hw_counters/`; the same name has other widths in other drivers."""
    row = hardware_rows(driver).get(name) if isinstance(driver, str) else None
    return row.form if row else UNKNOWN_FORM


def netdev_form(name: str) -> CounterForm:
    """Return the form of a file under `statistics/`: 64 bits in every driver."""
    return _BYTES if name.endswith("_bytes") else _PACKETS
