"""`netkit playbook change`: one setting of an interface of this machine, with a yes and a way back."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from netkit.errors import ExitStatus


def change(
    kind: Annotated[
        str, typer.Argument(help="mtu, link-up, link-down, pause-off, pause-set, qdisc-remove, qdisc-set.")
    ],
    netdev: Annotated[str, typer.Option("--netdev", help="The interface on this machine.", metavar="NAME")],
    to: Annotated[str, typer.Option("--to", help="The new value, where the change takes one.", metavar="VALUE")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
) -> None:
    """What would this change do, and how is it undone? Prints both, and does it only with a yes.

    Nothing is run where there is no terminal to ask on and no --yes.

    Example: netkit playbook change mtu --netdev eth2 --to 4200
    """
    from netkit_playbooks import changes

    planned = changes.plan(kind, netdev, to, changes.read_program)
    if not planned.needed:
        print(f"{netdev} is {planned.now or 'free of it'} already: nothing to change")
        return
    print(f"command:    {shlex.join(planned.command)}")
    print(f"difference: {netdev}: {planned.now or 'nothing set'} -> {planned.wanted or 'nothing set'}")
    print(f"rollback:   {shlex.join(planned.rollback)}", flush=True)
    if not (yes or _agreed()):
        print("not run: it needs a yes on a terminal, or --yes", file=sys.stderr)
        raise typer.Exit(int(ExitStatus.NOT_MEASURED))
    changes.apply(planned)
    print(f"done: {netdev} is {planned.wanted or 'free of it'}")


def _agreed() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm("Do it?", default=False, err=True)
