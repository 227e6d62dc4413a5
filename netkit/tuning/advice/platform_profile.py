"""What the vendor of this very machine publishes for it, where the job does not set it.

A value is proposed only where all profiles of the machine agree on it and no rule of netkit is against it; where they
disagree the values are listed side by side, and nobody chooses for the reader.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.catalogue.nccl_variables import nccl_variables
from netkit.model.advice import Target
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation
from netkit.tuning.job_variables import with_value

_JUDGED_HERE = frozenset({"NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"})
"""This machine's own tables say more about these than a page about machines of its kind."""


def _settings(facts: Facts) -> Iterator[Proposal | Blank]:
    environment = facts.context.environment
    if not environment.given:
        return
    values: dict[str, dict[str, str]] = {}
    for profile in facts.profiles:
        for name, value in profile.settings.items():
            values.setdefault(name, {})[value] = f"{profile.name} publishes {name}={value} ({profile.source})"
    for name, by_value in values.items():
        if environment.find(name) is not None or name in _JUDGED_HERE or _unknown(facts, name):
            continue
        if len(by_value) > 1:
            why = f"profiles of this machine disagree: {', '.join(by_value)}"
            yield Blank(subject=name, why=why, variable=name)
        else:
            ((value, line),) = by_value.items()
            if value != _default(facts, name):
                yield with_value(facts, name, value, (line,))


def _default(facts: Facts, name: str) -> str | None:
    row = nccl_variables().get(name)
    return None if row is None else row.default(facts.context.environment.version)


def _unknown(facts: Facts, name: str) -> bool:
    """Tell whether this NCCL is too old for the variable, or has it no longer."""
    row, environment = nccl_variables().get(name), facts.context.environment
    if row is None or row.deprecated is not None:
        return True
    return row.since is not None and environment.before(row.since)


FAMILY = Family(
    id="platform_profile",
    recommendations=(
        Recommendation(
            id="vendor-profile",
            target=Target.ENV,
            rules=(),
            reason="the vendor of this machine type publishes the value for it, and the job does not set it",
            source="the profile named in the evidence (netkit.catalogue.vendor_settings)",
            effect="what the vendor tuned for; measure before and after (netkit probe)",
            risk="published for the vendor's own images and versions, which may not be yours",
            propose=_settings,
        ),
    ),
)
