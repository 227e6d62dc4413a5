"""Ways to spoil a machine, as topology XML and as a matrix of distances, with the GPUs each one hurts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

from netkit.model.pci import PciPath
from netkit.model.topology import DeviceMatrix, Reach

Xml = ET.Element
OWN = PciPath.P2C


@dataclass(frozen=True)
class Spoiled:
    """One mutation: what was done, the result, and which GPUs lost a NIC of their own by it."""

    kind: str
    matrix: DeviceMatrix
    hurt: frozenset[str]
    used: dict[str, tuple[str, ...]] | None = None


def own(matrix: DeviceMatrix, gpu: str) -> frozenset[str]:
    return frozenset(nic.name for nic in matrix.nics if matrix.reach[gpu, nic.name].path <= OWN)


def near_nics(matrix: DeviceMatrix) -> list[str]:
    return sorted({nic for gpu in matrix.gpus for nic in own(matrix, gpu.id)})


def swapped(matrix: DeviceMatrix, one: str, other: str) -> DeviceMatrix:
    """Two NICs trade slots: each name now stands at the other's distances."""
    trade = {one: other, other: one}
    reach = {(gpu, trade.get(nic, nic)): value for (gpu, nic), value in matrix.reach.items()}
    return replace(matrix, reach=reach)


def moved(matrix: DeviceMatrix, nic: str) -> DeviceMatrix:
    """A NIC goes to a root port of the other socket of its GPUs: far from all."""
    far = Reach(path=PciPath.SYS, label="SYS")
    return replace(matrix, reach={key: far if key[1] == nic else value for key, value in matrix.reach.items()})


def beside(matrix: DeviceMatrix, nic: str, gpu: str) -> DeviceMatrix:
    """A NIC goes under the switch of another GPU."""
    there = min((matrix.reach[gpu, name] for name in own(matrix, gpu)), key=lambda reach: reach.path)
    far = Reach(path=PciPath.SYS, label="SYS")
    neighbours = {end.id for end in matrix.gpus if own(matrix, end.id) == own(matrix, gpu)}
    reach = {
        (end, name): (there if end in neighbours else far) if name == nic else value
        for (end, name), value in matrix.reach.items()
    }
    return replace(matrix, reach=reach)


def dropped(matrix: DeviceMatrix, nic: str) -> DeviceMatrix:
    nics = tuple(end for end in matrix.nics if end.name != nic)
    return replace(matrix, nics=nics, reach={key: value for key, value in matrix.reach.items() if key[1] != nic})


def renamed(spoiled: Spoiled, rng: random.Random) -> Spoiled:
    """Every device gets another name and the rows and columns another order; nothing moves."""
    matrix = spoiled.matrix
    strangers = {nic for nics in (spoiled.used or {}).values() for nic in nics}
    devices = sorted({end.name for end in matrix.nics} | strangers)
    labels = rng.sample(range(1000), len(matrix.gpus) + len(devices))
    names = {end.id: f"gpu{label}" for end, label in zip(matrix.gpus, labels, strict=False)}
    names |= {nic: f"nic_{label}" for nic, label in zip(devices, labels[len(matrix.gpus) :], strict=True)}
    gpus = [replace(end, id=names[end.id]) for end in matrix.gpus]
    nics = [replace(end, name=names[end.name]) for end in matrix.nics]
    rng.shuffle(gpus)
    rng.shuffle(nics)
    reach = {(names[gpu], names[nic]): value for (gpu, nic), value in matrix.reach.items()}
    used = spoiled.used
    return replace(
        spoiled,
        matrix=replace(matrix, gpus=tuple(gpus), nics=tuple(nics), reach=reach, peers={}),
        hurt=frozenset(names[gpu] for gpu in spoiled.hurt),
        used=None if used is None else {names[gpu]: tuple(names[nic] for nic in nics) for gpu, nics in used.items()},
    )


def matrix_mutations(
    matrix: DeviceMatrix, used: dict[str, tuple[str, ...]], rng: random.Random, count: int
) -> Iterator[Spoiled]:
    """Yield `count` mutations of a matrix that is right, each of a random kind, under random names."""
    kinds: tuple[Callable[[], Spoiled | None], ...] = (
        lambda: _swap(matrix, used, rng),
        lambda: _lose("move to the other socket", matrix, rng, moved),
        lambda: _lose("drop", matrix, rng, dropped),
        lambda: _beside(matrix, rng),
        lambda: _use_far(matrix, used, rng),
        lambda: Spoiled(kind="rename only", matrix=matrix, hurt=frozenset(), used=used),
    )
    made = 0
    while made < count:
        spoiled = rng.choice(kinds)()
        if spoiled is not None:
            yield renamed(spoiled, rng)
            made += 1


