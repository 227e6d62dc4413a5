"""One question and its answer: overruns, interruptions, short messages, refusals, silence."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.sources.netlink.kernel import ATTEMPTS, Answer, Channel, LiveKernel, Question
from netkit.sources.netlink.memory import RecordedKernel, RecordingKernel
from netkit.sources.netlink.messages import Flag, Kind, Message, encode
from tests.sources.netlink.scripted import done, error, part, scripted_kernel

ASKED = Question(channel=Channel.ROUTE, command=18, body=bytes(16), dump=True, where="interfaces")
SCENES = Path(__file__).with_name("namespace_scenes.py")


def scene(name: str, *before: str) -> dict[str, object]:
    """Play one scene in a process of its own; skip where this machine gives no network namespace."""
    words = [*before, sys.executable, str(SCENES), name]
    if before:
        tried = subprocess.run([*before, "true"], capture_output=True, text=True, check=False)
        if tried.returncode:
            pytest.skip(f"no network namespace of our own here: {tried.stderr.strip()}")
    played = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert played.returncode == 0, played.stderr
    found: dict[str, object] = json.loads(played.stdout)
    return found


OWN_NAMESPACE = ("unshare", "--user", "--map-root-user", "--net")


def test_the_parts_of_a_dump_are_joined() -> None:
    """Several datagrams, several messages in one, and the end."""
    kernel, _ = scripted_kernel(lambda n: [part(n, b"one") + b"\0" + part(n, b"two!"), part(n, b"six!"), done(n)])
    assert kernel.ask(ASKED) == Answer(bodies=(b"one", b"two!", b"six!"))


def test_messages_of_others_are_passed_over() -> None:
    """Late answers to older questions and news carry other sequence numbers."""
    kernel, _ = scripted_kernel(lambda n: [part(n + 7, b"news"), part(n, b"mine"), done(n)])
    assert kernel.ask(ASKED) == Answer(bodies=(b"mine",))


@pytest.mark.fault("D01")
def test_an_overrun_is_asked_again_in_full_and_counted() -> None:
    """What came before the loss is thrown away: no state is claimed from half a list."""
    scripts = iter([True, False])

    def script(n: int) -> list[bytes | OSError]:
        lost = next(scripts)
        return [part(n, b"half"), OSError(errno.ENOBUFS, "lost")] if lost else [part(n, b"all!"), done(n)]

    kernel, opened = scripted_kernel(script)
    assert kernel.ask(ASKED) == Answer(bodies=(b"all!",))
    assert kernel.troubles == Counter(overrun=1)
    assert [each.closed for each in opened] == [True, False]


@pytest.mark.fault("D01")
def test_a_real_overrun_costs_a_second_dump_and_no_interface() -> None:
    """A receive buffer of 2 KiB, flooded with news of the namespace's own links."""
    found = scene("overrun", *OWN_NAMESPACE)
    assert found["troubles"] == {"overrun": 1}
    assert found["listed"] == found["there"]


@pytest.mark.fault("D02")
def test_a_dump_interrupted_once_is_asked_again() -> None:
    """The second try is whole."""
    flags = iter([Flag.MULTI | Flag.DUMP_INTR, Flag.MULTI])
    kernel, _ = scripted_kernel(lambda n: [part(n, b"some", next(flags)), done(n)])
    assert kernel.ask(ASKED) == Answer(bodies=(b"some",))
    assert kernel.troubles == Counter(interrupted=1)


@pytest.mark.fault("D02")
def test_a_dump_interrupted_every_time_is_given_as_partial() -> None:
    """Three more tries, then what there is, marked."""
    kernel, _ = scripted_kernel(lambda n: [part(n, b"some"), done(n, Flag.MULTI | Flag.DUMP_INTR)])
    assert kernel.ask(ASKED) == Answer(bodies=(b"some",), partial=True)
    assert kernel.troubles == Counter(interrupted=ATTEMPTS)


@pytest.mark.fault("D02")
def test_lists_taken_while_links_come_and_go_lose_none_that_stayed() -> None:
    """A real kernel under churn: what is not marked partial is whole."""
    found = scene("churn", *OWN_NAMESPACE)
    assert found["lost"] == []
    assert isinstance(found["whole"], int)
    assert found["whole"] > 0


@pytest.mark.fault("D03")
@given(st.binary(max_size=64), st.integers(0, 200))
def test_mangled_answers_are_an_answer_or_a_missing(junk: bytes, cut: int) -> None:
    """Cut anywhere, with junk behind: nothing is raised, and a spoilt socket is not used again."""
    kernel, opened = scripted_kernel(lambda n: [(part(n, bytes(24)) + done(n))[:cut] + junk, done(n)])
    answer = kernel.ask(ASKED)
    assert isinstance(answer, (Answer, Missing))
    assert all(each.closed for each in opened) or not kernel.troubles


@pytest.mark.fault("D03")
def test_a_message_longer_than_its_datagram_is_malformed_and_the_socket_made_anew() -> None:
    """The next question gets a clean one."""
    broken = iter([True, False])
    kernel, opened = scripted_kernel(lambda n: [part(n, bytes(40))[:30]] if next(broken) else [done(n)])
    first = kernel.ask(ASKED)
    assert isinstance(first, Missing)
    assert (first.reason, first.detail[:7]) == (Reason.MALFORMED, "EBADMSG")
    assert kernel.ask(ASKED) == Answer(bodies=())
    assert [each.closed for each in opened] == [True, False]


