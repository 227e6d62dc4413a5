"""What tells Koordinator's gangs from those of scheduler-plugins, whose older label and PodGroup it shares."""

from __future__ import annotations

from collections.abc import Iterable

from netkit.model.kube_object import KubeObject

GANG = "gang.scheduling.koordinator.sh/"


def is_koordinator(group: KubeObject | None, pods: Iterable[KubeObject]) -> bool:
    """Tell whether a group or one of its pods carries Koordinator's mark or names its scheduler."""
    marked = [group, *pods] if group is not None else pods
    return any(_marked(one) for one in marked)


def _marked(one: KubeObject) -> bool:
    scheduler = one.text("spec", "schedulerName")
    return scheduler == "koord-scheduler" or any(key.startswith(GANG) for key in (*one.annotations, *one.labels))
