"""What a probe of a gang would do to a cluster, known before anything is done: whom it disturbs, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from netkit.probe.gang_targets import Target
from netkit.probe.outlook import outlook

# Each reading is taken in both directions, after a warm-up, and some wait for a processor and are taken again.
_DIRECTIONS = 2
_WARMUP_SECONDS = 0.5
_AROUND_A_ROUND_SECONDS = 2.0
_POD_SECONDS = 0.25
_USUAL_SIGMA = 0.015


@dataclass(frozen=True, slots=True, kw_only=True)
class GangPlan:
    """A probe of running pods, foreseen. `seconds_at_most` holds for pods that answer as pods do."""

    gang: str
    systems: tuple[str, ...]
    targets: tuple[Target, ...]
    interfaces: tuple[str, ...]
    """In rail order; empty when rails are chosen by subnet, once the pods have told their addresses."""
    subnets: tuple[str, ...]
    rounds_at_most: int
    seconds_at_most: float
    creates: tuple[str, ...] = ()
    """What would be made in the cluster, one phrase each; empty when agents go into the gang's own pods."""
    gpus_each: int | None = None
    """How many GPUs each pod of the probe's own asks for; None when the gang's own pods are used."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Nodes that were meant and are not probed, with the reason."""

    @property
    def of_nodes(self) -> bool:
        """Whether nodes are probed on which no gang is."""
        return not any(target.pod.pod for target in self.targets)

    @property
    def accelerators(self) -> int:
        """How many GPUs or NPUs must stand idle meanwhile."""
        if self.gpus_each is not None:
            return len(self.targets) * self.gpus_each
        return sum(target.accelerators for target in self.targets)

    @property
    def accelerator_minutes(self) -> float:
        """What that costs."""
        return self.accelerators * self.seconds_at_most / 60


def attach_plan(
    gang: str,
    systems: tuple[str, ...],
    targets: tuple[Target, ...],
    interfaces: tuple[str, ...],
    subnets: tuple[str, ...],
    seconds: float,
) -> GangPlan:
    """Foresee a probe that measures `seconds` a direction."""
    round_seconds = _DIRECTIONS * (seconds + _WARMUP_SECONDS) + _AROUND_A_ROUND_SECONDS
    rails = max(1, len(interfaces) or len(subnets))
    foreseen = outlook(nodes=len(targets), rails=rails, sigma=_USUAL_SIGMA, round_seconds=round_seconds)
    return GangPlan(
        gang=gang,
        systems=systems,
        targets=targets,
        interfaces=interfaces,
        subnets=subnets,
        rounds_at_most=foreseen.rounds_at_most,
        seconds_at_most=foreseen.seconds_at_most + len(targets) * _POD_SECONDS,
    )


def own_gang_plan(plan: GangPlan, made: str, gpus_each: int) -> GangPlan:
    """Return the plan of the same probe in pods of its own, which `made` describes."""
    return replace(plan, creates=(made,), gpus_each=gpus_each)
