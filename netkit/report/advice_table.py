"""Advice as blocks: each setting with its reason, the exact difference and the way back, then what was not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from netkit.model.advice import Advice, AdviceReport, Conflict, Target, Unseen
from netkit.report.blocks import Banner, Block, Cell, Column, Heading, Listing, Prose, Table, Tone

_MOST = 12


def blocks(report: AdviceReport) -> Iterator[Block]:
    """Yield the report, one recommendation after the other."""
    yield _banner(report)
    several = len(report.nodes) > 1
    for _, group in groupby(report.advice, key=lambda one: (one.id, one.reason)):
        yield from _recommendation(tuple(group), several=several)
    yield from _unseen(report, several=several)


def _banner(report: AdviceReport) -> Banner:
    counts = {target: len(report.about(target)) for target in Target}
    shown = ", ".join(f"{count} {target.value}" for target, count in counts.items() if count)
    rest = f"; {len(report.unseen)} not seen" if report.unseen else ""
    if report.advice:
        return Banner(word="ADVICE", text=f"{len(report.advice)} settings to change: {shown}{rest}", tone=Tone.WARN)
    return Banner(word="NOTHING", text=f"no setting that was seen needs changing{rest}", tone=Tone.GOOD)


def _recommendation(found: Sequence[Advice], *, several: bool) -> Iterator[Block]:
    first = found[0]
    yield Heading(text=f"{first.id} [{first.target.value}]", tone=Tone.WARN)
    yield Prose(text=first.reason, indent=2)
    rows = tuple(
        (Cell(text=_place(one.node, one.setting, several=several)), Cell(text=one.now), Cell(text=one.proposed))
        for one in found[:_MOST]
    )
    more = f"and {len(found) - _MOST} more; --format json has all" if len(found) > _MOST else ""
    titles = ("setting", "now", "proposed")
    yield Table(title="Change", columns=tuple(Column(title=title) for title in titles), rows=rows, note=more)
    for title, lines in (
        ("Seen here", [line for one in found for line in one.evidence]),
        ("Apply", [line for one in found for line in one.apply.splitlines()]),
        ("Way back", [line for one in found for line in one.rollback.splitlines()]),
        ("Others publish", [_published(one) for advice in found for one in advice.conflicts]),
    ):
        items = tuple(dict.fromkeys(lines))
        if items:
            yield Listing(title=title, items=items[:_MOST])
    yield Prose(text=f"effect: {first.effect}", indent=2)
    yield Prose(text=f"risk: {first.risk}", indent=2)
    yield Prose(text=f"source: {first.source}", indent=2, tone=Tone.MUTED)


def _place(node: str, what: str, *, several: bool) -> str:
    return f"{node}: {what}" if several else what


def _published(one: Conflict) -> str:
    return f"{one.value}: {one.profile} ({one.source})"


def _unseen(report: AdviceReport, *, several: bool) -> Iterator[Block]:
    by_why: dict[str, list[Unseen]] = {}
    for one in report.unseen:
        by_why.setdefault(one.why, []).append(one)
    if not by_why:
        return
    rows = tuple(
        (
            Cell(text=_named([one.id for one in found])),
            Cell(text=_named([_place(one.node, one.subject, several=several) for one in found])),
            Cell(text=why, tone=Tone.MUTED),
        )
        for why, found in by_why.items()
    )
    columns = tuple(Column(title=title) for title in ("recommendation", "of", "why not"))
    yield Table(title="Could not see", columns=columns, rows=rows)
    values = tuple(f"{one.subject}={_published(value)}" for one in report.unseen for value in one.published)
    if values:
        yield Listing(title="Published, and contradicting each other", items=tuple(dict.fromkeys(values)))


def _named(words: Sequence[str]) -> str:
    """Return the first of them and how many others there are."""
    first, *rest = dict.fromkeys(words)
    return f"{first} and {len(rest)} more" if rest else first
