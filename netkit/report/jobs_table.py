"""Who uses which GPU and NIC right now, as blocks of a printed report."""

from __future__ import annotations

from netkit.model.missing import Missing
from netkit.model.topology import GpuPairing, PairingAnswer
from netkit.report.blocks import Banner, Block, Cell, Column, Listing, Table, Tone
from netkit.report.topology_table import TONES, finding_blocks
from netkit.topology.running import JobProcess, NicUse, RunningJobs
from netkit.topology.view import TopologyView


def blocks(jobs: RunningJobs, view: TopologyView) -> tuple[Block, ...]:
    """Return the whole report; its first line holds the verdict."""
    parts: list[Block] = [_banner(jobs, view)]
    if jobs.processes:
        parts.append(_processes(jobs))
    if jobs.used:
        parts.append(_gpus(jobs, view))
    parts += [part for finding in view.pairing.findings for part in finding_blocks(finding)]
    if jobs.notes:
        parts.append(Listing(title="not seen", items=jobs.notes))
    return tuple(parts)


def _banner(jobs: RunningJobs, view: TopologyView) -> Banner:
    seen = [gpu for gpu in view.pairing.gpus if gpu.gpu in jobs.used]
    wrong = [gpu.gpu for gpu in seen if gpu.answer is PairingAnswer.MISPAIRED]
    if wrong:
        return Banner(word="MISPAIRED", text=f"{', '.join(wrong)} of {len(seen)} GPUs seen at work", tone=Tone.BAD)
    if not seen:
        users = sum(bool(process.nics) for process in jobs.processes)
        text = f"no GPU is seen to use RDMA; {users} processes hold connected queue pairs"
        return Banner(word="NOTHING SEEN", text=text, tone=Tone.WARN)
    if any(gpu.answer is PairingAnswer.UNKNOWN for gpu in seen):
        why = next(gpu.why for gpu in seen if gpu.answer is PairingAnswer.UNKNOWN)
        return Banner(word="UNKNOWN", text=f"{len(seen)} GPUs seen at work: {why}", tone=Tone.WARN)
    return Banner(word="OK", text=f"each of {len(seen)} GPUs at work uses a NIC as near as any", tone=Tone.GOOD)


def _processes(jobs: RunningJobs) -> Table:
    titles = ("PID", "name", "pod", "GPUs", "NICs (queue pairs)")
    columns = tuple(Column(title=title, numeric=title == "PID") for title in titles)
    note = "NICs in brackets hold few queue pairs beside the others: control, not data"
    minor = any(use.minor for process in jobs.processes for use in process.nics)
    rows = tuple(_row(process) for process in jobs.processes)
    return Table(title="Processes", columns=columns, rows=rows, note=note if minor else "")


def _row(process: JobProcess) -> tuple[Cell, ...]:
    about = process.about
    pod = about.pod if about and not isinstance(about.pod, Missing) else "-"
    texts = (
        str(process.pid),
        process.name or "-",
        pod,
        ", ".join(process.gpus) or "-",
        ", ".join(map(_use, process.nics)) or "-",
    )
    return tuple(Cell(text=text) for text in texts)


def _use(use: NicUse) -> str:
    text = f"{use.nic} ({use.queue_pairs})"
    return f"[{text}]" if use.minor else text


def _gpus(jobs: RunningJobs, view: TopologyView) -> Table:
    predicted = {choice.gpu: ", ".join(choice.chosen) for choice in view.choices}
    rows = tuple(_gpu(jobs, pairing, predicted) for pairing in view.pairing.gpus if pairing.gpu in jobs.used)
    titles = ("GPU", "uses", "NCCL would choose", "verdict", "why")
    return Table(title="GPUs at work", columns=tuple(Column(title=title) for title in titles), rows=rows)


def _gpu(jobs: RunningJobs, pairing: GpuPairing, predicted: dict[str, str]) -> tuple[Cell, ...]:
    return (
        Cell(text=pairing.gpu),
        Cell(text=", ".join(jobs.used[pairing.gpu])),
        Cell(text=predicted.get(pairing.gpu) or "-"),
        Cell(text=pairing.answer.value, tone=TONES[pairing.answer]),
        Cell(text=pairing.why),
    )
