"""Which faults of the mutant set a setting can mend, and whether advice names the setting that was changed."""

from __future__ import annotations

from netkit.model.advice import Advice
from tests.checks.mutants import Mutant

_PLACES = {
    "T09": ("NCCL_TOPO_FILE",),
    "T11": ("ACS redirects of",),
    "T13": ("IOMMU domain of",),
    "T15": ("kernel argument pci=",),
    "T16": ("maximal read request of",),
    "T17": ("relaxed ordering of", "NCCL_IB_PCI_RELAXED_ORDERING"),
    "N14": ("transmit queue of",),
    "R03": ("mtu of",),
    "R04": ("mtu of",),
    "R05": ("trust of",),
    "R06": ("PFC of", "DSCP 26 of", "NCCL_IB_TC"),
    "R07": ("PFC of",),
    "R08": ("ECN roce_",),
    "R09": ("CNP priority of",),
    "R10": ("global pause of",),
    "R20": ("receive buffers of",),
    "R23": ("DCBX owner of",),
    "G01": ("kernel module nvidia_peermem",),
    "G06": ("limit of locked memory",),
    "J05": ("mtu of", "trust of", "PFC of"),
    "J10": ("power limit of",),
}
"""How the setting starts that a fault under this rule changed; for the job's rules it is the variable itself."""
_NOT_SETTINGS = {"J10": ("clock",)}
"""The maximal clock is the board's own."""
_WORDS = {"PFC": "PFC of", "DSCP": "DSCP 26 of", "MTU": "mtu of", "trust": "trust of"}


def tunable(mutant: Mutant) -> bool:
    """Tell whether a setting was changed, and not a cable, a slot, a version or a counter."""
    if any(word in mutant.what for word in _NOT_SETTINGS.get(mutant.rule, ())):
        return False
    return mutant.rule in _PLACES or mutant.rule == "N08" or _variable(mutant) is not None


def named(mutant: Mutant, advice: tuple[Advice, ...]) -> bool:
    """Tell whether some advice is about the very setting on the very device, job or node."""
    variable = _variable(mutant)
    if variable is not None:
        return any(one.setting == variable for one in advice)
    if mutant.rule == "N08":
        missing = mutant.what.partition(" ")[0]
        return any(one.setting == "NCCL_IB_HCA" and missing in one.proposed for one in advice)
    return any(_fits(mutant, one) for one in advice)


def _variable(mutant: Mutant) -> str | None:
    name, equals, _ = mutant.what.partition("=")
    return name if equals and name.startswith("NCCL_") else None


def _fits(mutant: Mutant, one: Advice) -> bool:
    starts = [start for word, start in _WORDS.items() if word in mutant.what.split()] or _PLACES[mutant.rule]
    if not one.setting.startswith(tuple(starts)):
        return False
    if mutant.rule.startswith("J"):
        return mutant.what.endswith(f"of {one.node}")
    device = _device(mutant.what)
    return device is None or any(device in text for text in (one.setting, *one.evidence))


def _device(what: str) -> str | None:
    return next((word for word in what.split() if word.startswith("rail") or word.count(":") == 2), None)
