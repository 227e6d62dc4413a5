"""Operators who probe one cluster at the same time, each in a thread of its own that only moves when it is let.

A thread stops before every request and every sleep, and says which; the test decides what becomes of it and when the
thread goes on. So every interleaving is the test's choice, and what runs in between is the real code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import urllib3

from netkit.errors import NetkitError
from netkit.probe.launchers.guarded import GuardedLauncher
from netkit.probe.launchers.job import JobLauncher
from netkit.probe.launchers.session import Event, Member
from netkit.probe.probe_job import ProbeJob, forms
from netkit.probe.safety.clock import Clock
from netkit.probe.safety.guard import Guard, Stake
from netkit.probe.safety.lease import Claim
from netkit.probe.safety.leases import Leases
from netkit.probe.safety.lock import NodeLock
from netkit.sources.kube.api import Api, Limits
from tests.kube.memory_api import Body, MemoryServer, Reply, Request, access

LIFETIME, STARTING = 300.0, 180.0
TURNS = 8
GPUS_OF_A_NODE = 8


class Killed(BaseException):
    """This process is no more; nothing it would still do is done."""


@dataclass(frozen=True)
class Call:
    """A request that leaves."""

    request: Request
    began: float


@dataclass(frozen=True)
class Sleep:
    """A pause until a time."""

    until: float


@dataclass(frozen=True)
class Effect:
    """Something done to the world in one go: agents start or end."""

    act: Callable[[], None]
    began: float
    waits: bool = False
    """Whether it happens whenever its process goes on; else it is given up like a request."""


@dataclass(frozen=True)
class Join:
    """Waiting for another thread to end."""

    other: Actor


Stop = Call | Sleep | Effect | Join


class Actor:
    """One thread that runs only between `go_on` and its next stop."""

    def __init__(self, body: Callable[[], None]) -> None:
        self.at: Stop | None = None
        self.ended = False
        self.dead = False
        self._baton = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._answer: Any = None
        self._thread = threading.Thread(target=self._run, args=(body,), daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._wait()

    def stop_at(self, stop: Stop) -> Any:
        """Called in the thread: say where it is, and wait to be let on."""
        if self.dead:
            raise Killed
        self.at = stop
        self._back.release()
        self._baton.acquire()
        if self.dead:
            raise Killed
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def go_on(self, answer: Any = None) -> None:
        """Let it run to its next stop."""
        self._answer, self.at = answer, None
        self._baton.release()
        self._wait()

    def kill(self) -> None:
        """End it where it stands."""
        self.dead = True
        if not self.ended:
            self._baton.release()
            self._wait()

    def _wait(self) -> None:
        assert self._back.acquire(timeout=30), "an operator neither ended nor stopped"

    def _run(self, body: Callable[[], None]) -> None:
        try:
            body()
        except Killed:
            pass
        finally:
            self.ended = True
            self._back.release()


@dataclass
class Agent:
    """One agent on a node, alive until it ends by itself."""

    probe: str
    node: str
    pod: str
    ends_at: float


@dataclass
class World:
    """The cluster: a server, a controller that makes pods of jobs, a scheduler that allots GPUs, and agents in pods."""

    now: float = 0.0
    agents: list[Agent] = field(default_factory=list)
    server: MemoryServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = MemoryServer(now=lambda: self.now, on_change=self._changed)

    def pass_time(self, seconds: float) -> None:
        """Let time pass: what has a deadline ends."""
        self.now += seconds
        for path, job in list(self.server.objects.items()):
            if "/jobs/" in path and self.now >= job["born"] + job["spec"]["activeDeadlineSeconds"]:
                del self.server.objects[path]
                self._changed("delete", path, job)
        self.schedule()
        self._reap()

    def schedule(self) -> None:
        """Let pods that wait have GPUs of their node, if it has enough."""
        for pod in self.pods():
            if pod["status"]["phase"] == "Pending" and self.free_gpus(pod["wants"]) >= gpus_of(pod):
                pod["status"]["phase"] = "Running"
                pod["spec"]["nodeName"] = pod["wants"]

    def pods(self) -> list[Body]:
        return [body for path, body in self.server.objects.items() if "/pods/" in path]

    def leases(self) -> list[Body]:
        return [body for path, body in self.server.objects.items() if "/leases/" in path]

    def free_gpus(self, node: str) -> int:
        held = [pod for pod in self.pods() if pod["spec"].get("nodeName") == node]
        return GPUS_OF_A_NODE - sum(map(gpus_of, held))

    def start_agent(self, member: Member, probe: str, lifetime: float) -> None:
        namespace, pod, _ = member.destination.split("/")
        if f"/api/v1/namespaces/{namespace}/pods/{pod}" in self.server.objects:
            self.agents.append(Agent(probe, member.name, member.destination, self.now + lifetime))

    def end_agents(self, probe: str) -> None:
        self.agents = [agent for agent in self.agents if agent.probe != probe]

    def _changed(self, verb: str, path: str, body: Body) -> None:
        if "/jobs/" not in path:
            return
        if verb == "delete":
            uid = body["metadata"]["uid"]
            for found, pod in list(self.server.objects.items()):
                if pod.get("owner") == uid:
                    del self.server.objects[found]
            self._reap()
            return
        body["born"] = self.now
        self._make_pods(body)

    def _make_pods(self, job: Body) -> None:
        spec = job["spec"]["template"]["spec"]
        rows = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        for row in rows:
            [node] = row["matchFields"][0]["values"]
            namespace = job["metadata"]["namespace"]
            name = f"{job['metadata']['uid']}-{node}"
            metadata = {"name": name, "namespace": namespace, "labels": job["metadata"]["labels"]}
            pod = {"metadata": metadata, "spec": {"containers": spec["containers"]}, "status": {"phase": "Pending"}}
            extra = {"owner": job["metadata"]["uid"], "wants": node, "born": self.now}
            self.server.put(f"/api/v1/namespaces/{namespace}/pods/{name}", pod | extra)
        self.schedule()

    def _reap(self) -> None:
        alive = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}/probe" for pod in self.pods()}
        self.agents = [agent for agent in self.agents if agent.pod in alive and agent.ends_at > self.now]


def gpus_of(pod: Body) -> int:
    return sum(int(row["resources"]["limits"].get("nvidia.com/gpu", 0)) for row in pod["spec"]["containers"])


class Operator:
    """One netkit: a thread that probes, and one that watches over its lock, as in the program."""

    def __init__(
        self, world: World, name: str, nodes: Sequence[str], *, namespace: str, skew: float, gpus: int
    ) -> None:
        self.world, self.name, self.nodes = world, name, tuple(nodes)
        self.began = world.now
        self.outcome = ""
        self.slept = 0.0
        self.clock = Clock(
            held=lambda: world.now + skew, watched=lambda: world.now - self.slept - skew, sleep=self._sleep
        )
        self.main, self.watcher = Actor(self._probe), Actor(lambda: None)
        self._current = self.main
        self._job = ProbeJob(
            id=name,
            namespace=namespace,
            nodes=self.nodes,
            image="i",
            python="python3",
            seconds=int(LIFETIME),
            operator=f"{name}@host",
            resources={"nvidia.com/gpu": str(gpus)},
        )

    @property
    def actors(self) -> list[Actor]:
        return [actor for actor in (self.main, self.watcher) if actor.at is not None and not actor.ended]

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up, and nobody hangs up on its agents."""
        for actor in self.actors:
            self._current = actor
            actor.kill()
        self.main.dead = self.watcher.dead = True

    def go_on(self, actor: Actor, answer: Any = None) -> None:
        self._current = actor
        actor.go_on(answer)

    def act(self, act: Callable[[], None], *, waits: bool = False) -> None:
        """Have something happen in the world, when the test lets it."""
        self._current.stop_at(Effect(act, self.world.now, waits))

    def _sleep(self, seconds: float) -> None:
        self._current.stop_at(Sleep(self.world.now + seconds))

    def _carry(self, request: Request) -> Reply:
        reply = self._current.stop_at(Call(request, self.world.now))
        assert isinstance(reply, Reply)
        return reply

    def _probe(self) -> None:
        def way_in() -> Any:
            return access(self._carry)

        api = Api(way_in, Limits(total_s=20.0, tries=2), self.clock.watched, self._sleep)
        claim = Claim(probe=self.name, operator=f"{self.name}@host", gang="g", seconds=LIFETIME + STARTING, again="x")
        lock = NodeLock(Leases(api, "netkit"), claim, self.nodes, self.clock)
        stake = Stake(cluster_nodes=100, gpu_minutes=1.0, wait_seconds=600.0)
        guard = Guard(lock, stake, self.clock, spawn=self._spawn)
        launcher = JobLauncher(
            open_access=way_in,
            job=self._job,
            form=forms()["indexed_job"],
            check=guard.check,
            inner=_Agents(self),
            clock=self.clock,
        )
        members = [Member(name=node, python="python3") for node in self.nodes]
        try:
            sessions = GuardedLauncher(inner=launcher, guard=guard).start(members, LIFETIME)
            try:
                for _ in range(TURNS):
                    sessions.receive(5.0)
            finally:
                sessions.stop()
        except NetkitError as fault:
            self.outcome = str(fault)
        else:
            self.outcome = "measured"

    def _spawn(self, look: Callable[[], None]) -> Callable[[], None]:
        ended = False

        def watch() -> None:
            while not ended:
                self._sleep(5.0)
                if not ended:
                    look()

        def stop() -> None:
            nonlocal ended
            ended = True
            self._current.stop_at(Join(self.watcher))

        main = self._current
        self.watcher = Actor(watch)
        self._current = self.watcher
        self.watcher.start()
        self._current = main
        return stop


@dataclass
class _Agents:
    """Agents over exec, without the exec: they live until they are ended, or by themselves."""

    operator: Operator
    id: str = "agents"
    transport: str = "pods"

    def start(self, members: Sequence[Member], lifetime_seconds: float) -> _Agents:
        def act() -> None:
            for member in members:
                self.operator.world.start_agent(member, self.operator.name, lifetime_seconds)

        self.operator.act(act)
        return self

    def send(self, rank: int, command: Mapping[str, Any]) -> None: ...

    def receive(self, timeout_seconds: float) -> Sequence[Event]:
        self.operator.clock.sleep(timeout_seconds)
        return ()

    def rejected(self) -> Mapping[int, int]:
        return {}

    def stop(self) -> None:
        world, name = self.operator.world, self.operator.name
        self.operator.act(lambda: world.end_agents(name), waits=True)


def silence(request: Request) -> Exception:
    """What a client sees of an answer that never comes."""
    return urllib3.exceptions.ReadTimeoutError(None, request.path, "silence")  # type: ignore[arg-type]
