"""Settings that come from two places and disagree.

NVIDIA NCCL, src/misc/param.cc: the environment wins over NCCL_CONF_FILE or ~/.nccl.conf, that over /etc/nccl.conf.
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.job import JOB, not_given
from netkit.model.check import Result, Rule
from netkit.model.environment import Variable
from netkit.model.finding import Severity
from netkit.model.node import NodeSnapshot

CONFLICT = Rule(
    id="E02",
    name="nccl-conf-conflict",
    severity=Severity.WARNING,
    question="Do the job's environment and NCCL's configuration files agree?",
    reads="the job's environment, NCCL_CONF_FILE or ~/.nccl.conf, /etc/nccl.conf",
    passes="no variable has two values",
    why="a forgotten file decides whatever the job does not set, and differs from node to node",
    remedy="set each variable in one place; remove the forgotten one",
    source="public root causes with a stale nccl.conf beside a wrong cable; NCCL user guide",
    caution="a file may be meant as the default that jobs override: then silence it with that reason",
    playbook="nccl-slow",
)


def check(_snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Compare every place with every other."""
    unasked = not_given(context, CONFLICT)
    if unasked is not None:
        yield unasked
        return
    by_name: dict[str, list[Variable]] = {}
    for one in context.environment.all():
        by_name.setdefault(one.name, []).append(one)
    conflicts = {name: found for name, found in by_name.items() if len({one.value for one in found}) > 1}
    for name, found in conflicts.items():
        used = context.environment.text(name)
        said = [f"{one.value} in {one.source}" for one in found]
        yield CONFLICT.finding(name, f"{name} has {len(set(said))} values; NCCL uses {used}", *said)
    if not conflicts:
        places = 1 + len(context.environment.files)
        yield CONFLICT.ok(JOB, f"no variable has two values in {places} place{'s' if places > 1 else ''}")


CHECK = NodeCheck(id="env_files", rules=(CONFLICT,), check=check)
