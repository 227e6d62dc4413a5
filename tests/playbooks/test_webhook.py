"""Notifications of Alertmanager: each firing alert leads to its playbook, and no label does harm."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit_playbooks import triage
from netkit_playbooks.running import Answer
from netkit_playbooks.shelf import playbooks
from netkit_playbooks.signals import Place, expression, signals
from netkit_playbooks.webhook import parse

HOSTILE = (
    'n1"} or vector(1) #',
    "n1\x1b[31m",
    "$(reboot)",
    "; rm -rf / #",
    "--output=x",
    "\u202e1n",
    "{netdev}",
    "n" * 9000,
)


def notification(*labels: dict[str, str], status: str = "firing") -> bytes:
    """A body of version 4, as Alertmanager sends it; made up."""
    alerts = [
        {
            "status": status,
            "labels": {"severity": "critical", **one},
            "annotations": {"runbook_url": "http://127.0.0.1:1/never-followed"},
            "startsAt": "2026-01-01T00:00:00Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://prometheus/graph",
            "fingerprint": "0123456789abcdef",
        }
        for one in labels
    ]
    body: dict[str, Any] = {"version": "4", "status": status, "receiver": "netkit", "groupKey": "{}", "alerts": alerts}
    return json.dumps(body).encode()


class Silent:
    """Answers nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, words: tuple[str, ...], timeout_seconds: float) -> Answer:
        assert timeout_seconds
        self.asked.append(words)
        return Answer(status=0, printed="")


def test_a_firing_alert_leads_to_its_playbook_with_its_device() -> None:
    """Node and device of the labels become options of the run; what is resolved is left alone."""
    body = notification({"alertname": "PfcStormPauseDisabled", "node": "n1", "device": "mlx5_0", "rail": "0"})
    netkit = Silent()
    (lead,) = triage.leads(parse(body), tuple(playbooks().values()), "http://p:9090", netkit)
    assert lead.playbook is not None
    assert lead.playbook.id == "pfc-storm"
    assert all("--node=n1" in words and "--label=device=mlx5_0" in words for words in netkit.asked)
    resolved = notification({"alertname": "PfcStormPauseDisabled", "node": "n1"}, status="resolved")
    assert not list(triage.leads(parse(resolved), tuple(playbooks().values()), "", Silent()))


def test_an_alert_of_somebody_else_is_said_to_be_none_of_ours() -> None:
    """No playbook is guessed, and its runbook_url is not followed."""
    (lead,) = triage.leads(
        parse(notification({"alertname": "KubePodCrashLooping"})), tuple(playbooks().values()), "", Silent()
    )
    assert lead.playbook is None
    assert lead.command == ()


def test_a_flood_is_cut() -> None:
    """A thousand alerts run twenty playbooks, and the rest is counted."""
    flood = parse(notification(*({"alertname": "RdmaPortDown", "node": f"n{number}"} for number in range(1000))))
    assert len(list(triage.leads(flood, tuple(playbooks().values()), "", Silent()))) == triage.MOST_RUNS
    assert triage.left_out(flood) == 1000 - triage.MOST_RUNS


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_label_stays_one_value(value: str) -> None:
    """It is one word of a command, one string of a query, and shows no control character."""
    body = notification({"alertname": "PfcStormPauseDisabled", "node": value, "device": value})
    incidents = parse(body)
    netkit = Silent()
    (lead,) = triage.leads(incidents, tuple(playbooks().values()), "http://p:9090", netkit)
    node = incidents[0].node
    assert node.isprintable()
    assert len(node) <= 254
    assert all(words[4] == f"--node={node}" for words in netkit.asked)
    assert shlex.split(shlex.join(lead.command)) == list(lead.command)
    for signal in signals().values():
        asked = expression(signal, Place(node=node, narrowed=incidents[0].about))
        assert promql_strings(asked) >= ({node} if signal.scope == "this node" else set())


def promql_strings(expression_text: str) -> set[str]:
    """The values of an expression's matchers, by a parser of PromQL; it raises for what is no PromQL."""
    promql = pytest.importorskip("promql_parser")
    found: set[str] = set()
    todo = [promql.parse(expression_text)]
    while todo:
        node = todo.pop()
        found |= {matcher.value for matcher in node.matchers.matchers} if hasattr(node, "matchers") else set()
        parts = (getattr(node, name, None) for name in ("expr", "lhs", "rhs", "vector_selector", "vs"))
        todo += [part for part in (*parts, *(getattr(node, "args", None) or ())) if hasattr(part, "prettify")]
    return found


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"{}",
        b'{"alerts": 3}',
        b'{"alerts": [{}]}',
        b'{"alerts": [{"labels": {}}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_notification_is_refused(body: bytes) -> None:
    """One clear line, whatever it is."""
    with pytest.raises(InputError, match="Alertmanager"):
        parse(body)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """Never anything else."""
    try:
        parse(body)
    except InputError:
        return


def test_the_sample_notification_is_of_the_documented_form(tmp_path: Path) -> None:
    """Two alerts that say the same of one place are one."""
    place = tmp_path / "body.json"
    twice = {"alertname": "RdmaPortDown", "node": "n1", "device": "mlx5_0", "port": "1"}
    place.write_bytes(notification(twice, {**twice, "severity": "warning"}))
    assert len(parse(place.read_bytes())) == 1
