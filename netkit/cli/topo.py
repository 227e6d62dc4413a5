"""`netkit topo`: how GPUs and NICs hang together, which NIC NCCL uses for each GPU, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.input_file import small_bytes, small_text
from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit
from netkit.cli.probing import FailOn
from netkit.cli.snapshot import ProcfsOption, SnapshotOption, SysfsOption
from netkit.errors import ExitStatus, InputError
from netkit.model.finding import Severity
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.model.topology import DeviceMatrix, Topology
    from netkit.report.blocks import Block
    from netkit.topology.merging import MergeLevel
    from netkit.topology.view import TopologyView

_FILE = "a topology file"
_FORMS = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.JSONL)
_SOURCES = "one of --xml FILE, --topo-m FILE, --snapshot FILE; without one, this node is read"

app = typer.Typer(
    name="topo",
    help="Which NIC does each GPU use, over which path, and is it the right one?",
    rich_markup_mode=None,
    invoke_without_command=True,
)

XmlOption = Annotated[
    Path | None, typer.Option("--xml", help="An NCCL topology file (NCCL_TOPO_FILE or NCCL_TOPO_DUMP_FILE).")
]
TopoMOption = Annotated[Path | None, typer.Option("--topo-m", help="The output of nvidia-smi topo -m.")]
PlatformOption = Annotated[
    str | None, typer.Option("--platform", help="A known machine type: its table is what the node is held against.")
]
HcaOption = Annotated[str | None, typer.Option("--hca", help="NCCL_IB_HCA of the job, such as =mlx5_0,mlx5_1.")]
GdrOption = Annotated[
    bool, typer.Option("--gdr/--no-gdr", help="Whether GPUDirect RDMA works (peer-memory module or DMA-BUF).")
]
GdrLevelOption = Annotated[str | None, typer.Option("--gdr-level", help="NCCL_NET_GDR_LEVEL of the job.")]
MergeOption = Annotated[str, typer.Option("--merge-level", help="NCCL_NET_MERGE_LEVEL of the job: LOC, PORT, PIX…")]
FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="Lowest severity that ends with status 1.")]


@app.callback()
def topo(
    context: typer.Context,
    xml: XmlOption = None,
    topo_m: TopoMOption = None,
    snapshot: SnapshotOption = None,
    sysfs: SysfsOption = None,
    procfs: ProcfsOption = None,
    platform: PlatformOption = None,
    hca: HcaOption = None,
    gdr: GdrOption = True,
    gdr_level: GdrLevelOption = None,
    merge_level: MergeOption = "PORT",
    fail_on: FailOnOption = FailOn.WARNING,
    output: OutputOption = None,
) -> None:
    """Which NIC does each GPU use, over which path, and is it the right one?

    Ends with 1 when a GPU is paired with a wrong NIC.

    Example: netkit topo --xml topo.xml --output json
    """
    if context.invoked_subcommand is not None:
        return
    from netkit.report import topology_json, topology_table

    form = topology_form(output)
    place = NodePlace(xml=xml, topo_m=topo_m, snapshot=snapshot, sysfs=sysfs, procfs=procfs, platform=platform)
    view = view_of(place, hca, gdr, gdr_level, merge_level)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(topology_json.render(view, one_line=form is OutputForm.JSONL))
    else:
        show(topology_table.blocks(view), form)
    blamed = any(finding.severity.at_least(Severity(fail_on.value)) for finding in view.pairing.findings)
    raise typer.Exit(int(ExitStatus.FINDINGS if blamed else ExitStatus.OK))


@app.command("explain")
def explain(
    gpu: Annotated[str, typer.Argument(help="A GPU, such as gpu3.")],
    xml: XmlOption = None,
    snapshot: SnapshotOption = None,
    sysfs: SysfsOption = None,
    procfs: ProcfsOption = None,
    platform: PlatformOption = None,
    hca: HcaOption = None,
    gdr: GdrOption = True,
    gdr_level: GdrLevelOption = None,
    merge_level: MergeOption = "PORT",
    output: OutputOption = None,
) -> None:
    """Which NIC will NCCL use for this GPU, over which path, at which bandwidth, and why not a nearer one?

    Example: netkit topo explain gpu3 --xml topo.xml
    """
    from netkit.report import topology_json, topology_table

    form = topology_form(output)
    place = NodePlace(xml=xml, snapshot=snapshot, sysfs=sysfs, procfs=procfs, platform=platform)
    view = view_of(place, hca, gdr, gdr_level, merge_level)
    choice = next((one for one in view.choices if one.gpu == gpu), None)
    if choice is None:
        known = [one.gpu for one in view.choices]
        raise InputError(f"GPU {visible(gpu)!r}", ", ".join(known) or "a topology with GPUs", _nearest(gpu, known))
    pairing = next(one for one in view.pairing.gpus if one.gpu == gpu)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        one_line = form is OutputForm.JSONL
        emit(topology_json.render_choice(choice, pairing.answer.value, pairing.why, one_line=one_line))
    else:
        show(topology_table.explanation(choice, pairing), form)


@app.command("emit")
def emit_xml(
    platform: PlatformOption = None,
    pair: Annotated[
        list[str] | None, typer.Option("--pair", help="A declared pairing: GPU=NIC[,NIC] by PCI address; repeatable.")
    ] = None,
    pcie: Annotated[float, typer.Option("--pcie", help="PCIe rate of the pairs in GT/s per lane.")] = 32.0,
    vendor: Annotated[str, typer.Option("--cpu-vendor", help="Processor of the pairs' node.")] = "GenuineIntel",
) -> None:
    """Which topology file does a virtual machine need that hides its switches?

    Example: netkit topo emit --platform azure-ndv5 > topo.xml
    """
    from netkit.catalogue.platforms import platform as known
    from netkit.topology.constants import pcie_lane_known
    from netkit.topology.emit import CPU_IDS, from_platform, groups_of, xml_of

    _require((platform is None) != (not pair), "emit", "either --platform or --pair")
    _require(vendor in CPU_IDS, f"--cpu-vendor {visible(vendor)}", ", ".join(CPU_IDS))
    _require(pcie_lane_known(pcie), f"--pcie {pcie:g}", "2.5, 5, 8, 16, 32 or 64")
    emit(xml_of(groups_of(pair or []), pcie, vendor) if platform is None else from_platform(known(platform)))


@app.command("diff")
def diff(
    first: Annotated[Path, typer.Argument(help="Topology XML, topo -m text or recording of a node that is right.")],
    second: Annotated[Path, typer.Argument(help="The same of the node in question.")],
    output: OutputOption = None,
) -> None:
    """What differs between the topologies of two nodes?

    Ends with 1 when anything does.

    Example: netkit topo diff good.xml suspect.xml
    """
    from netkit.report import topology_json, topology_table
    from netkit.topology.difference import differences

    form = topology_form(output)
    found = differences(_matrix(first), _matrix(second))
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(topology_json.render_differences(found, one_line=form is OutputForm.JSONL))
    else:
        show(topology_table.differences(found, visible(str(first)), visible(str(second))), form)
    raise typer.Exit(int(ExitStatus.FINDINGS if found else ExitStatus.OK))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlace:
    """Where a topology comes from: a file, a recording, this node, or a platform whose addresses are known."""

    xml: Path | None = None
    topo_m: Path | None = None
    snapshot: Path | None = None
    sysfs: Path | None = None
    procfs: Path | None = None
    platform: str | None = None


def view_of(place: NodePlace, hca: str | None, gdr: bool, gdr_level: str | None, merge_level: str) -> TopologyView:
    """Return the view of what the options name; InputError when they name two things at once."""
    from netkit.catalogue.platforms import platform as known
    from netkit.topology.effective import NcclSettings
    from netkit.topology.hca_filter import HcaFilter
    from netkit.topology.nic_choice import parse_gdr_level
    from netkit.topology.topo_m import read_topo_m
    from netkit.topology.view import view_of_matrix, view_of_topology

    machine = known(place.platform) if place.platform is not None else None
    named = [path for path in (place.xml, place.topo_m, place.snapshot) if path is not None]
    _require(len(named) <= 1, "two topologies at once", _SOURCES)
    if place.topo_m is not None:
        return view_of_matrix(read_topo_m(_text(place.topo_m), str(place.topo_m)), platform=machine)
    settings = NcclSettings(gdr=gdr, gdr_level=parse_gdr_level(gdr_level) if gdr_level is not None else None)
    return view_of_topology(
        topology_of(place),
        settings=settings,
        hca=HcaFilter.parse(hca) if hca is not None else None,
        merge=_merge_level(merge_level),
        platform=machine,
    )


def topology_of(place: NodePlace) -> Topology:
    """Return the topology of a file, a recording, a platform whose addresses are known, or this node."""
    from netkit.catalogue.platforms import platform as known
    from netkit.cli.node_topology import node_topology
    from netkit.topology.emit import from_platform
    from netkit.topology.nccl_xml import read_topology

    if place.xml is not None:
        return read_topology(small_bytes(place.xml, _FILE), str(place.xml))
    if place.platform is not None and place.snapshot is None and place.sysfs is None:
        return read_topology(from_platform(known(place.platform)), place.platform)
    return node_topology(place.snapshot, place.sysfs, place.procfs)


def show(blocks: tuple[Block, ...], form: OutputForm) -> None:
    """Print blocks on a terminal, or as plain text."""
    if form is OutputForm.TABLE:
        from netkit.cli import tables

        tables.show(blocks)
        return
    from netkit.report.plain_text import plain_text

    emit(plain_text(blocks))


def _text(path: Path) -> str:
    return small_text(path, _FILE)


def _matrix(path: Path) -> DeviceMatrix:
    from netkit.cli.node_topology import node_topology
    from netkit.topology.nccl_xml import read_topology
    from netkit.topology.paths import matrix_of
    from netkit.topology.topo_m import read_topo_m

    data = small_bytes(path, _FILE)
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"<":
        return matrix_of(read_topology(data, str(path)))
    if start == b"{":
        return matrix_of(node_topology(path))
    return read_topo_m(data.decode("utf-8-sig", errors="replace"), str(path))


def _merge_level(text: str) -> MergeLevel:
    from netkit.topology import merging

    names = [level.name for level in merging.MergeLevel]
    given = text.strip().upper()
    if given not in names:
        raise InputError(f"--merge-level {visible(text)!r}", ", ".join(names), _nearest(given, names))
    return merging.MergeLevel[given]


def topology_form(output: OutputForm | None) -> OutputForm:
    """Return the form to print in; InputError for one a topology does not have."""
    form = chosen_form(output)
    _require(form in _FORMS, f"--output {form}", ", ".join(_FORMS))
    return form


def _nearest(given: str, known: list[str]) -> str | None:
    found = get_close_matches(given, known, n=1)
    return found[0] if found else None


def _require(holds: bool, given: str, accepted: str) -> None:
    if not holds:
        raise InputError(given, accepted)
