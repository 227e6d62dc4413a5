"""`netkit check`: what is wrong with this node, these nodes as a gang, or this job's settings, and what to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.input_file import small_bytes, small_text
from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit
from netkit.cli.probing import FailOn, require
from netkit.cli.snapshot import ProcfsOption, SysfsOption, node_of
from netkit.cli.topo import show
from netkit.errors import ExitStatus, InputError
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.doctor.context import Wishes
    from netkit.doctor.contract import Member
    from netkit.model.check import Result
    from netkit.model.environment import Environment, Variable
    from netkit.model.node import NodeSnapshot
    from netkit.model.topology import Topology
    from netkit.roce.qos import SwitchQos

_FORMS = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.JSONL)
_MOST_CONFIG_BYTES = 8 << 20
_CONF_FILES = (Path("~/.nccl.conf"), Path("/etc/nccl.conf"))
_OF_COLLECTIVES = ("NCCL_", "RCCL_", "HCCL_", "MCCL_", "TORCH_NCCL_")

app = typer.Typer(
    name="check",
    help="What is wrong with this node, gang or job, and what should be done?",
    rich_markup_mode=None,
    invoke_without_command=True,
)

SnapshotsOption = Annotated[
    list[Path] | None,
    typer.Option("--snapshot", help="A recorded node; several are checked as one gang.", metavar="FILE"),
]
LspciOption = Annotated[
    list[Path] | None,
    typer.Option("--lspci", help="The output of lspci -vvv (as root), where no recording exists.", metavar="FILE"),
]
EnvOption = Annotated[
    Path | None,
    typer.Option(
        "--env",
        help="The job's environment: NAME=value lines, or /proc/PID/environ. Default on a live node: netkit's own.",
        show_default=False,
        metavar="FILE",
    ),
]
ConfOption = Annotated[
    list[Path] | None,
    typer.Option("--nccl-conf", help="An NCCL configuration file; the first wins.", metavar="FILE"),
]
VersionOption = Annotated[
    str | None, typer.Option("--nccl", help="NCCL version of the job, such as 2.27.3.", show_default=False)
]
ProfileOption = Annotated[
    str | None, typer.Option("--profile", help="The machine type this node should be.", show_default=False)
]
SinceOption = Annotated[
    Path | None,
    typer.Option(
        "--since", help="An earlier recording of the same node: counters are judged by growth.", metavar="FILE"
    ),
]
SwitchOption = Annotated[
    Path | None,
    typer.Option("--switch", help="The switch's configuration: SONiC CONFIG_DB or NVUE commands.", metavar="FILE"),
]
SwitchPortOption = Annotated[
    str | None, typer.Option("--switch-port", help="The switch port behind the NICs.", metavar="PORT")
]
LldpOption = Annotated[
    Path | None, typer.Option("--lldp", help="lldpctl -f json: which port is behind which NIC.", metavar="FILE")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", help="Ask only this rule, or all whose id starts so: T11, J.", metavar="ID"),
]
SilenceOption = Annotated[
    list[str] | None,
    typer.Option("--silence", help="Accept findings of a rule, with the reason.", metavar="ID=REASON"),
]


@app.callback()
def check(
    context: typer.Context,
    snapshot: SnapshotsOption = None,
    lspci: LspciOption = None,
    env: EnvOption = None,
    nccl_conf: ConfOption = None,
    nccl: VersionOption = None,
    profile: ProfileOption = None,
    since: SinceOption = None,
    topo_file: Annotated[
        Path | None,
        typer.Option("--topo-file", help="What NCCL_TOPO_FILE of the job names, where it is not on this node."),
    ] = None,
    switch: SwitchOption = None,
    switch_port: SwitchPortOption = None,
    lldp: LldpOption = None,
    silence: SilenceOption = None,
    only: OnlyOption = None,
    sysfs: SysfsOption = None,
    procfs: ProcfsOption = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Lowest severity that ends with status 1.")] = (
        FailOn.WARNING
    ),
    output: OutputOption = None,
) -> None:
    """What is wrong with this node, gang or job, and what should be done?

    Ends with 1 when something is, with 3 when nothing could be looked at.

    Example: netkit check --snapshot node.jsonl --env job.env
    """
    if context.invoked_subcommand is not None:
        return
    from netkit import checks
    from netkit.catalogue.platforms import platform
    from netkit.doctor.context import Wishes
    from netkit.doctor.judge import judge
    from netkit.report import check_json, check_table

    form = check_form(output)
    accepted = _silences(silence or [])
    live = not snapshot and not lspci
    settings = environment(env, nccl_conf or [], nccl, live=live)
    wishes = Wishes(
        platform=platform(profile) if profile is not None else None,
        environment=settings,
        topology_file=_topology_file(topo_file, settings.text("NCCL_TOPO_FILE") if live else None),
        earlier=node_of(since, None, None) if since is not None else None,
        switches=switches(switch, switch_port, lldp),
    )
    rules = checks.rules()

    def wanted(result: Result) -> bool:
        return not only or checks.asked(rules[result.rule], only)

    report = judge(
        checks.holding(only or []), tuple(members_of(snapshot, lspci, sysfs, procfs, wishes)), accepted, wanted
    )
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(check_json.render(report, one_line=form is OutputForm.JSONL))
    else:
        show(tuple(check_table.blocks(report, rules)), form)
    if report.worst_at_least(Severity(fail_on.value)):
        raise typer.Exit(int(ExitStatus.FINDINGS))
    looked = report.counts["ok"] + report.counts["finding"] + report.counts["silenced"]
    raise typer.Exit(int(ExitStatus.OK if looked else ExitStatus.NOT_MEASURED))


def check_form(output: OutputForm | None) -> OutputForm:
    """Return the form of the output, one of those that fit."""
    form = chosen_form(output)
    require(form in _FORMS, f"--output {form}", ", ".join(_FORMS))
    return form


def _silences(given: Sequence[str]) -> Mapping[str, str]:
    from netkit.checks import rule

    found = {}
    for text in given:
        name, _, reason = text.partition("=")
        require(reason.strip(), f"--silence {visible(text)!r}", "ID=REASON, with a reason somebody can read later")
        found[rule(name.strip()).id] = visible(reason.strip())
    return found


def members_of(
    snapshots: list[Path] | None, lspci: list[Path] | None, sysfs: Path | None, procfs: Path | None, wishes: Wishes
) -> Iterator[Member]:
    """Yield every node the options name, or the live one, under a name of its own."""
    from netkit.doctor.context import context_of
    from netkit.doctor.contract import Member

    seen: dict[str, int] = {}
    for place, node in _nodes(snapshots or [], lspci or [], sysfs, procfs):
        name = node.host.name if not isinstance(node.host.name, Missing) else visible(place)
        seen[name] = seen.get(name, 0) + 1
        unique = name if seen[name] == 1 else f"{name} ({visible(place)})"
        yield Member(name=unique, snapshot=node, context=context_of(node, wishes))


def _nodes(
    snapshots: list[Path], lspci: list[Path], sysfs: Path | None, procfs: Path | None
) -> Iterator[tuple[str, NodeSnapshot]]:
    for path in snapshots:
        yield path.stem, node_of(path, sysfs, procfs)
    for path in lspci:
        yield path.stem, _of_lspci(path)
    if not snapshots and not lspci:
        yield "this node", node_of(None, sysfs, procfs)


def _of_lspci(path: Path) -> NodeSnapshot:
    from netkit.sources.lspci import MOST_BYTES, parse_lspci

    return parse_lspci(small_text(path, "the output of lspci -vvv", MOST_BYTES), time.time())


def environment(env: Path | None, conf: list[Path], version: str | None, *, live: bool) -> Environment:
    """Return the job's settings: those given, or on a live node those netkit itself runs with."""
    from netkit.model.environment import Environment, parse_nccl_version
    from netkit.sources.environment import MOST_BYTES, parse_environment, parse_nccl_conf

    parsed = None if version is None else parse_nccl_version(version)
    require(version is None or parsed, f"--nccl {visible(str(version))!r}", "a version such as 2.27.3")
    variables = () if env is None else parse_environment(small_text(env, "an environment file", MOST_BYTES), str(env))
    if env is None and live:
        variables = tuple(_own())
    places = conf or [place for place in map(Path.expanduser, _CONF_FILES) if live and place.is_file()]
    files = tuple(parse_nccl_conf(small_text(one, "an NCCL file", MOST_BYTES), visible(str(one))) for one in places)
    return Environment(given=bool(env or files or variables), variables=variables, files=files, version=parsed)


