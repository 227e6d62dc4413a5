"""The mpiruns that measure rail by rail: who is where, who is grouped with whom, and what their logs come to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from netkit.model.missing import Missing
from netkit.probe.backends import nccl_tests, rccl_tests
from netkit.probe.benchmark import Bench, Order, RailGroup, Rates, Tuning, Work
from tests.probe.stand_ins import all_reduce_perf as stand_in

NAMES = ("ha", "hb", "hc", "hd")
SIZE = 1 << 20
RATE = 48.5e9
NEW = {(0, "options"): {"ok": True, "status": 0, "output": stand_in.USAGE + stand_in.NEWER}}
OLD = {(0, "options"): {"ok": True, "status": 0, "output": stand_in.USAGE}}
PAIRS = [RailGroup(ranks=ranks, rail=rail) for ranks in ((2, 0), (1, 3)) for rail in (0, 1)]


def bench(prepared: Mapping[tuple[int, str], Any] = NEW, **tuning: Any) -> Bench:
    wanted: dict[str, Any] = {"devices": ("mlx5_0", "mlx5_1"), "bytes": SIZE} | tuning
    return Bench(
        names=NAMES,
        hosts=tuple(f"{name}.cluster" for name in NAMES),
        hostnames=NAMES,
        rails=2,
        tuning=Tuning(**wanted),
        seconds=0.8,
        prepared=prepared,
    )


def orders(work: Work) -> list[Order]:
    assert len(work.waves) == 1
    return list(work.waves[0])


def contexts(order: Order) -> list[tuple[str, dict[str, str], list[str]]]:
    """Host, environment and program of each rank, as mpirun reads its command line."""
    words = order.command["words"]
    assert words[:5] == ["mpirun", "--hostfile", "hosts", "--bind-to", "none"]
    edges = [4, *(at for at, word in enumerate(words) if word == ":"), len(words)]
    found = []
    for begin, end in pairwise(edges):
        part = words[begin + 1 : end]
        assert part[:3] == ["-np", "1", "--host"]
        program = next(at for at, word in enumerate(part) if word.endswith("all_reduce_perf"))
        settings = dict(word.split("=", 1) for word in part[4:program] if word != "-x")
        found.append((part[3], settings, part[program:]))
    return found


def test_one_mpirun_measures_every_pair_on_every_rail() -> None:
    """Ranks rail by rail, partners side by side, a device of its own for each; the mask makes pairs of neighbours."""
    [order] = orders(nccl_tests.BENCHMARK.pairs(bench(), PAIRS, "round 2"))
    ranks = contexts(order)
    assert [(host, env["NCCL_IB_HCA"]) for host, env, _ in ranks] == [
        *((f"{name}.cluster:2", "=mlx5_0") for name in ("hc", "ha", "hb", "hd")),
        *((f"{name}.cluster:2", "=mlx5_1") for name in ("hc", "ha", "hb", "hd")),
    ]
    masks = {int(env["NCCL_TESTS_SPLIT_MASK"], 16) for _, env, _ in ranks}
    assert [rank & mask for mask in masks for rank in range(8)] == [0, 0, 2, 2, 4, 4, 6, 6]
    assert all(env["NCCL_PXN_DISABLE"] == "1" for _, env, _ in ranks)
    assert all(words[-4:] == ["-I", "1", "-J", "result.json"] for _, _, words in ranks)
    assert order.rank == 2  # world rank 0 writes the file, so mpirun is started where it is
    assert order.command["files"]["hosts"] == "".join(f"{name}.cluster slots=2\n" for name in ("hc", "ha", "hb", "hd"))


def test_rails_that_are_not_all_probed_keep_their_gpus() -> None:
    """Confirming one rail: its GPU is the only one that is visible, and local rank 0 is it."""
    groups = [RailGroup(ranks=(0, 1), rail=1)]
    [order] = orders(nccl_tests.BENCHMARK.pairs(bench(gpus=(4, 6)), groups, "round 4"))
    assert [(env["CUDA_VISIBLE_DEVICES"], env["NCCL_IB_HCA"]) for _, env, _ in contexts(order)] == [
        ("6", "=mlx5_1")
    ] * 2


def test_pairs_on_different_rails_are_different_runs() -> None:
    """Nobody's rank is started twice in one run, whatever rails are confirmed at the same time."""
    groups = [RailGroup(ranks=(0, 1), rail=0), RailGroup(ranks=(0, 2), rail=1), RailGroup(ranks=(2, 3), rail=0)]
    found = [[host for host, _, _ in contexts(one)] for one in orders(nccl_tests.BENCHMARK.pairs(bench(), groups, "r"))]
    assert [sorted(hosts) for hosts in found] == [
        [f"{name}.cluster:1" for name in NAMES],
        ["ha.cluster:1", "hc.cluster:1"],
    ]


