"""The nodes x rails heat map of a report page: a table with numbers, or one small map for each rail of a large gang.

A tint deepens with the share that is missing; what the noise of the run explains stays untinted. A blamed port has
an outline and a mark, a port without a reading a hatch, and a lower bound a dotted outline, so the map reads the
same in grey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netkit.model.probe import ProbeReport
from netkit.model.text import visible
from netkit.model.units import show_line_rate
from netkit.report.html_page import Markup, element, folded, joined, scrolling
from netkit.report.probe_facts import Port, PortFacts, PortState, quiet_band, stands_out
from netkit.report.probe_words import best_reading_words, counted, subject

_TABLE_NODES = 64
_MOST_NUMBERED = 2048
_STEPS = (10, 20, 40)
_NO_READING = frozenset({PortState.MISSING, PortState.UNTESTED})
_BOUNDS = {PortState.CPU_BOUND: "c", PortState.SHADOWED: "~"}
_CELL = 10


def tint(share: float | None, quiet: float) -> str:
    """Return the class of a cell: `h0` within the noise, `h1`…`h4` below it."""
    if share is None or share >= 1 - quiet:
        return "h0"
    lost = 100 - round(share * 100)  # the number in the cell decides, so that equal numbers look equal
    return f"h{1 + sum(lost >= step for step in _STEPS)}"


def heat_map(report: ProbeReport, facts: Mapping[Port, PortFacts]) -> Markup:
    """Return the map that suits the size of the gang, with its key."""
    if len(report.fabric.nodes) <= _TABLE_NODES:
        return joined((_numbers(report, facts, report.fabric.nodes), _key(report, facts)))
    return joined((_small_maps(report, facts), _key(report, facts), _behind(report, facts)))


def _numbers(report: ProbeReport, facts: Mapping[Port, PortFacts], nodes: Sequence[str]) -> Markup:
    rails = range(report.fabric.rails)
    quiet = quiet_band(report)
    head = element("tr", element("th", "node", scope="col"), *(_rail_head(rail) for rail in rails))
    rows = (
        element("tr", element("th", node, scope="row"), *(_cell(facts[node, rail], quiet) for rail in rails))
        for node in nodes
    )
    label = f"Nodes by rails: {best_reading_words(report)}"
    body = element("table", element("thead", head), element("tbody", *rows), class_="heat")
    return scrolling(label, body, class_="tall" if len(nodes) > _TABLE_NODES else "")


def _rail_head(rail: int) -> Markup:
    return element("th", f"rail {rail}", scope="col", class_="r")


def _looks(facts: PortFacts, quiet: float) -> tuple[str, ...]:
    """Return the classes of a port: what is known of it, and whether it is blamed."""
    state = "na" if facts.state in _NO_READING else "part" if facts.state in _BOUNDS else tint(facts.share, quiet)
    return (state, "bad") if facts.finding else (state,)


def _cell(facts: PortFacts, quiet: float) -> Markup:
    looks = _looks(facts, quiet)
    # A table cell is `h0` already: most cells need no class at all.
    classes = " ".join(look for look in looks if look != "h0") or None
    mark = "! " if facts.finding else ""
    if "na" in looks:
        return element("td", f"{mark}?", class_=classes, title=facts.note)
    bound = f"{_BOUNDS[facts.state]} " if facts.state in _BOUNDS else ""
    return element("td", mark + bound + number(facts), class_=classes)


def number(facts: PortFacts) -> str:
    """Return the percentage of a port, or its rate where nothing is known to be healthy."""
    if facts.share is not None:
        return f"{facts.share * 100:.0f}"
    return "?" if facts.rate is None else show_line_rate(facts.rate)


def _key(report: ProbeReport, facts: Mapping[Port, PortFacts]) -> Markup:
    quiet = quiet_band(report)
    seen = {look for one in facts.values() for look in _looks(one, quiet)} | {one.state.value for one in facts.values()}
    items = (
        element("li", element("span", sample, class_=classes), says)
        for look, classes, sample, says in _KEY
        if look in seen
    )
    return element("ul", *items, class_="key")


_KEY = (
    ("h0", "h0", "100", "percent of healthy, within the noise"),
    ("h1", "h1", "93", "below the noise"),
    ("h2", "h2", "85", "10 to 20 % lost"),
    ("h3", "h3", "70", "20 to 40 % lost"),
    ("h4", "h4", "50", "more than 40 % lost"),
    ("bad", "bad", "! 70", "blamed by a finding"),
    ("na", "na", "?", "no reading"),
    (PortState.CPU_BOUND, "part", "c 95", "set by the processors: the link can do at least this"),
    (PortState.SHADOWED, "part", "~ 70", "met blamed partners only: the port can do at least this"),
)


def _small_maps(report: ProbeReport, facts: Mapping[Port, PortFacts]) -> Markup:
    rows = map_rows(report)
    rails = range(report.fabric.rails)
    maps = (_small_map(report, facts, rail, rows) for rail in rails)
    says = f"Each square is one node, the same square on every rail; {_rows_are(report, rows)}"
    return joined((element("p", says, class_="lead"), element("div", _patterns(), *maps, class_="maps")))


def _rows_are(report: ProbeReport, rows: Sequence[Sequence[str]]) -> str:
    leaf_of = report.fabric.leaf_of
    one_leaf_each = len(rows) > 1 and all(len({leaf_of.get(node) for node in row}) == 1 for row in rows)
    return "each row is one leaf." if one_leaf_each and len(rows) == len(set(leaf_of.values())) else "row by row."


def map_rows(report: ProbeReport) -> tuple[tuple[str, ...], ...]:
    """Lay the nodes out in rows: one leaf after the other where leaves are of a handy size, else a square."""
    nodes, leaf_of = report.fabric.nodes, report.fabric.leaf_of
    leaves: dict[str, list[str]] = {}
    for node in nodes:
        leaves.setdefault(leaf_of.get(node, ""), []).append(node)
    largest = max(map(len, leaves.values()), default=1)
    square = max(1, round(len(nodes) ** 0.5))
    groups = list(leaves.values()) if len(leaves) > 1 and square / 4 <= largest <= square * 4 else [list(nodes)]
    width = largest if len(groups) > 1 else square
    return tuple(tuple(group[start : start + width]) for group in groups for start in range(0, len(group), width))


def _patterns() -> Markup:
    """Return the hatch that all small maps share."""
    stripe = element("path", d="M-1 7L7 -1M3 11L11 3", class_="stripe")
    ground = element("rect", width=8, height=8, class_="line")
    hatch = element("pattern", ground, stripe, id="hatch", width=8, height=8, patternUnits="userSpaceOnUse")
    return element("svg", element("defs", hatch), width=0, height=0, style="position:absolute", aria_hidden="true")


def _small_map(
    report: ProbeReport, facts: Mapping[Port, PortFacts], rail: int, rows: Sequence[Sequence[str]]
) -> Markup:
    quiet = quiet_band(report)
    wide, high = max(map(len, rows)), len(rows)
    odd = [
        _square(facts[node, rail], node, column, row, quiet)
        for row, nodes in enumerate(rows)
        for column, node in enumerate(nodes)
        if stands_out(report, facts[node, rail])
    ]
    grounds = joined(_ground(row, len(nodes)) for row, nodes in enumerate(rows))
    lines = (
        element("rect", x=column * _CELL - 1, y=0, width=1, height=high * _CELL, class_="line")
        for column in range(1, wide)
    )
    picture = element(
        "svg",
        grounds,
        *lines,
        *odd,
        viewBox=f"-2 -2 {wide * _CELL + 3} {high * _CELL + 3}",
        role="img",
        aria_label=f"Rail {rail}: {counted(len(odd), 'port')} of {len(report.fabric.nodes):,} standing out",
    )
    said = f"{len(odd):,} of {len(report.fabric.nodes):,} stand out" if odd else "nothing stands out"
    return element("figure", element("figcaption", f"rail {rail}", element("span", said)), picture, class_="map")


def _ground(row: int, nodes: int) -> Markup:
    return element("rect", x=0, y=row * _CELL, width=nodes * _CELL - 1, height=_CELL - 1, class_="h0")


def _square(facts: PortFacts, node: str, column: int, row: int, quiet: float) -> Markup:
    looks = _looks(facts, quiet)
    missing = "na" in looks
    says = f"{node}: {facts.note if missing else number(facts)}"
    return element(
        "rect",
        element("title", says),
        x=column * _CELL,
        y=row * _CELL,
        width=_CELL - 1,
        height=_CELL - 1,
        class_=" ".join(looks),
        fill="url(#hatch)" if missing else None,
    )


def _behind(report: ProbeReport, facts: Mapping[Port, PortFacts]) -> Markup:
    nodes = report.fabric.nodes
    rails = range(report.fabric.rails)
    odd = [node for node in nodes if any(stands_out(report, facts[node, rail]) for rail in rails)]
    shown = odd[:_MOST_NUMBERED]
    parts = [
        folded(f"{counted(len(odd), 'node')} with a port that stands out", _numbers(report, facts, shown), opened=True)
    ]
    if len(nodes) <= _MOST_NUMBERED:
        parts.append(folded(f"All {len(nodes):,} nodes", _numbers(report, facts, nodes)))
    else:
        parts.append(element("p", f"The numbers of all {len(nodes):,} nodes are in the JSON form.", class_="calm"))
    return joined(parts)


def other_blame(report: ProbeReport, blamed: Mapping[Port, object]) -> str:
    """Name the findings that blame no port, so that a calm map is not read as a healthy fabric."""
    ports = {id(finding) for finding in blamed.values()}
    names = [visible(subject(finding)) for finding in report.verdict.findings if id(finding) not in ports]
    return f"Slow, but no port's doing: {'; '.join(names[:8])}{' and more' if len(names) > 8 else ''}." if names else ""
