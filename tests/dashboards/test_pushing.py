"""Dashboards into a Grafana that answers as real ones do on bad days; the token goes nowhere else and is never told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from netkit.errors import InputError
from netkit_dashboards.dashboard_commands import app
from netkit_dashboards.grafana_api import Grafana, GrafanaError
from netkit_dashboards.pushing import Outcome, difference, push
from netkit_dashboards.shelf import boards
from netkit_dashboards.token import read_token
from tests.dashboards.scripted_server import Asked, Reply, serving

TOKEN = "glsa_s3cretS3cret"
MISSING = Reply(status=404, body=b'{"message":"Dashboard not found"}')


class Shelf:
    """A Grafana that keeps what it is given, and counts versions up as the real one does."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.written = 0

    def __call__(self, asked: Asked) -> Reply:
        if asked.method == "GET":
            found = self.kept.get(asked.path.rsplit("/", 1)[-1])
            return MISSING if found is None else Reply(body=json.dumps({"dashboard": found, "meta": {}}).encode())
        if asked.path == "/api/folders":
            return Reply(status=412, body=b'{"message":"the folder exists"}')
        given = json.loads(asked.body)["dashboard"]
        self.written += 1
        self.kept[given["uid"]] = {**given, "id": self.written, "version": self.written}
        return Reply(body=b'{"status":"success"}')


def outcomes(grafana: Grafana) -> list[Outcome]:
    return [one.outcome for one in push(grafana)]


def test_a_second_push_writes_nothing() -> None:
    """Idempotent: what Grafana counts by itself is no difference."""
    shelf = Shelf()
    with serving(shelf) as server:
        grafana = Grafana(server.url, TOKEN)
        assert outcomes(grafana) == [Outcome.WRITTEN] * len(boards())
        assert outcomes(grafana) == [Outcome.UNCHANGED] * len(boards())
        assert list(difference(grafana)) == []

    assert shelf.written == len(boards())
    assert all(asked.headers["Authorization"] == f"Bearer {TOKEN}" for asked in server.asked)


def test_a_difference_is_shown_as_lines() -> None:
    """What push would change, and nothing else."""
    shelf = Shelf()
    with serving(shelf) as server:
        grafana = Grafana(server.url, TOKEN)
        outcomes(grafana)
        shelf.kept["netkit-fabric"]["title"] = "mine"
        lines = list(difference(grafana))

    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ['- "title": "mine",', '+ "title": "netkit / Fabric",']


@pytest.mark.fault("L01")
@pytest.mark.parametrize(
    ("reply", "said", "tries"),
    [
        (Reply(status=401, body=b'{"message":"Unauthorized"}'), "does not know the token", 1),
        (Reply(status=403, body=b'{"message":"Permission denied"}'), "may not write here", 1),
        (Reply(status=404, body=b"nginx"), "is this the address of a Grafana", 1),
        (Reply(status=409, body=b'{"message":"same name"}'), "something else has this name", 1),
        (Reply(status=412, body=b'{"message":"version-mismatch"}'), "somebody changed it", 1),
        (Reply(status=429, body=b"{}", headers={"Retry-After": "2"}), "busy and stayed so", 3),
        (Reply(status=503, body=b"<html>bad gateway</html>"), "503: Grafana failed", 3),
        (Reply(body=b"<html>Please log in</html>", headers={"Content-Type": "text/html"}), "a login page?", 1),
        (Reply(status=500, body=json.dumps({"message": f"token {TOKEN} \x1b[31m"}).encode()), "500: Grafana failed", 3),
    ],
    ids=lambda one: str(one.status) if isinstance(one, Reply) else None,
)
def test_each_refusal_is_one_line_without_the_token(reply: Reply, said: str, tries: int) -> None:
    """What it means and what to do; only 429 and 5xx are tried again, after the wait that was asked for."""
    waited: list[float] = []
    with serving(lambda _: reply) as server, pytest.raises(GrafanaError) as fault:
        Grafana(server.url, TOKEN, sleep=waited.append).write({"uid": "x"}, "netkit")

    assert said in str(fault.value)
    assert TOKEN not in str(fault.value)
    assert "\x1b" not in str(fault.value)
    assert len(server.asked) == tries
    assert waited == [2.0 if reply.status == 429 else 1.0] * (tries - 1)


@pytest.mark.fault("L02")
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_refused(status: int) -> None:
    """The token is not carried anywhere else, not even to the same machine."""
    with serving(lambda _: Reply()) as elsewhere:
        reply = Reply(status=status, headers={"Location": f"{elsewhere.url}/api"})
        with serving(lambda _: reply) as server:
            found = list(push(Grafana(server.url, TOKEN)))

    assert elsewhere.asked == []
    assert "which is not followed" in found[0].reason
    assert [one.outcome for one in found[1:]] == [Outcome.NOT_TRIED] * (len(boards()) - 1)


@pytest.mark.fault("L03")
def test_a_partial_push_says_what_was_done_and_can_be_run_again() -> None:
    """Three of seven fail once; the list says which, and the second run writes those alone."""
    shelf, sick = Shelf(), {"netkit-pfc", "netkit-gpu", "netkit-meta"}

    def answer(asked: Asked) -> Reply:
        if asked.path == "/api/dashboards/db" and json.loads(asked.body)["dashboard"]["uid"] in sick:
            return Reply(status=400, body=b'{"message":"no"}')
        return shelf(asked)

    with serving(answer) as server:
        grafana = Grafana(server.url, TOKEN)
        first = {one.uid: one.outcome for one in push(grafana)}
        sick.clear()
        second = {one.uid: one.outcome for one in push(grafana)}

    failed = {uid for uid, outcome in first.items() if outcome is Outcome.FAILED}
    assert failed == {"netkit-pfc", "netkit-gpu", "netkit-meta"}
    assert {uid for uid, outcome in second.items() if outcome is Outcome.WRITTEN} == failed
    assert set(second.values()) == {Outcome.WRITTEN, Outcome.UNCHANGED}


def test_the_command_ends_with_4_when_something_was_not_written(tmp_path: Path) -> None:
    """And prints one line a dashboard, without the token."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    with serving(lambda _: Reply(status=401, body=b"{}")) as server:
        done = CliRunner().invoke(app, ["push", "--grafana", server.url, "--token-file", str(tmp_path / "token")])

    assert done.exit_code == 4
    assert len(done.output.splitlines()) == len(boards())
    assert TOKEN not in done.output


def test_a_token_comes_from_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a variable, trimmed; both, none, missing or unfit ones are named, and never what they hold."""
    (tmp_path / "token").write_text(f" {TOKEN}\n")
    (tmp_path / "bad").write_text("two words\nand lines")
    monkeypatch.setenv("A_TOKEN", TOKEN)

    assert read_token(tmp_path / "token", "") == TOKEN
    assert read_token(None, "A_TOKEN") == TOKEN
    for file, variable in ((None, ""), (tmp_path / "token", "A_TOKEN"), (tmp_path / "none", ""), (None, "NO_SUCH")):
        with pytest.raises(InputError):
            read_token(file, variable)
    with pytest.raises(InputError) as fault:
        read_token(tmp_path / "bad", "")
    assert "two words" not in str(fault.value)


@pytest.mark.parametrize("url", ["grafana", "https://user:pass@grafana", "ftp://grafana"])
def test_an_address_with_a_password_or_none_is_refused(url: str) -> None:
    """Without repeating it: a password may stand in it."""
    with pytest.raises(InputError) as fault:
        Grafana(url, TOKEN)
    assert "pass@" not in str(fault.value)
