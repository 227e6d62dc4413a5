"""A made-up machine that understands the commands advice prints: what it does is what the real tools document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from netkit.model.advice import Advice, AdviceReport, ByHand, Change, KernelFile, PodPatch, Program, Variable
from netkit.model.counter import Setting
from netkit.model.host import Module
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress
from netkit.model.qos import AppPriority, AppSelector, Trust
from tests.checks.scenes import Scene, changed, of, with_bridging, with_capability, with_gpu, with_link, with_netdev

Words = tuple[str, ...]
_FILE = "NCCL_TOPO_FILE"


def apply(scene: Scene, report: AdviceReport, *, undo: bool = False) -> Scene:
    """Return the scene after every command of the report, or after every rollback, the last first."""
    steps = [(one, change) for one in report.advice for change in one.changes]
    for advice, change in reversed(steps) if undo else steps:
        scene = _one(scene, advice, change, undo=undo)
    return scene


def _one(scene: Scene, advice: Advice, change: Change, *, undo: bool) -> Scene:
    if isinstance(change, Variable):
        value = change.present if undo else change.proposed
        rest = {name: kept for name, kept in scene.job.items() if name != change.name}
        return replace(scene, job=rest if value is None else rest | {change.name: value})
    if advice.id == "nccl-topo-speeds":
        return replace(
            scene,
            job={name: kept for name, kept in scene.job.items() if name != _FILE}
            | ({} if undo else {_FILE: "topo.xml"}),
        )
    assert not isinstance(change, PodPatch)
    number = int(advice.node.removeprefix("n"))
    node = scene.now if number == 0 else scene.fellows[number - 1]
    after = _of_node(node, advice, change, undo=undo)
    if number == 0:
        return replace(scene, now=after)
    fellows = list(scene.fellows)
    fellows[number - 1] = after
    return replace(scene, fellows=tuple(fellows))


def _of_node(node: NodeSnapshot, advice: Advice, change: KernelFile | Program | ByHand, *, undo: bool) -> NodeSnapshot:
    if isinstance(change, KernelFile):
        return _write(node, change.path.split("/")[1:], change.present if undo else change.proposed)
    if isinstance(change, ByHand):
        return _BY_HAND[advice.id](node, advice, undo)
    words = change.restores if undo else change.changes
    return _TOOLS[words[0]](node, words[1:])


def _write(node: NodeSnapshot, path: list[str], text: str) -> NodeSnapshot:
    if path[-2:] == ["iommu_group", "type"]:
        return with_capability(node, PciAddress.parse(path[-3]), iommu_domain=text)
    value = int(text)
    if path[:2] == ["proc", "sys"]:
        sysctls = changed(node.host.sysctls, lambda one: one.name == ".".join(path[2:]), _valued(value))
        return replace(node, host=replace(node.host, sysctls=sysctls))
    assert path[:3] == ["sys", "class", "net"]
    name, *rest = path[3:]
    if rest in (["mtu"], ["tx_queue_len"]):
        return with_netdev(node, name, **{{"mtu": "mtu_bytes", "tx_queue_len": "queue_length"}[rest[0]]: value})
    group = {
        "enable": {"roce_np": "notification_priorities", "roce_rp": "reaction_priorities"}[rest[1]],
        "cnp_802p_prio": "notification",
    }[rest[2]]
    netdev = node.netdev(name)
    assert netdev is not None
    settings = changed(getattr(netdev.congestion, group), lambda one: one.name == rest[-1], _valued(value))
    return with_netdev(node, name, congestion=_with(netdev.congestion, **{group: settings}))


def _with(thing: Any, **fields: object) -> Any:
    return replace(thing, **fields)


def _valued(value: int) -> Callable[[Setting], Setting]:
    return lambda one: replace(one, value=value)


def _pairs(words: Words) -> dict[int, str]:
    return {int(key): value for key, _, value in (word.partition(":") for word in words)}


def _dcb(node: NodeSnapshot, words: Words) -> NodeSnapshot:
    kind, verb, dev, name, *rest = words
    assert dev == "dev"
    link = node.ethernet_link(name)
    assert link is not None
    dcb: Any = link.bridging
    if kind == "apptrust":
        return with_bridging(node, name, trust=tuple(map(Trust, rest[1:])))
    if kind == "pfc":
        on = _pairs(tuple(rest[1:]))
        flow = replace(dcb.flow_control, enabled=tuple(on[number] == "on" for number in range(8)))
        return with_bridging(node, name, flow_control=flow)
    if kind == "buffer":
        split = rest.index("buffer-size")
        owners, sizes = _pairs(tuple(rest[1:split])), _pairs(tuple(rest[split + 1 :]))
        buffers = replace(
            dcb.buffers,
            buffer_of_priority=tuple(int(owners[number]) for number in sorted(owners)),
            size_bytes=tuple(int(sizes[number]) for number in sorted(sizes)),
        )
        return with_bridging(node, name, buffers=buffers)
    ((dscp, priority),) = _pairs(tuple(rest[1:])).items()
    kept = [app for app in dcb.app_priorities if app.selector is not AppSelector.DSCP or app.protocol != dscp]
    place = next(
        (at for at, app in enumerate(dcb.app_priorities) if app.selector is AppSelector.DSCP and app.protocol == dscp),
        len(kept),
    )
    if verb == "replace":
        kept.insert(place, AppPriority(selector=AppSelector.DSCP, protocol=dscp, priority=int(priority)))
    return with_bridging(node, name, app_priorities=tuple(kept))


def _ethtool(node: NodeSnapshot, words: Words) -> NodeSnapshot:
    flag, name, *rest = words
    assert flag == "-A"
    said = dict(zip(rest[::2], rest[1::2], strict=True))
    fields = {"receives": said["rx"] == "on", "sends": said["tx"] == "on"}
    return with_link(node, name, lambda link: replace(link, pause=_with(link.pause, **fields)))


def _setpci(node: NodeSnapshot, words: Words) -> NodeSnapshot:
    at, assignment = PciAddress.parse(words[1]), words[2]
    register, _, written = assignment.partition("=")
    value, mask = (int(part, 16) for part in written.split(":"))
    if register == "ECAP_ACS+0x6.w":
        known = next(one for one in node.pci_capabilities if one.address == at)
        bits = {"request_redirect": 2, "completion_redirect": 3, "upstream_forwarding": 4}
        fields = {name: bool(value >> bit & 1) for name, bit in bits.items() if mask >> bit & 1}
        return with_capability(node, at, acs=_with(known.acs, **fields))
    assert register == "CAP_EXP+0x8.w"
    if mask == 0x10:
        return with_capability(node, at, relaxed_ordering=bool(value))
    assert mask == 0x7000
    return with_capability(node, at, max_read_request_bytes=128 << (value >> 12))


def _grubby(node: NodeSnapshot, words: Words) -> NodeSnapshot:
    """As after the next boot."""
    verb, _, argument = words[1].partition("=")
    line = of(node.host.command_line)
    after = (*line, argument) if verb == "--args" else tuple(one for one in line if one != argument)
    return replace(node, host=replace(node.host, command_line=after))


def _modprobe(node: NodeSnapshot, words: Words) -> NodeSnapshot:
    name = words[-1]
    rest = tuple(one for one in node.host.modules if one.name != name)
    loaded = Module(name=name, version=Missing(reason=Reason.ABSENT, where=name))
    return replace(node, host=replace(node.host, modules=rest if words[0] == "--remove" else (*rest, loaded)))


def _nvidia_smi(node: NodeSnapshot, words: Words) -> NodeSnapshot:
    gpu = next(one for one in node.accelerators.gpus if str(one.index) == words[1])
    return with_gpu(node, int(words[1]), power=_with(gpu.power, limit_watts=float(words[3])))


_TOOLS: dict[str, Callable[[NodeSnapshot, Words], NodeSnapshot]] = {
    "dcb": _dcb,
    "ethtool": _ethtool,
    "setpci": _setpci,
    "grubby": _grubby,
    "modprobe": _modprobe,
    "nvidia-smi": _nvidia_smi,
}


def _owner(node: NodeSnapshot, advice: Advice, undo: bool) -> NodeSnapshot:
    owners = ("host", "firmware", "ieee") if undo else ("host", "ieee")
    return with_bridging(node, advice.setting.rpartition(" ")[2], negotiated_by=owners)


def _limit(node: NodeSnapshot, advice: Advice, undo: bool) -> NodeSnapshot:
    bytes_ = int(advice.now.partition(" ")[0]) if undo else None
    limits = changed(
        of(node.host.limits),
        lambda one: one.name == "Max locked memory",
        lambda one: replace(one, soft=bytes_, hard=bytes_),
    )
    return replace(node, host=replace(node.host, limits=limits))


_BY_HAND: dict[str, Callable[[NodeSnapshot, Advice, bool], NodeSnapshot]] = {
    "dcb-owner": _owner,
    "locked-memory": _limit,
}
