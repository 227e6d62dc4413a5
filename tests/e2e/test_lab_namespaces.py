"""Labs of real kernel links, as root and as an ordinary user: up, down, broken, mended, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.other_user import NOBODY, REPOSITORY, as_nobody, environment, interpreter_for_nobody

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

RATE = 100e6 / 8
PAYLOAD = RATE * 8948 / 9014


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Someone who runs netkit: the words before every command, their interpreter, their environment."""

    words: tuple[str, ...]
    python: str
    environment: dict[str, str]

    @property
    def state_directory(self) -> Path:
        return Path(self.environment["XDG_RUNTIME_DIR"]) / "netkit"

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.words, *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            **more,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def netkit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.python, "-m", "netkit", *arguments)

    def lab(self, *arguments: str) -> str:
        """Run `netkit lab …`, which must succeed, and return its standard output."""
        done = self.netkit("lab", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.lab("status", "--name", name, "--output", "json"))
        return found


@pytest.fixture(scope="module")
def runtime_directory() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to other users.
    place = Path(tempfile.mkdtemp(prefix="netkit-e2e-"))
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module", params=["root", "ordinary user"])
def person(request: pytest.FixtureRequest, runtime_directory: Path) -> Iterator[Person]:
    mine = runtime_directory / request.param.replace(" ", "-")
    mine.mkdir()
    runtime_directory.chmod(0o755)
    found = {"root": root, "ordinary user": ordinary_user}[request.param](mine)
    yield found
    for state in found.state_directory.glob("*.lab.json"):
        found.netkit("lab", "down", "--name", state.name.partition(".")[0])


def root(mine: Path) -> Person:
    if os.geteuid() != 0:
        pytest.skip("not root")
    return Person(words=(), python=sys.executable, environment=environment(str(mine)))


def ordinary_user(mine: Path) -> Person:
    if os.geteuid() != 0:
        return Person(words=(), python=sys.executable, environment=environment(str(mine)))
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv to become an ordinary user with")
    python = interpreter_for_nobody()
    if python is None:
        pytest.skip("no Python 3.11 with pyroute2 and typer that an ordinary user may run")
    os.chown(mine, NOBODY, NOBODY)
    return Person(words=tuple(as_nobody()), python=python, environment=environment(str(mine)))


@pytest.fixture(scope="module")
def lab(person: Person) -> Iterator[str]:
    """A lab of four nodes, two rails, two leaves, at 100 Mbit/s, without faults before and after each test."""
    done = person.netkit("lab", "up", "--nodes", "4", "--rails", "2", "--rate", "100mbit", "--name", "four")
    if done.returncode == 3 and "--emulate" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    yield "four"
    person.lab("down", "--name", "four")


@pytest.fixture
def broken(person: Person, lab: str) -> Iterator[Callable[..., None]]:
    """Set a fault; it is cleared after the test."""

    def break_it(*fault: str) -> None:
        person.lab("fault", "--name", lab, *fault)

    yield break_it
    person.lab("fault", "--name", lab, "--clear")


def keepers(person: Person, name: str) -> list[int]:
    """Return the processes whose command line says that they keep this lab."""
    state_file = os.fsencode(person.state_directory / f"{name}.lab.json")
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdecimal() else []
        except OSError:
            continue
        if state_file in words:
            found.append(int(entry.name))
    return found


