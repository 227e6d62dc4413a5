"""Credentials never leave: no output, log line, bundle or traceback holds the canary token."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from netkit.cli.app import app
from netkit.sources.kube.api import Api
from netkit.sources.kube.config import open_access, without_userinfo
from tests.gangs.synthetic_cluster import pod
from tests.kube.fake_api import FakeApi, Running, write_kubeconfig

CANARY = "canary-5f2c-token"
FORGED = "train\nnetkit: forged line\r\x1b[2J\u202e"


def netkit(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "netkit", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
        timeout=60,
    )


@pytest.mark.fault("J04")
def test_a_newline_in_a_field_forges_no_line(tmp_path: Path) -> None:
    """Names, reasons and labels with line breaks and escape sequences stay on the line they belong to."""
    body = pod(FORGED, why=FORGED, labels={"scheduling.x-k8s.io/pod-group": FORGED})
    with Running(FakeApi().add(body)) as api:
        config = write_kubeconfig(tmp_path / "c", api.url)
        shown = netkit("gangs", "--kubeconfig", str(config), "--output", "plain")
        lines = netkit("gangs", "--kubeconfig", str(config), "--output", "jsonl")
    assert shown.returncode == 0, shown.stderr
    assert not any(line.startswith("netkit: forged") for line in shown.stdout.splitlines() + shown.stderr.splitlines())
    assert all(character == "\n" or character.isprintable() for character in shown.stdout)
    assert r"train\x0anetkit: forged line\x0d\x1b[2J\u202e" in shown.stdout
    assert len(lines.stdout.splitlines()) == 1


@pytest.mark.fault("J05")
def test_a_traceback_shows_no_locals(tmp_path: Path) -> None:
    """Also under --debug: frames and the message, never the values that were in them."""
    assert app.pretty_exceptions_show_locals is False
    config = write_kubeconfig(tmp_path / "c", "http://127.0.0.1:1", user={"token": CANARY})
    script = (
        "import sys; import netkit.sources.kube.api as kube; from netkit.cli.app import main\n"
        "def once(self, *asked):\n"
        "    secret = self._access.client.configuration.auth_settings()\n"
        "    raise RuntimeError('a bug')\n"
        "kube.Api._once = once\n"
        f"sys.argv = ['netkit', '--debug', 'gangs', '--kubeconfig', {str(config)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 70
    assert "RuntimeError: a bug" in done.stderr
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.fault("J06")
def test_a_token_on_the_command_line_is_refused() -> None:
    """Other users see arguments of a process: there is no such option."""
    done = netkit("gangs", "--token", CANARY)
    assert done.returncode == 2
    assert CANARY not in done.stdout


@pytest.mark.fault("J06")
@pytest.mark.parametrize("url", ["https://me:s3cret@host:6443/path", "http://s3cret@host"])
def test_user_and_password_of_a_url_are_not_shown(url: str) -> None:
    """What stands before the @ is replaced."""
    assert without_userinfo(url) == url.replace("me:s3cret", "redacted").replace("s3cret@", "redacted@")
    assert "s3cret" not in without_userinfo(url)


@pytest.mark.fault("J06")
def test_the_canary_is_in_no_output_log_or_bundle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Listing, failing, recording: with every logger at its loudest."""
    caplog.set_level(logging.DEBUG)
    secrets: dict[str, Any] = {"env": {"WANDB_API_KEY": CANARY, "NCCL_DEBUG": "INFO"}, "annotations": {"note": CANARY}}
    with Running(FakeApi(tokens={CANARY}).add(pod("p-0", node="n0", **secrets))) as api:
        config = write_kubeconfig(tmp_path / "c", api.url, user={"token": CANARY})
        reader = Api(partial(open_access, config, None))
        assert reader.versions() == {}
        bundle = netkit("gang", "bundle", "--kubeconfig", str(config))
        listed = netkit("gangs", "--kubeconfig", str(config), "--output", "json")
        api.tokens = {"other"}
        refused = netkit("gangs", "--kubeconfig", str(config))
    assert (bundle.returncode, listed.returncode, refused.returncode) == (0, 0, 3)
    assert json.loads(bundle.stdout.splitlines()[0])["redacted"] is True
    said = capsys.readouterr()
    everything = [caplog.text, repr(reader.access), said.out, said.err]
    everything += [text for done in (bundle, listed, refused) for text in (done.stdout, done.stderr)]
    assert not [text for text in everything if CANARY in text]