def test_the_gang_is_one_group_a_rail() -> None:
    """Four hosts on two rails: DIV 4."""
    everyone = [RailGroup(ranks=(0, 1, 2, 3), rail=rail) for rail in (0, 1)]
    work = nccl_tests.BENCHMARK.gang(bench(), everyone)
    assert work is not None
    [order] = orders(work)
    assert {env["NCCL_TESTS_SPLIT"] for _, env, _ in contexts(order)} == {"DIV 4"}


def test_a_version_that_cannot_tell_ranks_apart_runs_once_a_pair_and_rail() -> None:
    """No split, no file; each pair is its own run, and its text is what is read."""
    found = orders(nccl_tests.BENCHMARK.pairs(bench(OLD), PAIRS, "round 2"))
    assert len(found) == len(PAIRS)
    for order in found:
        assert len(contexts(order)) == 2
        assert not any("SPLIT" in name for _, env, _ in contexts(order) for name in env)
        assert order.command["keep"] == ""


def test_without_devices_sockets_are_what_is_asked_for() -> None:
    """By interface: NCCL is told to use its sockets on that rail, and using them is no fallback."""
    by_interface = replace(bench(devices=()), interfaces=(("eth2", "eth3"),) * 4)
    [order] = orders(nccl_tests.BENCHMARK.pairs(by_interface, PAIRS, "round 2"))
    assert {(env["NCCL_NET"], env["NCCL_SOCKET_IFNAME"]) for _, env, _ in contexts(order)} == {
        ("Socket", "=eth2"),
        ("Socket", "=eth3"),
    }
    assert all(isinstance(one, Rates) for one in measured(by_interface, networks={}))


def test_rccl_tests_are_told_their_gpus_in_their_own_way() -> None:
    """The same words, but for the variable of the runtime."""
    [order] = orders(rccl_tests.BENCHMARK.pairs(bench(), PAIRS, "round 2"))
    assert {env["HIP_VISIBLE_DEVICES"] for _, env, _ in contexts(order)} == {"0,1"}
    assert not any("CUDA_VISIBLE_DEVICES" in env for _, env, _ in contexts(order))


def ran(order: Order, devices: Sequence[str], networks: Mapping[int, str], **fabric: Any) -> dict[str, Any]:
    """What the agent sends back of a run: the stand-in's own text and file, without any process."""
    ranks: list[stand_in.Rank] = [
        {
            "rank": number,
            "group": number & 0xFFFFFFFE if "NCCL_TESTS_SPLIT_MASK" in env else 0,
            "pid": 100 + number,
            "hostname": host.partition(".")[0],
            "device": 0,
            "gpu": 0,
            "nic": (env.get("NCCL_IB_HCA") or env["NCCL_SOCKET_IFNAME"]).removeprefix("="),
        }
        for number, (host, env, _) in enumerate(contexts(order))
    ]
    groups = [[one for one in ranks if one["group"] == number] for number in sorted({one["group"] for one in ranks})]
    world = {"rate": RATE, "ports": {}, "seed": 1} | fabric
    times = {group[0]["group"]: stand_in.seconds_of(group, world, SIZE, 20) for group in groups}
    halves = (25.0, SIZE / 25e-6 / 1e9, SIZE / 25e-6 / 1e9)
    default = "IB" if devices else "Socket"
    spoken = [
        f"{one['hostname']}:{one['pid']}:{one['pid']} [0] NCCL INFO Using network {networks.get(one['rank'], default)}"
        for one in ranks
        if networks.get(one["rank"]) != ""
    ]
    options = {"-b": str(SIZE), "-e": str(SIZE), "-w": "5", "-n": "20", "-I": "1"}
    text = "\n".join([*spoken, *stand_in.table(ranks, options, SIZE, halves, world)])
    processes = [[value * 1e6 for value in times[one["group"]]] for one in ranks]
    file = json.dumps(stand_in.document(ranks, SIZE, halves, processes))
    return {"ok": True, "status": 0, "output": text, "file": file}


