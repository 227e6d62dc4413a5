"""Every alert is drilled: a fault on a made-up node, the real exporter, Prometheus and Alertmanager, the cause named.

Sessions and faults: `benchmarks.drills`. All faults happen side by side, so that fifty drills take minutes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from benchmarks.drills.drill import DRILLS, REPRESENTATIVE, Drill
from benchmarks.drills.oncall import Answer, answer_to
from benchmarks.drills.session import Session, running
from benchmarks.drills.stack import Pace, eventually
from netkit.catalogue.alerts import alerts

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        shutil.which("prometheus") is None or shutil.which("prometheus-alertmanager") is None,
        reason="prometheus or alertmanager is not installed",
    ),
]
QUIET_SECONDS = 300.0
FIRING_SECONDS = 240.0
NAMED_SECONDS = 120.0
RESOLVED_SECONDS = 300.0
CHOSEN = tuple(one for one in DRILLS if os.environ.get("NETKIT_DRILLS") == "all" or one.alert in REPRESENTATIVE)
PLAYBOOK_OF = {alert.name: alert.playbook for alert in alerts()}


@pytest.fixture(scope="module")
def struck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session of all drills whose faults have happened, after a time in which healthy nodes raised no alert."""
    with running(tmp_path_factory.mktemp("drills") / "session", CHOSEN, Pace()) as session:
        session.settle(QUIET_SECONDS)
        session.strike()
        yield session


@pytest.fixture(scope="module")
def mended(struck: Session) -> Session:
    """The same session after everything was mended; drills before have seen their alerts fire."""
    struck.mend()
    return struck


@pytest.mark.parametrize("drill", CHOSEN, ids=lambda drill: drill.alert)
def test_the_fault_raises_its_alert(struck: Session, drill: Drill) -> None:
    """The receiver of Alertmanager's webhook gets the alert, with the playbook to run in its link."""
    arrived = eventually(lambda: struck.inbox(drill).fired(drill.alert, drill.seen_at) is not None, FIRING_SECONDS)

    assert arrived, f"{drill.alert} of {drill.seen_at!r} did not arrive; {struck.state(drill)}"
    body = struck.inbox(drill).fired(drill.alert, drill.seen_at)
    assert body is not None
    (alert,) = body["alerts"]
    assert alert["annotations"]["runbook_url"].rpartition("/")[2] == PLAYBOOK_OF[drill.alert]


@pytest.mark.parametrize("drill", CHOSEN, ids=lambda drill: drill.alert)
def test_its_playbook_names_the_cause(struck: Session, drill: Drill) -> None:
    """The playbook of the notification names what was done to the node, from the Prometheus that raised the alert."""
    said: list[Answer] = []

    def is_named() -> bool:
        body = struck.inbox(drill).fired(drill.alert, drill.seen_at)
        said.extend([] if body is None else [answer_to(body, struck.stack(drill).shortened.url)])
        return bool(said) and (said[-1].cause or "") == drill.cause

    assert eventually(is_named, NAMED_SECONDS, pause=3.0), said[-1].text if said else "the alert did not arrive"


@pytest.mark.parametrize("drill", [one for one in CHOSEN if not one.always], ids=lambda drill: drill.alert)
def test_the_alert_resolves_when_the_fault_is_gone(mended: Session, drill: Drill) -> None:
    """The last that the receiver hears of it is that it is over."""
    resolved = eventually(lambda: mended.inbox(drill).is_over(drill.alert, drill.seen_at), RESOLVED_SECONDS)

    assert resolved, f"{drill.alert} of {drill.seen_at!r} goes on; {mended.state(drill)}"
