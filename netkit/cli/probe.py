"""`netkit probe`: measure a gang and say which rail, node, leaf or uplink is slow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from netkit.cli.input_file import small_text
from netkit.cli.output import OutputOption
from netkit.cli.probe_backend import (
    Backend,
    BackendOption,
    BackendWishes,
    GpusOption,
    HcaOption,
    ProgramsOption,
    SettingOption,
    SizeOption,
)
from netkit.cli.probe_gang import gang
from netkit.cli.probe_nodes import nodes
from netkit.cli.probe_options import (
    FailOnOption,
    LineRateOption,
    ReportOption,
    SecondsOption,
    SeedOption,
    TextfileOption,
)
from netkit.cli.probe_schedule import schedule
from netkit.cli.probing import (
    FailOn,
    checked_wishes,
    end,
    leaves,
    probe,
    rail_choice,
    require,
    ssh_options,
    start_seconds,
)
from netkit.model.text import visible

app = typer.Typer(
    name="probe",
    help="Measure a gang: which rail, node, leaf or uplink is slow, and by how much?",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_MOST_LOCAL_RANKS = 128

app.command("gang", short_help="Which rail, node or leaf of this gang in Kubernetes is slow?")(gang)

app.command("nodes", short_help="Burn-in: which rail or node among these free nodes is slow?")(nodes)
app.command("schedule", short_help="A probe by the clock: CronJob, role and budget, to review and apply.")(schedule)


@app.command("lab", short_help="Which link of the lab on this machine is slow?")
def lab(
    name: Annotated[
        str | None, typer.Option("--name", help="Which lab; may be left out while there is only one.")
    ] = None,
    seed: SeedOption = None,
    line_rate: LineRateOption = None,
    seconds: SecondsOption = 0.8,
    backend: BackendOption = Backend.SOCKET,
    python: Annotated[
        str | None, typer.Option("--python", help="Interpreter of the agents; default: netkit's own.")
    ] = None,
    fail_on: FailOnOption = FailOn.WARNING,
    output: OutputOption = None,
    report: ReportOption = None,
    textfile: TextfileOption = None,
) -> None:
    """Which link of the lab on this machine is slow? Measures real traffic between its nodes.

    Example: netkit probe lab
    """
    from netkit.cli.lab_probe import lab_request, placement
    from netkit.lab.state import load

    wishes = checked_wishes(
        seed=seed,
        line_rate=line_rate,
        seconds=seconds,
        fail_on=fail_on,
        output=output,
        report=report,
        textfile=textfile,
        backend=BackendWishes(backend=backend),
    )
    state = load(name)
    request, launcher = lab_request(
        state, python=python, seed=wishes.seed, seconds=wishes.seconds, wire_rate=wishes.wire_rate
    )
    end(probe(request, launcher, wishes, placement(state)), wishes)


@app.command("local", short_help="How much can the processors of this host move?")
def local(
    ranks: Annotated[int, typer.Option("--ranks", help="How many agents run side by side.")] = 4,
    seed: SeedOption = None,
    seconds: SecondsOption = 0.8,
    fail_on: FailOnOption = FailOn.WARNING,
    output: OutputOption = None,
    report: ReportOption = None,
    textfile: TextfileOption = None,
) -> None:
    """How much can the processors of this host move by themselves? Runs over loopback and exercises no NIC.

    Nothing is said about a link, so the verdict is always inconclusive and the status 3.

    Example: netkit probe local --ranks 4
    """
    from netkit.probe.launchers import local as local_launcher
    from netkit.probe.launchers.session import Member
    from netkit.probe.rails import RailChoice
    from netkit.probe.request import ProbeRequest

    wishes = checked_wishes(
        seed=seed,
        line_rate=None,
        seconds=seconds,
        fail_on=fail_on,
        output=output,
        report=report,
        textfile=textfile,
    )
    require(2 <= ranks <= _MOST_LOCAL_RANKS, f"--ranks {ranks}", f"2 to {_MOST_LOCAL_RANKS}")
    names = tuple(f"local{rank}" for rank in range(ranks))
    request = ProbeRequest(
        name="local",
        transport=local_launcher.LAUNCHER.transport,
        members=tuple(Member(name=name, python=sys.executable) for name in names),
        rails=RailChoice(addresses=dict.fromkeys(names, ("127.0.0.1",))),
        loopback=True,
        seed=wishes.seed,
        seconds=wishes.seconds,
    )
    end(probe(request, local_launcher.LAUNCHER, wishes), wishes)


@app.command("hosts", short_help="Which of these hosts, or their rails, is slow? Over ssh.")
def hosts(
    hostfile: Annotated[Path, typer.Argument(help="Hostfile: plain, Open MPI, Intel MPI, MPICH, Volcano, DeepSpeed.")],
    interface: Annotated[
        str | None, typer.Option("--interface", help="Interfaces in rail order, the same on every host: eth2,eth3.")
    ] = None,
    subnet: Annotated[
        str | None, typer.Option("--subnet", help="Subnets in rail order: 10.0.0.0/16,10.1.0.0/16.")
    ] = None,
    leaf: Annotated[
        list[str] | None, typer.Option("--leaf", help="Hosts under one leaf, HOST,HOST:LEAF; once for each leaf.")
    ] = None,
    leaf_file: Annotated[Path | None, typer.Option("--leaf-file", help="Lines of `host leaf`.")] = None,
    python: Annotated[str, typer.Option("--python", help="Python 3.7 or newer on the hosts.")] = "python3",
    user: Annotated[str | None, typer.Option("--user", help="Log in as this user (ssh -l).")] = None,
    ssh_port: Annotated[int | None, typer.Option("--ssh-port", help="Port of sshd (ssh -p).")] = None,
    identity: Annotated[Path | None, typer.Option("--identity", help="Private key (ssh -i).")] = None,
    ssh_config: Annotated[Path | None, typer.Option("--ssh-config", help="ssh configuration (ssh -F).")] = None,
    backend: BackendOption = Backend.SOCKET,
    hca: HcaOption = None,
    gpus: GpusOption = None,
    programs: ProgramsOption = None,
    env: SettingOption = None,
    size: SizeOption = "256MiB",
    seed: SeedOption = None,
    line_rate: LineRateOption = None,
    seconds: SecondsOption = 0.8,
    fail_on: FailOnOption = FailOn.WARNING,
    output: OutputOption = None,
    report: ReportOption = None,
    textfile: TextfileOption = None,
) -> None:
    """Which of these hosts, or which of their rails, is slow? Starts agents over ssh; writes nothing on the hosts.

    The rails are the interfaces or subnets named, or the one address ssh reaches a host at. Another --backend has a
    benchmark that is installed on the hosts measure, between RDMA devices (--hca) or interfaces.

    Example: netkit probe hosts hostfile --interface eth2,eth3 --line-rate 100gbit
    """
    from netkit.probe.hostfile import parse_hostfile
    from netkit.probe.launchers import ssh
    from netkit.probe.launchers.session import Member
    from netkit.probe.request import ProbeRequest

    wanted = BackendWishes(backend=backend, hca=hca, gpus=gpus, programs=programs, settings=tuple(env or ()), size=size)
    wishes = checked_wishes(
        seed=seed,
        line_rate=line_rate,
        seconds=seconds,
        fail_on=fail_on,
        output=output,
        report=report,
        textfile=textfile,
        backend=wanted,
    )
    names = tuple(host.name for host in parse_hostfile(small_text(hostfile, "a hostfile"), visible(str(hostfile), 200)))
    options = ssh_options(user, ssh_port, identity, ssh_config)
    require(bool(python) and not python.startswith("-"), f"--python {visible(python)!r}", "the path of an interpreter")
    request = ProbeRequest(
        name=visible(hostfile.stem, 64),
        transport=ssh.LAUNCHER.transport,
        members=tuple(Member(name=name, destination=name, python=python, options=options) for name in names),
        rails=rail_choice(interface, subnet),
        leaf_of=leaves(leaf, leaf_file, names),
        wire_rate=wishes.wire_rate,
        seed=wishes.seed,
        seconds=wishes.seconds,
        start_seconds=start_seconds(len(names)),
    )
    end(probe(request, ssh.LAUNCHER, wishes), wishes)
