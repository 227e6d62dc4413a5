"""`netkit tune sweep`: searches settings by measuring, and claims only what noise does not explain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.check import check_form
from netkit.cli.output import OutputForm, OutputOption, emit, talk, write_atomically
from netkit.cli.probing import require
from netkit.cli.topo import show
from netkit.errors import ExitStatus, ProbeError
from netkit.model.text import visible
from netkit.model.units import parse_fraction, show_rate
from netkit.sweep.search import SearchKind

if TYPE_CHECKING:
    from netkit.lab.state import LabState
    from netkit.sweep.course import Budget, Measure, SweepReport, Trial
    from netkit.sweep.space import Space

_MOST_CONNECTIONS = 64
_MOST_TRIALS = 1000

app = typer.Typer(
    name="sweep",
    help="Which setting is faster, measured, and by how much beyond noise?",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("lab", short_help="Which setting is faster in the lab on this machine?")
def lab(
    param: Annotated[
        list[str] | None,
        typer.Option("--param", help="A parameter and its values, today's first.", metavar="NAME=TODAY,OTHER,…"),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Which lab; may be left out while there is only one.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", help="At most so many measurements beside the baseline's.")] = 20,
    minutes: Annotated[float, typer.Option("--minutes", help="End after so many minutes, verdict or not.")] = 10.0,
    gpus: Annotated[int, typer.Option("--gpus", help="GPUs held while measuring, for --gpu-minutes.")] = 0,
    gpu_minutes: Annotated[
        float | None, typer.Option("--gpu-minutes", help="End after so many GPU-minutes; default: no limit.")
    ] = None,
    smallest_effect: Annotated[
        str, typer.Option("--smallest-effect", help="A smaller gain is not worth a change, such as 3%.")
    ] = "3%",
    search: Annotated[SearchKind, typer.Option("--search", help="Every setting, or Optuna's TPE.")] = SearchKind.GRID,
    seed: Annotated[int, typer.Option("--seed", help="Order of the settings.")] = 1,
    seconds: Annotated[float, typer.Option("--seconds", help="Measured time of one reading, 0.2 to 60.")] = 1.0,
    write: Annotated[
        Path | None, typer.Option("--write", help="Write the winning setting here as environment lines.")
    ] = None,
    output: OutputOption = None,
) -> None:
    """Which setting moves more between the leaves of the lab, and is it more than noise?

    The one parameter of its socket backend is connections, per peer. The baseline is measured again beside every
    setting; the best one is confirmed with fresh pairs. Ends with 3 when noise leaves it open.

    Example: netkit tune sweep lab --param connections=1,2,4,8,16
    """
    from netkit.lab.state import load
    from netkit.report import sweep as sweep_report

    form = check_form(output)
    budget = _budget(trials, minutes, gpus, gpu_minutes, smallest_effect)
    space = _socket_space(param or [])
    require(0.2 <= seconds <= 60, f"--seconds {seconds:g}", "0.2 to 60")
    require(0 <= seed < 2**32, f"--seed {seed}", "a whole number from 0")
    state = load(name)
    require(state.keeper is not None, f"emulated lab {state.name!r}", "a lab of namespaces: only a kernel has uplinks")
    with measuring(state, seconds, budget.seconds) as measure:
        report = _course(space, measure, budget, search, seed)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(sweep_report.render(report, one_line=form is OutputForm.JSONL))
    else:
        show(tuple(sweep_report.blocks(report)), form)
    _end(report, write)


def _budget(trials: int, minutes: float, gpus: int, gpu_minutes: float | None, smallest: str) -> Budget:
    from netkit.sweep.course import FEWEST_PAIRS, Budget

    least = FEWEST_PAIRS + 1
    require(least <= trials <= _MOST_TRIALS, f"--trials {trials}", f"{least} to {_MOST_TRIALS}: {FEWEST_PAIRS} confirm")
    require(0 < minutes <= 10_000, f"--minutes {minutes:g}", "above 0, at most 10000")
    require(0 <= gpus <= 1_000_000, f"--gpus {gpus}", "a number of GPUs")
    sound = gpu_minutes is None or (gpu_minutes > 0 and gpus > 0)
    require(sound, f"--gpu-minutes {gpu_minutes or 0:g} with --gpus {gpus}", "both above 0")
    base = Budget(trials=trials, seconds=minutes * 60, gpus=gpus, smallest_effect=parse_fraction(smallest))
    return base if gpu_minutes is None else replace(base, gpu_seconds=gpu_minutes * 60)


def _socket_space(texts: list[str]) -> Space:
    from netkit.sweep.form import CONNECTIONS
    from netkit.sweep.space import parse_space

    space = parse_space(texts or [f"{CONNECTIONS}=1,2,4,8,16"])
    for parameter in space.parameters:
        require(parameter.name == CONNECTIONS, f"parameter {parameter.name} of the socket backend", CONNECTIONS)
        for value in parameter.values:
            sound = value.isdecimal() and 1 <= int(value) <= _MOST_CONNECTIONS
            require(sound, f"connections {visible(value, 40)!r}", f"1 to {_MOST_CONNECTIONS}")
    return space


@contextmanager
def measuring(state: LabState, seconds: float, lifetime: float) -> Iterator[Measure]:
    """Start the agents of a lab and give what one setting's pairs move on average; stop the agents at the end."""
    from netkit.cli.lab_probe import lab_request
    from netkit.probe.assembly import assemble
    from netkit.probe.launchers.roll_call import RanksLostError, RollCall
    from netkit.probe.streams import measure_streams
    from netkit.sweep.space import Setting

    request, launcher = lab_request(state, seed=0, seconds=seconds)
    sessions = launcher.start(request.members, request.lifetime_seconds + lifetime)
    try:
        gang = assemble(request, RollCall(sessions, [member.name for member in request.members]))
        pairs = _across(state)

        def measure(setting: Setting) -> float:
            return measure_streams(gang, pairs, int(setting[0]), seconds).average

        yield measure
    except RanksLostError as lost:
        raise ProbeError("sweeping", str(lost), "see whether the lab is up: netkit lab status") from lost
    finally:
        sessions.stop()


