"""Synthetic probe reports: seeded readings of a gang with chosen faults, and the verdict a decoder would give."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from netkit.model.finding import Severity
from netkit.model.missing import Missing, Reason
from netkit.model.probe import (
    Answer,
    Direction,
    Distance,
    Fabric,
    FaultClass,
    GangReading,
    Group,
    NoiseLevel,
    ProbeFinding,
    ProbeReport,
    Reading,
    Round,
    RoundKind,
    Verdict,
)

RATE = 25e6
FAST = 49.2e9

Port = tuple[str, int]
# (sender, receiver, rail, distance) -> the share of the healthy rate that gets through.
Slowing = Callable[[str, str, int, Distance], float]

HOSTILE = (
    "n\x1b[31mred",
    "n\x1b]52;c;cm0gLXJm\x07",
    "abc\u202edcba",
    "[/x][red]:smiley:",
    "<script>alert(1)</script>",
    'q"uote\\back\nline',
    "=cmd|' /C calc'!A0",
    "zero\u200bwidth\ud800half",
)


def nothing_slow(_sender: str, _receiver: str, _rail: int, _distance: Distance) -> float:
    return 1.0


def build(
    *,
    nodes: int | tuple[str, ...] = 8,
    rails: int = 2,
    leaves: int = 2,
    rate: float = RATE,
    slowing: Slowing = nothing_slow,
    findings: tuple[ProbeFinding, ...] = (),
    answer: Answer | None = None,
    why: str = "",
    seed: int = 7,
) -> ProbeReport:
    """Measure every planned group of a made-up gang; a direction is slowed as `slowing` says."""
    names = tuple(f"n{number}" for number in range(nodes)) if isinstance(nodes, int) else nodes
    per_leaf = max(1, -(-len(names) // leaves))
    fabric = Fabric(
        nodes=names,
        rails=rails,
        leaf_of={name: f"leaf{index // per_leaf}" for index, name in enumerate(names)},
        line_rate=rate * 1.02,
    )
    rng = random.Random(seed)
    rounds = _rounds(fabric, rng)
    readings = tuple(
        _reading(one.number, group, rail, rate, slowing, rng)
        for one in rounds
        for group in one.groups
        for rail in group.rails
    )
    answer = answer or (Answer.SLOW if findings else Answer.HEALTHY)
    why = why or (findings[0].summary if findings else "every port keeps up with its peers")
    return ProbeReport(
        tool_version="0.1.0",
        name="demo",
        transport="namespaces",
        started_at="2026-03-01T03:12:45+00:00",
        seconds=41.7,
        seed=seed,
        fabric=fabric,
        rounds=rounds,
        readings=readings,
        gang_readings=tuple(_gang(fabric, rail, rate, slowing) for rail in range(rails)),
        verdict=Verdict(
            answer=answer,
            why=why,
            findings=findings,
            smallest_detectable_slowdown=0.06,
            noise=tuple(_noise(distance, rate, len(readings) // 3) for distance in Distance),
            not_seen=("A fault that shows only with more than one flow at a time on a rail.",),
        ),
    )


def _rounds(fabric: Fabric, rng: random.Random) -> tuple[Round, ...]:
    rails = tuple(range(fabric.rails))
    intra = tuple(Group(nodes=(node,), rails=rails, distance=Distance.INTRA) for node in fabric.nodes)
    rounds = [Round(number=1, kind=RoundKind.INTRA, groups=intra)]
    for number in (2, 3, 4, 5):
        order = list(fabric.nodes)
        rng.shuffle(order)
        pairs = list(pairwise(order))[::2]
        groups = tuple(Group(nodes=pair, rails=rails, distance=_distance(fabric, *pair)) for pair in pairs)
        kind = RoundKind.MATCHING if number < 4 else RoundKind.CONFIRM
        if kind is RoundKind.CONFIRM:
            groups = groups[: max(1, len(groups) // 8)]
        out = tuple(order[len(order) // 2 * 2 :]) if kind is RoundKind.MATCHING else ()
        rounds.append(Round(number=number, kind=kind, groups=groups, sitting_out=out))
    return tuple(rounds)


def _distance(fabric: Fabric, first: str, second: str) -> Distance:
    return Distance.NEAR if fabric.leaf_of[first] == fabric.leaf_of[second] else Distance.FAR


def _reading(number: int, group: Group, rail: int, rate: float, slowing: Slowing, rng: random.Random) -> Reading:
    healthy = rate * (1.0, 40.0)[group.distance is Distance.INTRA]
    first, last = group.nodes[0], group.nodes[-1]
    between = len(group.nodes) == 2
    forward, reverse = (
        healthy * rng.gauss(1, 0.008) * (slowing(*way, rail, group.distance) if between else 1)
        for way in ((first, last), (last, first))
    )
    return Reading(
        round=number,
        rail=rail,
        nodes=group.nodes,
        distance=group.distance,
        forward=forward,
        reverse=reverse,
        spread=abs(rng.gauss(0, 0.006)),
    )


def _gang(fabric: Fabric, rail: int, rate: float, slowing: Slowing) -> GangReading:
    ring = pairwise((*fabric.nodes, fabric.nodes[0]))
    slowest = min(slowing(first, second, rail, _distance(fabric, first, second)) for first, second in ring)
    return GangReading(rail=rail, ranks=len(fabric.nodes), bytes=8 << 20, busbw=rate * slowest * 0.985)


def _noise(distance: Distance, rate: float, readings: int) -> NoiseLevel:
    center = rate * (1, 40)[distance is Distance.INTRA]
    return NoiseLevel(
        distance=distance, center=center, sigma=0.008, dips=0.01, readings=readings, smallest_slowdown=0.06
    )


def finding(fault_class: FaultClass, **given: object) -> ProbeFinding:
    """Return a finding of the class, filled in as far as a test does not care."""
    defaults: dict[FaultClass, dict[str, object]] = {
        FaultClass.RAIL: {"node": "n3", "rail": 1},
        FaultClass.NODE: {"node": "n3", "rail": None},
        FaultClass.LEAF: {"node": None, "rail": 1, "leaf": "leaf1"},
        FaultClass.UPLINK: {"node": None, "rail": 1, "leaf": "leaf1"},
        FaultClass.PAIR: {"node": "n3", "peer": "n5", "rail": 1},
        FaultClass.UNIFORM: {"node": None, "rail": None},
    }
    base: dict[str, object] = {
        "id": f"{fault_class}/{defaults[fault_class].get('node') or defaults[fault_class].get('leaf') or 'all'}",
        "fault_class": fault_class,
        "direction": Direction.BOTH,
        "slowdown": 0.2,
        "severity": Severity.CRITICAL,
        "summary": "Slow with every partner it had, while each of those partners is clean with others.",
        "evidence": (
            "3 readings with 3 different partners, all low: 160, 161 and 159 Mbit/s.",
            "The same partners move 199 to 201 Mbit/s with others.",
        ),
        "next": (
            "On n3: ethtool eth1 | grep Speed  # a link that trained down shows here",
            "On n3: ethtool -S eth1 | grep -E 'err|drop|pause'",
            "Swap the cable or transceiver of n3 rail 1 with a clean one and run the same probe again.",
        ),
    }
    return ProbeFinding(**(base | defaults[fault_class] | given))  # type: ignore[arg-type]


def _slow_port(bad: Mapping[Port, float]) -> Slowing:
    def slowing(sender: str, receiver: str, rail: int, _distance: Distance) -> float:
        return min(bad.get((sender, rail), 1.0), bad.get((receiver, rail), 1.0))

    return slowing


def _slow_sender(bad: Port) -> Slowing:
    def slowing(sender: str, _receiver: str, rail: int, _distance: Distance) -> float:
        return 0.8 if (sender, rail) == bad else 1.0

    return slowing


def healthy() -> ProbeReport:
    return build()


def slow_rail() -> ProbeReport:
    report = build(slowing=_slow_sender(("n3", 1)), findings=(finding(FaultClass.RAIL, direction=Direction.TX),))
    return with_gaps(report)


def with_gaps(report: ProbeReport) -> ProbeReport:
    """Lose one node's rail 0 to a timeout, and let the processors set another's."""
    lost = Missing(reason=Reason.TIMEOUT, where="n6 rail 0", detail="no frame within 12 s")
    readings = tuple(
        replace(reading, forward=None, reverse=None, spread=None, missing=lost)
        if "n6" in reading.nodes and reading.rail == 0 and len(reading.nodes) == 2
        else replace(reading, cpu_bound="n1" in reading.nodes and reading.rail == 0 and len(reading.nodes) == 2)
        for reading in report.readings
    )
    return replace(report, readings=readings, warnings=("n6: clock differs by 3 s from the others",))


def slow_node() -> ProbeReport:
    return build(
        nodes=16,
        rails=4,
        slowing=_slow_port({("n3", rail): 0.55 for rail in range(4)}),
        findings=(finding(FaultClass.NODE, slowdown=0.45),),
    )


def slow_leaf() -> ProbeReport:
    bad = {(f"n{number}", 1): 0.7 for number in range(8, 16)}
    return build(nodes=16, rails=4, slowing=_slow_port(bad), findings=(finding(FaultClass.LEAF, slowdown=0.3),))


def slow_uplink() -> ProbeReport:
    def slowing(_sender: str, _receiver: str, rail: int, distance: Distance) -> float:
        return 0.6 if rail == 1 and distance is Distance.FAR else 1.0

    return build(slowing=slowing, findings=(finding(FaultClass.UPLINK, slowdown=0.4),))


def slow_pair() -> ProbeReport:
    def slowing(sender: str, receiver: str, rail: int, _distance: Distance) -> float:
        return 0.5 if rail == 1 and {sender, receiver} == {"n3", "n5"} else 1.0

    return build(slowing=slowing, findings=(finding(FaultClass.PAIR, slowdown=0.5),))


def uniformly_slow() -> ProbeReport:
    report = build(
        slowing=lambda *_: 0.7,
        findings=(finding(FaultClass.UNIFORM, slowdown=0.3, severity=Severity.WARNING),),
    )
    noise = tuple(replace(level, center=level.center * 0.7) for level in report.verdict.noise)
    return replace(report, verdict=replace(report.verdict, noise=noise))


def emulated() -> ProbeReport:
    return replace(slow_rail(), transport="emulated")


def inconclusive() -> ProbeReport:
    report = build(nodes=3, leaves=1, answer=Answer.INCONCLUSIVE, why="3 nodes: too few to compare with each other")
    fabric = replace(report.fabric, line_rate=None, leaf_of={})
    verdict = replace(report.verdict, smallest_detectable_slowdown=None, noise=())
    return replace(report, fabric=fabric, verdict=verdict)


def nothing_measured() -> ProbeReport:
    report = inconclusive()
    lost = Missing(reason=Reason.DENIED, where="ssh n0", detail="permission denied")
    readings = tuple(replace(one, forward=None, reverse=None, spread=None, missing=lost) for one in report.readings)
    gangs = tuple(replace(one, busbw=None, missing=lost) for one in report.gang_readings)
    return replace(report, readings=readings, gang_readings=gangs, started_at="not a time")


def hostile() -> ProbeReport:
    bad = HOSTILE[1]
    nasty = finding(
        FaultClass.RAIL,
        id="rail/\x1b]0;owned\x07",
        node=bad,
        summary=f"{bad} </p><img src=x onerror=alert(1)> [bold]",
        evidence=tuple(f"seen beside {name}" for name in HOSTILE),
        next=("run `rm -rf` as \u202etxt.exe",),
    )
    report = build(nodes=HOSTILE, slowing=_slow_port({(bad, 1): 0.8}), findings=(nasty,), why=f"because {HOSTILE[4]}")
    lost = Missing(reason=Reason.MALFORMED, where=HOSTILE[0], detail=HOSTILE[5])
    readings = (*report.readings[:-1], replace(report.readings[-1], forward=None, reverse=None, missing=lost))
    fabric = replace(report.fabric, leaf_of=dict.fromkeys(HOSTILE, "leaf\x9b31m</style>"))
    verdict = replace(report.verdict, not_seen=HOSTILE)
    return replace(
        report,
        name='x"/>\x1b[2J',
        readings=readings,
        fabric=fabric,
        verdict=verdict,
        warnings=HOSTILE,
        transport="\x07t",
    )


def large(nodes: int = 1024, rails: int = 8) -> ProbeReport:
    """A gang of production size: ten slow rails, one slow node, one lost node."""
    rng = random.Random(11)
    names = tuple(f"gpu-{number // 32:02d}-{number % 32:02d}" for number in range(nodes))
    bad = {(rng.choice(names), rng.randrange(rails)): 1 - rng.uniform(0.1, 0.6) for _ in range(10)}
    whole = names[nodes // 3]
    findings = (
        finding(FaultClass.NODE, node=whole, slowdown=0.3, id=f"node/{whole}"),
        *(
            finding(FaultClass.RAIL, node=node, rail=rail, slowdown=1 - left, id=f"rail/{node}/{rail}")
            for (node, rail), left in bad.items()
        ),
    )
    slowing = _slow_port(bad | {(whole, rail): 0.7 for rail in range(rails)})
    report = build(nodes=names, rails=rails, leaves=nodes // 32, rate=FAST, slowing=slowing, findings=findings)
    gone = names[nodes // 2]
    lost = Missing(reason=Reason.TIMEOUT, where=gone, detail="heartbeat stopped in round 2")
    readings = tuple(
        replace(one, forward=None, reverse=None, spread=None, missing=lost) if gone in one.nodes else one
        for one in report.readings
    )
    return replace(report, readings=readings)


SMALL = {
    "healthy": healthy,
    "slow rail": slow_rail,
    "slow node": slow_node,
    "slow leaf": slow_leaf,
    "slow uplink": slow_uplink,
    "slow pair": slow_pair,
    "uniformly slow": uniformly_slow,
    "emulated": emulated,
    "inconclusive": inconclusive,
    "nothing measured": nothing_measured,
    "hostile": hostile,
}