def _swap(matrix: DeviceMatrix, used: dict[str, tuple[str, ...]], rng: random.Random) -> Spoiled | None:
    one, other = rng.sample(near_nics(matrix), 2)
    after = swapped(matrix, one, other)
    hurt = {gpu for gpu, nics in used.items() if any(nic not in own(after, gpu) for nic in nics)}
    if not hurt:
        return None
    return Spoiled(kind="swap two NICs", matrix=after, hurt=frozenset(hurt), used=used)


def _lose(
    kind: str,
    matrix: DeviceMatrix,
    rng: random.Random,
    change: Callable[[DeviceMatrix, str], DeviceMatrix],
) -> Spoiled:
    nic = rng.choice(near_nics(matrix))
    hurt = frozenset(gpu.id for gpu in matrix.gpus if nic in own(matrix, gpu.id))
    return Spoiled(kind=kind, matrix=change(matrix, nic), hurt=hurt)


def _beside(matrix: DeviceMatrix, rng: random.Random) -> Spoiled | None:
    nic = rng.choice(near_nics(matrix))
    hurt = frozenset(gpu.id for gpu in matrix.gpus if nic in own(matrix, gpu.id))
    other = rng.choice([gpu.id for gpu in matrix.gpus if gpu.id not in hurt])
    return Spoiled(kind="move under another GPU", matrix=beside(matrix, nic, other), hurt=hurt)


def _use_far(matrix: DeviceMatrix, used: dict[str, tuple[str, ...]], rng: random.Random) -> Spoiled | None:
    gpu = rng.choice(matrix.gpus).id
    far = [nic for nic in near_nics(matrix) if nic not in own(matrix, gpu)]
    wrong = used | {gpu: (rng.choice(far),)}
    return Spoiled(kind="use a far NIC", matrix=matrix, hurt=frozenset({gpu}), used=wrong)


# On XML, where NCCL's own choice follows from what was changed.


def leaves(root: Xml, tag: str) -> list[tuple[Xml, Xml]]:
    """Return (parent, pci) of every device that holds a <gpu> or <nic>, or is one by class."""
    prefix = {"nic": ("0x02",), "gpu": ("0x03", "0x12")}[tag]
    return [
        (parent, child)
        for parent in root.iter()
        for child in parent
        if child.tag == "pci" and (child.find(tag) is not None or (child.get("class", "").startswith(prefix)))
    ]


def move_to_root(root: Xml, rng: random.Random) -> str | None:
    """Take a NIC from its switch to a root port of another CPU; return its name."""
    under_switch = [(parent, child) for parent, child in leaves(root, "nic") if parent.tag == "pci"]
    parent, child = rng.choice(under_switch)
    home = next(cpu for cpu in root if parent in list(cpu.iter()))
    others = [cpu for cpu in root if cpu is not home]
    if not others:
        return None
    parent.remove(child)
    rng.choice(others).append(child)
    return _name(child)


def drop(root: Xml, rng: random.Random) -> str | None:
    """Take a NIC away; return its name."""
    under_switch = [(parent, child) for parent, child in leaves(root, "nic") if parent.tag == "pci"]
    parent, child = rng.choice(under_switch)
    parent.remove(child)
    return _name(child)


def hide(root: Xml, rng: random.Random) -> None:
    """Do what a hypervisor does: every device directly under a CPU, coherent links unseen."""
    devices = [child for tag in ("gpu", "nic") for _, child in leaves(root, tag)]
    homes = {id(child): next(cpu for cpu in root if child in list(cpu.iter())) for child in devices}
    one_node = rng.random() < 0.5
    for cpu in list(root):
        for child in list(cpu):
            cpu.remove(child)
    for child in devices:
        (root[0] if one_node else homes[id(child)]).append(child)
    for holder in root.iter("gpu"):
        for link in holder.findall("c2c"):
            holder.remove(link)
    if one_node:
        root[0].set("numaid", "-1")
        for cpu in list(root)[1:]:
            root.remove(cpu)


def shuffle(root: Xml, rng: random.Random) -> None:
    """Put siblings into another order; nothing moves."""
    for element in root.iter():
        children = list(element)
        rng.shuffle(children)
        for child in list(element):
            element.remove(child)
        element.extend(children)


def _name(child: Xml) -> str:
    net = child.find("nic/net")
    return (net.get("name") if net is not None else child.get("busid")) or "?"
