"""Pairing over thousands of spoiled machines: every GPU that lost its NIC is named, and nobody else."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from netkit.model.topology import DeviceMatrix, PairingAnswer, PairingReport
from netkit.topology.nccl_xml import read_topology
from netkit.topology.nic_choice import choose_by_distance
from netkit.topology.pairing import Usage, judge
from netkit.topology.topo_m import read_topo_m
from netkit.topology.view import TopologyView, view_of_topology
from tests.topology import mutations
from tests.topology.synthetic_machines import MACHINES

MATRIX_MUTATIONS = 1000
XML_MUTATIONS = 60
# On these a lost NIC leaves half of the GPUs as they were: which half is right, only a platform's table can say.
TOO_FEW_GROUPS = {"gb200"}


@cache
def recordings() -> dict[str, str]:
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    if not folder:
        return {}
    files = [*Path(folder, "topo").glob("*.xml"), *Path(folder, "topo-m").glob("*.txt")]
    return {path.name: path.read_text() for path in sorted(files)}


def view(xml: str | bytes) -> TopologyView:
    return view_of_topology(read_topology(xml, "a machine"))


def named(report: PairingReport, answer: PairingAnswer) -> set[str]:
    return {gpu.gpu for gpu in report.gpus if gpu.answer is answer}


def machines() -> dict[str, tuple[DeviceMatrix, dict[str, tuple[str, ...]]]]:
    found = {}
    for name, text in {**MACHINES, **recordings()}.items():
        if name.endswith(".txt"):
            matrix = read_topo_m(text, name)
            found[name] = (matrix, choose_by_distance(matrix))
        else:
            seen = view(text)
            found[name] = (seen.matrix, {gpu.gpu: gpu.used for gpu in seen.pairing.gpus})
    return found


def tally(title: str, counts: dict[str, Counter[str]]) -> None:
    print(f"\n{title:32}{'mutations':>10}{'hurt GPUs':>10}{'found':>8}{'recall':>8}{'false alarms':>14}")
    for kind, count in sorted(counts.items()):
        recall = count["found"] / count["hurt"] if count["hurt"] else 1.0
        print(f"{kind:32}{count['all']:>10}{count['hurt']:>10}{count['found']:>8}{recall:>8.2f}{count['false']:>14}")


def test_no_machine_as_it_should_be_raises_an_alarm() -> None:
    """Shared NICs, storage NICs, NIC order that is not the pairing: all fine."""
    for name, (matrix, used) in machines().items():
        report = judge(matrix, Usage(nics=used))
        assert named(report, PairingAnswer.OK) == {gpu.id for gpu in matrix.gpus}, name
        assert report.findings == (), name


def test_spoiled_matrices_are_all_found_and_nothing_else() -> None:
    """Swapped, moved, dropped NICs and wrong choices, under random names: recall 1.00, no false alarm."""
    counts: dict[str, Counter[str]] = {}
    for name, (matrix, used) in machines().items():
        if name in TOO_FEW_GROUPS:
            continue
        rng = random.Random(f"matrix {name}")
        for spoiled in mutations.matrix_mutations(matrix, used, rng, MATRIX_MUTATIONS):
            usage = Usage(nics=spoiled.used or choose_by_distance(spoiled.matrix))
            seen = named(judge(spoiled.matrix, usage), PairingAnswer.MISPAIRED)
            count = counts.setdefault(spoiled.kind, Counter())
            count.update(all=1, hurt=len(spoiled.hurt), found=len(seen & spoiled.hurt), false=len(seen - spoiled.hurt))
            assert seen == spoiled.hurt, (name, spoiled.kind, judge(spoiled.matrix, usage))
    tally("matrix", counts)
    assert sum(count["all"] for count in counts.values()) >= 5 * MATRIX_MUTATIONS


@pytest.mark.parametrize("change", [mutations.dropped, mutations.moved])
def test_a_platforms_table_settles_what_symmetry_cannot(
    change: Callable[[DeviceMatrix, str], DeviceMatrix],
) -> None:
    """With two groups only, one NIC fewer looks like a design; the table says whose NIC it was."""
    seen = view(MACHINES["gb200"])
    golden = {gpu.gpu: gpu.used for gpu in seen.pairing.gpus}
    for gpu, (nic,) in golden.items():
        matrix = change(seen.matrix, nic)
        assert gpu in named(judge(matrix, Usage(nics=choose_by_distance(matrix)), golden), PairingAnswer.MISPAIRED)
        assert not named(judge(seen.matrix, Usage(nics=golden), golden), PairingAnswer.MISPAIRED)


@pytest.mark.parametrize("name", [name for name in MACHINES if name not in TOO_FEW_GROUPS])
def test_spoiled_xml_is_found_through_nccls_own_choice(name: str) -> None:
    """A NIC moved to another socket or gone: the GPUs under its old switch are named, and nobody else."""
    spoil_and_judge(name, MACHINES[name])


@pytest.mark.parametrize("name", ["aws_p4d-24xl-topo.xml", "azure_ndv4-topo.xml"])
def test_spoiled_recordings_are_found_through_nccls_own_choice(name: str) -> None:
    """The same on files of cloud providers."""
    if name not in recordings():
        pytest.skip("NETKIT_EXTRA_DATA names no folder with this recording")
    spoil_and_judge(name, recordings()[name])


def spoil_and_judge(name: str, xml: str) -> None:
    rng = random.Random(f"xml {name}")
    counts: dict[str, Counter[str]] = {}
    before = view(xml)
    for number in range(XML_MUTATIONS):
        root = ET.fromstring(xml)
        kind = ("move to the other socket", "drop", "hide PCIe", "shuffle")[number % 4]
        gone = change(root, kind, rng)
        after = view(ET.tostring(root))
        hurt = {gpu.id for gpu in before.matrix.gpus if gone in mutations.own(before.matrix, gpu.id)}
        seen = named(after.pairing, PairingAnswer.MISPAIRED)
        count = counts.setdefault(kind, Counter())
        count.update(all=1, hurt=len(hurt), found=len(seen & hurt), false=len(seen - hurt))
        if kind == "hide PCIe":
            assert named(after.pairing, PairingAnswer.UNKNOWN) == {gpu.id for gpu in before.matrix.gpus}, name
        assert seen == hurt, (name, kind, gone, after.pairing)
    tally(name, counts)


def change(root: ET.Element, kind: str, rng: random.Random) -> str | None:
    if kind == "hide PCIe":
        mutations.hide(root, rng)
        return None
    if kind == "shuffle":
        mutations.shuffle(root, rng)
        return None
    return (mutations.drop if kind == "drop" else mutations.move_to_root)(root, rng)