@pytest.mark.fault("D03")
@pytest.mark.parametrize("code", [errno.EINTR, errno.EAGAIN])
def test_an_interrupted_call_is_made_again(code: int) -> None:
    """EINTR and EAGAIN are no answer."""
    steps = iter([OSError(code, "try again"), b""])
    kernel, _ = scripted_kernel(lambda n: [step] if isinstance(step := next(steps), OSError) else [done(n)])
    assert kernel.ask(ASKED) == Answer(bodies=())


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EPERM, Reason.DENIED),
        (errno.EOPNOTSUPP, Reason.UNSUPPORTED),
        (errno.ENODEV, Reason.ABSENT),
        (4000, Reason.TIMEOUT),
    ],
)
def test_a_refusal_is_missing_with_the_errnos_name(code: int, reason: Reason) -> None:
    """NLMSG_ERROR becomes a reason people and programs tell apart; an errno without a name reads as EIO."""
    kernel, _ = scripted_kernel(lambda n: [error(n, code)])
    answer = kernel.ask(ASKED)
    assert isinstance(answer, Missing)
    assert answer.reason is reason
    assert answer.detail.split(":")[0] == errno.errorcode.get(code, "EIO").replace("ENOTSUP", "EOPNOTSUPP")


@pytest.mark.fault("D05")
def test_without_the_capability_the_capability_is_named() -> None:
    """A real kernel refuses module memory to an ordinary user."""
    found = scene("denied")
    assert found["reason"] == "denied"
    assert found["detail"] == "EPERM: needs CAP_NET_ADMIN"


def test_a_kernel_without_ethtool_netlink_is_unsupported() -> None:
    """Kernels before 5.6: the family is not there, which says nothing about the interface."""
    kernel, _ = scripted_kernel(lambda n: [error(n, errno.ENOENT)])
    answer = kernel.ask(Question(channel=Channel.ETHTOOL, command=6, where="link state"))
    assert isinstance(answer, Missing)
    assert answer.reason is Reason.UNSUPPORTED


def test_silence_ends_at_the_deadline() -> None:
    """No answer is a timeout, not a wait for ever."""
    kernel, _ = scripted_kernel(lambda _n: [])
    answer = kernel.ask(ASKED)
    assert isinstance(answer, Missing)
    assert answer.reason is Reason.TIMEOUT


def test_overrun_messages_count_as_overruns() -> None:
    """NLMSG_OVERRUN says the same as ENOBUFS."""
    spilt = Message(kind=Kind.OVERRUN, flags=0, sequence=0, body=b"")
    kernel, _ = scripted_kernel(lambda _n: [encode(spilt)])
    assert isinstance(kernel.ask(ASKED), Missing)
    assert kernel.troubles == Counter(overrun=ATTEMPTS)


@pytest.mark.fault("D07")
def test_ten_thousand_openings_leave_no_descriptor_behind() -> None:
    """Each with a question; descriptors are counted before and after."""
    found = scene("descriptors")
    assert found["after"] == found["before"]
    assert found["cycles"] == 10_000


@pytest.mark.fault("D04")
def test_interfaces_gone_or_renamed_after_the_list_are_left_out() -> None:
    """Deleted, renamed, and replaced by another of the same name: only what is still itself is read."""
    found = scene("renamed", *OWN_NAMESPACE)
    assert found["listed"] == ["lo", "kept0", "kept1", "gone0", "gone1", "old0", "old1"]
    assert found["read"] == ["lo", "kept0", "kept1", "old1"]


@pytest.mark.fault("D08")
def test_a_namespace_without_host_nics_says_so() -> None:
    """And names what to change."""
    found = scene("no host nic", *OWN_NAMESPACE)
    assert found["reason"] == "absent"
    assert "hostNetwork: true" in str(found["detail"])


def test_a_recording_answers_as_the_kernel_did() -> None:
    """Real answers about the loopback interface, written down as JSON and asked again."""
    with LiveKernel() as live:
        recording = RecordingKernel(live)
        first = recording.ask(ASKED)
    rows = json.loads(json.dumps(recording.rows()))
    assert isinstance(first, Answer)
    assert RecordedKernel(rows).ask(ASKED) == first
    unasked = RecordedKernel(rows).ask(Question(channel=Channel.RDMA, command=1, where="rdma devices"))
    assert isinstance(unasked, Missing)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"channel": "smoke", "command": 1, "dump": True, "body": "", "answer": [], "partial": False},
        {"channel": "rdma", "command": 1, "dump": True, "body": "?", "answer": [], "partial": False},
        {"channel": "rdma", "command": 1, "dump": True, "body": "", "missing": "mislaid", "where": "", "detail": ""},
    ],
)
def test_a_row_of_another_shape_is_bad_input(row: dict[str, object]) -> None:
    """Recordings come from strangers."""
    with pytest.raises(InputError):
        RecordedKernel([row])
