"""The lock on nodes against an API server in memory: who gets it, who is refused and told why, what ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import urllib3

from netkit.catalogue.kube_roles import lock_rules
from netkit.errors import InputError, NetkitError, ProbeError
from netkit.probe.safety.clock import Clock
from netkit.probe.safety.guard import BLIND_SECONDS, Guard, Stake, StoppedError
from netkit.probe.safety.lease import Claim
from netkit.probe.safety.leases import Leases
from netkit.probe.safety.lock import NodeLock, TakenError
from netkit.probe.safety.policy import Policy
from netkit.sources.kube.api import Api, Limits
from tests.kube.memory_api import MemoryServer, Reply, Request, access

NODES = ("gpu-2", "gpu-1")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/netkit/leases"
POLICY = "/api/v1/namespaces/netkit/configmaps/netkit-probes"
CLUSTER_NODES = 100
Carry = Callable[[Request], Reply]


@dataclass
class World:
    """One server and the time. Every operator's clocks are set at random for all they know."""

    now: float = 1000.0
    server: MemoryServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = MemoryServer(now=lambda: self.now)

    def operator(self, name: str, *, skew: float = 0.0, carry: Carry | None = None, **claim: Any) -> Guard:
        clock = Clock(held=lambda: self.now + skew, watched=lambda: self.now - skew, sleep=self.sleep)
        asked = Claim(probe=name, operator=f"{name}@host", gang="team-a/train", seconds=780.0)
        api = Api(lambda: access(carry or self.server.answer), Limits(total_s=20.0, tries=2), clock.watched, self.sleep)
        lock = NodeLock(Leases(api, "netkit"), replace(asked, **claim), NODES, clock)
        stake = Stake(cluster_nodes=CLUSTER_NODES, gpu_minutes=10.0)
        return Guard(lock, stake, clock, spawn=lambda _look: lambda: None)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def allow(self, **data: str) -> None:
        self.server.put(POLICY, {"metadata": {}, "data": {key.replace("_", "-"): text for key, text in data.items()}})

    @property
    def held(self) -> dict[str, str]:
        """Who holds what."""
        rows = ((path, body["metadata"].get("labels", {})) for path, body in self.server.objects.items())
        return {
            path.rsplit("/", 1)[1]: labels["netkit.dev/probe"] for path, labels in rows if "netkit.dev/probe" in labels
        }


def test_a_lock_is_one_lease_a_node_and_a_slot_and_is_given_back() -> None:
    """In sorted order; afterwards the nodes' leases stay to tell when they were probed, held by nobody."""
    world = World()
    guard = world.operator("a")
    guard.begin()
    made = [request.body["metadata"]["name"] for request in world.server.asked if request.body]
    assert made == ["netkit-slot-0", "gpu-1", "gpu-2"]
    assert world.held == {"netkit-slot-0": "a", "gpu-1": "a", "gpu-2": "a"}
    guard.end(measured=True)
    assert world.held == {}
    assert sorted(world.server.objects) == [f"{LEASES}/gpu-1", f"{LEASES}/gpu-2"]


def test_who_comes_second_takes_nothing_and_hears_whose_it_is() -> None:
    """All or nothing: not even the lease of a node that is free."""
    world = World()
    world.allow(probes_at_once="2")
    world.operator("a").begin()
    before = dict(world.server.objects)
    with pytest.raises(TakenError, match="node gpu-1 is held by a@host for gang team-a/train; wait for it"):
        world.operator("b").begin()
    assert world.server.objects == before


def test_one_probe_runs_at_once_also_on_other_nodes() -> None:
    """The slot is the lock of the whole cluster."""
    world = World()
    world.operator("a").begin()
    other = world.operator("b")
    other.lock.nodes = ("gpu-9",)
    with pytest.raises(TakenError, match="slot netkit-slot-0 is held by a@host"):
        other.begin()
    assert set(world.held.values()) == {"a"}


@pytest.mark.fault("H10")
@pytest.mark.parametrize("skew", [-3600.0, 0.0, 3600.0])
def test_a_dead_holders_lock_is_taken_over_only_after_it_was_watched_for_its_whole_time(skew: float) -> None:
    """By the watcher's own clock, from when it first looked: no date of anybody is believed."""
    world = World()
    world.operator("dead", skew=-skew).begin()
    world.now += 10_000.0
    waiting = world.operator("b", skew=skew, again="it was killed")
    began = world.now
    with pytest.raises(TakenError):
        waiting.begin()
    waiting._stake = replace(waiting._stake, wait_seconds=2000.0)
    waiting.begin()
    assert 780.0 + 60.0 <= world.now - began <= 780.0 + 60.0 + 10.0
    assert set(world.held.values()) == {"b"}


