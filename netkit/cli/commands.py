"""The commands of netkit by name: a module is imported when its command is wanted, and none waits for the others."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from typer import Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group_from_info
from typer.models import TyperInfo


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Where a command is found: `attribute` of `module` is its function, or the Typer of a group."""

    module: str
    attribute: str
    short_help: str


COMMANDS = {
    "demo": BuiltIn("demo", "demo", "See it work: a small cluster, one slow rail, found by measuring."),
    "plan": BuiltIn("plan", "plan", "How long would a probe take, and how small a fault could it see?"),
    "expect": BuiltIn("expect", "expect", "What all-reduce bandwidth should this gang reach? Does a log?"),
    "explain": BuiltIn("explain", "explain", "What does a rule ask and want, and when is it wrong?"),
    "gangs": BuiltIn("gangs", "gangs", "Which pods are admitted together, and why does a gang wait?"),
    "top": BuiltIn("top", "top", "How busy is each NIC, who is paused, what is lost, right now?"),
    "cleanup": BuiltIn("cleanup", "cleanup", "What have probes left in this cluster? Remove it."),
    "snapshot": BuiltIn("snapshot", "snapshot", "Record what netkit reads of this node, as one file to replay."),
    "read": BuiltIn("read", "read", "What did this nccl-tests log measure, and is all of it there?"),
    "probe": BuiltIn("probe", "app", "Which rail, node, leaf or uplink of this gang is slow?"),
    "check": BuiltIn("check", "app", "What is wrong with this node, gang or job, and what to do?"),
    "topo": BuiltIn("topo_jobs", "app", "Which NIC does each GPU use, over which path, and is it right?"),
    "gang": BuiltIn("gangs", "app", "One gang on Kubernetes: who, where, holding what, waiting why."),
    "tune": BuiltIn("tune", "app", "What should be changed, in which words, and does it help?"),
    "deploy": BuiltIn("deploy", "app", "What does netkit need in a cluster? Manifests to review."),
    "lab": BuiltIn("lab", "app", "A small cluster on this machine, to break by hand and probe."),
}


class CommandGroup(TyperGroup):
    """The root of the command line: it knows every name, and imports a command when it is resolved."""

    def __init__(self, *, commands: Any = None, **options: Any) -> None:
        named = {name: TyperCommand(name, short_help=found.short_help) for name, found in COMMANDS.items()}
        super().__init__(commands={**named, **(commands or {})}, **options)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the first word, a built-in one being imported first."""
        if args:
            self.load(args[0])
        return super().resolve_command(ctx, args)

    def load_all(self) -> None:
        """Import every command, for whoever wants to see all of them."""
        for name in COMMANDS:
            self.load(name)

    def load(self, name: str) -> None:
        """Put the real command in the place of its name; other names are left as they are."""
        if name in COMMANDS and self.commands[name].callback is None:
            self.commands[name] = _imported(name, COMMANDS[name])


def _imported(name: str, found: BuiltIn) -> Any:
    wanted = getattr(import_module(f"netkit.cli.{found.module}"), found.attribute)
    holder = Typer(rich_markup_mode=None)
    if isinstance(wanted, Typer):
        holder.add_typer(wanted, name=name, short_help=found.short_help)
    else:
        holder.command(name, short_help=found.short_help)(wanted)
    root = get_group_from_info(
        TyperInfo(holder), pretty_exceptions_short=True, rich_markup_mode=None, suggest_commands=True
    )
    return root.commands[name]
