"""The agent alone, as a child process on loopback: its orders, its measurements, its end."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import queue
import secrets
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.probe import agent as agent_module
from netkit.probe.framing import FrameReader

SOURCE = Path(agent_module.__file__)
LOOPBACK = "127.0.0.1"
MEASURE = {"warmup_s": 0.05, "warmup_bytes": 0, "seconds": 0.2, "iterations": 8, "deadline_s": 10.0, "connect_s": 3.0}


class Agent:
    """One agent process: orders in, messages out."""

    def __init__(self, deadline_s: float = 30.0) -> None:
        self.nonce = secrets.token_hex(16)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.results: queue.Queue[dict[str, Any]] = queue.Queue()
        self.heartbeats: queue.Queue[dict[str, Any]] = queue.Queue()
        self.ports: list[int] = []
        self.say({"nonce": self.nonce, "deadline_s": deadline_s})
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def listen(self) -> None:
        reader = FrameReader(self.nonce)
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 65536):
            for message in reader.feed(data):
                (self.heartbeats if message["type"] == "heartbeat" else self.results).put(message)

    def say(self, command: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def order(self, command: str, **fields: Any) -> None:
        self.say({"command": command, "task": command, **fields})

    def result(self) -> dict[str, Any]:
        return self.results.get(timeout=20)

    def open(self, rails: int = 1) -> None:
        self.order("open", addresses=[LOOPBACK] * rails)
        self.ports = self.result()["ports"]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


@contextmanager
def running(count: int, **options: Any) -> Iterator[list[Agent]]:
    agents = [Agent(**options) for _ in range(count)]
    try:
        yield agents
    finally:
        for agent in agents:
            agent.close()


def order_pair(agents: list[Agent], **more: Any) -> None:
    first, second = agents
    token = secrets.token_hex(32)
    for own, other in ((first, second), (second, first)):
        peer = [LOOPBACK, other.ports[0]]
        own.order("pair", **{**MEASURE, "rail": 0, "first": own is first, "peer": peer, "token": token, **more})


def order_streams(agents: list[Agent], **more: Any) -> None:
    sender, receiver = agents
    token = secrets.token_hex(32)
    for own, other in ((sender, receiver), (receiver, sender)):
        peer = [LOOPBACK, other.ports[0]]
        wanted = {"rail": 0, "sends": own is sender, "peer": peer, "token": token, "connections": 3}
        own.order("streams", **{**MEASURE, **wanted, **more})


def order_ring(agents: list[Agent], **more: Any) -> None:
    token = secrets.token_hex(32)
    for rank, agent in enumerate(agents):
        following = agents[(rank + 1) % len(agents)]
        place = {"rank": rank, "ranks": len(agents), "peer": [LOOPBACK, following.ports[0]]}
        agent.order(
            "ring",
            **{**MEASURE, "rail": 0, "bytes": 300_000, "warmup": 1, "iterations": 3, "token": token, **place, **more},
        )


def test_the_agent_runs_on_python_3_7_and_imports_only_the_standard_library() -> None:
    """Any host with a Python of the last years can run it; nothing of netkit is needed there."""
    source = SOURCE.read_text()
    tree = ast.parse(source, feature_version=(3, 7))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names


def test_the_agent_uses_no_call_newer_than_python_3_7() -> None:
    """Syntax is not enough: a function or a parameter may be newer than the interpreter."""
    vermin = Path(sys.executable).with_name("vermin")
    if not vermin.exists():
        pytest.skip("vermin is not installed beside this interpreter")
    done = subprocess.run([vermin, "-t=3.7-", "--no-tips", SOURCE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_hello_describes_the_host() -> None:
    """Interpreter, process, host and the interface that holds loopback."""
    with running(1) as [agent]:
        agent.order("hello")
        hello = agent.result()
        assert hello["pid"] == agent.process.pid
        assert hello["python"] == ".".join(map(str, sys.version_info[:3]))
        assert hello["cpus"] >= 1
        assert any(LOOPBACK in nic["addresses"] and nic["mtu"] > 1000 for nic in hello["interfaces"])


def test_a_pair_measures_both_directions_and_both_ends_agree() -> None:
    """What one end sent is what the other counted; each end reports the direction it received."""
    with running(2) as agents:
        for agent in agents:
            agent.open()
        order_pair(agents)
        first, second = (agent.result() for agent in agents)
        assert first["ok"]
        assert second["ok"]
        assert first["sent"]["bytes"] == second["received"]["bytes"] > 0
        assert second["sent"]["bytes"] == first["received"]["bytes"] > 0
        # Fewer than the 8 asked for when the machine is too busy to finish them in time.
        assert 5 <= len(first["received"]["rates"]) <= 8


def test_several_connections_are_measured_as_one() -> None:
    """The receiver tells what all of them moved in the window; the sender what it sent in all, which is no less."""
    with running(2) as agents:
        for agent in agents:
            agent.open()
        order_streams(agents)
        sent, received = (agent.result() for agent in agents)
        assert sent["ok"]
        assert received["ok"]
        assert received["seconds"] >= MEASURE["seconds"]
        assert 0 < received["rate"] * received["seconds"] <= sent["bytes"]


def test_connections_without_a_sender_end_as_a_time_out() -> None:
    """No number comes of it."""
    with running(2) as agents:
        for agent in agents:
            agent.open()
        agents[1].order(
            "streams",
            **{
                **MEASURE,
                "connect_s": 0.3,
                "rail": 0,
                "sends": False,
                "connections": 2,
                "token": secrets.token_hex(32),
            },
        )
        result = agents[1].result()
        assert (result["ok"], result["reason"]) == (False, "timeout")
        assert "rate" not in result


@pytest.mark.parametrize("limited", ["tx_rate", "rx_rate"])
def test_a_paced_rail_is_measured_at_its_pace(limited: str) -> None:
    """A rate limit on paper is found within 5 percent, whichever side holds it; a busy machine may need another try."""
    with running(2) as agents:
        for agent in agents:
            agent.open()
        for _ in range(3):
            order_pair(agents, seconds=0.5, **{limited: 20e6})
            rates = [agent.result()["received"]["rate"] for agent in agents]
            assert max(rates) < 1.05 * 20e6
            if min(rates) > 0.95 * 20e6:
                break
        assert min(rates) > 0.95 * 20e6


def test_no_path_is_a_time_out() -> None:
    """A pace of nothing behaves like a link that is down."""
    with running(2) as agents:
        for agent in agents:
            agent.open()
        order_pair(agents, tx_rate=0, connect_s=0.3)
        results = [agent.result() for agent in agents]
        assert [(result["ok"], result["reason"]) for result in results] == [(False, "timeout")] * 2


def test_several_rails_run_at_once() -> None:
    """Two paced rails take as long as one."""
    with running(2) as agents:
        for agent in agents:
            agent.open(rails=2)
        begun = time.monotonic()
        for rail in range(2):
            token = secrets.token_hex(32)
            for own, other in (agents, agents[::-1]):
                fields = {"rail": rail, "first": own is agents[0], "peer": [LOOPBACK, other.ports[rail]]}
                own.order("pair", **{**MEASURE, **fields, "token": token, "seconds": 0.5, "tx_rate": 20e6})
        assert all(agent.result()["ok"] for agent in agents for _rail in range(2))
        assert time.monotonic() - begun < 2 * (2 * 0.55)


@pytest.mark.parametrize(("ranks", "size"), [(2, 300_000), (3, 100), (5, 1_000_000)])
def test_a_ring_reduces_exactly_on_every_rank(ranks: int, size: int) -> None:
    """Every rank ends with the exact sum, checked by itself; the warm-up iteration is left out."""
    with running(ranks) as agents:
        for agent in agents:
            agent.open()
        order_ring(agents, bytes=size)
        for agent in agents:
            result = agent.result()
            assert result["ok"], result
            assert len(result["seconds"]) == 3
            assert all(seconds > 0 for seconds in result["seconds"])


def test_a_ring_with_a_rank_missing_ends_everywhere() -> None:
    """The others do not wait for ever, and the one before the gap says that it could not connect."""
    with running(3) as agents:
        for agent in agents:
            agent.open()
        agents[2].process.send_signal(signal.SIGSTOP)
        order_ring(agents, deadline_s=3.0, connect_s=0.5)
        results = [agent.result() for agent in agents[:2]]
        assert not any(result["ok"] for result in results)
        assert results[1]["reason"] == "timeout"
        assert "connecting" in results[1]["detail"]


@contextmanager
def as_sender(agent: Agent, **more: Any) -> Iterator[tuple[socket.socket, agent_module.Pattern]]:
    """Play the first end of a pair towards an agent, up to the point where the stream begins."""
    token = secrets.token_bytes(32)
    fields = {"rail": 0, "first": False, "peer": [LOOPBACK, 1], "token": token.hex()}
    agent.order("pair", **{**MEASURE, **fields, **more})
    forward = hashlib.sha256(token + b"forward").digest()
    with socket.create_connection((LOOPBACK, agent.ports[0]), timeout=5) as connection:
        connection.sendall(forward)
        assert connection.recv(1) == b"K"
        yield connection, agent_module.Pattern(forward)


def test_one_wrong_byte_is_corruption_and_no_number() -> None:
    """Every byte is compared: the first that differs ends the task."""
    with running(1) as [agent]:
        agent.open()
        with as_sender(agent) as (connection, pattern):
            damaged = bytearray(pattern.block(0))
            damaged[70_001] ^= 1
            connection.sendall(damaged)
            result = agent.result()
        assert (result["ok"], result["reason"]) == (False, "corrupt")
        assert "received" not in result


def test_blocks_out_of_order_are_corruption() -> None:
    """A block's bytes follow from its number, so a copy in another place does not pass."""
    with running(1) as [agent]:
        agent.open()
        with as_sender(agent) as (connection, pattern):
            connection.sendall(pattern.block(1))
            assert agent.result()["reason"] == "corrupt"


