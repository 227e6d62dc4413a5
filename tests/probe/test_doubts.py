"""What else was going on: others' traffic on the rails, and machines that are not the same any more."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

from netkit.model.missing import Missing, Reason
from netkit.model.probe import Answer, Verdict
from netkit.probe.doubts import after_reboots, contended, others_traffic, overrides, rebooted
from netkit.probe.framing import FrameReader
from tests.report.sample_reports import healthy, slow_rail

NAMES, RAILS = ("n0", "n1"), (("net1", "net2"), ("net1", "net2"))
QUIET = {"traffic": {"eth0": [9e9, 9e9], "net1": [10.0, 10.0], "net2": [0.0, 0.0]}}
BUSY = {"traffic": {"eth0": [0.0, 0.0], "net1": [0.0, 0.0], "net2": [1e6, 3e9]}}
TYPICAL = 50e9


@pytest.mark.fault("H12")
@pytest.mark.parametrize(
    ("looks", "typical", "found"),
    [
        ([(QUIET, QUIET), (QUIET, QUIET)], TYPICAL, ()),
        ([(QUIET, BUSY), (QUIET, QUIET)], TYPICAL, ("n1 net2 carried 3 GB/s",)),
        ([(QUIET, QUIET), (BUSY, QUIET)], TYPICAL, ("n0 net2 carried 3 GB/s",)),
        ([(BUSY, QUIET), (BUSY, QUIET)], TYPICAL, ("n0 net2 carried 3 GB/s",)),
        ([(BUSY, QUIET)], 70e9, ()),
        ([(BUSY, QUIET)], None, ()),
        ([(Missing(reason=Reason.TIMEOUT, where="n0"), {"traffic": "junk"})], TYPICAL, ()),
        ([({"traffic": {"net1": ["a", None], "net2": 7}}, {})], TYPICAL, ()),
    ],
)
def test_traffic_of_others_is_seen_on_rails_alone(
    looks: list[tuple[Any, ...]], typical: float | None, found: tuple[str, ...]
) -> None:
    """Above a twentieth of what a rail carries, before or after; other interfaces and what is no number say nothing."""
    assert others_traffic(NAMES, RAILS, looks, typical) == found


@pytest.mark.fault("H12")
def test_on_a_busy_fabric_slow_is_no_verdict_and_healthy_stays() -> None:
    """Others' traffic makes a link look slow, never fast; what was measured stays readable."""
    slow, fine = slow_rail().verdict, healthy().verdict
    doubted = contended(slow, ("n1 net2 carried 3 GB/s",))
    assert (doubted.answer, doubted.findings) == (Answer.INCONCLUSIVE, ())
    assert doubted.why == (
        f"the rails are not this probe's alone: n1 net2 carried 3 GB/s while it was silent; measured: {slow.why}"
    )
    assert contended(fine, ("n1 net2 carried 3 GB/s",)) == fine
    assert contended(slow, ()) == slow


@pytest.mark.fault("H16")
def test_settings_that_overrule_a_library_are_told_beside_the_verdict() -> None:
    """Alike in every pod, or where they differ and where they are not set; values are shown harmless."""
    seen: list[Any] = [
        {"settings": {"NCCL_ALGO": "Ring", "NCCL_TOPO_FILE": "/topo.xml"}},
        {"settings": {"NCCL_ALGO": "Tree\x1b[31m", "NCCL_TOPO_FILE": "/topo.xml"}},
        Missing(reason=Reason.TIMEOUT, where="n2"),
    ]
    assert overrides(("n0", "n1", "n2"), seen) == (
        "pods differ: NCCL_ALGO=Ring in n0; NCCL_ALGO=Tree\\x1b[31m in n1; not set in 1",
        "pods differ: NCCL_TOPO_FILE=/topo.xml in n0, n1; not set in 1",
    )
    assert overrides(("n0", "n1"), seen[:2])[1] == "every pod sets NCCL_TOPO_FILE=/topo.xml"
    assert overrides(NAMES, (QUIET, {"settings": "junk"})) == ()


@pytest.mark.fault("H19")
def test_a_node_that_rebooted_between_plan_and_result_ends_in_no_verdict() -> None:
    """By the boot ID of its kubelet; a node that does not tell, or is not there any more, has not rebooted."""
    before = {"n0": "a", "n1": "b", "n2": "", "n3": "d"}
    changed = rebooted(before, {"n0": "a", "n1": "B", "n2": "c"})
    assert changed == ("n1",)
    for report in (healthy(), slow_rail()):
        verdict: Verdict = after_reboots(report, changed).verdict
        assert (verdict.answer, verdict.findings) == (Answer.INCONCLUSIVE, ())
        assert verdict.why.startswith("n1 rebooted between the plan and the result: plan and probe again; measured: ")
        assert after_reboots(report, ()) == replace(report)


def test_what_looks_around_in_a_pod_tells_what_interfaces_carry() -> None:
    """As it is injected: by its source alone, framed, over a moment; loopback is nobody's rail."""
    source = files("netkit.probe").joinpath("pod_check.py").read_text()
    start = json.dumps({"nonce": "0123456789abcdef", "deadline_s": 60}) + "\n"
    environment = {"NCCL_ALGO": "Ring", "PASSWORD": "secret"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source],
        input=start.encode(),
        capture_output=True,
        check=True,
        env=environment,
    )
    [seen] = FrameReader("0123456789abcdef").feed(done.stdout)
    assert seen["settings"] == {"NCCL_ALGO": "Ring"}
    assert "lo" not in seen["traffic"]
    assert all(len(pair) == 2 and min(pair) >= 0 for pair in seen["traffic"].values())
