"""A rank order as what launchers and schedulers take: a hostfile, or commands that write index labels.

netkit prints these; it changes nothing. Members whose order is given by a controller (an Indexed Job numbers its pods
itself) cannot be renumbered, only started in another order by a hostfile. What is printed goes to launchers and shells,
so names that no API server would accept (a bundle may hold any) are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from netkit.errors import InputError
from netkit.model.gang import DeviceKind, Gang, Member

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")

_FORMS: Mapping[str, Callable[[str, int | None], str]] = {
    "openmpi": lambda host, slots: f"{host} slots={slots}" if slots else host,
    "deepspeed": lambda host, slots: f"{host} slots={slots or 1}",
    "intel": lambda host, slots: f"{host}:{slots}" if slots else host,
    "plain": lambda host, _slots: host,
}
FORMS = tuple(_FORMS)

_KEYS = {
    "kueue": ("label", "kueue.x-k8s.io/pod-group-pod-index"),
    "koordinator": ("annotate", "gang.scheduling.koordinator.sh/network-topology-index"),
    "volcano": ("annotate", "hccl/rankIndex"),
}


def hostfile(members: Sequence[Member], form: str) -> str:
    """Return a hostfile; slots are the accelerators a member holds, left out where they are not known."""
    if form not in _FORMS:
        raise InputError(f"hostfile form {form}", ", ".join(FORMS))
    _require_names(member.pod for member in members)
    write = _FORMS[form]
    return "".join(f"{write(member.pod, _slots(member))}\n" for member in members)


def _require_names(names: Iterable[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"name {name[:80]!r}", "names as Kubernetes has them: small letters, digits, dashes and dots"
            )


def _slots(member: Member) -> int | None:
    held = sum(device.kind in (DeviceKind.GPU, DeviceKind.NPU) for device in member.devices)
    return held or None


def index_commands(gang: Gang, members: Sequence[Member]) -> str:
    """Return one kubectl command a member that writes its new index where the gang's system reads it."""
    system = next((name for name in gang.systems if name in _KEYS), None)
    if system is None:
        given = f"index labels for a gang of {', '.join(gang.systems)}, whose ranks come from its controller"
        raise InputError(given, f"a gang of {', '.join(_KEYS)}, or --as hostfile")
    _require_names(name for member in members for name in (member.namespace, member.pod))
    verb, key = _KEYS[system]
    return "".join(
        f"kubectl {verb} pod --namespace {member.namespace} {member.pod} {key}={at} --overwrite\n"
        for at, member in enumerate(members)
    )
