"""Systems whose members carry a mark that names an object, a PodGroup or a job: one table row each.

Claims come from both ends: pods that name an object, also one that cannot be read, and objects that have no pods yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netkit.gangs.claim import Claim, Layer, Standing, unknown
from netkit.gangs.cluster import Cluster, Key
from netkit.gangs.fields import Field, Joined
from netkit.gangs.ranks import ranks
from netkit.model.gang import Evidence, GangState
from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing, Reason

Mark = Field | Joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One gang as found: its name, its pods, and the object that declares it where that was read."""

    cluster: Cluster
    name: str
    declaring: KubeObject | None
    pods: tuple[KubeObject, ...]


Size = Callable[[Seen], int | Missing]


def at(*path: str) -> Size:
    """Return a size that stands at a path of the declaring object."""

    def size(seen: Seen) -> int | Missing:
        return seen.declaring.number(*path) if seen.declaring is not None else not_told(seen)

    return size


def not_told(seen: Seen) -> Missing:
    """Return that the system has no such size, or that what tells it was not read."""
    return unknown(str(seen.declaring) if seen.declaring is not None else f"what declares {seen.name}")


def quiet(_seen: Seen) -> Standing:
    """Return that the system does not say where a gang stands."""
    return Standing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """How one system writes its gangs down."""

    system: str
    resource: str
    layer: Layer
    marks: tuple[Mark, ...]
    """Where a pod names its gang; the first that is there counts."""
    size: Size
    """Smallest number of members that may start."""
    total: Size = not_told
    size_field: str = "spec.minMember"
    declares: Callable[[KubeObject], Iterable[str]] = lambda declaring: (declaring.name,)
    """The gangs one object declares."""
    wanted: Callable[[KubeObject, tuple[KubeObject, ...]], bool] = lambda _declaring, _pods: True
    """Whether an object that was read declares a gang of this system at all."""
    believe: Callable[[KubeObject], bool] = lambda _pod: True
    """Whether a marked pod is this system's when the object it names cannot be read."""
    standing: Callable[[Seen], Standing] = quiet
    parts: Callable[[KubeObject], str] = lambda _pod: ""
    """The part of the gang a pod belongs to."""
    part_order: Callable[[Seen], Sequence[str]] = lambda _seen: ()
    rank_fields: tuple[Field, ...] = ()
    """Fields that number the members of the whole gang."""
    index_fields: tuple[Field, ...] = ()
    """Fields that number the members of one part."""
    ranked: Callable[[Seen, KubeObject], bool] = lambda _seen, _pod: True
    """Whether a member has a rank: a launcher may have none."""

    def find(self, cluster: Cluster) -> Iterator[Claim]:
        """Yield a claim for each gang."""
        marked = self._marked(cluster)
        declared = {(one.namespace, name): one for one in cluster.objects(self.resource) for name in self.declares(one)}
        for key in dict.fromkeys([*marked, *declared]):
            marks = dict(marked.get(key, ()))
            seen = Seen(cluster=cluster, name=key[1], declaring=declared.get(key), pods=tuple(marks))
            if self._is_gang(seen):
                yield self._claim(seen, key, marks)

    def _marked(self, cluster: Cluster) -> dict[Key, list[tuple[KubeObject, Mark]]]:
        found: dict[Key, list[tuple[KubeObject, Mark]]] = {}
        seen: set[KubeObject] = set()
        for mark in self.marks:
            for key, pods in cluster.with_field(mark).items():
                new = [(pod, mark) for pod in pods if pod not in seen]
                if new:
                    found.setdefault(key, []).extend(new)
            seen.update(pod for pairs in found.values() for pod, _ in pairs)
        return found

    def _is_gang(self, seen: Seen) -> bool:
        if seen.declaring is not None:
            return self.wanted(seen.declaring, seen.pods)
        return any(map(self.believe, seen.pods))

    def _claim(self, seen: Seen, key: Key, marks: Mapping[KubeObject, Mark]) -> Claim:
        size, total = self.size(seen), self.total(seen)
        parts = {pod.uid: part for pod in seen.pods if (part := self.parts(pod))}
        ranked = [pod for pod in seen.pods if self.ranked(seen, pod)]
        return Claim(
            system=self.system,
            layer=self.layer,
            namespace=key[0],
            name=key[1],
            pods=seen.pods,
            made_by=seen.declaring,
            min_members=size,
            total=total,
            standing=self.standing(seen),
            groups=parts,
            ranks=ranks(ranked, self.system, self.rank_fields, self.index_fields, parts, self.part_order(seen)),
            pod_evidence={pod.uid: mark.evidence(pod, self.system) for pod, mark in marks.items()},
            evidence=size_evidence(seen, size, self.size_field, self.system),
            problems=(*malformed(size, total), *_unread(seen, self.resource)),
        )


def size_evidence(seen: Seen, size: int | Missing, field: str, system: str) -> tuple[Evidence, ...]:
    """Return where a size stands, nothing for one that is not known."""
    if seen.declaring is None or isinstance(size, Missing):
        return ()
    return (Evidence(object=str(seen.declaring), field=field, value=str(size), system=system),)


def malformed(*sizes: int | Missing) -> Iterator[str]:
    """Yield what stands where a number belongs."""
    for size in sizes:
        if isinstance(size, Missing) and size.reason is Reason.MALFORMED:
            yield f"{size.where}: {size.detail}"


def _unread(seen: Seen, resource: str) -> Iterator[str]:
    if seen.declaring is not None:
        return
    if seen.cluster.has(resource):
        yield f"pods name {seen.name}, and there is no such object among {resource}"
        return
    missing = seen.cluster.snapshot.missing().get(resource)
    yield f"{resource} could not be read ({missing.reason if missing else 'not asked for'})"


def phases(
    states: dict[str, GangState | None], said: dict[str, str], field: str = "phase"
) -> Callable[[Seen], Standing]:
    """Return a standing by one word of the status: the state it means (None: pods tell) and the sentence for it."""

    def standing(seen: Seen) -> Standing:
        phase = seen.declaring.text("status", field) if seen.declaring is not None else ""
        return Standing(state=states.get(phase), why=said.get(phase, ""))

    return standing


def conditions(known: dict[str, tuple[GangState | None, str]]) -> Callable[[Seen], Standing]:
    """Return a standing by conditions that are True, the first of the table that holds; its message is added."""

    def standing(seen: Seen) -> Standing:
        for kind, (state, words) in known.items():
            condition = seen.declaring.condition(kind) if seen.declaring is not None else None
            if condition is not None and condition.holds:
                said = condition.message or condition.reason
                return Standing(state=state, why=f"{words} ({said})" if said else words)
        return Standing()

    return standing
