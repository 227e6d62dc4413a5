"""Systems whose members carry a mark that names an object, a PodGroup or a job: one table row each.

Claims come from both ends: pods that name an object, also one that cannot be read, and objects that have no pods yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from netkit.gangs.claim import Claim, Layer, Standing, unknown
from netkit.gangs.cluster import Cluster, Key
from netkit.gangs.fields import Field
from netkit.gangs.ranks import ranks
from netkit.model.gang import Evidence, GangState
from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing, Reason

Pods = tuple[KubeObject, ...]
Size = Callable[[Cluster, KubeObject | None, Pods], int | Missing]
_NOT_READ = "the object that declares it was not read"


def at(*path: str) -> Size:
    """Return a size that stands at a path of the declaring object."""

    def size(_cluster: Cluster, declaring: KubeObject | None, _pods: Pods) -> int | Missing:
        return declaring.number(*path) if declaring is not None else unknown(_NOT_READ)

    return size


def not_told(_cluster: Cluster, declaring: KubeObject | None, _pods: Pods) -> int | Missing:
    """Return that the system has no such size."""
    return unknown(str(declaring) if declaring is not None else _NOT_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """How one system writes its gangs down."""

    system: str
    resource: str
    layer: Layer
    marks: tuple[Field, ...]
    """Where a pod names its gang; the first that is there counts."""
    size: Size
    """Smallest number of members that may start."""
    total: Size = not_told
    size_field: str = "spec.minMember"
    believe: Callable[[KubeObject], bool] = lambda _pod: True
    """Whether a marked pod is this system's when the object it names cannot be read."""
    wanted: Callable[[KubeObject], bool] = lambda _declaring: True
    """Whether an object declares a gang at all."""
    standing: Callable[[KubeObject, Pods], Standing] = lambda _declaring, _pods: Standing()
    parts: Callable[[KubeObject], str] = lambda _pod: ""
    """The part of the gang a pod belongs to."""
    part_order: Callable[[Cluster, KubeObject | None, Pods], Sequence[str]] = lambda _cluster, _declaring, _pods: ()
    rank_fields: tuple[Field, ...] = field(default=())

    def find(self, cluster: Cluster) -> Iterator[Claim]:
        """Yield a claim for each gang."""
        marked = self._marked(cluster)
        declared = [(one.namespace, one.name) for one in cluster.objects(self.resource)]
        for key in dict.fromkeys([*marked, *declared]):
            declaring = cluster.named(self.resource, key)
            marks = dict(marked.get(key, ()))
            if self._is_gang(declaring, tuple(marks)):
                yield self._claim(cluster, key, declaring, marks)

    def _marked(self, cluster: Cluster) -> dict[Key, list[tuple[KubeObject, Field]]]:
        found: dict[Key, list[tuple[KubeObject, Field]]] = {}
        seen: set[KubeObject] = set()
        for mark in self.marks:
            for key, pods in cluster.with_field(mark).items():
                new = [(pod, mark) for pod in pods if pod not in seen]
                if new:
                    found.setdefault(key, []).extend(new)
            seen.update(pod for pairs in found.values() for pod, _ in pairs)
        return found

    def _is_gang(self, declaring: KubeObject | None, pods: Pods) -> bool:
        return self.wanted(declaring) if declaring is not None else any(map(self.believe, pods))

    def _claim(self, cluster: Cluster, key: Key, declaring: KubeObject | None, marks: dict[KubeObject, Field]) -> Claim:
        pods = tuple(marks)
        size, total = self.size(cluster, declaring, pods), self.total(cluster, declaring, pods)
        parts = {pod.uid: part for pod in pods if (part := self.parts(pod))}
        return Claim(
            system=self.system,
            layer=self.layer,
            namespace=key[0],
            name=key[1],
            pods=pods,
            made_by=declaring,
            min_members=size,
            total=total,
            standing=self.standing(declaring, pods) if declaring is not None else Standing(),
            groups=parts,
            ranks=ranks(pods, self.rank_fields, self.system, parts, self.part_order(cluster, declaring, pods)),
            pod_evidence={pod.uid: mark.evidence(pod, self.system) for pod, mark in marks.items()},
            evidence=self._size_evidence(declaring, size),
            problems=(*malformed(size, total), *self._unread(cluster, declaring, key)),
        )

    def _size_evidence(self, declaring: KubeObject | None, size: int | Missing) -> tuple[Evidence, ...]:
        if declaring is None or isinstance(size, Missing):
            return ()
        return (Evidence(object=str(declaring), field=self.size_field, value=str(size), system=self.system),)

    def _unread(self, cluster: Cluster, declaring: KubeObject | None, key: Key) -> Iterator[str]:
        if declaring is not None:
            return
        if cluster.has(self.resource):
            yield f"pods name {key[1]}, and there is no such object among {self.resource}"
            return
        missing = cluster.snapshot.missing().get(self.resource)
        yield f"{self.resource} could not be read ({missing.reason if missing else 'not asked for'})"


def malformed(*sizes: int | Missing) -> Iterator[str]:
    """Yield what stands where a number belongs."""
    for size in sizes:
        if isinstance(size, Missing) and size.reason is Reason.MALFORMED:
            yield f"{size.where}: {size.detail}"


def phases(states: dict[str, GangState | None], said: dict[str, str]) -> Callable[[KubeObject, Pods], Standing]:
    """Return a standing by `status.phase`: the state it means (None: pods tell) and the sentence for it."""

    def standing(declaring: KubeObject, _pods: Pods) -> Standing:
        phase = declaring.text("status", "phase")
        return Standing(state=states.get(phase), why=said.get(phase, ""))

    return standing


def conditions(known: dict[str, tuple[GangState | None, str]]) -> Callable[[KubeObject, Pods], Standing]:
    """Return a standing by conditions that are True, the first of the table that holds; its message is added."""

    def standing(declaring: KubeObject, _pods: Pods) -> Standing:
        for kind, (state, words) in known.items():
            condition = declaring.condition(kind)
            if condition is not None and condition.holds:
                said = condition.message or condition.reason
                return Standing(state=state, why=f"{words} ({said})" if said else words)
        return Standing()

    return standing