def eventually(condition: Callable[[], object], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


def alive(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False


def inside(person: Person, name: str, namespace: str, script: str, *arguments: str) -> list[str]:
    """Return the words that run a Python script in a node or in the fabric."""
    keeper = person.status(name)["keeper"]
    number = keeper["fabric_fd"] if namespace == "fabric" else keeper["node_fds"][int(namespace[1:])]
    enter = REPOSITORY / "netkit" / "lab" / "enter.py"
    where = [str(keeper["pid"]), str(keeper["started"]), str(number), f"{name}:test"]
    return [person.python, "-I", "-S", str(enter), *where, "--", person.python, "-c", script, *arguments]


DUMP = """
import json, os, sys
from pyroute2 import IPRoute
from netkit.lab.namespaces import enter_network
keeper, *descriptors = map(int, sys.argv[1:])
def words(message, *keys):
    options = message.get_attr("TCA_OPTIONS")
    return [message.get_attr("TCA_KIND"), str(options), *(message[key] for key in keys)]
seen = []
for descriptor in descriptors:
    enter_network(keeper, descriptor)
    with IPRoute() as route:
        for link in sorted(route.get_links(), key=lambda found: found["index"]):
            index = link["index"]
            seen.append([link["flags"], *(link.get_attr(f"IFLA_{key}") for key in ("IFNAME", "OPERSTATE", "MTU"))])
            seen += sorted(words(q, "handle", "parent") for q in route.get_qdiscs(index))
            seen += sorted(words(c, "handle", "parent", "info") for c in route.get_classes(index))
            seen += [words(f, "handle", "parent", "info") for f in route.get_filters(index=index, parent=0x10000)]
print(json.dumps(seen))
"""


def dump(person: Person, name: str) -> Any:
    """Return every link, queueing discipline, class and filter of a lab, without counters."""
    keeper = person.status(name)["keeper"]
    numbers = [str(number) for number in (keeper["pid"], keeper["fabric_fd"], *keeper["node_fds"])]
    done = person.run(*inside(person, name, "fabric", DUMP, *numbers))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


RECEIVE = """
import socket, sys, time
listener = socket.create_server((sys.argv[1], 0))
listener.settimeout(15)
print(listener.getsockname()[1], flush=True)
stream, _ = listener.accept()
stream.settimeout(15)
others = float(sys.argv[2])
begin = time.perf_counter() + 0.3 + others
taken = 0
while True:
    size = len(stream.recv(1 << 18))
    now = time.perf_counter()
    taken += size if now >= begin else 0
    if now >= begin + 1.0 or not size:
        break
print(taken / (now - begin))
while size and time.perf_counter() < now + others:
    size = len(stream.recv(1 << 18))
"""
SEND = """
import socket, sys
stream = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=15)
block = bytes(1 << 17)
try:
    while True:
        stream.sendall(block)
except OSError:
    pass
"""


def rate(person: Person, name: str, sender: int, receiver: int, rail: int = 0, others: float = 0) -> float:
    """Measure payload bytes per second of one TCP stream from node to node over a rail, for one second.

    The stream runs for `others` seconds before and after, so that streams started at about the same time overlap.
    """
    address = f"10.{rail}.0.{receiver + 1}"
    receiving = person.start(*inside(person, name, f"n{receiver}", RECEIVE, address, str(others)))
    assert receiving.stdout is not None
    port = receiving.stdout.readline().strip()
    sending = person.start(*inside(person, name, f"n{sender}", SEND, address, port))
    out, err = receiving.communicate(timeout=30)
    sending.communicate(timeout=30)
    assert receiving.returncode == 0, err
    return float(out)


def test_a_lab_leaves_no_trace_on_the_machine_while_up_or_after(person: Person, lab: str) -> None:
    """Not one device in the root namespace, no file and no process after `down`; the second `down` is quiet."""
    assert person.status(lab)["alive"]
    before = socket.if_nameindex()
    person.lab("up", "--nodes", "3", "--rails", "3", "--leaves", "3", "--name", "brief")
    assert person.status("brief")["transport"] == "namespaces"
    assert socket.if_nameindex() == before
    assert len(keepers(person, "brief")) == 1
    person.lab("down", "--name", "brief")
    assert keepers(person, "brief") == []
    assert not list(person.state_directory.glob("brief*"))
    again = person.netkit("lab", "down", "--name", "brief")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "no lab 'brief' is up\n")


def test_whatever_runs_inside_a_lab_ends_with_it(person: Person, lab: str) -> None:
    """A process that outlives its terminal and ignores SIGTERM is ended by `down` all the same."""
    assert lab
    person.lab("up", "--nodes", "2", "--rails", "1", "--name", "inner")
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(120)"
    process = person.start(*inside(person, "inner", "n1", stubborn), start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    person.lab("down", "--name", "inner")
    process.communicate(timeout=10)
    assert process.returncode == -signal.SIGKILL


def test_a_killed_keeper_takes_its_lab_along_and_is_found_by_name(person: Person, lab: str) -> None:
    """The kernel frees every namespace; `status` names the leftover, `down` clears it and what still ran inside."""
    assert lab
    person.lab("up", "--nodes", "2", "--rails", "1", "--name", "killed")
    keeper = person.status("killed")["keeper"]["pid"]
    lasting = "import time; print(1, flush=True); time.sleep(120)"
    words = [person.python, "-m", "netkit", "lab", "exec", "--name", "killed", "n0", "--", person.python, "-c", lasting]
    process = person.start(*words)
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    os.kill(keeper, signal.SIGKILL)
    assert eventually(lambda: not alive(keeper))
    listed = person.lab("status")
    assert "lab killed: ended without `netkit lab down`; clear it: netkit lab down --name killed" in listed
    refused = person.netkit("lab", "exec", "--name", "killed", "n0", "--", "true")
    assert refused.returncode == 3
    assert len(refused.stderr.splitlines()) == 1
    done = person.netkit("lab", "down", "--name", "killed")
    assert done.stderr == "cleared what was left of lab 'killed'\n"
    process.communicate(timeout=10)
    assert process.returncode == -signal.SIGTERM


def test_a_lab_ends_with_the_process_it_was_made_for(person: Person, lab: str) -> None:
    """`--while PID`: when the process ends, the lab and its state are gone without `down`."""
    assert lab
    owner = subprocess.Popen(["sleep", "120"])
    try:
        person.lab("up", "--nodes", "2", "--rails", "1", "--name", "bound", "--while", str(owner.pid))
        assert person.status("bound")["alive"]
    finally:
        owner.kill()
        owner.wait()
    assert eventually(lambda: not keepers(person, "bound") and not list(person.state_directory.glob("bound*.json")))


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("after_seconds", [0.3, 0.6, 1.0])
def test_an_interrupted_up_leaves_no_keeper(
    person: Person, lab: str, kind: signal.Signals, after_seconds: float
) -> None:
    """Whatever moment `up` is interrupted in, there is a lab that `status` lists or nothing at all."""
    assert lab
    words = [person.python, "-m", "netkit", "lab", "up", "--nodes", "16", "--rails", "4", "--name", "cut"]
    process = person.start(*words)
    time.sleep(after_seconds)
    process.send_signal(kind)
    process.communicate(timeout=30)
    if (person.state_directory / "cut.lab.json").exists():
        person.lab("down", "--name", "cut")
    assert eventually(lambda: not keepers(person, "cut"))


FAULTS: tuple[tuple[str, ...], ...] = (
    ("--node", "n3", "--rail", "1", "--slowdown", "0.2"),
    ("--node", "n3", "--slowdown", "20%", "--direction", "tx"),
    ("--node", "n1", "--rail", "0", "--down"),
    ("--leaf", "r1l0", "--slowdown", "0.3", "--direction", "rx"),
    ("--uplink", "r1l1", "--slowdown", "0.5"),
    ("--pair", "n0:n3", "--rail", "0", "--slowdown", "0.4"),
)


def test_every_fault_and_its_clearing_restore_the_kernel_exactly(person: Person, lab: str) -> None:
    """Each fault changes the dump; cleared by its own selector it is what it was, and so with all at once."""
    before = dump(person, lab)
    for fault in FAULTS:
        person.lab("fault", "--name", lab, *fault)
        assert dump(person, lab) != before, fault
        part = fault[: fault.index("--rail") + 2] if "--rail" in fault else fault[:2]
        person.lab("fault", "--name", lab, *part, "--clear")
        assert eventually(lambda: dump(person, lab) == before, 3), fault
    for fault in FAULTS:
        person.lab("fault", "--name", lab, *fault)
    assert len(person.status(lab)["faults"]) == len(FAULTS)
    person.lab("fault", "--name", lab, "--clear")
    assert person.status(lab)["faults"] == []
    assert eventually(lambda: dump(person, lab) == before, 3)


def test_a_healthy_rail_carries_its_rate(person: Person, lab: str) -> None:
    """One stream reaches the payload of the line rate within 3 percent, under one leaf and across the uplink."""
    assert rate(person, lab, 0, 1) == pytest.approx(PAYLOAD, rel=0.03)
    assert rate(person, lab, 0, 3, rail=1) == pytest.approx(PAYLOAD, rel=0.03)


@pytest.mark.parametrize(("direction", "slow", "fast"), [("tx", (1, 0), (0, 1)), ("rx", (0, 1), (1, 0))])
def test_a_sided_cut_slows_that_side_only(
    person: Person, lab: str, broken: Callable[..., None], direction: str, slow: tuple[int, int], fast: tuple[int, int]
) -> None:
    """A node that sends slowly still receives at full rate, and the other way round; its other rail is untouched."""
    broken("--node", "n1", "--rail", "0", "--slowdown", "0.2", "--direction", direction)
    assert rate(person, lab, *slow) == pytest.approx(PAYLOAD * 0.8, rel=0.03)
    assert rate(person, lab, *fast) == pytest.approx(PAYLOAD, rel=0.03)
    assert rate(person, lab, *slow, rail=1) == pytest.approx(PAYLOAD, rel=0.03)


def test_a_pair_fault_slows_that_pair_only(person: Person, lab: str, broken: Callable[..., None]) -> None:
    """Both directions between the two, nothing else."""
    broken("--pair", "n0:n3", "--rail", "0", "--slowdown", "0.3")
    assert rate(person, lab, 0, 3) == pytest.approx(PAYLOAD * 0.7, rel=0.03)
    assert rate(person, lab, 3, 0) == pytest.approx(PAYLOAD * 0.7, rel=0.03)
    assert rate(person, lab, 0, 2) == pytest.approx(PAYLOAD, rel=0.03)


def test_a_cut_uplink_is_shared_evenly_by_the_nodes_of_its_leaf(
    person: Person, lab: str, broken: Callable[..., None]
) -> None:
    """Two streams across an uplink at 50 percent get half the rate each, a stream under the leaf all of it."""
    from concurrent.futures import ThreadPoolExecutor

    broken("--uplink", "r0l0", "--slowdown", "0.5")
    with ThreadPoolExecutor(2) as threads:
        shares = list(threads.map(lambda ends: rate(person, lab, ends[0], ends[1], others=1.5), [(0, 2), (1, 3)]))
    assert shares == pytest.approx([PAYLOAD / 2, PAYLOAD / 2], rel=0.06)
    assert rate(person, lab, 0, 1) == pytest.approx(PAYLOAD, rel=0.03)


CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), timeout=4)
except ConnectionRefusedError:
    print("reached")
