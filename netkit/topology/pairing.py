"""Does each GPU use the right NIC? Judged from distances alone, and against a platform's table where one is known.

Without a table three things prove a bad pairing: a GPU uses a NIC although a nearer one is free, a GPU uses a NIC
that is nearer to another GPU than to itself while its own stands idle, or a GPU has less of a NIC than most of its
peers, or than the best of them while the NICs near no GPU are exactly what is lacking. Names carry no meaning here:
NIC order is not the pairing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from netkit.model.finding import Severity
from netkit.model.pci import PciPath
from netkit.model.topology import (
    DeviceMatrix,
    GpuPairing,
    PairingAnswer,
    PairingReport,
    TopologyFinding,
)

_OWN = PciPath.P2C
"""Up to here a NIC is a GPU's own: under its switch, or under its CPU over a coherent link."""
_SLOW_SHARE = 0.5
"""A NIC below half the rate of the fastest is there for storage or administration, not for collectives."""

_ROUNDING = 1e-9

Golden = Mapping[str, Collection[str]]
Used = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    id: str
    why: str
    severity: Severity = Severity.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The NICs each GPU uses, and what of that has causes other than slots.

    `observed` says that `nics` was seen in a running job and not predicted. `relayed` names NICs a GPU reaches through
    a peer (PXN). `staged` names GPUs whose own NICs cannot reach their memory: GPUDirect RDMA is off for them.
    """

    nics: Used = field(default_factory=dict)
    observed: bool = False
    relayed: Mapping[str, Collection[str]] = field(default_factory=dict)
    staged: frozenset[str] = frozenset()


def judge(matrix: DeviceMatrix, usage: Usage | None = None, golden: Golden | None = None) -> PairingReport:
    """Return the verdict on every GPU.

    Without `usage` the wiring alone is judged. `golden` names the NICs each GPU should have, from a platform's table;
    where distances are hidden, only observed usage is held against it.
    """
    scene = _Scene(matrix, usage or Usage(), golden or {})
    judged = [scene.judge(gpu.id) for gpu in matrix.gpus]
    findings = [finding for _, finding in judged if finding is not None]
    return PairingReport(gpus=tuple(pairing for pairing, _ in judged), findings=(*findings, *scene.about_node()))


class _Scene:
    """The distances with what follows from them for all GPUs together."""

    def __init__(self, matrix: DeviceMatrix, usage: Usage, golden: Golden) -> None:
        self.matrix = matrix
        self.blind = matrix.hidden is not None and not (usage.observed and golden)
        self.usage = usage
        self.used = usage.nics
        self.golden = golden
        self.gpus = [gpu.id for gpu in matrix.gpus]
        self.fit = _collective_nics(matrix)
        self.nearest = {gpu: self._nearest(gpu) for gpu in self.gpus}
        self.own = {gpu: frozenset(nic for nic in self.fit if self.path(gpu, nic) <= _OWN) for gpu in self.gpus}
        self.share = {gpu: self._share(gpu) for gpu in self.gpus}
        self.strays = [nic for nic in self.fit if all(self.path(gpu, nic) > _OWN for gpu in self.gpus)]
        self.usual_share = self._usual_share()

    def path(self, gpu: str, nic: str) -> PciPath:
        reach = self.matrix.reach.get((gpu, nic))
        return reach.path if reach is not None else PciPath.DIS

    def _nearest(self, gpu: str) -> tuple[str, ...]:
        if not self.fit:
            return ()
        best = min(self.path(gpu, nic) for nic in self.fit)
        return tuple(nic for nic in self.fit if self.path(gpu, nic) is best)

    def _share(self, gpu: str) -> float:
        """How much of a NIC this GPU has to itself: its own NICs, each divided by the GPUs that own it too."""
        own = self.own[gpu]
        return sum(1 / sum(nic in self.own[other] for other in self.gpus) for nic in own)

    def _usual_share(self) -> float:
        """What most GPUs have; or the most any has, when the NICs near no GPU are exactly what the others lack."""
        if not self.share:
            return 0.0
        most = max(self.share.values())
        lacking = sum(most - share for share in self.share.values())
        if self.strays and abs(lacking - len(self.strays)) < _ROUNDING:
            return most
        return median_low(self.share.values())

    def judge(self, gpu: str) -> tuple[GpuPairing, TopologyFinding | None]:
        used = tuple(self.used.get(gpu, ()))
        if self.blind:
            return self._pairing(gpu, used, PairingAnswer.UNKNOWN, self._hidden(gpu)), None
        fault = self._against_table(gpu, used) or self._against_distance(gpu, used) or self._against_peers(gpu)
        if fault is not None:
            return self._pairing(gpu, used, PairingAnswer.MISPAIRED, fault.why), self._finding(gpu, fault)
        unknown = self._not_known(gpu, used)
        if unknown is not None:
            return self._pairing(gpu, used, PairingAnswer.UNKNOWN, unknown), None
        return self._pairing(gpu, used, PairingAnswer.OK, self._fine(gpu, used)), None

    def _pairing(self, gpu: str, used: tuple[str, ...], answer: PairingAnswer, why: str) -> GpuPairing:
        return GpuPairing(gpu=gpu, used=used, nearest=self.nearest[gpu], answer=answer, why=why)

    def _hidden(self, gpu: str) -> str:
        meant = self.golden.get(gpu, ())
        table = f"; the platform pairs it with {_list(meant)}" if meant else ""
        return f"{self.matrix.hidden}{table}"

    def _against_table(self, gpu: str, used: tuple[str, ...]) -> _Fault | None:
        meant = set(self.golden.get(gpu, ()))
        if not meant:
            return None
        present = {nic.name for nic in self.matrix.nics}
        if not meant & present:
            return _Fault(id="nic-missing", why=f"the platform pairs it with {_list(meant)}, which is not here")
        if meant - present:
            return _Fault(id="nic-missing", why=f"the platform also gives it {_list(meant - present)}, not seen here")
        wrong = [nic for nic in used if nic not in meant and gpu not in self.usage.staged]
        if wrong:
            return _Fault(
                id="not-the-platform", why=f"it uses {_list(wrong)}; the platform pairs it with {_list(meant)}"
            )
        strays = [nic for nic in meant if self.matrix.hidden is None and self.path(gpu, nic) > self._meant_distance()]
        if strays:
            paths = _list(f"{nic} at {self.path(gpu, nic).name}" for nic in strays)
            return _Fault(id="not-the-platform", why=f"the platform puts its NIC under its own switch, here {paths}")
        return None

    def _meant_distance(self) -> PciPath:
        """The usual distance of the platform's own pairs here: a table says who belongs together, not how near."""
        present = {nic.name for nic in self.matrix.nics}
        paths = [self.path(gpu, nic) for gpu, nics in self.golden.items() for nic in nics if nic in present]
        usual = Counter(paths).most_common(1)
        return max(usual[0][0], _OWN) if usual else PciPath.DIS

    def _against_distance(self, gpu: str, used: tuple[str, ...]) -> _Fault | None:
        if not used or not self.nearest[gpu] or gpu in self.usage.staged:
            return None
        farthest = max(used, key=lambda nic: self.path(gpu, nic))
        nearest = self.nearest[gpu]
        if not self.own[gpu] and farthest in self.usage.relayed.get(gpu, ()):
            return None
        at, best = self.path(gpu, farthest), self.path(gpu, nearest[0])
        if at <= best or (at <= _OWN and best <= _OWN and farthest in self.own[gpu]):
            return None
        said = f"it uses {farthest} at {at.name}"
        free = [nic for nic in nearest if not any(nic in self.used.get(other, ()) for other in self.gpus)]
        if free:
            return _Fault(id="nearer-nic-free", why=f"{said} while {_list(free)} at {best.name} is idle")
        owners = [other for other in self.gpus if other != gpu and self.path(other, farthest) < at]
        if owners:
            return _Fault(
                id="nic-of-another-gpu",
                why=f"{said}, which is nearer to {_list(owners)}; its own is {_list(nearest)} at {best.name}",
            )
        return _Fault(id="nearer-nic-exists", why=f"{said} although {_list(nearest)} is at {best.name}")

    def _against_peers(self, gpu: str) -> _Fault | None:
        if self.share[gpu] >= self.usual_share - _ROUNDING:
            return None
        peers = sum(self.share[other] >= self.usual_share - _ROUNDING for other in self.gpus)
        hint = f"; {_list(self.strays)} near no GPU" if self.strays else ""
        if not self.own[gpu]:
            at = self.path(gpu, self.nearest[gpu][0]).name if self.nearest[gpu] else "none"
            why = f"no NIC under its own switch (nearest at {at}), unlike {peers} of {len(self.gpus)} GPUs{hint}"
            return _Fault(id="no-own-nic", why=why)
        return _Fault(id="fewer-nics", why=f"it shares its NICs with more GPUs than {peers} of its peers do{hint}")

    def _not_known(self, gpu: str, used: tuple[str, ...]) -> str | None:
        if not self.matrix.nics:
            return "no NIC is listed"
        if not self.nearest[gpu] or self.path(gpu, self.nearest[gpu][0]) is PciPath.DIS:
            return "no path from this GPU to any NIC is known"
        if self.matrix.partial:
            return "the topology is incomplete: " + (
                self.matrix.problems[0] if self.matrix.problems else "see problems"
            )
        strangers = [nic for nic in used if (gpu, nic) not in self.matrix.reach]
        return f"it uses {_list(strangers)}, whose distance is not known" if strangers else None

    def _fine(self, gpu: str, used: tuple[str, ...]) -> str:
        nics = used or self.nearest[gpu]
        if gpu in self.usage.staged:
            return f"wired to {_list(self.nearest[gpu])}; without GPUDirect RDMA it uses {_list(nics)} over the CPU"
        at = _list(sorted({self.path(gpu, nic).name for nic in nics}))
        shared = [other for other in self.gpus if other != gpu and set(nics) & self.own[gpu] & self.own[other]]
        with_others = f", shared with {_list(shared)}" if shared and self.share[gpu] < 1 else ""
        return f"{_list(nics)} at {at} is as near as any{with_others}"

    def _finding(self, gpu: str, fault: _Fault) -> TopologyFinding:
        evidence = tuple(
            f"{nic} at {self.path(gpu, nic).name}"
            for nic in dict.fromkeys((*self.used.get(gpu, ()), *self.nearest[gpu]))
        )
        return TopologyFinding(
            id=fault.id,
            severity=fault.severity,
            subject=gpu,
            summary=f"{gpu}: {fault.why}",
            evidence=evidence,
            next=_NEXT[fault.id],
        )

    def about_node(self) -> list[TopologyFinding]:
        """What concerns the node as a whole rather than one GPU."""
        found = []
        if self.matrix.hidden is not None:
            found.append(self._on_node("pcie-hidden", Severity.INFO, self.matrix.hidden))
        if self.usage.staged:
            summary = (
                f"GPUDirect RDMA is off for {_list(self.usage.staged)}: NCCL goes over the CPU although a NIC is near; "
                "the slots are not at fault"
            )
            found.append(self._on_node("gpudirect-off", Severity.WARNING, summary))
        return found

    def _on_node(self, name: str, severity: Severity, summary: str) -> TopologyFinding:
        size = f"{len(self.matrix.gpus)} GPUs and {len(self.matrix.nics)} NICs"
        return TopologyFinding(
            id=name, severity=severity, subject="node", summary=summary, evidence=(size,), next=_NEXT[name]
        )


