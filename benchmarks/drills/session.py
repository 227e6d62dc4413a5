"""Drills side by side: a node and its real exporter for each fault, two Prometheus with Alertmanager, one clock.

All faults begin together and end together; a drill waits for its own alert at the receiver of Alertmanager's webhook.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.drills.drill import Act, Drill
from benchmarks.drills.exporter import PROCESS
from benchmarks.drills.fault import Fault, Injection
from benchmarks.drills.faults import FAULTS
from benchmarks.drills.node import SMALL, WHOLE, Node
from benchmarks.drills.stack import Inbox, Pace, Page, Stack, Target, eventually
from netkit_dashboards.rule_file import SHORTEST_WINDOW_SECONDS
from tests.dashboards.free_port import free_port

PLATFORM = "hgx-h100"
HEALTHY = "healthy"
"""A whole node without a fault. Every cluster has it: one port that is ill is an outlier then, and not the fleet."""
START_SECONDS = 300.0
_TICK_SECONDS = 1.0
_SLOW_SECONDS = 9.5
_REFRESH = "2s"
_ENDING_SECONDS = 30.0
_CAPACITY = (
    'kube_node_status_capacity{{cluster="{node}",node="{node}",resource="nvidia_com_gpu",unit="integer"}} {count}\n'
)
_NEIGHBOUR = {"job": "kube-state-metrics"}


@dataclass(slots=True)
class Struck:
    """A node, its exporter, and what is done to it."""

    node: Node
    port: int
    fault: Fault
    act: Act
    blind: bool = False
    injection: Injection = field(init=False)
    page: Page | None = None
    is_struck: bool = False

    def __post_init__(self) -> None:
        self.injection = Injection(self.node, self.fault)

    @property
    def is_covered(self) -> bool:
        """Whether an exporter runs there at all."""
        return self.act is not Act.UNCOVERED

    @property
    def address(self) -> str:
        """The node in the words of `benchmarks.drills.exporter`."""
        platform = (PLATFORM,) if self.node.devices == WHOLE else ()
        return "=".join((str(self.node.place), str(self.port), *platform))

    def kill_exporter(self) -> None:
        """End it without a word, as a machine that loses power does."""
        os.kill(int((self.node.place / PROCESS).read_text()), signal.SIGKILL)

    def scraped(self) -> str:
        """Return the exporter's page, late while the way to it is slow."""
        if self.is_struck:
            time.sleep(_SLOW_SECONDS)
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
            text: str = answer.read().decode()
        return text


