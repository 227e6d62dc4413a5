"""`netkit explain`: what a rule asks, reads and wants, and when not to believe it."""

from __future__ import annotations

from typing import Annotated

import typer

from netkit.cli.check import check_form
from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.topo import show


def explain(
    subject: Annotated[str | None, typer.Argument(help="A rule, such as T11 or pcie-acs; without one: all.")] = None,
    output: OutputOption = None,
) -> None:
    """What does this rule ask, what does it read, what should be done, and when is it wrong?

    Example: netkit explain pcie-acs
    """
    from netkit.checks import rule, rules
    from netkit.gangs.rules import gang_rule, gang_rules
    from netkit.report import check_json, check_table

    form = check_form(output)
    if subject is None:
        show(tuple(check_table.listing({**rules(), **gang_rules()})), form)
        return
    found = gang_rule(subject) or rule(subject)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(check_json.render_rule(found, one_line=form is OutputForm.JSONL))
    else:
        show(tuple(check_table.explanation(found)), form)