def _across(state: LabState) -> tuple[tuple[str, str], ...]:
    """Pair the first half of the nodes with the second: across leaves, as nodes fill one leaf after the other."""
    names = state.shape.node_names
    half = len(names) // 2
    return tuple(zip(names[:half], names[half : 2 * half], strict=True))


def _course(space: Space, measure: Measure, budget: Budget, kind: SearchKind, seed: int) -> SweepReport:
    from netkit.sweep.course import Course
    from netkit.sweep.search import search_of

    def progress(trial: Trial) -> None:
        words = " ".join(f"{name}={value}" for name, value in space.named(trial.setting).items())
        talk(f"{trial.number:3} {trial.phase:8} {words:20} {show_rate(trial.reading)}")

    return Course(
        space=space,
        measure=measure,
        search=search_of(kind, space, seed, budget.looks),
        budget=budget,
        clock=time.monotonic,
        progress=progress,
    ).run()


def _end(report: SweepReport, write: Path | None) -> None:
    from netkit.sweep.course import SweepVerdict
    from netkit.sweep.form import env_form

    improved = report.verdict is SweepVerdict.IMPROVED
    if write is not None and improved and report.best is not None:
        write_atomically(write, env_form(report.space.named(report.best)))
        talk(f"{visible(str(write))}: the winning setting")
    elif write is not None:
        talk(f"{visible(str(write))} was not written: nothing won")
    open_ = report.verdict is SweepVerdict.INCONCLUSIVE
    raise typer.Exit(int(ExitStatus.NOT_MEASURED if open_ else ExitStatus.OK))
