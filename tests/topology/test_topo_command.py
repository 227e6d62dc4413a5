"""`netkit topo` and `netkit expect` from the command line: forms, exit status, one line for wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from netkit.cli import expect, topo
from netkit.errors import InputError, ProbeError
from tests.topology.synthetic_machines import MACHINES, gpu, nic, switch, system

LOG = """\
# nThread 1 nGpus 1 minBytes 8589934592 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
{ranks}
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  8589934592    2147483648     float     sum      -1    {time}  {alg}  {bus}      0    {time}  {alg}  {bus}      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : {bus}
#
"""


def app() -> typer.Typer:
    one = typer.Typer(pretty_exceptions_enable=False)
    one.add_typer(topo.app)
    one.command(name="expect")(expect.expect)
    return one


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app(), [str(argument) for argument in arguments])


@pytest.fixture
def xml(tmp_path: Path) -> Path:
    path = tmp_path / "topo.xml"
    path.write_text(MACHINES["hgx"])
    return path


@pytest.fixture
def stray(tmp_path: Path) -> Path:
    """Four rails, the NIC of gpu3 on a root port of the other socket."""
    rails = [switch(f"0000:{n}0:00.0", gpu(n, f"0000:{n}1:00.0"), nic(n, f"0000:{n}2:00.0")) for n in range(1, 4)]
    lost = [switch("0000:40:00.0", gpu(4, "0000:41:00.0"))]
    path = tmp_path / "stray.xml"
    path.write_text(system([*rails[:2], nic(4, "0000:42:00.0")], [*rails[2:], *lost]))
    return path


def test_topo_answers_in_the_agreed_form(xml: Path) -> None:
    """Schema netkit.topo/1: each GPU with its NICs, nearest first, the chosen ones and the verdict."""
    result = run("topo", "--xml", xml, "--output", "json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0
    assert answer["schema"] == "netkit.topo/1"
    first = answer["gpus"][0]
    assert {key: first[key] for key in ("id", "busid", "numa", "chosen", "verdict")} == {
        "id": "gpu0",
        "busid": "0000:11:00.0",
        "numa": 0,
        "chosen": ["mlx5_0"],
        "verdict": "ok",
    }
    assert first["nics"][0]["name"] == "mlx5_0"
    assert first["nics"][0]["path"] == "PIX"
    assert first["nics"][0]["bandwidth_bytes_per_second"] == 48e9
    assert answer["findings"] == []


def test_a_mispaired_gpu_ends_with_status_one_and_leads(stray: Path) -> None:
    """The first line names the GPU; the JSON holds the finding; --fail-on critical lets it pass."""
    result = run("topo", "--xml", stray, "--output", "plain")
    assert result.exit_code == 1
    assert result.stdout.startswith("MISPAIRED: gpu4 of 4 GPUs, 4 NICs")
    (finding,) = json.loads(run("topo", "--xml", stray, "--output", "json").stdout)["findings"]
    assert (finding["id"], finding["subject"]) == ("no-own-nic", "gpu4")
    assert "mlx5_4 near no GPU" in finding["summary"]
    assert run("topo", "--xml", stray, "--fail-on", "critical").exit_code == 0


def test_an_hca_filter_that_leaves_out_the_near_nic_is_the_culprit(xml: Path) -> None:
    """With NCCL_IB_HCA short of one NIC its GPU goes far, and the free NIC is named."""
    result = run("topo", "--xml", xml, "--hca", "=" + ",".join(f"mlx5_{n}" for n in range(7)), "--output", "json")
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["id"], finding["subject"], result.exit_code) == ("nearer-nic-free", "gpu7", 1)
    assert "mlx5_7" in finding["summary"]


def test_a_table_of_distances_is_enough(tmp_path: Path) -> None:
    """`nvidia-smi topo -m` text gives verdicts without bandwidths."""
    path = tmp_path / "topo.txt"
    path.write_text(
        "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\nGPU0\tX\tNV18\tSYS\tPIX\nGPU1\tNV18\tX\tPIX\tSYS\n"
        "mlx5_0\tSYS\tPIX\tX\tSYS\nmlx5_1\tPIX\tSYS\tSYS\tX\n"
    )
    answer = json.loads(run("topo", "--topo-m", path, "--output", "json").stdout)
    assert [gpu["chosen"] for gpu in answer["gpus"]] == [["mlx5_1"], ["mlx5_0"]]
    assert answer["gpus"][0]["nics"][0]["bandwidth_bytes_per_second"] is None


def test_explain_says_which_nic_and_why(xml: Path) -> None:
    """One GPU, every NIC as it sees it, the chosen one marked."""
    result = run("topo", "explain", "gpu3", "--xml", xml, "--output", "plain")
    assert result.exit_code == 0
    assert result.stdout.startswith("OK: gpu3 uses mlx5_3")
    answer = json.loads(run("topo", "explain", "gpu3", "--xml", xml, "--no-gdr", "--output", "json").stdout)
    own = next(one for one in answer["nics"] if one["name"] == "mlx5_3")
    assert (own["path"], own["effective_path"], own["gpu_direct"]) == ("PIX", "PHB", False)


def test_emit_writes_what_topo_reads(tmp_path: Path) -> None:
    """A platform's file, read back, is that platform and fine."""
    path = tmp_path / "ndv5.xml"
    path.write_text(run("topo", "emit", "--platform", "azure-ndv5").stdout)
    answer = json.loads(run("topo", "--xml", path, "--output", "json").stdout)
    assert answer["platform"] == "azure-ndv5"
    assert {gpu["verdict"] for gpu in answer["gpus"]} == {"ok"}


