"""PCI addresses as plug-ins and drivers write them, in the kernel's form."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"(?:(?P<domain>[0-9a-fA-F]{4,8}):)?(?P<rest>[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")


def pci_address(text: str) -> str | None:
    """Return an address as the kernel prints it, None for anything else: no plug-in promises one."""
    match = _ADDRESS.fullmatch(text.strip()) if ":" in text else None
    if match is None:
        return None
    domain = int(match["domain"] or "0", 16)
    return f"{domain:04x}:{match['rest'].lower()}"
