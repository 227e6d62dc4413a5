"""What Alertmanager sends to a webhook: the alerts of one notification.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config, version 4 of the body. Everything in it may
come from outside: labels are made visible and cut, the playbook is looked up by the alert's name, and no address in it
is followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netkit.errors import InputError
from netkit.model.text import visible
from netkit_playbooks.signals import DEVICE_LABELS

MOST_BYTES = 4 << 20
_LONGEST_LABEL = 253
_FIRING = "firing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One alert of a notification, as far as a playbook needs it."""

    alert: str
    firing: bool
    node: str
    cluster: str
    about: Mapping[str, str]
    """What it is about on the node: device, netdev, gpu…"""


def parse(body: bytes) -> tuple[Incident, ...]:
    """Read a body; alerts that say the same of the same place count once. InputError for anything else."""
    try:
        document = json.loads(body)
        listed = document["alerts"]
        found = [_incident(one) for one in listed]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise InputError("what was read", "the JSON body of an Alertmanager webhook, with its alerts") from fault
    return tuple(_once(found))


def _once(found: list[Incident]) -> Iterator[Incident]:
    seen: set[tuple[object, ...]] = set()
    for one in found:
        key = (one.alert, one.firing, one.node, one.cluster, *sorted(one.about.items()))
        if key not in seen:
            seen.add(key)
            yield one


def _incident(one: Mapping[str, Any]) -> Incident:
    labels = {str(name): visible(str(value), limit=_LONGEST_LABEL) for name, value in one["labels"].items()}
    return Incident(
        alert=labels["alertname"],
        firing=one.get("status") == _FIRING,
        node=labels.get("node", ""),
        cluster=labels.get("cluster", ""),
        about={name: labels[name] for name in DEVICE_LABELS if labels.get(name)},
    )
