"""What a unit of `netkit.tuning.advice` offers: recommendations, each of which turns findings into exact changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from netkit.catalogue.vendor_settings import VendorProfile, profiles_for
from netkit.doctor.context import Context
from netkit.doctor.contract import Member
from netkit.model.advice import Change, Target
from netkit.model.check import Outcome, Result
from netkit.model.node import NodeSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One node, what the rules say of it, and its fellows in the gang."""

    member: Member
    results: tuple[Result, ...]
    fellows: Sequence[Member] = ()

    @property
    def snapshot(self) -> NodeSnapshot:
        """What was read of the node."""
        return self.member.snapshot

    @property
    def context(self) -> Context:
        """What is known beside the snapshot."""
        return self.member.context

    @property
    def profiles(self) -> tuple[VendorProfile, ...]:
        """What vendors publish for this very machine, as its PCI addresses or its DMI name tell it."""
        platform, product = self.context.platform, self.snapshot.host.product
        return profiles_for(platform.id if platform else None, product if isinstance(product, str) else None)

    def findings(self, *rules: str) -> tuple[Result, ...]:
        """Return what these rules found wrong."""
        return tuple(one for one in self.results if one.rule in rules and one.outcome is Outcome.FINDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One setting, what it is, what it should be, and the changes that make it so."""

    setting: str
    now: str
    proposed: str
    evidence: tuple[str, ...]
    changes: tuple[Change, ...]
    reason: str = ""
    """In place of the recommendation's own, where this case has another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blank:
    """A setting nobody can judge from what was read; `variable` names the one whose published values help."""

    subject: str
    why: str
    variable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One kind of advice. What `rules` could not look at is reported as not seen."""

    id: str
    target: Target
    rules: tuple[str, ...]
    reason: str
    source: str
    effect: str
    risk: str
    propose: Callable[[Facts], Iterable[Proposal | Blank]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The recommendations of one file; `id` is the name of the module."""

    id: str
    recommendations: tuple[Recommendation, ...]


def said(results: Iterable[Result]) -> tuple[str, ...]:
    """Return findings as evidence: which rule saw what, where."""
    return tuple(f"{one.rule} {one.subject}: {one.summary}" for one in results)
