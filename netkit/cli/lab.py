"""`netkit lab`: a small cluster on this machine, to break by hand and probe."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit, talk, write_atomically
from netkit.errors import InputError
from netkit.lab.shape import DEFAULT_NAME, Transport, checked_shape
from netkit.model.probe import Direction
from netkit.model.text import visible
from netkit.model.units import parse_duration_seconds, parse_fraction, parse_rate_bytes_per_second, show_line_rate

if TYPE_CHECKING:
    from netkit.lab.faults import Fault, Where
    from netkit.lab.lifecycle import Listed
    from netkit.lab.state import LabState

app = typer.Typer(
    name="lab",
    help="Run a small cluster of network namespaces on this machine, and break a link of it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NameOption = Annotated[str | None, typer.Option("--name", help="Which lab; may be left out while there is only one.")]


class DirectionChoice(StrEnum):
    """Which side of a port a fault is on, seen from its node."""

    TX = "tx"
    RX = "rx"
    BOTH = "both"


@app.command("up")
def up(
    nodes: Annotated[int, typer.Option("--nodes", help="How many nodes, 2 to 256.")] = 8,
    rails: Annotated[int, typer.Option("--rails", help="How many rails a node has, 1 to 16.")] = 2,
    rate: Annotated[
        str, typer.Option("--rate", help="Rate of every port, such as 200mbit; none: unshaped.")
    ] = "200mbit",
    leaves: Annotated[int | None, typer.Option("--leaves", help="Leaf switches a rail; default 2.")] = None,
    uplink_rate: Annotated[
        str | None, typer.Option("--uplink-rate", help="Rate of a leaf's uplink; default: enough for all its nodes.")
    ] = None,
    uplinks: Annotated[
        int, typer.Option("--uplinks", help="Equal-cost uplinks between two leaves, 1 to 8; leaves then route.")
    ] = 1,
    name: Annotated[str, typer.Option("--name", help="Name of the lab.")] = DEFAULT_NAME,
    emulate: Annotated[
        bool, typer.Option("--emulate", help="No namespaces: loopback processes that limit their own rate.")
    ] = False,
    owner: Annotated[
        int | None, typer.Option("--while", metavar="PID", help="End the lab by itself when this process ends.")
    ] = None,
    output: OutputOption = None,
) -> None:
    """Bring up a lab: what can I try this tool on?

    Example: netkit lab up --nodes 8 --rails 2 --rate 200mbit
    """
    from netkit.lab import lifecycle

    form = _form(output)
    shape = checked_shape(
        nodes=nodes,
        rails=rails,
        leaves=leaves,
        rate=None if rate == "none" else parse_rate_bytes_per_second(rate),
        uplink_rate=None if uplink_rate is None else parse_rate_bytes_per_second(uplink_rate),
        uplinks=uplinks,
    )
    if uplinks > 1 and emulate:
        raise InputError(f"--uplinks {uplinks} with --emulate", "several uplinks in namespaces: only a kernel routes")
    if owner is not None and emulate:
        raise InputError("--while with --emulate", "--while for a lab of namespaces; an emulated lab runs nothing")
    transport = Transport.EMULATED if emulate else Transport.NAMESPACES
    state = lifecycle.up(shape, name, transport, _living(owner))
    _show(state, form)
    talk(f"next: netkit lab fault --name {name} --node n1 --rail 0 --slowdown 0.2; netkit probe lab --name {name}")


@app.command("down")
def take_down(name: NameOption = None) -> None:
    """Take a lab down: is anything of it left?

    Afterwards nothing is, processes inside it included. Without a lab it says so and succeeds.

    Example: netkit lab down
    """
    from netkit.lab.lifecycle import Ended, down

    chosen = name or _only_listed()
    words = {
        Ended.NOTHING: f"no lab {chosen!r} is up",
        Ended.RUNNING: f"lab {chosen!r} is down",
        Ended.LEFTOVER: f"cleared what was left of lab {chosen!r}",
    }
    talk(words[down(chosen)])


@app.command("status")
def status(name: NameOption = None, output: OutputOption = None) -> None:
    """List the labs: which are up, and what is broken in them?

    Example: netkit lab status
    """
    from netkit.lab.lifecycle import listed
    from netkit.lab.state import SCHEMA, load

    form = _form(output)
    if name is not None:
        _show(load(name), form)
        return
    labs = listed()
    if form is OutputForm.JSON:
        emit(json.dumps({"schema": SCHEMA, "labs": [_listed_json(lab) for lab in labs]}, indent=2))
        return
    for lab in labs:
        if form is OutputForm.JSONL:
            emit(json.dumps(_listed_json(lab)))
        elif lab.state is not None and lab.alive:
            emit(_described(lab.state))
        else:
            emit(f"lab {lab.name}: ended without `netkit lab down`; clear it: netkit lab down --name {lab.name}")
    if not labs:
        talk("no lab is up; bring one up: netkit lab up --nodes 8 --rails 2 --rate 200mbit")


@app.command("fault", short_help="Break one part of a running lab, or mend it.")
def fault(
    node: Annotated[str | None, typer.Option("--node", help="A node, such as n3.")] = None,
    rail: Annotated[int | None, typer.Option("--rail", help="One rail of --node or --pair; default: all.")] = None,
    leaf: Annotated[str | None, typer.Option("--leaf", help="A leaf, such as r1l0: every port under it.")] = None,
    uplink: Annotated[str | None, typer.Option("--uplink", help="The uplink of a leaf, such as r1l0.")] = None,
    pair: Annotated[str | None, typer.Option("--pair", help="Traffic between two nodes only, such as n1:n5.")] = None,
    slowdown: Annotated[str | None, typer.Option("--slowdown", help="Cut the rate by 0.2, or 20%.")] = None,
    is_down: Annotated[bool, typer.Option("--down", help="Take the link down.")] = False,
    loss: Annotated[str | None, typer.Option("--loss", help="Lose this share of packets, such as 1%.")] = None,
    delay: Annotated[str | None, typer.Option("--delay", help="Hold packets back, such as 5ms.")] = None,
    misplace: Annotated[
        bool, typer.Option("--misplace", help="Move the NIC of --rail into a slot of the other socket (device tree).")
    ] = False,
    direction: Annotated[
        DirectionChoice | None, typer.Option("--direction", help="Sent (tx), received (rx) or both; default both.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Clear the faults of the part named, or all.")] = False,
    name: NameOption = None,
    output: OutputOption = None,
) -> None:
    """Break one part of a running lab, or mend it: would the probe find this?

    Example: netkit lab fault --node n3 --rail 1 --slowdown 0.2 --direction tx
    """
    from netkit.lab import lifecycle

    form = _form(output)
    side = None if direction is None else Direction(direction.value)
    where = _where(node=node, rail=rail, leaf=leaf, uplink=uplink, pair=pair)
    if misplace:
        where = _slot(where)
    if clear:
        if slowdown or is_down or loss or delay:
            raise InputError("--clear with a new fault", "--clear with a part at most, or a fault without --clear")
        state = lifecycle.clear_faults(name, where, side)
    else:
        wanted = _fault(where, side, slowdown=slowdown, is_down=is_down, loss=loss, delay=delay)
        state = lifecycle.set_fault(name, wanted)
    _show(state, form)


def _fault(
    where: Where | None,
    side: Direction | None,
    *,
    slowdown: str | None,
    is_down: bool,
    loss: str | None,
    delay: str | None,
) -> Fault:
    from netkit.lab.faults import Fault

    if where is None:
        raise InputError("a fault without a part", "one of --node, --leaf, --uplink, --pair")
    return Fault(
        where=where,
        direction=side or Direction.BOTH,
        slowdown=None if slowdown is None else parse_fraction(slowdown),
        loss=None if loss is None else parse_fraction(loss),
        delay=None if delay is None else parse_duration_seconds(delay),
        down=is_down,
    )


def _slot(where: Where | None) -> Where:
    from netkit.lab.faults import Place, Where

    if where is None or where.place is not Place.NODE:
        raise InputError("--misplace without --node", "--node N --rail R --misplace")
    return Where(place=Place.SLOT, node=where.node, rail=where.rail)


def _where(
    *, node: str | None, rail: int | None, leaf: str | None, uplink: str | None, pair: str | None
) -> Where | None:
    from netkit.lab.faults import Place, Where, parse_pair

    named = {Place.NODE: node, Place.LEAF: leaf, Place.UPLINK: uplink, Place.PAIR: pair}
    given = {place: value for place, value in named.items() if value is not None}
    if len(given) > 1:
        raise InputError(" with ".join(f"--{place}" for place in given), "one of --node, --leaf, --uplink, --pair")
    if rail is not None and (leaf is not None or uplink is not None or not given):
        raise InputError(f"--rail {rail}", "--rail with --node or --pair; a leaf's name holds its rail already")
    if pair is not None:
        first, second = parse_pair(pair)
        return Where(place=Place.PAIR, node=first, peer=second, rail=rail)
    if node is not None:
        return Where(place=Place.NODE, node=node, rail=rail)
    return next((Where(place=place, leaf=value) for place, value in given.items()), None)


@app.command("snapshot", short_help="Record a node's made-up device tree, for --snapshot.")
def snapshot(
    node: Annotated[str, typer.Argument(help="The node, such as n3.")],
    output: Annotated[Path | None, typer.Option("-o", "--output-file", help="File; default: standard output.")] = None,
    name: NameOption = None,
) -> None:
    """Record what the GPU node behind a lab node would show: 8 GPUs, 8 NICs, switches. It is made up, and says so.

    Example: netkit lab snapshot n3 -o n3.jsonl
    """
    from netkit.lab.state import load
    from netkit.sources.record import record_node

    recording = record_node(load(name).machine(node), 0.0).text
    if output is None:
        emit(recording)
    else:
        write_atomically(output, recording)
        talk(f"{visible(str(output))}: the made-up GPU node behind {node}")


@app.command("exec", context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def execute(
    node: Annotated[str, typer.Argument(help="The node, such as n3.")],
    command: Annotated[list[str], typer.Argument(help="The command and its arguments, after --.")],
    name: NameOption = None,
) -> None:
    """Run a command inside one node: what does n3 see?

    Ends with the command's own exit status.

    Example: netkit lab exec n3 -- ping -c 3 10.0.0.1
    """
    from netkit.lab.state import load

    state = load(name)
    words = state.enter(node) + (command[1:] if command[0] == "--" else command)
    if state.transport is Transport.EMULATED:
        talk("emulated: runs on this machine itself, no node has a network of its own")
    if words[-1] == "--":
        raise InputError("no command", f"netkit lab exec {node} -- COMMAND")
    try:
        os.execvp(words[0], words)  # noqa: S606 - there is no shell; the command is the person's own
    except OSError as refused:
        raise InputError(f"command {words[0]!r}: {refused.strerror}", "a program found by PATH") from refused


def _only_listed() -> str:
    from netkit.lab.lifecycle import listed

    labs = listed()
    if len(labs) > 1 and DEFAULT_NAME not in (lab.name for lab in labs):
        raise InputError("no lab name where there are several", f"--name with one of {', '.join(x.name for x in labs)}")
    return labs[0].name if len(labs) == 1 else DEFAULT_NAME


def _living(pid: int | None) -> int | None:
    if pid is not None and not os.path.isdir(f"/proc/{pid}"):  # noqa: PTH112
        raise InputError(f"--while {pid}", "the PID of a running process, such as $$ in a shell script")
    return pid


def _form(asked: OutputForm | None) -> OutputForm:
    form = chosen_form(asked)
    if form in (OutputForm.HTML, OutputForm.PROMETHEUS):
        raise InputError(f"--output {form}", "table, plain, json or jsonl for a lab")
    return form


def _show(state: LabState, form: OutputForm) -> None:
    from netkit.lab.state import as_json

    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(json.dumps(as_json(state), indent=2 if form is OutputForm.JSON else None))
    else:
        emit(_described(state))


def _listed_json(lab: Listed) -> dict[str, Any]:
    from netkit.lab.state import SCHEMA, as_json

    return as_json(lab.state) if lab.state is not None else {"schema": SCHEMA, "name": lab.name, "alive": False}


def _described(state: LabState) -> str:
    """Return a lab in a few lines: shape, rates, transport, and every active fault."""
    shape = state.shape
    rate = "unshaped" if shape.rate is None else f"{show_line_rate(shape.rate)} a port"
    leaves = f"{shape.leaves} leaves a rail" if shape.leaves > 1 else "1 leaf a rail"
    uplink = f", {show_line_rate(shape.uplink_rate)} an uplink" if shape.uplink_rate and shape.leaves > 1 else ""
    if shape.uplinks > 1:
        uplink += f", {shape.uplinks} uplinks of equal cost"
    head = f"lab {state.name}: {shape.nodes} nodes x {shape.rails} rails, {rate}, {leaves}{uplink} ({state.transport})"
    faults = [f"  fault: {active}" for active in state.faults] or ["  no fault active"]
    return "\n".join([head, *faults])
