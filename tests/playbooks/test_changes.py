"""Changes: what is now, what would be, the way back, and that nothing happens without a yes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from netkit.errors import InputError
from netkit_playbooks import changes

LINK = json.dumps([{"ifname": "eth2", "mtu": 1500, "flags": ["BROADCAST", "UP", "LOWER_UP"]}])
TBF = "qdisc tbf 8001: root refcnt 2 rate 1Gbit burst 32Kb lat 50ms \n"
OWN = "qdisc mq 0: root \nqdisc fq_codel 0: parent :1 limit 10240p flows 1024\n"
HTB = "qdisc htb 1: root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000\n"
PAUSE = "Pause parameters for eth2:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n"


def said(text: str) -> changes.Read:
    """A program that prints this, whatever it is asked."""
    return lambda _words: text


@pytest.mark.parametrize(
    ("kind", "to", "printed", "command", "rollback"),
    [
        ("mtu", "4200", LINK, "ip link set dev eth2 mtu 4200", "mtu --netdev eth2 --to 1500"),
        ("link-down", "", LINK, "ip link set dev eth2 down", "link-up --netdev eth2"),
        ("pause-off", "", PAUSE, "ethtool -A eth2 rx off tx off", "pause-set --netdev eth2 --to rx on tx off"),
        (
            "qdisc-remove",
            "",
            TBF,
            "tc qdisc del dev eth2 root",
            "qdisc-set --netdev eth2 --to tbf rate 1Gbit burst 32Kb lat 50ms",
        ),
        (
            "qdisc-set",
            "netem delay 10ms",
            OWN,
            "tc qdisc replace dev eth2 root netem delay 10ms",
            "qdisc-remove --netdev eth2",
        ),
    ],
)
def test_a_change_says_its_command_and_the_way_back(
    kind: str, to: str, printed: str, command: str, rollback: str
) -> None:
    """The way back leads to what was read, not to a default."""
    planned = changes.plan(kind, "eth2", to, said(printed))
    assert planned.needed
    assert " ".join(planned.command) == command
    assert " ".join(planned.rollback) == f"netkit playbook change {rollback}"


@pytest.mark.parametrize(
    ("kind", "to", "printed"),
    [("mtu", "1500", LINK), ("link-up", "", LINK), ("qdisc-remove", "", OWN), ("qdisc-remove", "", "")],
)
def test_what_is_so_already_needs_no_change(kind: str, to: str, printed: str) -> None:
    """A discipline that the kernel itself put there is nothing to take off."""
    assert not changes.plan(kind, "eth2", to, said(printed)).needed


@pytest.mark.parametrize(
    ("kind", "netdev", "to", "printed"),
    [
        ("reboot", "eth2", "", LINK),
        ("mtu", "eth2; reboot", "1500", LINK),
        ("mtu", "-all", "1500", LINK),
        ("mtu", "a" * 16, "1500", LINK),
        ("mtu", "eth2", "67", LINK),
        ("mtu", "eth2", "4200; reboot", LINK),
        ("mtu", "eth2", "", LINK),
        ("pause-set", "eth2", "rx on", PAUSE),
        ("qdisc-set", "eth2", "htb default 10", OWN),
        ("qdisc-set", "eth2", "tbf rate $(reboot)", OWN),
        ("qdisc-set", "eth2", "tbf -batch /etc/passwd", OWN),
        ("qdisc-remove", "eth2", "", HTB),
    ],
)
def test_what_cannot_be_or_cannot_be_undone_is_refused(kind: str, netdev: str, to: str, printed: str) -> None:
    """Before anything runs: unknown kinds, names that are none, values out of range, what could not be put back."""
    with pytest.raises(InputError):
        changes.plan(kind, netdev, to, said(printed))


def test_without_a_terminal_and_without_yes_nothing_is_run() -> None:
    """The loopback keeps its MTU; the command, the difference and the way back are printed."""
    words = ["playbook", "change", "mtu", "--netdev", "lo", "--to", "1400"]
    before = changes.read_program(("ip", "-json", "link", "show", "dev", "lo"))
    done = subprocess.run(
        [sys.executable, "-m", "netkit", *words], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 3, done.stderr
    assert "ip link set dev lo mtu 1400" in done.stdout
    assert "rollback:   netkit playbook change mtu --netdev lo --to" in done.stdout
    assert "not run" in done.stderr
    assert changes.read_program(("ip", "-json", "link", "show", "dev", "lo")) == before