@pytest.mark.fault("H10")
def test_a_holder_that_renews_is_never_taken_over() -> None:
    """Every change starts the watch anew, whatever time it is anywhere."""
    world = World()
    holder, waiting = world.operator("a", skew=-3600.0), world.operator("b", skew=3600.0)
    holder.begin()
    for _ in range(38):
        with pytest.raises(TakenError):
            waiting.begin()
        world.now += 20.0
        holder.look()
        holder.check()
    assert set(world.held.values()) == {"a"}


def test_a_lease_that_is_taken_away_stops_the_probe() -> None:
    """At the next look, naming it; a renewal does not bring it back."""
    world = World()
    guard = world.operator("a")
    guard.begin()
    del world.server.objects[f"{LEASES}/gpu-2"]
    world.now += 25.0
    guard.look()
    with pytest.raises(StoppedError, match="the lease of node gpu-2 is gone or somebody else's"):
        guard.check()
    assert f"{LEASES}/gpu-2" not in world.server.objects


@pytest.mark.fault("H13")
def test_the_kill_switch_refuses_a_probe_and_stops_one() -> None:
    """With the reason its writer gave; a probe is let through again once the key is gone."""
    world = World()
    running = world.operator("a")
    running.begin()
    world.allow(stop="switches are upgraded")
    running.look()
    with pytest.raises(StoppedError, match="ConfigMap netkit-probes in namespace netkit says stop: switches are upg"):
        running.check()
    running.end(measured=False)
    with pytest.raises(ProbeError, match=r"starting a probe: ConfigMap netkit-probes .* no probe runs until that key"):
        world.operator("b").begin()
    assert world.held == {}
    del world.server.objects[POLICY]
    world.operator("b").begin()
    assert set(world.held.values()) == {"b"}


@pytest.mark.fault("H13")
def test_a_node_is_left_alone_for_a_while_and_again_needs_a_reason() -> None:
    """The time left is told, by the server's clock alone; a reason stays on the leases for others to read."""
    world = World()
    first = world.operator("a")
    first.begin()
    world.now += 100.0
    first.end(measured=True)
    with pytest.raises(
        ProbeError, match=r"node gpu-1 was probed for gang team-a/train by a@host, and is left alone for 8m20s"
    ):
        world.operator("b", skew=5000.0).begin()
    assert world.held == {}
    again = world.operator("b", again="a cable was swapped")
    again.begin()
    assert (
        world.server.objects[f"{LEASES}/gpu-1"]["metadata"]["annotations"]["netkit.dev/again"] == "a cable was swapped"
    )
    again.end(measured=False)
    world.now += 600.0
    world.operator("c").begin()


@pytest.mark.fault("H13")
@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"gpu_minutes": "9"}, "over budget: 10 GPU-minutes, a probe may take 9; ConfigMap netkit-probes"),
        ({"nodes_at_once": "2", "percent_of_nodes": "1"}, ""),
        ({"cool_down_minutes": "0"}, ""),
    ],
)
def test_a_budget_that_does_not_suffice_refuses_before_anything_is_taken(limits: dict[str, str], said: str) -> None:
    """With both figures, and where more is allowed."""
    world = World()
    world.allow(**limits)
    guard = world.operator("a")
    if not said:
        guard.begin()
        return
    with pytest.raises(ProbeError, match=said):
        guard.begin()
    assert world.held == {}


@pytest.mark.fault("H13")
def test_nodes_of_all_probes_together_stay_within_the_budget() -> None:
    """Counted once ours are among them; what was taken is given back."""
    world = World()
    world.allow(probes_at_once="2", nodes_at_once="3")
    world.operator("a").begin()
    other = world.operator("b")
    other.lock.nodes = ("gpu-8", "gpu-9")
    with pytest.raises(TakenError, match=r"2 nodes are under other probes \(gpu-1, gpu-2\), 3 may be at once"):
        other.begin()
    assert set(world.held.values()) == {"a"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"gpu_minute": "9"}, "ConfigMap netkit-probes with the key 'gpu-minute': accepted is stop, probes-at-once"),
        ({"probes_at_once": "many"}, "probes-at-once='many': accepted is a whole number, 1 to 100"),
        ({"percent_of_nodes": "101"}, "percent-of-nodes='101': accepted is a whole number, 1 to 100"),
    ],
)
def test_a_policy_that_cannot_be_understood_allows_nothing(data: dict[str, str], said: str) -> None:
    """A limit that is misread is no limit: also a probe that runs is stopped by it."""
    world = World()
    running = world.operator("a")
    running.begin()
    world.allow(**data)
    with pytest.raises(InputError) as fault:
        world.operator("b").begin()
    assert said in str(fault.value)
    running.look()
    with pytest.raises(StoppedError):
        running.check()


