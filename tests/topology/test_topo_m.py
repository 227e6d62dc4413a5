"""Reading `nvidia-smi topo -m`: old and new legends, extra columns, escapes, MIG; a named refusal for anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.pci import PciPath
from netkit.topology.topo_m import read_topo_m

# All synthetic, in the forms drivers print.
NEW = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tPIX\tSYS\t0-63\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tPXB\t64-127\t1\t\tN/A
NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t
NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_7
  NIC1: mlx5_bond_0
"""
OLD = """\
        GPU0    GPU1    mlx5_0  mlx5_1  CPU Affinity
GPU0     X      PIX     SOC     PHB     0-15
GPU1    PIX      X      SOC     PHB     0-15
mlx5_0  SOC     SOC      X      SOC
mlx5_1  PHB     PHB     SOC      X

Legend:

  SOC  = Path traverses a socket-level link (e.g. QPI)
"""


@pytest.mark.fault("I10")
def test_the_nic_legend_gives_names_and_the_escapes_go() -> None:
    """Header underlined, three affinity columns, NIC legend."""
    matrix = read_topo_m(NEW, "new")
    assert [gpu.id for gpu in matrix.gpus] == ["gpu0", "gpu1"]
    assert [gpu.numa for gpu in matrix.gpus] == [0, 1]
    assert [nic.name for nic in matrix.nics] == ["mlx5_7", "mlx5_bond_0"]
    assert matrix.reach["gpu0", "mlx5_7"].path is PciPath.PIX
    assert matrix.reach["gpu1", "mlx5_bond_0"].path is PciPath.PXB
    assert matrix.peers["gpu0", "gpu1"] == "NV18"


@pytest.mark.fault("I10")
def test_old_drivers_print_names_in_the_header_and_soc_for_sys() -> None:
    """Blanks for tabs, no NUMA column, no NIC legend."""
    matrix = read_topo_m(OLD, "old")
    assert [nic.name for nic in matrix.nics] == ["mlx5_0", "mlx5_1"]
    assert matrix.reach["gpu0", "mlx5_0"].path is PciPath.SYS
    assert matrix.reach["gpu0", "mlx5_1"].label == "PHB"


@pytest.mark.fault("I10")
def test_node_is_phb_to_nccl_and_stays_node_to_people() -> None:
    """Two host bridges of one NUMA node have no type of their own in NCCL."""
    reach = read_topo_m(NEW.replace("PXB", "NODE"), "x").reach["gpu1", "mlx5_bond_0"]
    assert (reach.path, reach.label) == (PciPath.PHB, "NODE")


@pytest.mark.fault("I10")
def test_a_table_without_nics_has_gpus_and_no_pairs() -> None:
    """MIG and GPU-only machines print a smaller table."""
    matrix = read_topo_m("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\tN/A\n", "mig")
    assert [gpu.numa for gpu in matrix.gpus] == [None]
    assert matrix.nics == ()


@pytest.mark.fault("I10")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("PIX\tSYS\t0-63", "FAR\tSYS\t0-63"), "distance 'FAR' in row GPU0"),
        (("\tSYS\tPXB\t64-127\t1\t\tN/A", "\tSYS"), "row GPU1 with 3 of 4"),
        (("GPU1\tNV18", "GPU9\tNV18"), "without a row for GPU1"),
        (("NIC1: mlx5_bond_0", "NIC1: mlx5_7"), "one name twice"),
        (("NIC0\tNIC1\tCPU", "NIC0\tNIC0\tCPU"), "one device twice"),
        (("GPU0\tGPU1\tNIC0", "a\tb\tc"), "without a row of GPU names"),
    ],
)
def test_what_does_not_fit_is_named(change: tuple[str, str], said: str) -> None:
    """An unknown word, a short row, a missing row: one line that says which."""
    with pytest.raises(InputError, match=said):
        read_topo_m(NEW.replace(*change), "x")


@pytest.mark.fault("I10")
@given(st.integers(0, len(NEW)), st.integers(0, len(NEW)), st.text(max_size=12))
def test_any_damage_is_refused_or_read(start: int, end: int, put: str) -> None:
    """Nothing but InputError ever comes out of a damaged table."""
    try:
        matrix = read_topo_m(NEW[:start] + put + NEW[max(start, end) :], "x")
    except InputError:
        return
    assert set(matrix.reach) == {(gpu.id, nic.name) for gpu in matrix.gpus for nic in matrix.nics}


def test_a_cut_table_never_states_a_wrong_distance() -> None:
    """Cut at every character: refused, or every distance as in the whole table."""
    whole = read_topo_m(NEW, "x")
    for end in range(len(NEW)):
        try:
            cut = read_topo_m(NEW[:end], "x")
        except InputError:
            continue
        assert [reach.path for reach in cut.reach.values()] == [reach.path for reach in whole.reach.values()]


def test_recorded_tables_give_the_known_pairing() -> None:
    """On an H200 node NIC order is not the pairing; on an A100 node two storage NICs are near nobody."""
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    if not folder:
        pytest.skip("NETKIT_EXTRA_DATA names no folder with recordings")
    h200 = read_topo_m(Path(folder, "topo-m", "h200_8gpu_8nic.txt").read_text(), "h200")
    near = {gpu.id: [nic.name for nic in h200.nics if h200.reach[gpu.id, nic.name].label == "PIX"] for gpu in h200.gpus}
    assert [int(nics[0][-1]) for nics in near.values()] == [4, 1, 0, 3, 6, 7, 5, 2]
    a100 = read_topo_m(Path(folder, "topo-m", "a100_8gpu_10nic.txt").read_text(), "a100")
    assert {a100.reach[gpu.id, nic].path for gpu in a100.gpus for nic in ("mlx5_8", "mlx5_9")} == {PciPath.SYS}
