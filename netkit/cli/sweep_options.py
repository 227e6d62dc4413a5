"""Options every sweep shares: its budget, its search, and what becomes of its result."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from netkit.cli.check import check_form
from netkit.cli.output import OutputForm, emit, talk, write_atomically
from netkit.cli.probing import require
from netkit.cli.topo import show
from netkit.errors import ExitStatus
from netkit.model.text import visible
from netkit.model.units import parse_fraction, show_rate
from netkit.sweep.search import SearchKind

if TYPE_CHECKING:
    from netkit.sweep.course import Budget, Measure, SweepReport, Trial
    from netkit.sweep.space import Space

_MOST_TRIALS = 1000
_TABLES = frozenset({".csv", ".conf"})

ParamOption = Annotated[
    list[str] | None,
    typer.Option("--param", help="A parameter and its values, today's first; repeat.", metavar="NAME=TODAY,OTHER,…"),
]
TrialsOption = Annotated[int, typer.Option("--trials", help="At most so many measurements beside the baseline's.")]
MinutesOption = Annotated[float, typer.Option("--minutes", help="End after so many minutes, verdict or not.")]
HeldOption = Annotated[int, typer.Option("--gpus-held", help="GPUs held while measuring, for --gpu-minutes.")]
GpuMinutesOption = Annotated[
    float | None, typer.Option("--gpu-minutes", help="End after so many GPU-minutes; default: no limit.")
]
SmallestOption = Annotated[
    str, typer.Option("--smallest-effect", help="A smaller gain is not worth a change, such as 3%.")
]
SearchOption = Annotated[SearchKind, typer.Option("--search", help="Every setting, or Optuna's TPE.")]
OrderOption = Annotated[int, typer.Option("--seed", help="Decides the order of the settings.")]
ReadingOption = Annotated[float, typer.Option("--seconds", help="Measured time of one reading, 0.2 to 60.")]
WriteOption = Annotated[
    Path | None,
    typer.Option("--write", help="Write the winner here: environment lines, or a tuner table if named .csv or .conf."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepWishes:
    """What the shared options ask for, as given."""

    trials: int
    minutes: float
    held: int
    gpu_minutes: float | None
    smallest: str
    search: SearchKind
    seed: int
    seconds: float
    write: Path | None
    output: OutputForm | None

    def checked(self) -> SweepWishes:
        """Return them if a sweep can have them; raise InputError otherwise."""
        from netkit.sweep.course import FEWEST_CONFIRMATIONS

        check_form(self.output)
        low = FEWEST_CONFIRMATIONS + 1
        within = low <= self.trials <= _MOST_TRIALS
        require(within, f"--trials {self.trials}", f"{low} to {_MOST_TRIALS}: {FEWEST_CONFIRMATIONS} of them confirm")
        require(0 < self.minutes <= 10_000, f"--minutes {self.minutes:g}", "above 0, at most 10000")
        require(0 <= self.held <= 1_000_000, f"--gpus-held {self.held}", "a number of GPUs")
        sound = self.gpu_minutes is None or (self.gpu_minutes > 0 and self.held > 0)
        require(sound, f"--gpu-minutes {self.gpu_minutes or 0:g} with --gpus-held {self.held}", "both above 0")
        require(0.2 <= self.seconds <= 60, f"--seconds {self.seconds:g}", "0.2 to 60")
        require(0 <= self.seed < 2**32, f"--seed {self.seed}", "a whole number from 0")
        parse_fraction(self.smallest)
        return self

    @property
    def budget(self) -> Budget:
        """What the sweep may cost."""
        from netkit.sweep.course import Budget

        smallest = parse_fraction(self.smallest)
        base = Budget(trials=self.trials, seconds=self.minutes * 60, gpus=self.held, smallest_effect=smallest)
        return base if self.gpu_minutes is None else replace(base, gpu_seconds=self.gpu_minutes * 60)

    def run(self, space: Space, measure: Measure) -> SweepReport:
        """Sweep, telling each measurement as it comes."""
        from netkit.report.sweep import shown
        from netkit.sweep.course import Course
        from netkit.sweep.search import search_of

        def progress(trial: Trial) -> None:
            talk(f"{trial.number:3} {trial.phase:8} {shown(space, trial.setting):20} {show_rate(trial.reading)}")

        budget = self.budget
        search = search_of(self.search, space, self.seed, budget.looks)
        return Course(
            space=space, measure=measure, search=search, budget=budget, clock=time.monotonic, progress=progress
        ).run()

    def finish(self, report: SweepReport) -> NoReturn:
        """Show the result, write the winner where that was asked for, and end with its status."""
        from netkit.report import sweep as sweep_report
        from netkit.sweep.course import SweepVerdict

        form = check_form(self.output)
        if form in (OutputForm.JSON, OutputForm.JSONL):
            emit(sweep_report.render(report, one_line=form is OutputForm.JSONL))
        else:
            show(tuple(sweep_report.blocks(report)), form)
        if self.write is not None:
            _write(self.write, report)
        unsaid = report.verdict is SweepVerdict.INCONCLUSIVE
        raise typer.Exit(int(ExitStatus.NOT_MEASURED if unsaid else ExitStatus.OK))


def _write(path: Path, report: SweepReport) -> None:
    from netkit.sweep.course import SweepVerdict
    from netkit.sweep.form import csv_form, env_form

    if report.verdict is not SweepVerdict.IMPROVED or report.best is None:
        talk(f"{visible(str(path))} was not written: nothing won")
        return
    named = report.space.named(report.best)
    table = csv_form(named) if path.suffix in _TABLES else None
    require(
        path.suffix not in _TABLES or table, f"--write {visible(str(path))}", "a file of environment lines for this"
    )
    write_atomically(path, table or env_form(named))
    talk(f"{visible(str(path))}: the winning setting")
