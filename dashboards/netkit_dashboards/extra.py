"""What the commands need beyond a plain installation."""

from __future__ import annotations

from importlib.util import find_spec

from netkit.errors import InputError

_MODULES = ("grafanalib", "promql_parser", "yaml")


def demand() -> None:
    """Say in one line what to install where the extra is missing."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise InputError(f"netkit without {', '.join(missing)}", "pip install 'netkit[dashboards]'")
