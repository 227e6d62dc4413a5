"""Gangs as blocks of a printed report: the list with why each one waits, and one gang in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.gangs.device_sources import device_sources
from netkit.model.gang import Device, DeviceKind, Gang, GangState, Member
from netkit.model.missing import Missing
from netkit.report.blocks import Banner, Block, Cell, Column, Heading, Listing, Prose, Table, Tone

_TONES = {
    GangState.ADMITTED: Tone.GOOD,
    GangState.FINISHED: Tone.MUTED,
    GangState.PARTIAL: Tone.WARN,
    GangState.WAITING: Tone.WARN,
    GangState.PENDING: Tone.BAD,
    GangState.UNKNOWN: Tone.WARN,
}
_SETTLED = frozenset({GangState.ADMITTED, GangState.FINISHED})
_MOST_EVIDENCE = 6
_MOST_DRAWN = 8
_LONGEST_NAME = 16


def list_blocks(gangs: Sequence[Gang], where: str, incomplete: Sequence[Missing] = ()) -> tuple[Block, ...]:
    """Return all gangs: a table, why the unsettled ones wait, and what could not be read."""
    parts: list[Block] = [_count(gangs, where)]
    if gangs:
        parts.append(_overview(gangs))
    waiting = [f"{gang.key}: {gang.why}" for gang in gangs if gang.state not in _SETTLED and gang.why]
    if waiting:
        parts += [Heading(text="Why they wait"), *(Prose(text=f"- {one}", indent=2) for one in waiting)]
    parts += _remarks([f"{gang.key}: {problem}" for gang in gangs for problem in gang.problems], incomplete)
    return tuple(parts)


def _count(gangs: Sequence[Gang], where: str) -> Banner:
    unsettled = [gang for gang in gangs if gang.state not in _SETTLED]
    if not gangs:
        return Banner(word="NONE", text=f"no gang in {where}", tone=Tone.MUTED)
    text = f"{len(gangs)} gangs in {where}, {len(unsettled)} not running"
    return Banner(word="GANGS", text=text, tone=Tone.WARN if unsettled else Tone.GOOD)


def _overview(gangs: Sequence[Gang]) -> Table:
    columns = ("namespace", "gang", "state", "placed", "min", "total", "systems", "workload")
    rows = tuple(
        (
            Cell(text=gang.namespace),
            Cell(text=gang.name),
            Cell(text=gang.state.value, tone=_TONES[gang.state]),
            Cell(text=str(sum(member.placement is not None for member in gang.members))),
            Cell(text=_size(gang.min_members)),
            Cell(text=_size(gang.total)),
            Cell(text=" ".join(gang.systems)),
            Cell(text=f"{gang.workload.kind} {gang.workload.name}" if gang.workload else "-"),
        )
        for gang in gangs
    )
    numeric = {"placed", "min", "total"}
    return Table(
        title="Gangs", columns=tuple(Column(title=name, numeric=name in numeric) for name in columns), rows=rows
    )


def _size(size: int | Missing) -> str:
    return "?" if isinstance(size, Missing) else str(size)


def show_blocks(gang: Gang, incomplete: Sequence[Missing] = ()) -> tuple[Block, ...]:
    """Return one gang: where it stands, its members, a drawing of where they sit, evidence."""
    parts: list[Block] = [Banner(word=gang.state.value.upper(), text=_sentence(gang), tone=_TONES[gang.state])]
    if gang.members:
        parts.append(_members(gang.members))
        parts += _drawing(gang)
    parts.append(Listing(title="How this is known", items=tuple(_evidence_lines(gang))))
    parts += _remarks(gang.problems, incomplete)
    return tuple(parts)


def _sentence(gang: Gang) -> str:
    made = f" of {gang.workload.kind} {gang.workload.name}" if gang.workload else ""
    size = f"{len(gang.members)} members, at least {_size(gang.min_members)} needed"
    return f"{gang.key}{made} ({', '.join(gang.systems)}): {size}" + (f"; {gang.why}" if gang.why else "")


def _members(members: Sequence[Member]) -> Table:
    columns = ("rank", "pod", "node", "gpu", "nic", "leaf")
    rows = tuple(tuple(Cell(text=text) for text in _member_row(member)) for member in members)
    inferred = any(not isinstance(member.rank, Missing) and not member.rank.evidence.declared for member in members)
    return Table(
        title="Members",
        columns=tuple(Column(title=name, numeric=name == "rank") for name in columns),
        rows=rows,
        note="~ rank inferred, not declared; it counts pods, and the launcher makes process ranks of it"
        if inferred
        else "ranks count pods; the launcher makes process ranks of them",
    )


def _member_row(member: Member) -> tuple[str, ...]:
    placement = member.placement
    return (
        rank_text(member),
        member.pod,
        placement.node if placement else f"- ({member.phase or 'no phase'})",
        devices_text(member.devices, DeviceKind.GPU, DeviceKind.NPU),
        devices_text(member.devices, DeviceKind.NIC),
        (placement.leaf if placement else "") or "-",
    )


def rank_text(member: Member) -> str:
    """Return a rank, marked when it was inferred."""
    if isinstance(member.rank, Missing):
        return "?"
    return f"{member.rank.number}" if member.rank.evidence.declared else f"~{member.rank.number}"


def devices_text(devices: Sequence[Device], *kinds: DeviceKind) -> str:
    """Return what a member holds of some kinds: names where few, a number where many."""
    found = [device for device in devices if device.kind in kinds]
    if not found:
        return "-"
    return " ".join(device_name(device) for device in found) if len(found) <= 2 else f"{len(found)}"


def device_name(device: Device) -> str:
    """Return the shortest name of a device that still says which it is."""
    return device.rdma or device.pci or device.interface or device.id


def _drawing(gang: Gang) -> Iterator[Block]:
    placed = [member for member in gang.members if member.placement is not None]
    if not placed:
        return
    yield Heading(text="Where they sit (== on one PCIe switch, -- on one NUMA node)")
    for leaf in dict.fromkeys(_leaf(member) for member in placed):
        inside = [member for member in placed if _leaf(member) == leaf]
        yield Prose(text=leaf or "leaf unknown", tone=Tone.STRONG, indent=2)
        for node in dict.fromkeys(member.placement.node for member in inside if member.placement):
            here = [member for member in inside if member.placement and member.placement.node == node]
            yield Prose(text=f"{node}: " + " ".join(f"[{rank_text(member)}]" for member in here), indent=4)
            yield from (Prose(text=_held(member), indent=6) for member in here if member.devices)


def _leaf(member: Member) -> str:
    return member.placement.leaf if member.placement else ""


def _held(member: Member) -> str:
    """Return the accelerators of a member, each with the NIC next to it where the API tells."""
    nics = [device for device in member.devices if device.kind is DeviceKind.NIC]
    chips = [device for device in member.devices if device.kind in (DeviceKind.GPU, DeviceKind.NPU)]
    drawn = [_with_nic(chip, nics) for chip in chips[:_MOST_DRAWN]]
    if len(chips) > _MOST_DRAWN:
        drawn.append(f"and {len(chips) - _MOST_DRAWN} more")
    alone = [device_name(nic) for nic in nics if not any(_joint(chip, nic) for chip in chips)]
    if alone:
        drawn.append("NIC " + " ".join(alone[:_MOST_DRAWN]))
    return f"[{rank_text(member)}] " + ", ".join(drawn)


def _with_nic(chip: Device, nics: Sequence[Device]) -> str:
    near = next((nic for nic in nics if _joint(chip, nic)), None)
    return f"{_short(chip)} {_joint(chip, near)} {device_name(near)}" if near is not None else _short(chip)


def _joint(chip: Device, nic: Device) -> str:
    """Return how near a NIC is known to be, empty when it is not."""
    if (chip.pcie_switch and chip.pcie_switch == nic.pcie_switch) or (
        chip.pcie_root and chip.pcie_root == nic.pcie_root
    ):
        return "=="
    return "--" if chip.numa is not None and chip.numa == nic.numa else ""


def _short(chip: Device) -> str:
    """Return an id cut to what tells chips of a node apart."""
    name = device_name(chip)
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"


def _evidence_lines(gang: Gang) -> Iterator[str]:
    shown = [*gang.evidence, *(one for member in gang.members for one in member.evidence)]
    for one in shown[:_MOST_EVIDENCE]:
        how = "" if one.declared else " (inferred)"
        yield f"{one.system}: {one.field} = {one.value} on {one.object}{how}"
    if len(shown) > _MOST_EVIDENCE:
        yield f"and {len(shown) - _MOST_EVIDENCE} more, all in --output json"
    held = {device.source for member in gang.members for device in member.devices}
    yield from (f"devices: {source.title}" for source in device_sources() if source.id in held)


def _remarks(problems: Sequence[str], incomplete: Sequence[Missing]) -> list[Block]:
    remarks = [*problems, *(f"not read: {one}" for one in incomplete)]
    return [Listing(title="about the source", items=tuple(remarks))] if remarks else []