except OSError:
    print("lost")
"""


def test_a_downed_link_loses_its_node_on_that_rail_until_cleared(person: Person, lab: str) -> None:
    """The other rail keeps working; clearing brings the link back."""

    def seen(rail: int) -> str:
        return person.run(*inside(person, lab, "n0", CONNECT, f"10.{rail}.0.3")).stdout.strip()

    assert seen(0) == "reached"
    person.lab("fault", "--name", lab, "--node", "n2", "--rail", "0", "--down")
    assert (seen(0), seen(1)) == ("lost", "reached")
    person.lab("fault", "--name", lab, "--node", "n2", "--rail", "0", "--clear")
    assert eventually(lambda: seen(0) == "reached", 8)


def test_loss_and_delay_work_or_say_that_the_kernel_cannot(person: Person, lab: str) -> None:
    """With sch_netem the fault is set and cleared exactly; without, one line, exit 3, and nothing has changed."""
    before = dump(person, lab)
    done = person.netkit("lab", "fault", "--name", lab, "--node", "n1", "--loss", "1%", "--delay", "5ms")
    if done.returncode == 0:
        assert dump(person, lab) != before
        person.lab("fault", "--name", lab, "--clear")
    else:
        assert done.returncode == 3
        assert "this kernel has no sch_netem" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert person.status(lab)["faults"] == []
    assert dump(person, lab) == before


def test_a_command_in_a_node_sees_that_node_and_its_status_comes_back(person: Person, lab: str) -> None:
    """`exec` passes exit statuses through: the command's own, and 127 where there is none."""
    script = "import socket, sys; print([name for _, name in socket.if_nameindex()]); sys.exit(7)"
    done = person.netkit("lab", "exec", "--name", lab, "n1", "--", person.python, "-c", script)
    assert (done.returncode, done.stdout) == (7, "['lo', 'rail0', 'rail1']\n")
    missing = person.netkit("lab", "exec", "--name", lab, "n1", "--", "no-such-program")
    assert (missing.returncode, len(missing.stderr.splitlines())) == (127, 1)


