"""`netkit explain`: what a rule, a variable, a counter or an exit status means, and when not to believe it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkit.cli.check import check_form
from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.topo import show
from netkit.errors import ExitStatus, InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.catalogue.counter import CounterRow

_STATUS = re.compile(r"(?:exit[- ]?)?(\d{1,3})")


def explain(
    subject: Annotated[
        str | None,
        typer.Argument(
            help="A rule (T11), variable (NCCL_IB_TC), counter (port_xmit_wait) or exit status (3); none: all rules."
        ),
    ] = None,
    output: OutputOption = None,
) -> None:
    """What does this rule, variable, counter or exit status mean, what should be done, and when is it wrong?

    Example: netkit explain pcie-acs
    """
    from netkit.catalogue.nccl_variables import nearest_name
    from netkit.checks import rule, rules
    from netkit.gangs.rules import gang_rule, gang_rules
    from netkit.report import check_json, check_table, variable_text

    form = check_form(output)
    as_json = form in (OutputForm.JSON, OutputForm.JSONL)
    if subject is None:
        show(tuple(check_table.listing({**rules(), **gang_rules()})), form)
        return
    variable = variable_text.describe(subject)
    if variable is not None:
        if as_json:
            emit(variable_text.render(variable, one_line=form is OutputForm.JSONL))
        else:
            show(tuple(variable_text.blocks(variable)), form)
        return
    rows = _status(subject) or _counters(subject)
    if rows:
        emit(json.dumps(rows) if as_json else "\n".join(_said(row) for row in rows))
        return
    try:
        found = gang_rule(subject) or rule(subject)
    except InputError as fault:
        nearest = nearest_name(subject) or fault.nearest
        raise InputError(repr(visible(subject)), "a rule, a variable, a counter or an exit status", nearest) from fault
    if as_json:
        emit(check_json.render_rule(found, one_line=form is OutputForm.JSONL))
    else:
        show(tuple(check_table.explanation(found)), form)


def _status(subject: str) -> list[dict[str, Any]]:
    from netkit.catalogue.exit_codes import EXIT_CODES

    match = _STATUS.fullmatch(subject.strip().lower())
    if match is None or int(match[1]) not in set(ExitStatus):
        return []
    code = EXIT_CODES[ExitStatus(int(match[1]))]
    return [{"exit status": int(match[1]), "meaning": code.meaning, "next": code.next}]


def _counters(subject: str) -> list[dict[str, Any]]:
    """Every driver's counter of this name; a digit stands where the catalogue has a priority or lane."""
    from netkit.catalogue.counter import tables

    found: list[dict[str, Any]] = []
    for table in tables():
        for rows, area in (((*table.port, *table.hardware), "rdma_"), (table.statistics, "")):
            found += [_counter(table.id, row, area) for row in rows if _names(row, subject)]
    return found or _pauses(subject)


def _pauses(subject: str) -> list[dict[str, Any]]:
    """Pause statistics, which drivers name by priority and direction."""
    from netkit.catalogue.pause_names import ROWS

    return [
        {"counter": subject, "of": driver, "meaning": f"pause {measure.value}", "in base units": f"times {factor:g}"}
        for driver, rows in ROWS.items()
        for pattern, measure, factor in rows
        if pattern.fullmatch(subject)
    ]


def _names(row: CounterRow, subject: str) -> bool:
    if "%d" not in row.name:
        return row.name == subject
    return subject == row.name or re.fullmatch(re.escape(row.name).replace("%d", r"\d{1,2}"), subject) is not None


def _counter(driver: str, row: CounterRow, area: str) -> dict[str, Any]:
    return {
        "counter": row.name,
        "of": driver,
        "meaning": row.help,
        "bits": row.form.bits,
        "when full": row.form.overflow.value,
        "series": row.series(area),
    }


def _said(row: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {'not stated' if value is None else value}" for name, value in row.items()) + "\n"