def _topology_file(given: Path | None, named: str | None) -> Topology | str | None:
    """Return the file somebody gave, or the one a live node's job names; a text says why NCCL cannot use that one."""
    from netkit.topology.nccl_xml import read_topology

    if given is not None:
        return read_topology(small_bytes(given, "a topology file"), str(given))
    if not named:
        return None
    try:
        return read_topology(small_bytes(Path(named), "a topology file"), named)
    except InputError as fault:
        return str(fault)


def switches(switch: Path | None, port: str | None, lldp: Path | None) -> Mapping[str, SwitchQos]:
    """Return the switch port behind each interface, as far as the options say."""
    from netkit.roce.neighbours import parse_lldp
    from netkit.roce.switch_ports import behind, parse_switch

    require(switch is not None or (port is None and lldp is None), "--switch-port or --lldp alone", "--switch with it")
    if switch is None:
        return {}
    neighbours = {} if lldp is None else parse_lldp(small_text(lldp, "lldpctl -f json", _MOST_CONFIG_BYTES))
    return behind(parse_switch(small_text(switch, "a switch configuration", _MOST_CONFIG_BYTES)), neighbours, port)


def _own() -> Iterator[Variable]:
    from netkit.model.environment import Variable

    for name, value in os.environ.items():
        if name.startswith(_OF_COLLECTIVES):
            yield Variable(name=visible(name), value=visible(value), source="environment of netkit")


