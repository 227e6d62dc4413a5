"""`netkit tune csv`: the table NCCL's example tuner plugin reads, written, read, checked and merged."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.check import check_form
from netkit.cli.input_file import small_bytes, small_text
from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.probing import require
from netkit.cli.topo import show
from netkit.errors import ExitStatus
from netkit.model.text import visible
from netkit.nccl_tuner.table import Metric

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netkit.nccl_tuner.grammar import Row
    from netkit.nccl_tuner.lint import Remark
    from netkit.report.blocks import Block

SCHEMA = "netkit.tune-csv/1"
_TABLE = "a tuner table (NCCL_TUNER_CONFIG_FILE)"

app = typer.Typer(
    name="csv",
    help="What does NCCL's tuner plugin make of a table, and how do measurements become one?",
    no_args_is_help=True,
    rich_markup_mode=None,
)

TableArgument = Annotated[Path, typer.Argument(help="A tuner table: what NCCL_TUNER_CONFIG_FILE names.")]


@app.command("read")
def read(table: TableArgument, output: OutputOption = None) -> None:
    """Which rows does the plugin hold after reading this table?

    Example: netkit tune csv read nccl_tuner.conf
    """
    from netkit.nccl_tuner.grammar import read_table

    form = check_form(output)
    rows = read_table(small_bytes(table, _TABLE))
    if form in (OutputForm.JSON, OutputForm.JSONL):
        _json({"rows": [asdict(row) for row in rows]}, form)
    else:
        show(tuple(_rows(rows)), form)


@app.command("lint")
def lint(table: TableArgument, output: OutputOption = None) -> None:
    """Where does the plugin read something else than was written?

    Ends with 1 when it does.

    Example: netkit tune csv lint nccl_tuner.conf
    """
    from netkit.nccl_tuner.lint import lint as remarks_of

    form = check_form(output)
    remarks = remarks_of(small_bytes(table, _TABLE))
    if form in (OutputForm.JSON, OutputForm.JSONL):
        _json({"remarks": [asdict(remark) for remark in remarks]}, form)
    else:
        show(tuple(_remarks(remarks)), form)
    raise typer.Exit(int(ExitStatus.FINDINGS if remarks else ExitStatus.OK))


@app.command("write")
def write(
    measurements: Annotated[
        Path, typer.Argument(help="CSV with collective, size_bytes, algorithm, protocol, channels, nodes, ranks, …")
    ],
    metric: Annotated[Metric, typer.Option("--metric", help="What makes a setting better.")] = Metric.BANDWIDTH,
    fallback: Annotated[
        str | None,
        typer.Option(
            "--fallback",
            help="End with a row that matches all other sizes; without it NCCL chooses.",
            metavar="ALGO,PROTO",
        ),
    ] = None,
) -> None:
    """Which setting was best at each size, as a table for the plugin?

    Example: netkit tune csv write measured.csv --fallback ring,simple
    """
    from netkit.nccl_tuner import table

    rows = table.best_rows(table.parse_measurements(small_text(measurements, "measurements as CSV"), metric))
    last = _fallbacks(fallback, rows) if fallback is not None else ()
    emit(table.written(table.merged([rows, last])))


def _fallbacks(text: str, rows: Sequence[Row]) -> tuple[Row, ...]:
    from netkit.nccl_tuner.grammar import ALGORITHMS, PROTOCOLS
    from netkit.nccl_tuner.table import fallback

    algorithm, _, protocol = text.partition(",")
    known = algorithm in ALGORITHMS and protocol in PROTOCOLS
    accepted = f"one of {', '.join(ALGORITHMS)} and one of {', '.join(PROTOCOLS)}, as in ring,simple"
    require(known, f"--fallback {visible(text, 40)!r}", accepted)
    return tuple(fallback(name, algorithm, protocol) for name in dict.fromkeys(row.collective for row in rows))


@app.command("merge")
def merge(
    tables: Annotated[list[Path], typer.Argument(help="Tables; rows of the first come first, and win.")],
) -> None:
    """How do several tables become one, in which no row is in vain?

    Example: netkit tune csv merge own.conf vendor.conf
    """
    from netkit.nccl_tuner.grammar import read_table
    from netkit.nccl_tuner.table import merged, written

    emit(written(merged([read_table(small_bytes(path, _TABLE)) for path in tables])))


def _json(found: dict[str, object], form: OutputForm) -> None:
    emit(json.dumps({"schema": SCHEMA, **found}, indent=1 if form is OutputForm.JSON else None))


def _rows(rows: Sequence[Row]) -> Iterator[Block]:
    from netkit.report.blocks import Banner, Cell, Column, Table, Tone

    yield Banner(word="ROWS", text=f"{len(rows)}; the first that matches counts", tone=Tone.PLAIN)
    names = ("collective", "from", "to", "algorithm", "protocol", "channels", "nodes", "ranks", "pipeOps", "regBuff")
    cells = [["any" if value == -1 else str(value) for value in asdict(row).values()] for row in rows]
    yield Table(
        title="Rows",
        columns=tuple(Column(title=name, numeric=name not in names[:1] + names[3:5]) for name in names),
        rows=tuple(tuple(Cell(text=text) for text in row) for row in cells),
        note="channels any: the number is NCCL's choice",
    )


def _remarks(remarks: Sequence[Remark]) -> Iterator[Block]:
    from netkit.report.blocks import Banner, Prose, Tone

    if not remarks:
        yield Banner(word="SOUND", text="the plugin reads what is written", tone=Tone.GOOD)
        return
    yield Banner(word="MISREAD", text=f"{len(remarks)} things the plugin does not tell", tone=Tone.BAD)
    for remark in remarks:
        yield Prose(text=f"line {remark.line}: {remark.said}", indent=2)
