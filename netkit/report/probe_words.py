"""The words of a probe report: what is slow, by how much, against what, and how the run went.

Every output form takes them from here, so a table, a page and a ticket never say the same thing differently.
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.model.probe import Answer, Direction, Distance, FaultClass, ProbeFinding, ProbeReport, RoundKind
from netkit.model.text import visible
from netkit.model.units import show_line_rate, show_percent
from netkit.report.probe_facts import finite, healthy_rates, is_uniform, missing_readings

EMULATED = "emulated"
EMULATED_WORDS = (
    "EMULATED: processes of one machine with their own rate limit carried this traffic; "
    "it says nothing about real links."
)
DIRECTION_WORDS = {
    Direction.TX: "when sending",
    Direction.RX: "when receiving",
    Direction.BOTH: "both ways",
}
ROUND_WORDS = {
    RoundKind.INTRA: "inside every node",
    RoundKind.MATCHING: "every node with one partner",
    RoundKind.CONFIRM: "suspects with fresh partners",
}
_BETWEEN = {
    Distance.INTRA: "Inside a node",
    Distance.NEAR: "Under one leaf",
    Distance.FAR: "Across leaves",
}
_DEAD = 0.9995


def subject(finding: ProbeFinding) -> str:
    """Name the component a finding blames: `n3 rail 1`, `leaf A rail 0`, `n1 with n5 rail 2`."""
    node, peer = visible(finding.node or "?"), visible(finding.peer or "?")
    leaf = _called("leaf", finding.leaf) if finding.leaf else "the only leaf"
    uplink = f"uplink of {leaf}" if finding.leaf else "every path between leaves"
    rail = f" rail {finding.rail}" if finding.rail is not None else ""
    names = {
        FaultClass.RAIL: f"{node}{rail}",
        FaultClass.NODE: _called("node", finding.node or "?"),
        FaultClass.LEAF: f"{leaf}{rail}",
        FaultClass.UPLINK: f"{uplink}{rail}",
        FaultClass.PAIR: f"{node} with {peer}{rail}",
        FaultClass.UNIFORM: f"every port{' of' + rail if rail else ''}",
    }
    return names[finding.fault_class]


def _called(kind: str, name: str) -> str:
    """Say what a name stands for, once: `leaf A`, and `leaf1` as it is."""
    shown = visible(name)
    return shown if shown.lower().startswith(kind) else f"{kind} {shown}"


def amount(finding: ProbeFinding) -> str:
    """Say how slow, and which side where only one is: `20% slow when sending`."""
    slowdown = finite(finding.slowdown)
    if slowdown is not None and slowdown >= _DEAD:
        return "without any traffic"
    how_much = "slow" if slowdown is None else f"{show_percent(slowdown)} slow"
    below = ", against the line rate" if finding.fault_class is FaultClass.UNIFORM else ""
    return f"{how_much} {DIRECTION_WORDS[finding.direction]}{below}"


def claim(finding: ProbeFinding) -> str:
    """Say what is slow and how slow, as one clause: `n3 rail 1 is 20% slow when sending`."""
    return f"{subject(finding)} is {amount(finding)}"


def detail(finding: ProbeFinding) -> str:
    """Return the summary of a finding where it says more than its claim."""
    summary = visible(finding.summary)
    return "" if claim(finding).startswith(summary) else summary


def culprits(report: ProbeReport) -> str:
    """Return the first finding as a clause, with how many more there are; empty without findings."""
    findings = report.verdict.findings
    if not findings:
        return ""
    more = f"; {counted(len(findings) - 1, 'more finding')}" if len(findings) > 1 else ""
    return f"{claim(findings[0])}{more}"


def headline(report: ProbeReport) -> str:
    """Return the verdict without its word: the culprit when something is slow, else the reason; then mis-pairings."""
    slow = report.verdict.answer is Answer.SLOW and report.verdict.findings
    return "; ".join([culprits(report) if slow else visible(report.verdict.why), *_mispaired(report)])


def _mispaired(report: ProbeReport) -> list[str]:
    first = [f"{visible(f.node)} has {', '.join(map(visible, f.gpus))} mis-paired" for f in report.placement[:1]]
    more = len(report.placement) - 1
    return [f"{text} (and {counted(more, 'more node')})" if more > 0 else text for text in first]


def yardstick(report: ProbeReport) -> str:
    """Say what 100 % stands for; empty when nothing does."""
    if not healthy_rates(report):
        return ""
    if is_uniform(report) and report.fabric.line_rate:
        return "the line rate"
    return "a healthy port of this run" if report.verdict.noise else "the line rate"


def best_reading_words(report: ProbeReport) -> str:
    """Say what the number of a port is."""
    against = yardstick(report)
    return f"best reading as a share of {against}" if against else "best reading"


def explanation(report: ProbeReport) -> str:
    """Return why the verdict is what it is, less what the headline and the first finding say already."""
    why = visible(report.verdict.why)
    for finding in report.verdict.findings[:1]:
        rest = why.removeprefix(visible(finding.summary))
        if rest != why:
            why = rest.removeprefix(f", and {len(report.verdict.findings) - 1} more").lstrip("; ")
    return "" if headline(report).startswith(why) else why[:1].upper() + why[1:]


def spans(numbers: Iterable[int]) -> str:
    """`0, 1, 2, 5` → `0-2, 5`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def missing_by_group(report: ProbeReport) -> dict[tuple[int, tuple[str, ...], str], list[int]]:
    """Return round, nodes and reason of every missing reading, with the rails it is missing on."""
    groups: dict[tuple[int, tuple[str, ...], str], list[int]] = {}
    for reading in missing_readings(report):
        why = visible(str(reading.missing)) if reading.missing else "no rate"
        groups.setdefault((reading.round, reading.nodes, why), []).append(reading.rail)
    return groups


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 node`, `2 nodes`, `10,240 nodes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def scale(report: ProbeReport) -> str:
    """Say how large the run was."""
    nodes, rails = len(report.fabric.nodes), report.fabric.rails
    return f"{counted(nodes, 'node')} x {counted(rails, 'rail')}, {counted(len(report.rounds), 'round')}"


def noise_sentences(report: ProbeReport) -> tuple[str, ...]:
    """Say how steady the readings were, and the smallest slowdown this run could have seen."""
    levels = tuple(
        f"{_BETWEEN[level.distance]}: {show_line_rate(level.center)} when healthy, readings scatter by "
        f"{show_percent(level.sigma)}, {show_percent(level.dips)} of them dipped once "
        f"({counted(level.readings, 'reading')})."
        for level in report.verdict.noise
        if None not in (finite(level.center), finite(level.sigma), finite(level.dips))
    )
    smallest = finite(report.verdict.smallest_detectable_slowdown)
    if smallest is None:
        return (*levels, "This run could not have seen any slowdown: there was nothing healthy to compare with.")
    return (*levels, f"The smallest slowdown this run could have seen is {show_percent(smallest)}.")