@app.command("qos")
def qos(
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", help="A recorded node instead of this one.", metavar="FILE")
    ] = None,
    env: EnvOption = None,
    switch: SwitchOption = None,
    switch_port: SwitchPortOption = None,
    lldp: LldpOption = None,
    sysfs: SysfsOption = None,
    procfs: ProcfsOption = None,
    output: OutputOption = None,
) -> None:
    """Is NCCL's traffic lossless from the job to the switch's queue, and if not, which link of the chain is broken?

    Ends with 1 when a link is broken, with 3 when no chain could be followed.

    Example: netkit check qos --snapshot node.jsonl --env job.env --switch config_db.json --switch-port Ethernet0
    """
    from netkit.doctor.context import Wishes, context_of
    from netkit.doctor.roce import chain_of
    from netkit.report import qos_chain
    from netkit.roce.qos_chain import LinkState

    form = check_form(output)
    wishes = Wishes(
        environment=environment(env, [], None, live=snapshot is None), switches=switches(switch, switch_port, lldp)
    )
    context = context_of(node_of(snapshot, sysfs, procfs), wishes)
    chains = tuple(chain_of(context, port) for port in context.ports if port.roce)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(qos_chain.render(chains, one_line=form is OutputForm.JSONL))
    else:
        show(tuple(qos_chain.blocks(chains)), form)
    if any(chain.broken for chain in chains):
        raise typer.Exit(int(ExitStatus.FINDINGS))
    seen = any(link.state is not LinkState.UNKNOWN for chain in chains for link in chain.links)
    raise typer.Exit(int(ExitStatus.OK if seen else ExitStatus.NOT_MEASURED))