def test_a_small_cluster_may_be_probed_whole() -> None:
    """A share of a few nodes would be less than any gang."""
    assert Policy().most_nodes(8) == 16
    assert Policy().most_nodes(1000) == 250
    assert Policy().most_nodes(10_000) == 500


def test_an_api_server_that_falls_silent_stops_the_probe() -> None:
    """Nobody could say stop any more."""
    world, down = World(), False

    def carry(request: Request) -> Reply:
        if down:
            raise urllib3.exceptions.ReadTimeoutError(None, request.path, "silence")  # type: ignore[arg-type]
        return world.server.answer(request)

    guard = world.operator("a", carry=carry)
    guard.begin()
    down = True
    world.now += BLIND_SECONDS - 5.0
    guard.look()
    guard.check()
    world.now += 10.0
    guard.look()
    with pytest.raises(StoppedError, match="the API server has not answered for 1m05s"):
        guard.check()


def test_a_machine_that_slept_does_not_go_on_under_an_old_lock() -> None:
    """The clock of what is held went on meanwhile."""
    world = World()
    guard = world.operator("a")
    guard.begin()
    world.now += 500.0
    guard.look()
    guard.check(200.0)
    with pytest.raises(StoppedError, match="its lock runs out"):
        guard.check(600.0)


@pytest.mark.parametrize("lost", ["netkit-slot-0", "gpu-1", "gpu-2"])
def test_a_creation_whose_answer_is_lost_is_looked_up(lost: str) -> None:
    """It is ours by its label: neither taken twice nor left behind."""
    world = World()

    def carry(request: Request) -> Reply:
        reply = world.server.answer(request)
        if request.method == "POST" and request.body and request.body["metadata"]["name"] == lost:
            raise urllib3.exceptions.ReadTimeoutError(None, request.path, "silence")  # type: ignore[arg-type]
        return reply

    guard = world.operator("a", carry=carry)
    guard.begin()
    assert set(world.held) == {"netkit-slot-0", "gpu-1", "gpu-2"}
    guard.end(measured=False)
    assert world.server.objects == {}


@pytest.mark.parametrize("code", [429, 500, 503])
def test_an_api_server_in_trouble_refuses_and_keeps_nothing(code: int) -> None:
    """What was taken before is given back."""
    world = World()

    def carry(request: Request) -> Reply:
        if request.method == "POST" and request.body and request.body["metadata"]["name"] == "gpu-2":
            return Reply(code, {"kind": "Status", "message": "no leader"})
        return world.server.answer(request)

    with pytest.raises(NetkitError):
        world.operator("a", carry=carry).begin()
    assert world.server.objects == {}


def test_locks_that_cannot_be_given_back_are_said_and_run_out() -> None:
    """Tried three times each; nobody is told that all is well."""
    world, down = World(), False

    def carry(request: Request) -> Reply:
        return Reply(503, {"kind": "Status"}) if down else world.server.answer(request)

    guard = world.operator("a", carry=carry)
    guard.begin()
    down = True
    with pytest.raises(ProbeError, match="3 leases are left; they run out by themselves, or: netkit cleanup --locks"):
        guard.end(measured=False)


def test_a_probe_asks_of_the_lock_namespace_what_its_role_grants() -> None:
    """All verbs of taking, renewing, waiting, taking over and giving back: neither more nor less."""
    world = World()
    first = world.operator("a")
    first.begin()
    world.now += 30.0
    first.look()
    first.end(measured=True)
    world.operator("b", again="once more").begin()
    asked = {
        (request.verb, request.path.split("/namespaces/netkit/")[1].split("/")[0]) for request in world.server.asked
    }
    granted = {(verb, resource) for rule in lock_rules() for resource in rule.resources for verb in rule.verbs}
    assert asked == granted