@pytest.mark.parametrize(("sent", "reason"), [(0, "absent"), (1000, "malformed")])
def test_a_sender_that_hangs_up_gives_no_number(sent: int, reason: str) -> None:
    """A stream that ends early, between blocks or inside one, is not measured."""
    with running(1) as [agent]:
        agent.open()
        with as_sender(agent) as (connection, pattern):
            connection.sendall(pattern.block(0)[:sent])
        assert agent.result()["reason"] == reason


def test_a_silent_sender_is_a_time_out() -> None:
    """A peer that connects and then says nothing does not hold the agent for ever."""
    with running(1) as [agent]:
        agent.open()
        with as_sender(agent, deadline_s=1.0):
            result = agent.result()
        assert (result["reason"], result["stage"]) == ("timeout", "warming up")


def test_a_receiver_that_counted_otherwise_gives_no_number() -> None:
    """Both ends must agree on how many bytes were moved."""
    with running(1) as [agent], socket.create_server((LOOPBACK, 0)) as server:
        agent.open()
        peer = [LOOPBACK, server.getsockname()[1]]
        agent.order("pair", **MEASURE, rail=0, first=True, peer=peer, token="ab" * 32)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(5)
            assert len(connection.recv(32)) == 32
            connection.sendall(b"K")
            connection.recv(1)
            connection.sendall(b"S")
            counted = 1
            while data := connection.recv(1 << 20):
                counted += len(data)
            connection.sendall(struct.pack("<Q", counted + 1))
            result = agent.result()
        assert (result["ok"], result["reason"]) == (False, "malformed")


