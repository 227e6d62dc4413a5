"""What benchmark logs say as plain text: for pipes, logs and tickets."""

from __future__ import annotations

from collections.abc import Sequence

from netkit.model.collective import CollectiveReport
from netkit.report.collective_table import blocks
from netkit.report.plain_text import plain_text


def render(reports: Sequence[tuple[str, CollectiveReport]]) -> str:
    """Return all (file, report) pairs as text, a blank line between them; the first line of each is its state."""
    return "\n".join(plain_text(blocks(file, report)) for file, report in reports)
