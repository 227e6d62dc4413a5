"""A playbook: what may be behind an alert, what speaks for each cause, and which commands tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit_playbooks.predicate import Predicate


class Likelihood(StrEnum):
    """How often a cause is the one, before anything is read: it decides only between causes that are otherwise even."""

    COMMON = "common"
    OCCASIONAL = "occasional"
    RARE = "rare"


class Radius(StrEnum):
    """What is lost while nobody acts."""

    JOB = "job"
    NODE = "node"
    RAIL = "rail"
    FABRIC = "fabric"


class Kind(StrEnum):
    """What a step does to the machine."""

    READ = "read"
    """Nothing; it runs by itself."""
    PROBE = "probe"
    """Sends traffic; it needs a yes, and leaves nothing behind."""
    CHANGE = "change"
    """Changes a setting; it needs a yes, and says how to undo it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A condition that speaks for a cause when it holds, and against it when it was looked at and does not."""

    when: Predicate
    weight: float
    against: float
    """Taken off when it does not hold; 0 where its absence says nothing."""
    essential: bool
    """Whether the cause cannot be without it: not so rules the cause out, not seen keeps it from being named."""
    because: str
    """What it shows, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that may be wrong."""

    id: str
    title: str
    likelihood: Likelihood
    evidence: tuple[Evidence, ...]
    fix: str
    """What to do, in one sentence."""
    fix_step: str
    """Id of the step that does it; empty where it is work by hand."""
    escalate_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One netkit command and what it should show."""

    id: str
    ask: str
    """The question it answers."""
    run: tuple[str, ...]
    """Words of the command after `netkit`; `{source}` and other placeholders are filled word by word."""
    kind: Kind
    expect: tuple[Predicate, ...]
    """What a healthy machine shows; `exit` is the status of the command."""
    on_pass: str
    on_fail: str
    timeout_seconds: float
    rollback: tuple[str, ...]
    """Words of the netkit command that undoes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A made-up set of readings, and the cause to be named; none where the honest answer is that nobody can tell."""

    name: str
    readings: dict[str, float]
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Where a dashboard shows it."""

    uid: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """One page of the on-call book."""

    id: str
    title: str
    version: int
    owner: str
    alerts: tuple[str, ...]
    profiles: tuple[str, ...]
    """Fabrics it applies to; empty for all."""
    drivers: tuple[str, ...]
    """NIC drivers that count what it reads; empty for all."""
    severity: str
    blast_radius: Radius
    causes: tuple[Cause, ...]
    steps: tuple[Step, ...]
    verify: tuple[Predicate, ...]
    """What must hold when it is over."""
    cases: tuple[Case, ...]
    dashboards: tuple[Panel, ...]
    text: str
    """The page, in Markdown."""

    def cause(self, id_: str) -> Cause | None:
        """Return one of its causes."""
        return next((cause for cause in self.causes if cause.id == id_), None)

    def step(self, id_: str) -> Step | None:
        """Return one of its steps."""
        return next((step for step in self.steps if step.id == id_), None)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Every signal and rule its causes ask about, each once."""
        asked = (name for cause in self.causes for one in cause.evidence for name in one.when.names)
        return tuple(dict.fromkeys(asked))