def test_a_connection_with_a_wrong_token_is_dropped_and_disturbs_nothing() -> None:
    """Strangers on the listening port are not counted and not waited for."""
    with running(2) as agents:
        for agent in agents:
            agent.open()
        strangers = [socket.create_connection((LOOPBACK, agents[1].ports[0]), timeout=10) for _ in range(3)]
        strangers[0].sendall(secrets.token_bytes(32))
        strangers[1].sendall(b"GET / HTTP/1.1\r\nHost: netkit\r\n\r\n")
        order_pair(agents)
        assert all(agent.result()["ok"] for agent in agents)
        for stranger in strangers:
            with stranger:
                assert stranger.recv(1) == b""


def test_heartbeats_tell_the_stage_of_each_task() -> None:
    """While a task waits, every second says for what."""
    with running(1) as [agent], socket.create_server((LOOPBACK, 0)) as silent:
        agent.open()
        peer = [LOOPBACK, silent.getsockname()[1]]
        agent.order("pair", **MEASURE, rail=0, first=True, peer=peer, token="00" * 32)
        stages = [agent.heartbeats.get(timeout=5)["stages"] for _ in range(2)]
        assert f"connecting {LOOPBACK} to {LOOPBACK}" in [stage.get("pair") for stage in stages]


def test_calibration_tells_what_the_processors_alone_move() -> None:
    """One rate for each rail that ran at the same time."""
    with running(1) as [agent]:
        agent.order("calibrate", rails=2, token="00" * 32, **MEASURE)
        result = agent.result()
        assert result["ok"]
        assert len(result["rates"]) == 2
        # Far below any processor that runs Python at all; loopback has no other limit.
        assert min(result["rates"]) > 10e6


