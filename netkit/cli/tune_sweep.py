"""`netkit tune sweep`: searches settings by measuring, and claims only what noise does not explain."""

from __future__ import annotations

from dataclasses import replace
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
from netkit.cli.probing import rail_choice, require, ssh_options, start_seconds
from netkit.cli.sweep_options import (
    GpuMinutesOption,
    HeldOption,
    MinutesOption,
    OrderOption,
    ParamOption,
    ReadingOption,
    SearchOption,
    SmallestOption,
    SweepWishes,
    TrialsOption,
    WriteOption,
)
from netkit.model.text import visible
from netkit.sweep.search import SearchKind

app = typer.Typer(
    name="sweep",
    help="Which setting is faster, measured, and by how much beyond noise?",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("lab", short_help="Which setting is faster in the lab on this machine?")
def lab(
    param: ParamOption = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Which lab; may be left out while there is only one.")
    ] = None,
    trials: TrialsOption = 20,
    minutes: MinutesOption = 10.0,
    gpus_held: HeldOption = 0,
    gpu_minutes: GpuMinutesOption = None,
    smallest_effect: SmallestOption = "3%",
    search: SearchOption = SearchKind.GRID,
    seed: OrderOption = 1,
    seconds: ReadingOption = 1.0,
    write: WriteOption = None,
    output: OutputOption = None,
) -> None:
    """Which setting moves more between the leaves of the lab, and is it more than noise?

    The one parameter of its socket backend is connections, per peer. The baseline is measured again beside every
    setting; the best one is confirmed with fresh readings. Ends with 3 when noise leaves it open.

    Example: netkit tune sweep lab --param connections=1,2,4,8,16
    """
    from netkit.cli.lab_probe import lab_request
    from netkit.cli.sweeping import measuring, socket_space
    from netkit.lab.state import load

    wishes = SweepWishes(
        trials=trials,
        minutes=minutes,
        held=gpus_held,
        gpu_minutes=gpu_minutes,
        smallest=smallest_effect,
        search=search,
        seed=seed,
        seconds=seconds,
        write=write,
        output=output,
    ).checked()
    space = socket_space(param or [])
    state = load(name)
    require(state.keeper is not None, f"emulated lab {state.name!r}", "a lab of namespaces: only a kernel has uplinks")
    request, launcher = lab_request(state, seed=seed, seconds=seconds)
    request = replace(request, lifetime_seconds=request.lifetime_seconds + wishes.budget.seconds)
    with measuring(request, launcher, space) as measure:
        report = wishes.run(space, measure)
    wishes.finish(report)


@app.command("hosts", short_help="Which setting is faster on these hosts? Over ssh.")
def hosts(
    hostfile: Annotated[Path, typer.Argument(help="Hostfile: plain, Open MPI, Intel MPI, MPICH, Volcano, DeepSpeed.")],
    param: ParamOption = None,
    interface: Annotated[
        str | None, typer.Option("--interface", help="Interfaces in rail order, the same on every host: eth2,eth3.")
    ] = None,
    subnet: Annotated[
        str | None, typer.Option("--subnet", help="Subnets in rail order: 10.0.0.0/16,10.1.0.0/16.")
    ] = None,
    python: Annotated[str, typer.Option("--python", help="Python 3.7 or newer on the hosts.")] = "python3",
    user: Annotated[str | None, typer.Option("--user", help="Log in as this user (ssh -l).")] = None,
    ssh_port: Annotated[int | None, typer.Option("--ssh-port", help="Port of sshd (ssh -p).")] = None,
    identity: Annotated[Path | None, typer.Option("--identity", help="Private key (ssh -i).")] = None,
    ssh_config: Annotated[Path | None, typer.Option("--ssh-config", help="ssh configuration (ssh -F).")] = None,
    backend: BackendOption = Backend.NCCL_TESTS,
    hca: HcaOption = None,
    gpus: GpusOption = None,
    programs: ProgramsOption = None,
    env: SettingOption = None,
    size: SizeOption = "256MiB",
    trials: TrialsOption = 20,
    minutes: MinutesOption = 30.0,
    gpus_held: HeldOption = 0,
    gpu_minutes: GpuMinutesOption = None,
    smallest_effect: SmallestOption = "3%",
    search: SearchOption = SearchKind.GRID,
    seed: OrderOption = 1,
    seconds: ReadingOption = 1.0,
    write: WriteOption = None,
    output: OutputOption = None,
) -> None:
    """Which setting of the collective library is faster over all of these hosts, and is it more than noise?

    With a benchmark a parameter is a variable of its environment; with --backend socket it is connections, per peer.
    Nothing is left set on the hosts. Ends with 3 when noise leaves it open.

    Example: netkit tune sweep hosts hostfile --hca mlx5_0,mlx5_1 --param NCCL_IB_QPS_PER_CONNECTION=1,2,4
    """
    from netkit.cli.sweeping import measuring, socket_space
    from netkit.probe.hostfile import parse_hostfile
    from netkit.probe.launchers import ssh
    from netkit.probe.launchers.session import Member
    from netkit.probe.request import ProbeRequest
    from netkit.sweep.space import parse_space

    wishes = SweepWishes(
        trials=trials,
        minutes=minutes,
        held=gpus_held,
        gpu_minutes=gpu_minutes,
        smallest=smallest_effect,
        search=search,
        seed=seed,
        seconds=seconds,
        write=write,
        output=output,
    ).checked()
    space = socket_space(param or []) if backend is Backend.SOCKET else parse_space(param or [])
    names = tuple(host.name for host in parse_hostfile(small_text(hostfile, "a hostfile"), visible(str(hostfile), 200)))
    options = ssh_options(user, ssh_port, identity, ssh_config)
    require(bool(python) and not python.startswith("-"), f"--python {visible(python)!r}", "the path of an interpreter")
    wanted = BackendWishes(backend=backend, hca=hca, gpus=gpus, programs=programs, settings=tuple(env or ()), size=size)
    request = wanted.applied_to(
        ProbeRequest(
            name=visible(hostfile.stem, 64),
            transport=ssh.LAUNCHER.transport,
            members=tuple(Member(name=name, destination=name, python=python, options=options) for name in names),
            rails=rail_choice(interface, subnet),
            seconds=seconds,
            start_seconds=start_seconds(len(names)),
            lifetime_seconds=3600.0 + wishes.budget.seconds,
        )
    )
    with measuring(request, ssh.LAUNCHER, space) as measure:
        report = wishes.run(space, measure)
    wishes.finish(report)
