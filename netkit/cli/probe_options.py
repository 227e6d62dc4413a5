"""Options that every `netkit probe` command has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netkit.cli.probing import FailOn

InterfaceOption = Annotated[
    str | None, typer.Option("--interface", help="Interfaces in rail order, the same everywhere: eth2,eth3.")
]
SubnetOption = Annotated[str | None, typer.Option("--subnet", help="Subnets in rail order: 10.0.0.0/16,10.1.0.0/16.")]
PythonOption = Annotated[str, typer.Option("--python", help="Python 3.7 or newer where the agents run.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and do nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Which pairs are drawn; random by default, and reported.", min=0)
]
LineRateOption = Annotated[
    str | None, typer.Option("--line-rate", help="What one port should carry, such as 100gbit: shows uniform slowness.")
]
SecondsOption = Annotated[float, typer.Option("--seconds", help="Measured time per direction of one pair.")]
FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="Lowest severity that ends with status 1.")]
ReportOption = Annotated[Path | None, typer.Option("--report", help="Also write the report as an HTML page.")]
TextfileOption = Annotated[
    Path | None, typer.Option("--textfile", help="Also write Prometheus text, for a textfile collector.")
]
