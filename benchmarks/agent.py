"""What one agent pair moves beside iperf3 on the same link, and how exactly it measures a shaped one.

    python -m benchmarks.agent --json

Both tools run one TCP stream over an unshaped veth of a lab, in turn, three times each; the middle runs are compared.
The agent also compares every byte it receives with what was sent, which iperf3 does not. Then the same pair is
measured on rails shaped to several rates.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from netkit.errors import InputError
from netkit.lab import lifecycle
from netkit.lab.shape import checked_shape
from netkit.lab.state import LabState
from netkit.model.units import parse_rate_bytes_per_second
from netkit.probe.launchers import netns
from netkit.probe.launchers.roll_call import Order, RollCall
from netkit.probe.launchers.session import Fields, Member

TURNS = 3
WARMUP_SECONDS = 0.25


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="measured time of one run")
    parser.add_argument("--rates", default="50mbit,200mbit,1gbit", help="rates of the shaped rails")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if shutil.which("iperf3") is None:
        parser.error("no iperf3 on this machine to compare with; install it, such as Debian's package iperf3")
    figures = {
        "schema": "netkit.bench.agent/1",
        **versions(),
        **unshaped(options.seconds),
        "shaped": shaped(options.rates.split(","), options.seconds),
    }
    print(json.dumps(figures) if options.json else "\n".join(f"{key:34} {value}" for key, value in figures.items()))


def versions() -> dict[str, object]:
    """Return what the figures depend on."""
    words = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=True).stdout.split()
    return {
        "iperf3": words[1],
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processors": len(os.sched_getaffinity(0)),
    }


@contextmanager
def two_nodes(rate: float | None) -> Iterator[LabState]:
    """Bring up two nodes joined by one rail; it ends with this process whatever happens."""
    name = f"bench-agent-{os.getpid()}"
    shape = checked_shape(nodes=2, rails=1, leaves=1, rate=rate, uplink_rate=None)
    try:
        yield lifecycle.up(shape, name, owner=os.getpid())
    finally:
        lifecycle.down(name)


def unshaped(seconds: float) -> dict[str, object]:
    """Both tools in turn over the same unshaped veth; rates are bytes per second of payload."""
    theirs, forward, reverse = [], [], []
    with two_nodes(None) as lab:
        for _ in range(TURNS):
            theirs.append(iperf3(lab, seconds))
            there, back = pair(lab, seconds)
            forward.append(there)
            reverse.append(back)
    ours = statistics.median([*forward, *reverse])
    return {
        "iperf3_bytes_per_second": statistics.median(theirs),
        "agent_bytes_per_second": ours,
        "iperf3_runs": theirs,
        "agent_runs": [*forward, *reverse],
        "agent_over_iperf3": round(ours / statistics.median(theirs), 3),
    }


def shaped(rates: Sequence[str], seconds: float) -> list[dict[str, object]]:
    """The agent on rails of known rate: how far its reading is off, as a fraction of the rate's payload."""
    rows: list[dict[str, object]] = []
    for rate in rates:
        with two_nodes(parse_rate_bytes_per_second(rate)) as lab:
            expected = lab.fabric.line_rate
            assert expected is not None
            readings = [reading for _ in range(TURNS) for reading in pair(lab, min(seconds, 0.8))]
        worst = max(abs(reading / expected - 1) for reading in readings)
        rows.append({"rate": rate, "expected": expected, "worst_error": round(worst, 4)})
    return rows


def iperf3(lab: LabState, seconds: float) -> float:
    """One stream from n0 to n1, as received."""
    address = lab.addresses["n1"][0]
    server = subprocess.Popen([*lab.enter("n1"), "iperf3", "-s", "-1", "-B", address], stdout=subprocess.DEVNULL)
    try:
        client = [*lab.enter("n0"), "iperf3", "-c", address, "-t", str(seconds), "-J"]
        return float(json.loads(listening(client))["end"]["sum_received"]["bits_per_second"]) / 8
    finally:
        server.kill()
        server.wait()


def listening(client: Sequence[str]) -> str:
    """Run an iperf3 client, again while its server does not listen yet, and return what it printed."""
    for _ in range(50):
        done = subprocess.run(client, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        time.sleep(0.1)
    raise InputError(f"iperf3: {done.stdout[-200:]}", "an iperf3 that runs")


def pair(lab: LabState, seconds: float) -> tuple[float, float]:
    """One pair of agents; the rates from n0 to n1 and back."""
    names = ("n0", "n1")
    members = [Member(name=name, python=sys.executable, options=tuple(lab.enter(name))) for name in names]
    sessions = netns.LAUNCHER.start(members, 120.0)
    try:
        ranks = RollCall(sessions, names)
        opened = ranks.carry_out(
            [order(rank, "open", {"addresses": lab.addresses[name]}) for rank, name in enumerate(names)], 10.0
        )
        token = secrets.token_hex(32)
        orders = [
            order(
                rank,
                "pair",
                {
                    "rail": 0,
                    "first": rank == 0,
                    "peer": [lab.addresses[names[1 - rank]][0], opened[1 - rank, "open"]["ports"][0]],
                    "token": token,
                    "warmup_s": WARMUP_SECONDS,
                    "warmup_bytes": 1 << 20,
                    "seconds": seconds,
                    "iterations": 20,
                    "connect_s": 3.0,
                    "deadline_s": 60.0,
                },
            )
            for rank in range(2)
        ]
        results = ranks.carry_out(orders, 60.0)
    finally:
        sessions.stop()
    return results[1, "pair"]["received"]["rate"], results[0, "pair"]["received"]["rate"]


def order(rank: int, command: str, fields: Fields) -> Order:
    """One command to one of the two agents."""
    return Order(rank=rank, task=command, command={"command": command, **fields})


if __name__ == "__main__":
    main()