def test_diff_ends_with_one_when_nodes_differ(xml: Path, stray: Path) -> None:
    """Equal nodes end with 0."""
    assert run("topo", "diff", xml, xml).exit_code == 0
    result = run("topo", "diff", xml, stray, "--output", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["differences"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["topo", "--xml", "/no/such/file"], "No such file"),
        (["topo", "--platform", "azure-ndv9"], "did you mean"),
        (["topo", "explain", "gpu99", "--platform", "azure-ndv4"], "gpu99"),
        (["topo", "--platform", "azure-ndv4", "--merge-level", "POR"], "did you mean 'PORT'"),
        (["topo", "--platform", "azure-ndv4", "--gdr-level", "FAR"], "GDR level"),
        (["topo", "--platform", "azure-ndv4", "--output", "html"], "--output html"),
        (["topo", "emit"], "either --platform or --pair"),
        (["topo", "emit", "--pair", "x"], "pair 'x'"),
        (["topo", "emit", "--pair", "01:00.0=02:00.0", "--cpu-vendor", "Zilog"], "--cpu-vendor Zilog"),
        (["topo", "emit", "--pair", "01:00.0=02:00.0", "--pcie", "7"], "--pcie 7"),
        (["expect"], "no machine"),
        (["expect", "--platform", "hgx-h100"], "no number of nodes"),
        (["expect", "--platform", "hgx-h100", "--nodes", "0"], "0 nodes"),
        (["expect", "--platform", "hgx-h100", "--nodes", "2", "--size", "-1"], "size"),
    ],
)
def test_wrong_input_is_one_line(arguments: list[str], said: str) -> None:
    """The error names what was given and what would do."""
    fault = run(*arguments).exception
    assert isinstance(fault, InputError)
    assert said in str(fault)


def test_expect_answers_in_the_agreed_form() -> None:
    """Schema netkit.expect/1: figure, band, ceiling, assumptions."""
    result = run("expect", "--platform", "hgx-h100", "--nodes", "2", "--size", "8G", "--output", "json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0
    assert answer["schema"] == "netkit.expect/1"
    assert answer["low"] < answer["busbw_bytes_per_second"] < answer["high"]
    assert answer["binding"] == "GPU links inside a node"
    assert answer["assumptions"]


def log(tmp_path: Path, busbw: float, ranks: int = 16) -> Path:
    rows = "\n".join(
        f"#  Rank {n:2d} Group  0 Pid {1000 + n} on node{n // 8:02d} device {n % 8} [0000:11:00] NVIDIA H100"
        for n in range(ranks)
    )
    alg = busbw / (2 * (ranks - 1) / ranks)
    text = LOG.format(ranks=rows, time=f"{8589934592 / alg / 1e3:.0f}", alg=f"{alg:.2f}", bus=f"{busbw:.2f}")
    path = tmp_path / f"{busbw}.log"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("busbw", "verdict", "status"), [(484.0, "as expected", 0), (155.0, "low", 1), (900.0, "high", 0)]
)
def test_a_log_is_judged_against_the_band(tmp_path: Path, busbw: float, verdict: str, status: int) -> None:
    """Above line rate on two nodes is as expected; a third of it is low and ends with 1."""
    result = run("expect", "--platform", "hgx-h100", "--against", log(tmp_path, busbw), "--output", "json")
    answer = json.loads(result.stdout)
    assert (answer["nodes"], answer["against"]["verdict"], result.exit_code) == (2, verdict, status)


def test_a_broken_log_is_no_reading(tmp_path: Path) -> None:
    """A log that breaks off could not be measured: no verdict."""
    path = log(tmp_path, 484.0)
    path.write_text(path.read_text().split("# Out of bounds")[0])
    result = run("expect", "--platform", "hgx-h100", "--against", path)
    assert isinstance(result.exception, ProbeError)
