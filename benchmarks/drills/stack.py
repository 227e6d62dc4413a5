"""A real Prometheus and a real Alertmanager for drills: short intervals, netkit's own rules and its own routing.

What is scaled is `for`, `keep_firing_for` and windows (`netkit rules build --time-scale`), and how long Alertmanager
waits; conditions, thresholds, labels and inhibitions are those that are shipped.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode
from urllib.request import urlopen

import yaml

from netkit.errors import SourceError
from netkit.sources.prometheus import Prometheus
from netkit_dashboards.alertmanager import alertmanager
from netkit_dashboards.forms import RuleFormat
from netkit_dashboards.rule_delivery import rule_files
from netkit_dashboards.rule_file import Places, Rendering, scaled
from netkit_dashboards.shelf import panel_ids

Document = Mapping[str, Any]
_RAIL = {"source_labels": ["device"], "regex": r"\D*(?:\d+\D+)*?(\d+)", "target_label": "rail"}
_ENDING_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One address to scrape; `labels` are what relabelling adds."""

    port: int
    labels: Mapping[str, str]
    patient: bool = False
    """Whether it may take longer than a scrape of the others."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Intervals of a session, in seconds."""

    scrape: int = 5
    scale: float = 0.001


class Inbox:
    """A webhook receiver: every alert Alertmanager sends, the last word on each counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fired: dict[tuple[str, str], Document] = {}
        self._last: dict[tuple[str, str], str] = {}
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                inbox.take(body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, body: Document) -> None:
        """Keep what is said of each alert; the last word counts."""
        with self._lock:
            for alert in body["alerts"]:
                at = (alert["labels"]["alertname"], alert["labels"].get("node", ""))
                self._last[at] = alert["status"]
                if alert["status"] == "firing":
                    self._fired[at] = {**body, "alerts": [alert]}

    def fired(self, alert: str, node: str) -> Document | None:
        """Return what was received about an alert when it fired, with this alert alone; None before that."""
        with self._lock:
            return self._fired.get((alert, node))

    def is_over(self, alert: str, node: str) -> bool:
        """Tell whether an alert fired, and was then said to be resolved."""
        with self._lock:
            return self._last.get((alert, node)) == "resolved"

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._fired.clear()
            self._last.clear()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class Page:
    """A page of metrics that somebody else would serve, such as kube-state-metrics: `text` says what it is now."""

    def __init__(self, text: Callable[[], str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    data = text().encode()
                except OSError:
                    self.send_error(502)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class Shortened:
    """The same Prometheus with shorter windows: what playbooks ask for is scaled as the rules of the session are."""

    def __init__(self, url: str, scale: float) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                status, data = _passed_on(url + self.path, form | {"query": scaled(form["query"], scale)})
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _passed_on(url: str, form: Mapping[str, str]) -> tuple[int, bytes]:
    try:
        with urlopen(url, urlencode(form).encode(), timeout=10) as answer:  # noqa: S310 - our own Prometheus
            return 200, answer.read()
    except HTTPError as fault:
        return fault.code, fault.read()
    except OSError:
        return 502, b""


@dataclass(slots=True)
class Stack:
    """Both programs and the inbox; `folder` keeps their files and logs."""

    folder: Path
    port: int
    alertmanager_port: int
    targets: Sequence[Target]
    pace: Pace = field(default_factory=Pace)
    inbox: Inbox = field(default_factory=Inbox)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    shortened: Shortened = field(init=False)

    def __post_init__(self) -> None:
        self.shortened = Shortened(self.url, self.pace.scale)

    @property
    def url(self) -> str:
        """Where Prometheus answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Write the configuration and start both."""
        self.folder.mkdir(parents=True)
        places = Places(playbooks="https://playbooks.example.com/netkit")
        rendering = Rendering(time_scale=self.pace.scale, places=places, panel_ids=panel_ids())
        for name, text in rule_files(RuleFormat.RULES, rendering).items():
            (self.folder / name).write_text(text)
        self._write("prometheus.yaml", self._prometheus())
        self._write("alertmanager.yaml", routing(self.inbox.port))
        self._run(
            "prometheus",
            f"--config.file={self.folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--rules.alert.resend-delay=3s",
        )
        self._run(
            "prometheus-alertmanager",
            f"--config.file={self.folder / 'alertmanager.yaml'}",
            f"--storage.path={self.folder / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{self.alertmanager_port}",
            "--cluster.listen-address=",
        )

    def stop(self) -> None:
        """End both, whatever they do."""
        for process in self.started:
            process.terminate()
        for process in self.started:
            try:
                process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.inbox.close()
        self.shortened.close()

    def ask(self, expression: str) -> list[Mapping[str, str]]:
        """Return the labels of the answers to a question to Prometheus now; none while it does not answer."""
        try:
            return [answer.labels for answer in Prometheus(self.url).instant(expression, time.time())]
        except SourceError:
            return []

    def firing(self) -> list[Mapping[str, str]]:
        """Return the labels of what fires or is about to."""
        return self.ask("ALERTS")

    def _run(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.log").open("wb") as log:
            self.started.append(subprocess.Popen(command, stdout=log, stderr=log))

    def _write(self, name: str, document: object) -> None:
        (self.folder / name).write_text(yaml.safe_dump(document))

    def _prometheus(self) -> dict[str, Any]:
        pace = f"{self.pace.scrape}s"
        quick = [_static(target) for target in self.targets if not target.patient]
        patient = [_static(target) for target in self.targets if target.patient]
        shared = {"honor_labels": True, "metric_relabel_configs": [_RAIL]}
        as_netkit = [{"target_label": "job", "replacement": "netkit"}]
        return {
            "global": {"scrape_interval": pace, "scrape_timeout": pace, "evaluation_interval": pace},
            "rule_files": ["netkit-rules.yaml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{self.alertmanager_port}"]}]}]},
            "scrape_configs": [
                {"job_name": "netkit", "static_configs": quick, **shared},
                {"job_name": "prometheus", "static_configs": [{"targets": [f"127.0.0.1:{self.port}"]}]},
                {
                    "job_name": "patient",
                    "scrape_interval": "15s",
                    "scrape_timeout": "14s",
                    "relabel_configs": as_netkit,
                    "static_configs": patient,
                    **shared,
                },
            ],
        }


def routing(inbox: int) -> Document:
    """Return the shipped example with its receivers filled in and its waits shortened."""
    document: dict[str, Any] = alertmanager()
    hook = {"url": f"http://127.0.0.1:{inbox}/", "send_resolved": True, "max_alerts": 0}
    receivers = [{**one, "webhook_configs": [hook]} for one in document["receivers"]]
    waits = {"group_wait": "1s", "group_interval": "2s"}
    return {**document, "route": {**document["route"], **waits}, "receivers": receivers}


def _static(target: Target) -> dict[str, Any]:
    return {"targets": [f"127.0.0.1:{target.port}"], "labels": dict(target.labels)}


def eventually(what: Callable[[], bool], seconds: float, pause: float = 0.25) -> bool:
    """Tell whether it becomes true within a time."""
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
    return True
