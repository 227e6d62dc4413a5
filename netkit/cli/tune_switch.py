"""`netkit tune switch` and `verify`: one declared intent, said to switches and hosts, and held against them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.check import check_form
from netkit.cli.input_file import small_text
from netkit.cli.output import OutputForm, OutputOption, emit, talk
from netkit.cli.probing import require
from netkit.cli.topo import show
from netkit.errors import ExitStatus, InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.roce.fabric_intent import FabricIntent

_WHAT = "an intent in TOML, or a switch configuration"

IntentArgument = Annotated[
    Path | None, typer.Argument(help="The declared intent, a TOML file.", metavar="[INTENT]", show_default=False)
]
LosslessOption = Annotated[
    list[str] | None,
    typer.Option("--lossless", help="A lossless DSCP and its priority; repeat for more.", metavar="DSCP:PRIORITY"),
]
CnpOption = Annotated[
    str | None, typer.Option("--cnp", help="DSCP and priority of congestion notifications.", metavar="DSCP:PRIORITY")
]
SpeedOption = Annotated[str | None, typer.Option("--speed", help="Speed of a link, such as 400gbit.")]
CableOption = Annotated[int | None, typer.Option("--cable", help="Longest cable in metres.")]
MtuOption = Annotated[int | None, typer.Option("--mtu", help="MTU in bytes.")]
BufferOption = Annotated[str | None, typer.Option("--buffer", help="Packet buffer of the switch, such as 64M.")]
PortsOption = Annotated[list[str] | None, typer.Option("--port", help="A switch port; repeat for more.")]
HostsOption = Annotated[list[str] | None, typer.Option("--interface", help="A NIC of the host; repeat for more.")]


def switch(
    intent: IntentArgument = None,
    lossless: LosslessOption = None,
    cnp: CnpOption = None,
    speed: SpeedOption = None,
    cable: CableOption = None,
    mtu: MtuOption = None,
    buffer: BufferOption = None,
    port: PortsOption = None,
    interface: HostsOption = None,
    dialect: Annotated[
        str | None,
        typer.Option("--for", help="Print only this: sonic, nvue, arista, nxos, huawei, h3c or host.", metavar="NAME"),
    ] = None,
    output: OutputOption = None,
) -> None:
    """How do I say one lossless fabric to every switch and host, and does what I say hold together?

    Nothing is applied. What netkit can read back is proven before it is shown.

    Example: netkit tune switch --lossless 26:3 --speed 400gbit --cable 40 --for sonic
    """
    from netkit.report import fabric_intent
    from netkit.roce.proof import proven_snippet
    from netkit.roce.sizes import sizes_of
    from netkit.roce.snippet import dialects

    form = check_form(output)
    declared = declared_intent(
        intent, lossless, {"cnp": cnp, "speed": speed, "cable": cable, "mtu": mtu, "buffer": buffer}, port, interface
    )
    sizes = sizes_of(declared)
    proven = [proven_snippet(name, declared) for name in ([dialect] if dialect else dialects())]
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(fabric_intent.render(declared, sizes, proven, one_line=form is OutputForm.JSONL))
    elif dialect is not None:
        snippet = proven[0].snippet
        emit(snippet.remarked)
        for open_point in snippet.unstated if snippet.dialect.comment is None else ():
            talk(f"not stated by {snippet.dialect.source}: {open_point}")
    else:
        show(tuple(fabric_intent.blocks(declared, sizes, proven)), form)


def verify(
    dump: Annotated[Path, typer.Argument(help="SONiC CONFIG_DB, or NVUE commands (nv config show -o commands).")],
    intent: Annotated[
        Path | None, typer.Option("--intent", help="The declared intent, a TOML file.", metavar="FILE")
    ] = None,
    lossless: LosslessOption = None,
    cnp: CnpOption = None,
    speed: SpeedOption = None,
    cable: CableOption = None,
    mtu: MtuOption = None,
    buffer: BufferOption = None,
    port: PortsOption = None,
    output: OutputOption = None,
) -> None:
    """Does this switch do what was declared, and if not, which link of the chain breaks?

    Ends with 1 when a link is broken, with 3 when one could not be seen.

    Example: netkit tune verify config_db.json --intent fabric.toml
    """
    from netkit.report import qos_chain
    from netkit.roce.proof import held_ports
    from netkit.roce.switch_ports import parse_switch

    form = check_form(output)
    declared = declared_intent(
        intent, lossless, {"cnp": cnp, "speed": speed, "cable": cable, "mtu": mtu, "buffer": buffer}, port, None
    )
    chains = held_ports(declared, parse_switch(small_text(dump, _WHAT)))
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(qos_chain.render(chains, one_line=form is OutputForm.JSONL))
    else:
        show(tuple(qos_chain.blocks(chains)), form)
    if any(chain.broken for chain in chains):
        raise typer.Exit(int(ExitStatus.FINDINGS))
    raise typer.Exit(int(ExitStatus.OK if all(chain.proven for chain in chains) else ExitStatus.NOT_MEASURED))


def declared_intent(
    file: Path | None,
    lossless: list[str] | None,
    single: dict[str, str | int | None],
    ports: list[str] | None,
    interfaces: list[str] | None,
) -> FabricIntent:
    """Return the intent of a file, or of options; InputError for both, or for neither."""
    from netkit.roce.fabric_intent import parse_intent

    given = {name: value for name, value in single.items() if value is not None}
    named = bool(given or lossless or ports or interfaces)
    if file is not None:
        require(not named, "an intent file with options", "all of it in the file, or all of it by options")
        return parse_intent(small_text(file, _WHAT))
    require(lossless, "no intent", "a TOML file, or options such as --lossless 26:3 --speed 400gbit --cable 40")
    return _of_options(lossless or [], given, ports, interfaces)


def _of_options(
    lossless: list[str], given: dict[str, str | int], ports: list[str] | None, interfaces: list[str] | None
) -> FabricIntent:
    from netkit.model.units import parse_rate_bytes_per_second, parse_size_bytes
    from netkit.roce.fabric_intent import FabricIntent, checked_intent

    pairs = [_pair("--lossless", text) for text in lossless]
    blank = FabricIntent(lossless={})
    cnp = _pair("--cnp", str(given["cnp"])) if "cnp" in given else (blank.cnp_dscp, blank.cnp_priority)
    return checked_intent(
        FabricIntent(
            lossless=dict(pairs),
            cnp_dscp=cnp[0],
            cnp_priority=cnp[1],
            speed=parse_rate_bytes_per_second(str(given["speed"])) if "speed" in given else blank.speed,
            cable_metres=int(given.get("cable", blank.cable_metres)),
            mtu_bytes=int(given.get("mtu", blank.mtu_bytes)),
            buffer_bytes=parse_size_bytes(str(given["buffer"])) if "buffer" in given else None,
            switch_ports=tuple(ports or blank.switch_ports),
            host_interfaces=tuple(interfaces or blank.host_interfaces),
        )
    )


def _pair(option: str, text: str) -> tuple[int, int]:
    dscp, _, priority = text.partition(":")
    if not (dscp.isdecimal() and priority.isdecimal() and len(text) < 8):
        raise InputError(f"{option} {visible(text, 40)!r}", "DSCP:PRIORITY, such as 26:3")
    return int(dscp), int(priority)