_NEXT: Mapping[str, tuple[str, ...]] = {
    "nearer-nic-free": ("compare NCCL_IB_HCA with the NICs named here", "netkit topo explain GPU"),
    "nearer-nic-exists": ("netkit topo explain GPU says why NCCL passes the nearer one over",),
    "nic-of-another-gpu": ("check the link width and speed of its own NIC", "netkit topo explain GPU"),
    "no-own-nic": ("look for the NIC that is missing or sits in another slot: lspci -tv",),
    "fewer-nics": ("look for the NIC that is missing or sits in another slot: lspci -tv",),
    "nic-missing": ("check that the NIC is seated and bound to its driver: lspci -d 15b3:",),
    "not-the-platform": ("compare slots and BIOS settings with a node that is right: netkit topo diff",),
    "gpudirect-off": (
        "load nvidia_peermem, or use a driver and kernel with DMA-BUF",
        "look for `GPU Direct RDMA Disabled` in the NCCL log",
    ),
    "pcie-hidden": ("netkit topo emit --platform P writes a topology file for NCCL_TOPO_FILE",),
}


def _collective_nics(matrix: DeviceMatrix) -> tuple[str, ...]:
    fastest = max((nic.rate for nic in matrix.nics if nic.rate is not None), default=0.0)
    return tuple(nic.name for nic in matrix.nics if nic.rate is None or nic.rate >= _SLOW_SHARE * fastest)


def _list(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names)) if isinstance(names, set | frozenset) else map(str, names))