def measured(
    on: Bench, networks: Mapping[int, str], change: Mapping[str, Any] | None = None, **fabric: Any
) -> list[Rates | Missing]:
    """What the four pairs of a round come to when the run says what the stand-in would."""
    work = nccl_tests.BENCHMARK.pairs(on, PAIRS, "round 2")
    results = {
        (order.rank, order.task): ran(order, on.tuning.devices, networks, **fabric) | dict(change or {})
        for order in orders(work)
    }
    return list(work.read(results))


def test_each_pair_gets_the_time_of_its_own_processes() -> None:
    """One slow port shows on its pair and rail only, by its amount."""
    rates = measured(bench(), {}, ports={"hb/mlx5_1": 0.5 * RATE})
    found = [one.forward if isinstance(one, Rates) else None for one in rates]
    assert found == [pytest.approx(share * RATE, rel=0.02) for share in (1, 1, 1, 0.5)]


@pytest.mark.fault("H15")
def test_a_pair_that_fell_back_to_sockets_has_no_reading() -> None:
    """Only the pair and rail that did; the others keep theirs. World rank 5 is the second of its pair on rail 1."""
    first, fallen, third, fourth = measured(bench(), {5: "Socket"})
    assert all(isinstance(one, Rates) for one in (first, third, fourth))
    assert isinstance(fallen, Missing)
    assert "NCCL fell back to NET/Socket" in str(fallen)


@pytest.mark.fault("H15")
def test_a_rank_that_does_not_say_its_network_is_not_taken_for_one_that_used_rdma() -> None:
    """Silence of both ranks of a pair is no proof."""
    first, *others = measured(bench(), {0: "", 1: ""})
    assert isinstance(first, Missing)
    assert "which network" in str(first)
    assert all(isinstance(one, Rates) for one in others)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"status": 7}, "ended with status 7"),
        ({"ok": False, "reason": "timeout", "detail": "the deadline passed"}, "the deadline passed"),
        ({"output": ""}, "lists 0 ranks where 8 were started"),
        ({"file": ""}, "no log of this benchmark"),
        ({"output": None}, "no text"),
    ],
    ids=["failed", "timed out", "no text", "no file", "text that is none"],
)
def test_a_run_that_did_not_end_well_gives_no_number(change: dict[str, Any], why: str) -> None:
    """Every pair is missing, with the reason."""
    for one in measured(bench(), {}, change):
        assert isinstance(one, Missing)
        assert why in str(one)


def test_an_mpirun_that_places_ranks_elsewhere_blames_nobody() -> None:
    """Whose rate would it be? The host a rank says it ran on must be the host it was meant for."""
    elsewhere = replace(bench(), hostnames=("ha", "hb", "hd", "hc"))
    for one in measured(elsewhere, {}):
        assert isinstance(one, Missing)
        assert "does not keep the order" in str(one)


def test_wrong_data_gives_no_number() -> None:
    """The benchmark's own check comes before any rate."""
    work = nccl_tests.BENCHMARK.pairs(bench(), PAIRS, "round 2")
    [order] = orders(work)
    result = ran(order, ("mlx5_0",), {})
    document = json.loads(result["file"])
    document["out_of_bounds"] = {"count": 3, "okay": "false"}
    for one in work.read({(order.rank, order.task): result | {"file": json.dumps(document)}}):
        assert isinstance(one, Missing)
        assert "corrupt" in str(one)


@pytest.mark.parametrize("prepared", [NEW, OLD], ids=["by file", "by text"])
def test_a_log_cut_at_any_byte_gives_the_exact_rate_or_none(prepared: dict[tuple[int, str], Any]) -> None:
    """Text and file, each cut everywhere while the other is whole."""
    on = bench(prepared)
    work = nccl_tests.BENCHMARK.pairs(on, PAIRS[:1], "round 2")
    [order] = orders(work)
    whole = ran(order, on.tuning.devices, {})
    [true] = work.read({(order.rank, order.task): whole})
    assert isinstance(true, Rates)
    for key in ("output", "file"):
        text = whole[key]
        cuts = [work.read({(order.rank, order.task): whole | {key: text[:at]}})[0] for at in range(len(text))]
        assert all(isinstance(one, Missing) or one == true for one in cuts)
        assert (
            sum(isinstance(one, Missing) for one in cuts) > len(re.findall(r"\S+", text)) // 10
            or not order.command["keep"]
        )