class Session:
    """Everything that runs, from `start` to `stop`; `strike` and `mend` once each."""

    def __init__(self, folder: Path, drills: Sequence[Drill], pace: Pace) -> None:
        self.folder = folder
        self.drills = drills
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._exporting: list[subprocess.Popen[bytes]] = []
        self.struck = {drill.node: self._struck(drill) for drill in drills}
        node = Node(HEALTHY, folder / "nodes" / HEALTHY, devices=WHOLE)
        self.struck[HEALTHY] = Struck(node=node, port=free_port(), fault=Fault(), act=Act.NOTHING)
        self._neighbours = Page(self._capacity)
        self._kubelet = Page(lambda: "kubelet_running_pods 1\n")
        self.stacks = {blind: self._stack(blind, pace) for blind in {drill.blind for drill in drills}}

    def start(self) -> None:
        """Start exporters, then what watches them, and wait until everything is scraped."""
        for one in self.struck.values():
            one.node.place.mkdir(parents=True)
            one.node.lay_out()
            one.injection.prepare()
        self.advance()
        self._export([one for one in self.struck.values() if one.is_covered])
        threading.Thread(target=self._keep_moving, daemon=True).start()
        for stack in self.stacks.values():
            stack.start()
        for blind, stack in self.stacks.items():
            expected = len(self._targets(blind))
            answering = 'max_over_time(up{job="netkit"}[5m]) == 1'
            seen = eventually(partial(_at_least, stack, answering, expected), START_SECONDS)
            assert seen, f"{len(stack.ask(answering))} of {expected} exporters were scraped"

    def settle(self, seconds: float) -> None:
        """Wait until what exporters that start late raised is over, and windows hold nothing but healthy samples."""
        for stack in self.stacks.values():
            quiet = eventually(partial(_is_quiet, stack), seconds)
            assert quiet, f"before any fault there fires {stack.firing()}"

    def strike(self) -> None:
        """Let every fault happen; what was heard before is forgotten."""
        for stack in self.stacks.values():
            stack.inbox.forget()
        with self._lock:
            for one in self.struck.values():
                one.injection.begin()
                one.is_struck = True
                if one.act is Act.KILL:
                    one.kill_exporter()

    def mend(self) -> None:
        """Undo every fault."""
        with self._lock:
            for one in self.struck.values():
                one.is_struck = False
                one.injection.end()
                if one.act is Act.KILL:
                    self._export([one])

    def advance(self) -> None:
        """Let the counters grow, and probes that fail again fail."""
        with self._lock:
            for one in self.struck.values():
                one.node.move()
                if one.is_struck:
                    one.injection.go_on()

    def inbox(self, drill: Drill) -> Inbox:
        """Return where the alerts of a drill arrive."""
        return self.stack(drill).inbox

    def stack(self, drill: Drill) -> Stack:
        """Return what watches a drill's node."""
        return self.stacks[drill.blind]

    def state(self, drill: Drill) -> str:
        """Return what Prometheus knows of a drill's alert."""
        found = self.stack(drill).ask(f'ALERTS{{alertname="{drill.alert}"}}')
        return f"Prometheus says {[dict(one) for one in found] or 'nothing of it'}"

    def stop(self) -> None:
        """End everything that was started."""
        self._ending.set()
        for stack in self.stacks.values():
            stack.stop()
        for process in self._exporting:
            # Its exporters end with it; what they do is of no interest any more.
            process.communicate(timeout=_ENDING_SECONDS)
        for one in self.struck.values():
            if one.page:
                one.page.close()
        self._neighbours.close()
        self._kubelet.close()

    def _export(self, nodes: Sequence[Struck]) -> None:
        """Start the real exporters of some nodes."""
        command = [sys.executable, "-m", "benchmarks.drills.exporter", _REFRESH, *(one.address for one in nodes)]
        with (self.folder / "exporters.log").open("ab") as log:
            self._exporting.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log))

    def _keep_moving(self) -> None:
        while not self._ending.wait(_TICK_SECONDS):
            self.advance()

    def _struck(self, drill: Drill) -> Struck:
        node = Node(
            drill.node,
            self.folder / "nodes" / drill.node,
            devices=WHOLE if drill.whole else SMALL,
            infiniband=drill.infiniband,
        )
        fault = FAULTS[drill.fault] if drill.fault else Fault()
        one = Struck(node=node, port=free_port(), fault=fault, act=drill.act, blind=drill.blind)
        one.page = Page(one.scraped) if drill.act is Act.SLOW else None
        return one

    def _targets(self, blind: bool) -> list[Target]:
        """Return what is scraped: in the cluster of each drill its node, what is beside it, and a healthy one."""
        beside = {drill.node: drill.beside if blind else (*drill.beside, HEALTHY) for drill in self.drills}
        return [
            self._target(self.struck[name], cluster=one.node.name)
            for one in self.struck.values()
            if one.node.name in beside and one.blind is blind
            for name in (one.node.name, *beside[one.node.name])
            if self.struck[name].is_covered
        ]

    def _stack(self, blind: bool, pace: Pace) -> Stack:
        neighbours = [] if blind else [Target(port=self._neighbours.port, labels=_NEIGHBOUR), *self._others()]
        place = self.folder / ("blind" if blind else "main")
        return Stack(place, free_port(), free_port(), [*self._targets(blind), *neighbours], pace)

    def _others(self) -> list[Target]:
        """Return what else is scraped of nodes whose exporter alone goes away."""
        killed = [one.node.name for one in self.struck.values() if one.act is Act.KILL]
        return [
            Target(port=self._kubelet.port, labels={"node": name, "cluster": name, "job": "kubelet"}) for name in killed
        ]

    def _target(self, one: Struck, cluster: str) -> Target:
        labels = {"node": one.node.name, "cluster": cluster, "node_pool": "drill"}
        port = one.page.port if one.page else one.port
        return Target(port=port, labels=labels, patient=one.page is not None)

    def _capacity(self) -> str:
        """What kube-state-metrics would say of GPUs: one more than there is, or a node without an exporter."""
        counts = {Act.FEWER_GPUS: (SMALL, SMALL + 1), Act.UNCOVERED: (0, SMALL)}
        told = [(one.node.name, counts[one.act][one.is_struck]) for one in self.struck.values() if one.act in counts]
        lines = [_CAPACITY.format(node=node, count=count) for node, count in told if count]
        return "# TYPE kube_node_status_capacity gauge\n" + "".join(lines)


def _at_least(stack: Stack, expression: str, count: int) -> bool:
    return len(stack.ask(expression)) >= count


def _is_quiet(stack: Stack) -> bool:
    """Tell whether nothing that should not has fired in a window's time, of which there must have been one."""
    window = f"{SHORTEST_WINDOW_SECONDS}s"
    over = f'count by (alertname) (count_over_time(ALERTS{{alertname!="Watchdog"}}[{window}]))'
    return _at_least(stack, f"up offset {window}", 1) and not stack.ask(over)


@contextmanager
def running(folder: Path, drills: Sequence[Drill], pace: Pace) -> Iterator[Session]:
    """A started session; whatever happens, it ends."""
    session = Session(folder, drills, pace)
    try:
        session.start()
        yield session
    finally:
        session.stop()
