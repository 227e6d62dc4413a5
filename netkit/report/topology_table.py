"""A node's topology as blocks of a printed report: verdict, tree, matrix of distances, pairing."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.model.topology import (
    GpuPairing,
    LinkKind,
    PairingAnswer,
    Reach,
    Topology,
    TopologyFinding,
    VertexKind,
)
from netkit.model.units import show_line_rate, show_rate
from netkit.report.blocks import Banner, Block, Cell, Column, Heading, Listing, Prose, Table, Tone
from netkit.topology.difference import Difference
from netkit.topology.nic_choice import Candidate, GpuChoice
from netkit.topology.view import TopologyView

TONES = {PairingAnswer.OK: Tone.GOOD, PairingAnswer.MISPAIRED: Tone.BAD, PairingAnswer.UNKNOWN: Tone.WARN}
_MOST_PROBLEMS = 20


def blocks(view: TopologyView) -> tuple[Block, ...]:
    """Return the whole report; its first line holds the verdict."""
    parts: list[Block] = [_banner(view)]
    if view.topology is not None:
        parts += [Heading(text="Tree (bandwidths as NCCL plans them)"), *_tree(view.topology)]
    parts += [_matrix(view), _pairing(view)]
    parts += [part for finding in view.pairing.findings for part in finding_blocks(finding)]
    remarks = (*view.notes, *view.matrix.problems[:_MOST_PROBLEMS])
    if remarks:
        parts.append(Listing(title="about the source", items=remarks))
    return tuple(parts)


def _banner(view: TopologyView) -> Banner:
    counts = {answer: sum(gpu.answer is answer for gpu in view.pairing.gpus) for answer in PairingAnswer}
    size = f"{len(view.matrix.gpus)} GPUs, {len(view.matrix.nics)} NICs"
    where = f" ({view.platform.name})" if view.platform else ""
    if counts[PairingAnswer.MISPAIRED]:
        culprits = ", ".join(gpu.gpu for gpu in view.pairing.gpus if gpu.answer is PairingAnswer.MISPAIRED)
        return Banner(word="MISPAIRED", text=f"{culprits} of {size}{where}", tone=Tone.BAD)
    if counts[PairingAnswer.UNKNOWN] or not view.matrix.gpus:
        why = next((gpu.why for gpu in view.pairing.gpus if gpu.answer is PairingAnswer.UNKNOWN), "no GPU is listed")
        return Banner(word="UNKNOWN", text=f"{size}{where}: {why}", tone=Tone.WARN)
    return Banner(word="OK", text=f"each of {size}{where} is paired with a NIC as near as any", tone=Tone.GOOD)


def _tree(topology: Topology) -> Iterator[Prose]:
    for cpu in topology.cpus:
        numa = "unknown" if cpu.numa is None or cpu.numa < 0 else cpu.numa
        yield Prose(text=f"NUMA node {numa}", indent=2)
        yield from _below(topology, cpu.key, None, 4)


def _below(topology: Topology, key: str, above: str | None, indent: int) -> Iterator[Prose]:
    for link in topology.links[key]:
        if link.target == above or link.kind is not LinkKind.PCI or topology.kinds[link.target] is VertexKind.CPU:
            continue
        yield Prose(text=f"{_name(topology, link.target)}  {show_rate(link.bandwidth)}", indent=indent)
        if topology.kinds[link.target] is VertexKind.SWITCH:
            yield from _below(topology, link.target, key, indent + 2)


def _name(topology: Topology, key: str) -> str:
    where = key.removeprefix("pci:")
    gpu = next((gpu.id for gpu in topology.gpus if gpu.key == key), None)
    if gpu is not None:
        return f"{gpu} {where}"
    if topology.kinds[key] is VertexKind.SWITCH:
        return f"switch {where}"
    ports = [nic for nic in topology.nics if any(link.target == nic.key for link in topology.links[key])]
    named = ", ".join(nic.name if nic.rate is None else f"{nic.name} {show_line_rate(nic.rate)}" for nic in ports)
    return f"NIC {named}" if named == where else f"NIC {where} {named}"


def _matrix(view: TopologyView) -> Table:
    matrix = view.matrix
    columns = (Column(title="GPU"), *(Column(title=nic.name) for nic in matrix.nics))
    rows = tuple(
        (Cell(text=gpu.id), *(_distance(matrix.reach[gpu.id, nic.name]) for nic in matrix.nics)) for gpu in matrix.gpus
    )
    note = "NCCL's word; nvidia-smi's in brackets where it differs"
    return Table(title="Distance from each GPU to each NIC", columns=columns, rows=rows, note=note)


def _distance(reach: Reach) -> Cell:
    text = reach.path.name if reach.label == reach.path.name else f"{reach.path.name} ({reach.label})"
    return Cell(text=text, tone=Tone.STRONG if reach.path.name in {"PIX", "PXB", "P2C"} else Tone.MUTED)


def _pairing(view: TopologyView) -> Table:
    titles = ("GPU", "busid", "NUMA", "uses", "verdict", "why")
    rows = tuple(
        (
            Cell(text=gpu.id),
            Cell(text=str(gpu.address or "-")),
            Cell(text="-" if gpu.numa is None else str(gpu.numa)),
            Cell(text=", ".join(pairing.used) or "-"),
            Cell(text=pairing.answer.value, tone=TONES[pairing.answer]),
            Cell(text=pairing.why),
        )
        for gpu, pairing in zip(view.matrix.gpus, view.pairing.gpus, strict=True)
    )
    return Table(title="Pairing", columns=tuple(Column(title=title) for title in titles), rows=rows)


def finding_blocks(finding: TopologyFinding) -> tuple[Block, ...]:
    """Return one finding with its evidence and what to do next."""
    return (
        Heading(text=f"{finding.severity.value}: {finding.summary}"),
        Listing(title="evidence", items=finding.evidence),
        Listing(title="next", items=finding.next, numbered=True),
    )


def explanation(choice: GpuChoice, pairing: GpuPairing) -> tuple[Block, ...]:
    """Return why one GPU uses the NICs it uses, and every NIC it could have used."""
    word = pairing.answer.value.upper()
    uses = ", ".join(choice.chosen) or "no NIC"
    titles = ("NIC", "path", "as used", "bandwidth", "GPUDirect", "over", "chosen")
    return (
        Banner(word=word, text=f"{choice.gpu} uses {uses}: {pairing.why}", tone=TONES[pairing.answer]),
        Listing(title="why", items=choice.why),
        Table(
            title=f"NICs as {choice.gpu} sees them",
            columns=tuple(Column(title=title, numeric=title == "bandwidth") for title in titles),
            rows=tuple(_candidate(one) for one in sorted(choice.candidates, key=_best_first)),
            note=f"left out by NCCL_IB_HCA: {', '.join(choice.excluded)}" if choice.excluded else "",
        ),
    )


def _best_first(one: Candidate) -> tuple[float, int]:
    return -one.effective.bandwidth, int(one.effective.type)


def _candidate(one: Candidate) -> tuple[Cell, ...]:
    texts = (
        one.name,
        one.physical.type.name,
        one.effective.type.name,
        show_rate(one.effective.bandwidth),
        "yes" if one.gdr else "no",
        one.relay or "-",
        "yes" if one.chosen else "",
    )
    return tuple(Cell(text=text, tone=Tone.STRONG if one.chosen else Tone.PLAIN) for text in texts)


def differences(found: tuple[Difference, ...], first: str, second: str) -> tuple[Block, ...]:
    """Return what differs between two nodes."""
    if not found:
        return (Banner(word="SAME", text=f"{first} and {second} have one topology", tone=Tone.GOOD),)
    rows = tuple(
        tuple(Cell(text=text) for text in (one.subject, one.what, one.before or "-", one.after or "-")) for one in found
    )
    columns = tuple(Column(title=title) for title in ("what", "kind", first, second))
    return (
        Banner(word="DIFFERENT", text=f"{len(found)} differences between {first} and {second}", tone=Tone.WARN),
        Table(title="Differences", columns=columns, rows=rows),
    )