ENDS = {
    "end of input": (lambda agent: agent.process.stdin.close(), 0),
    "quit": (lambda agent: agent.say({"command": "quit"}), 0),
    "SIGTERM": (lambda agent: agent.process.terminate(), -signal.SIGTERM),
    "an order it does not know": (lambda agent: agent.order("reboot"), 2),
    "an order that is no JSON": (lambda agent: agent.process.stdin.write(b"{\n") and agent.process.stdin.flush(), 2),
}


@pytest.mark.parametrize(("cause", "status"), ENDS.values(), ids=ENDS.keys())
def test_the_agent_ends_while_a_task_still_waits(cause: Any, status: int) -> None:
    """Whatever ends it, it is gone within two seconds, and says at most one short line."""
    with running(1) as [agent], socket.create_server((LOOPBACK, 0)) as silent:
        agent.open()
        peer = [LOOPBACK, silent.getsockname()[1]]
        agent.order("pair", **MEASURE, rail=0, first=True, peer=peer, token="00" * 32)
        cause(agent)
        assert agent.process.wait(timeout=2) == status
        assert agent.process.stderr is not None
        said = agent.process.stderr.read()
        assert said.count(b"\n") == (status == 2)
        assert len(said) < 400


def test_the_agent_ends_at_its_own_deadline() -> None:
    """Forgotten agents do not live on."""
    with running(1, deadline_s=0.5) as [agent]:
        assert agent.process.wait(timeout=3) == 3


def test_a_stopped_agent_does_not_outlive_its_parent() -> None:
    """When whoever started it is killed, even an agent under SIGSTOP goes."""
    script = (
        "import subprocess, sys, time\n"
        "agent = subprocess.Popen([sys.executable, '-I', '-S', sys.argv[1]], stdin=-1, stdout=-1)\n"
        'agent.stdin.write(b\'{"nonce":"abcdefgh","deadline_s":60}\\n\'); agent.stdin.flush()\n'
        "agent.stdout.read(1); print(agent.pid, flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, SOURCE], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        agent_pid = int(parent.stdout.readline())
        os.kill(agent_pid, signal.SIGSTOP)
        parent.kill()
    deadline = time.monotonic() + 5
    while is_running(agent_pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(agent_pid)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@given(
    st.lists(st.floats(0.001, 10.0), min_size=1, max_size=30),
    st.integers(1, 10**9),
)
def test_rates_lie_between_the_slowest_and_the_fastest_iteration(gaps: list[float], size: int) -> None:
    """No estimate leaves the range of what was seen."""
    ends = [0.0]
    for gap in gaps:
        ends.append(ends[-1] + gap)
    found = agent_module.rates_between(ends, size)
    low, high = min(found["rates"]) * (1 - 1e-9), max(found["rates"]) * (1 + 1e-9)
    assert low <= found["rate"] <= high
    assert low <= found["median"] <= high


@pytest.mark.parametrize("segment", [7 * 8948, 6 * 8948, 8 * 8948, 45 * 1448])
def test_a_shaper_that_hands_over_segments_does_not_bias_the_rate(segment: int) -> None:
    """Data arrives in whole segments, which makes single iterations jump; the rate stays within a percent."""
    rate, size = 6.25e6, 262_144
    arrivals = [-(-size * number // segment) * segment / rate for number in range(21)]
    found = agent_module.rates_between(arrivals, size)
    assert max(found["rates"]) > 1.1 * min(found["rates"])
    assert found["rate"] == pytest.approx(rate, rel=0.01)


def test_one_stall_does_not_move_the_rate_much() -> None:
    """A pause as long as three iterations near the end costs little."""
    ends = [number * 1.0 + (3.0 if number > 17 else 0.0) for number in range(21)]
    assert agent_module.rates_between(ends, 100)["rate"] == pytest.approx(100, rel=0.05)
