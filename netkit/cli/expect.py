"""`netkit expect`: the all-reduce bandwidth a healthy gang of this machine should reach, and how a log compares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.input_file import small_text
from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit
from netkit.cli.snapshot import SnapshotOption
from netkit.cli.topo import NodePlace, PlatformOption, XmlOption, show, topology_of
from netkit.errors import ExitStatus, InputError, ProbeError
from netkit.model.text import visible
from netkit.model.units import parse_size_bytes

if TYPE_CHECKING:
    from netkit.model.collective import CollectiveReport, CollectiveRow
    from netkit.topology.expect import NodeShape

_FORMS = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.JSONL)


def expect(
    platform: PlatformOption = None,
    xml: XmlOption = None,
    snapshot: SnapshotOption = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", help="Nodes in the gang; may be left out with --against.")
    ] = None,
    size: Annotated[str, typer.Option("--size", help="Message size, as nccl-tests: 8G is 8 GiB.")] = "8G",
    gpus: Annotated[int | None, typer.Option("--gpus", help="GPUs used on each node, with --platform.")] = None,
    nics: Annotated[int | None, typer.Option("--nics", help="NIC ports used on each node, with --platform.")] = None,
    against: Annotated[Path | None, typer.Option("--against", help="Log of nccl-tests or rccl-tests to judge.")] = None,
    output: OutputOption = None,
) -> None:
    """What all-reduce bandwidth should this gang reach, which ceiling binds, and does a log come up to it?

    Ends with 1 when the log given with --against is below the band.

    Example: netkit expect --platform hgx-h100 --nodes 2 --size 8G
    """
    from netkit.report import expect_json, expect_table
    from netkit.topology import expect as model

    form = chosen_form(output)
    if form not in _FORMS:
        raise InputError(f"--output {form}", ", ".join(_FORMS))
    shape = _shape(NodePlace(xml=xml, snapshot=snapshot, platform=platform), gpus, nics)
    row: CollectiveRow | None = None
    if against is not None:
        row, nodes = _reading(against, nodes)
    if nodes is None:
        raise InputError("no number of nodes", "--nodes N, or --against LOG of a run that names its nodes")
    expected = model.expect(shape, nodes, row.bytes if row is not None else parse_size_bytes(size))
    compared = expect_table.compare(row.busbw_bytes_per_second, row.bytes, expected) if row is not None else None
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(expect_json.render(expected, compared, one_line=form is OutputForm.JSONL))
    else:
        show(expect_table.blocks(expected, compared), form)
    low = compared is not None and compared.verdict == "low"
    raise typer.Exit(int(ExitStatus.FINDINGS if low else ExitStatus.OK))


def _shape(place: NodePlace, gpus: int | None, nics: int | None) -> NodeShape:
    from netkit.catalogue.platforms import platform as known
    from netkit.topology.expect import shape_of_platform
    from netkit.topology.node_shape import shape_of_topology
    from netkit.topology.view import view_of_topology

    machine = known(place.platform) if place.platform is not None else None
    if place.xml is None and place.snapshot is None:
        if machine is None:
            raise InputError("no machine", "--platform NAME, --xml FILE or --snapshot FILE")
        return shape_of_platform(machine, gpus, nics)
    if gpus is not None or nics is not None:
        raise InputError("--gpus or --nics with a topology", "them with --platform; a topology says what is used")
    topology = topology_of(place)
    view = view_of_topology(topology, platform=machine)
    return shape_of_topology(topology, view.choices, view.platform)


def _reading(log: Path, nodes: int | None) -> tuple[CollectiveRow, int | None]:
    """Return the fastest reading at the largest size, and how many nodes it ran on."""
    from netkit.probe.backends.nccl_tests import BACKEND

    shown = visible(str(log))
    reports = BACKEND.parse(small_text(log, "a log of nccl-tests"))
    report = next((one for one in reports if _all_reduce(one)), None)
    if report is None:
        raise InputError(f"{shown} without an all-reduce", "a log of all_reduce_perf")
    if report.corrupt or not report.complete or not report.rows:
        cause = "the benchmark found wrong data" if report.corrupt else "the log is not complete"
        raise ProbeError(f"reading {shown}", cause, f"netkit read {shown} says more")
    largest = max(row.bytes for row in report.rows)
    rows = [row for row in report.rows if row.bytes == largest]
    return max(rows, key=lambda row: row.busbw_bytes_per_second), nodes if nodes is not None else report.nodes


def _all_reduce(report: CollectiveReport) -> bool:
    from netkit.model.collective import Collective

    return report.collective is Collective.ALL_REDUCE