def test_two_labs_at_once_do_not_touch_each_other(person: Person, lab: str) -> None:
    """Same addresses, same device names, different networks; a name cannot be taken twice."""
    person.lab("up", "--nodes", "4", "--rails", "1", "--rate", "none", "--name", "other")
    try:
        assert rate(person, "other", 0, 3) > 3 * PAYLOAD
        assert rate(person, lab, 0, 3) == pytest.approx(PAYLOAD, rel=0.03)
        taken = person.netkit("lab", "up", "--name", "other")
        assert (taken.returncode, len(taken.stderr.splitlines())) == (2, 1)
        assert "already up" in taken.stderr
    finally:
        person.lab("down", "--name", "other")
    assert person.status(lab)["alive"]


def test_where_namespaces_are_refused_one_line_says_so_and_offers_emulation(person: Person, lab: str) -> None:
    """In a user namespace whose limits are zero the kernel answers ENOSPC to both ways; `--emulate` works there."""
    assert lab
    limited = (
        "import ctypes, os, sys\n"
        "from netkit.lab.namespaces import _own_user_namespace\n"
        "_own_user_namespace()\n"
        "for kind in ('net', 'user'):\n"
        "    open(f'/proc/sys/user/max_{kind}_namespaces', 'w').write('0')\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'netkit', *sys.argv[1:]])\n"
    )
    done = person.run(person.python, "-c", limited, "lab", "up", "--name", "denied")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "ENOSPC to a new network namespace" in done.stderr
    assert "--emulate" in done.stderr
    assert not list(person.state_directory.glob("denied*"))
    emulated = person.run(person.python, "-c", limited, "lab", "up", "--name", "denied", "--emulate")
    assert emulated.returncode == 0, emulated.stderr
    assert "(emulated)" in emulated.stdout
    person.lab("down", "--name", "denied")
