"""Hostfiles of every launcher become hosts; everything that is no host name is refused with its line number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.probe.hostfile import MOST_HOSTS, is_host_name, parse_hostfile, parse_leaf_file, parse_leaf_options


def names(text: str) -> list[str]:
    return [host.name for host in parse_hostfile(text)]


FORMS = {
    "plain": ("node1\nnode2\n", ["node1", "node2"]),
    "Open MPI": ("node1 slots=8\nnode2 slots=8 max_slots=8\nnode3 max-slots=2\n", ["node1", "node2", "node3"]),
    "Intel MPI and MPICH": ("node1:8\nnode2:8\n", ["node1", "node2"]),
    "Volcano": ("job-worker-0.job\njob-worker-1.job\n", ["job-worker-0.job", "job-worker-1.job"]),
    "DeepSpeed": ("worker-1 slots=4\nworker-2 slots=4\n", ["worker-1", "worker-2"]),
    "addresses": ("10.0.0.1\nfd00::2\n[fd00::3]:8\n10.0.0.4:2\n", ["10.0.0.1", "fd00::2", "fd00::3", "10.0.0.4"]),
    "comments and blanks": ("# gang\n\nnode1  # first\n\t node2\t slots=1 \n", ["node1", "node2"]),
    "CRLF and byte order mark": ("\ufeffnode1\r\nnode2 slots=8\r\n", ["node1", "node2"]),
    "no newline at the end": ("node1\nnode2", ["node1", "node2"]),
}


@pytest.mark.parametrize(("text", "hosts"), FORMS.values(), ids=FORMS.keys())
def test_every_launchers_form_is_read(text: str, hosts: list[str]) -> None:
    """Whatever a line says besides the host, the host is found."""
    assert names(text) == hosts


REFUSED = {
    "option of ssh": "-oProxyCommand=touch /tmp/x",
    "option without spaces": "-oProxyCommand=x",
    "shell": "a;rm -rf /",
    "substitution": "$(reboot)",
    "back quotes": "`reboot`",
    "user": "root@node1",
    "path": "../node1",
    "Cyrillic letter that looks Latin": "n\u043ede1",
    "full-width letters": "\uff4e\uff4f\uff44\uff45",
    "zero-width space": "node\u200b1",
    "right-to-left override": "node\u202e1",
    "non-breaking space": "node1\u00a0slots=8",
    "form feed inside": "node1\x0cslots=8",
    "escape sequence": "\x1b[2Jnode1",
    "NUL": "node\x001",
    "carriage return inside": "node1\rnode9",
    "two hosts": "node1 node2",
    "command after the slots": "node1 slots=8;reboot",
    "negative slots": "node1 slots=-1",
    "empty slots": "node1:",
    "number alone": "2130706433",
    "short address": "127.1",
    "address out of range": "10.0.0.256",
    "address with zone": "fe80::1%eth0",
    "label too long": "a" * 64,
    "name too long": ".".join(["abcdefgh"] * 30),
    "dash at an end": "node-",
    "empty label": "node..cluster",
    "underscore": "node_1",
}


@pytest.mark.fault("I12")
@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_host_is_refused_with_its_line(line: str) -> None:
    """The error is one visible line and says which line of the file it means."""
    with pytest.raises(InputError, match=r"^hostfile line 3: ") as caught:
        parse_hostfile(f"good1\n# comment\n{line}\ngood2\n")
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


@pytest.mark.fault("I12")
@pytest.mark.parametrize("again", ["node1", "NODE1", "node1 slots=4", "node1:4"])
def test_a_host_named_twice_is_refused_with_both_lines(again: str) -> None:
    """Names are the same whatever their case and slots."""
    with pytest.raises(InputError, match=r"line 4: .* line 2 already"):
        parse_hostfile(f"\nnode1\nnode2\n{again}\n")


@pytest.mark.fault("I12")
def test_ten_thousand_hosts_are_read_and_one_more_is_refused() -> None:
    """The limit is exact and its error names the line."""
    text = "".join(f"n{number}\n" for number in range(MOST_HOSTS))
    assert len(names(text)) == MOST_HOSTS
    with pytest.raises(InputError, match="line 10001"):
        parse_hostfile(text + "one-more\n")


@pytest.mark.parametrize("text", ["", "\n\n", "# nobody\n"])
def test_a_file_without_hosts_is_refused(text: str) -> None:
    """An empty gang is a mistake, not a healthy one."""
    with pytest.raises(InputError, match="without a host"):
        parse_hostfile(text)


@pytest.mark.fault("I12")
@given(st.text())
def test_any_text_gives_safe_names_or_is_refused(text: str) -> None:
    """No text at all gets a name past the parser that ssh or a terminal could take for something else."""
    try:
        hosts = parse_hostfile(text)
    except InputError:
        return
    assert all(re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z.:-]*|::[0-9A-Fa-f:.]*", host.name) for host in hosts)
    assert all(is_host_name(host.name) for host in hosts)


HOSTS = ("n0", "n1", "n2")


def test_leaves_come_from_options_or_a_file() -> None:
    """Both forms give the same map."""
    expected = {"n0": "leafA", "n1": "leafA", "n2": "leafB"}
    assert parse_leaf_options(["n0,n1:leafA", "n2:leafB"], HOSTS) == expected
    assert parse_leaf_file("n0 leafA\nn1\tleafA # rack 4\r\nn2 leafB\n", HOSTS) == expected
    assert parse_leaf_options([], HOSTS) == {}


@pytest.mark.fault("I14")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["n0,n1"], "HOST,HOST:LEAF"),
        (["n0,n9:a"], "'n9'"),
        (["n0,n1,n2:"], "leaf ''"),
        (["n0,n1,n2:a b"], "leaf 'a b'"),
        (["n0,n1:a", "n1,n2:b"], "under a already"),
        (["n0,n1:a"], "leaves without n2"),
    ],
)
def test_leaves_that_make_no_sense_are_refused(options: list[str], said: str) -> None:
    """The one line says what is wrong."""
    with pytest.raises(InputError, match=said):
        parse_leaf_options(options, HOSTS)


def test_a_misspelt_host_is_answered_with_the_nearest() -> None:
    """A leaf file usually has a typo, not an unknown host."""
    with pytest.raises(InputError, match="did you mean 'node-12'"):
        parse_leaf_file("nod-12 a\n", ["node-12", "other"])
