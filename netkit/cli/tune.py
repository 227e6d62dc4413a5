"""`netkit tune`: what to change, in which words, and whether it helped."""

from __future__ import annotations

import typer

from netkit.cli import tune_advise, tune_csv, tune_sweep, tune_switch

app = typer.Typer(
    name="tune",
    help="What should be changed, in which words, and does it help?",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("advise", short_help="What should this job, host or pod set differently, and why?")(tune_advise.advise)
app.command("switch", short_help="Say one lossless fabric to every switch and host.")(tune_switch.switch)
app.command("verify", short_help="Does a switch do what was declared?")(tune_switch.verify)
app.add_typer(tune_csv.app, short_help="NCCL's tuner table: write, read, check, merge.")
app.add_typer(tune_sweep.app, short_help="Which setting is faster, measured, beyond noise?")
