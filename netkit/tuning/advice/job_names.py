"""Names and values of the job's variables that the library does not know, no longer knows, or cannot use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.catalogue.nccl_variables import ALIASES, nccl_variables, nearest_name
from netkit.model.advice import Target
from netkit.model.check import Result
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import with_value, without

_GUIDE = "NVIDIA NCCL user guide, Environment Variables"
_OWN_CHOICE = frozenset({"NCCL_IB_GID_INDEX"})
"""Variables that are better not set, so that a misspelt one is not worth correcting."""


def _misspelt(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("E01"):
        meant = nearest_name(found.subject)
        if meant is not None:
            yield from _renamed(facts, found, meant)


def _retired(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("E17"):
        meant = ALIASES.get(found.subject)
        yield from _renamed(facts, found, meant) if meant else without(facts, [found.subject], said([found]))


def _renamed(facts: Facts, found: Result, meant: str) -> Iterator[Proposal | Blank]:
    """Take the dead name out, and set the live one where nobody does and it is one to set."""
    yield from without(facts, [found.subject], said([found]))
    settings, row = facts.context.environment, nccl_variables().get(meant)
    if settings.find(meant) is None and row is not None and not row.debugging and meant not in _OWN_CHOICE:
        yield with_value(facts, meant, settings.text(found.subject), said([found]))


def _unusable(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("E20", "E21"):
        yield from without(facts, [found.subject], said([found]))


def _two_values(facts: Facts) -> Iterable[Blank]:
    for found in facts.findings("E02"):
        yield Blank(subject=found.subject, why=f"{found.summary}: which of them is meant, only its writer knows")


FAMILY = Family(
    id="job_names",
    recommendations=(
        Recommendation(
            id="nccl-name",
            target=Target.ENV,
            rules=("E01",),
            reason="NCCL ignores a name it does not know without a word: the setting somebody wanted is not in force",
            source=_GUIDE,
            effect="the setting that was meant takes effect; what it gains depends on it",
            risk="a job that was tried without the setting now runs with it",
            propose=_misspelt,
        ),
        Recommendation(
            id="nccl-retired",
            target=Target.ENV,
            rules=("E17",),
            reason="the variable is deprecated or gone: it does nothing, or will do nothing after an update",
            source=_GUIDE,
            effect="none today; an update of NCCL brings no surprise",
            risk="none where the name does nothing; measure where a newer name takes its place",
            propose=_retired,
        ),
        Recommendation(
            id="nccl-value",
            target=Target.ENV,
            rules=("E20", "E21"),
            reason="NCCL cannot use this: the value is of another form, or this version does not know the name yet",
            source=f"{_GUIDE}; NVIDIA NCCL, src/misc/param.cc",
            effect="the default, which is in force already, is in force visibly",
            risk="none: NCCL ignores what it cannot read, or reads digits and drops the rest",
            propose=_unusable,
        ),
        Recommendation(
            id="nccl-two-values",
            target=Target.ENV,
            rules=("E02",),
            reason="the environment and a configuration file disagree, and a forgotten file decides on some nodes",
            source=f"{_GUIDE}, NCCL_CONF_FILE",
            effect="every node runs with the same value",
            risk="the file may be meant as a default",
            propose=_two_values,
        ),
    ),
)
