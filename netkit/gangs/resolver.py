"""Claims of all systems brought together: each pod in one gang, every system that claims it named.

The system that binds names the gang; a queue or a workload adds what it knows (who made it, ranks, sizes). Pods that no
system claims are in no gang, unless the user names them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from netkit.gangs.claim import Claim, GangSystem, Layer, Standing
from netkit.gangs.cluster import Cluster
from netkit.gangs.pod_words import gates, why_unplaced
from netkit.gangs.ranks import ranks
from netkit.model.gang import Evidence, Gang, GangState, Member, Placement, Rank, Workload
from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing, Reason

_OVER = frozenset({"Succeeded", "Failed"})
_NOT_MADE_BY_USERS = frozenset({"PodGroup", "Workload", "ConfigMap"})


def resolve(cluster: Cluster, systems: Sequence[GangSystem]) -> tuple[Gang, ...]:
    """Return every gang of a cluster, by namespace and name."""
    claims = [claim for system in systems for claim in system.find(cluster)]
    return gangs_of(cluster, claims)


def gangs_of(cluster: Cluster, claims: Sequence[Claim]) -> tuple[Gang, ...]:
    """Bring claims together; they come ordered, the one to be believed first."""
    naming: dict[KubeObject, Claim] = {}
    for claim in claims:
        for pod in claim.pods:
            naming.setdefault(pod, claim)
    more = _claims_by_pod(claims)
    gangs = [
        _gang(cluster, claim, _members_of(claim, naming), more)
        for claim in claims
        if not claim.pods or any(naming[pod] is claim for pod in claim.pods)
    ]
    return tuple(sorted(_without_shadows(gangs), key=lambda gang: (gang.namespace, gang.name)))


def _claims_by_pod(claims: Iterable[Claim]) -> Mapping[KubeObject, list[Claim]]:
    found: defaultdict[KubeObject, list[Claim]] = defaultdict(list)
    for claim in claims:
        for pod in claim.pods:
            found[pod].append(claim)
    return found


def _members_of(claim: Claim, naming: Mapping[KubeObject, Claim]) -> tuple[KubeObject, ...]:
    own = [pod for pod in claim.pods if naming[pod] is claim]
    return tuple(_without_replaced(own, claim))


def _without_replaced(pods: Sequence[KubeObject], claim: Claim) -> Iterable[KubeObject]:
    """Leave out pods that are over and whose rank another pod has taken since."""
    numbers = Counter(
        (claim.groups.get(pod.uid), claim.ranks[pod.uid].number) for pod in pods if pod.uid in claim.ranks
    )
    for pod in pods:
        rank = claim.ranks.get(pod.uid)
        shared = rank is not None and numbers[claim.groups.get(pod.uid), rank.number] > 1
        if not (shared and pod.text("status", "phase") in _OVER):
            yield pod


def _without_shadows(gangs: Sequence[Gang]) -> Sequence[Gang]:
    """Fold gangs without members into the gang of the same name or workload that is believed first."""
    kept: list[Gang] = []
    places: dict[tuple[str, str], int] = {}
    for gang in sorted(gangs, key=lambda gang: not gang.members):
        names = (gang.name, gang.workload.name if gang.workload else gang.name)
        keys = [(gang.namespace, name) for name in names]
        known = [] if gang.members else [places[key] for key in keys if key in places]
        place = known[0] if known else len(kept)
        if known:
            systems = tuple(dict.fromkeys((*kept[place].systems, *gang.systems)))
            kept[place] = replace(kept[place], systems=systems)
        else:
            kept.append(gang)
        for key in keys:
            places.setdefault(key, place)
    return kept


def _gang(cluster: Cluster, claim: Claim, pods: tuple[KubeObject, ...], more: Mapping[KubeObject, list[Claim]]) -> Gang:
    claims = [claim, *dict.fromkeys(other for pod in pods for other in more[pod] if other is not claim)]
    # A job of a set numbers its own pods only: ranks come from claims that hold the whole gang.
    whole = [one for one in claims if one is claim or set(pods) <= set(one.pods)]
    state, why = _standing(whole, pods)
    return Gang(
        namespace=claim.namespace,
        name=claim.name,
        workload=_workload(cluster, claim, pods),
        systems=tuple(dict.fromkeys(one.system for one in claims)),
        min_members=_first_known([one.min_members for one in whole]),
        total=_first_known([one.total for one in whole]),
        state=state,
        why=why,
        members=tuple(sorted((_member(pod, claims, _rank(pod, whole)) for pod in pods), key=_by_rank)),
        evidence=tuple(evidence for one in claims for evidence in one.evidence),
        problems=tuple(dict.fromkeys(problem for one in claims for problem in one.problems)),
    )


def _by_rank(member: Member) -> tuple[bool, int, str]:
    unknown = isinstance(member.rank, Missing)
    return unknown, 0 if isinstance(member.rank, Missing) else member.rank.number, member.pod


def _first_known(sizes: Sequence[int | Missing]) -> int | Missing:
    """Return the first size that is told; one that is malformed is not replaced by another system's."""
    told = [size for size in sizes if not isinstance(size, Missing) or size.reason is Reason.MALFORMED]
    return told[0] if told else sizes[0]


def _member(pod: KubeObject, claims: Sequence[Claim], rank: Rank | Missing) -> Member:
    node = pod.text("spec", "nodeName")
    found = [one.pod_evidence[pod.uid] for one in claims if pod.uid in one.pod_evidence]
    return Member(
        namespace=pod.namespace,
        pod=pod.name,
        uid=pod.uid,
        phase=pod.text("status", "phase"),
        group=next((one.groups[pod.uid] for one in claims if pod.uid in one.groups), ""),
        placement=Placement(node=node) if node else None,
        rank=rank,
        evidence=tuple(found) if isinstance(rank, Missing) else (*found, rank.evidence),
    )


def _rank(pod: KubeObject, claims: Sequence[Claim]) -> Rank | Missing:
    """Return a declared rank of any claim before an inferred one."""
    found = [one.ranks[pod.uid] for one in claims if pod.uid in one.ranks]
    declared = [rank for rank in found if rank.evidence.declared]
    return next(iter(declared or found), Missing(reason=Reason.ABSENT, where=str(pod)))


def _workload(cluster: Cluster, claim: Claim, pods: Sequence[KubeObject]) -> Workload | None:
    """Return the farthest owner that can be seen: of a member, else of the object that declares the gang."""
    start = pods[0] if pods else claim.made_by
    if start is None:
        return None
    chain = list(cluster.chain(start))
    if not chain:
        return _self_made(claim.made_by, claim.system)
    owner, _ = chain[-1]
    evidence = Evidence(
        object=str(start), field="metadata.ownerReferences", value=f"{owner.kind} {owner.name}", system=claim.system
    )
    return Workload(kind=owner.kind, namespace=start.namespace, name=owner.name, uid=owner.uid, evidence=evidence)


def _self_made(declaring: KubeObject | None, system: str) -> Workload | None:
    if declaring is None or declaring.kind in _NOT_MADE_BY_USERS:
        return None
    evidence = Evidence(object=str(declaring), field="kind", value=declaring.kind, system=system)
    return Workload(
        kind=declaring.kind,
        namespace=declaring.namespace,
        name=declaring.name,
        uid=declaring.uid,
        evidence=evidence,
    )


def _standing(claims: Sequence[Claim], pods: Sequence[KubeObject]) -> tuple[GangState, str]:
    """Return where a gang stands: what pods show weighs more than what a status says, as statuses lag."""
    said = [one.standing for one in claims]
    state, why = _from_pods(pods, _first_known([one.min_members for one in claims]), said)
    words = [] if state is GangState.ADMITTED else [one.why for one in said if one.why]
    new = [] if any(why in word for word in words) else [why]
    return state, "; ".join(filter(None, dict.fromkeys([*words, *new])))


def _from_pods(pods: Sequence[KubeObject], least: int | Missing, said: Sequence[Standing]) -> tuple[GangState, str]:
    stated = [one.state for one in said if one.state is not None]
    if GangState.FINISHED in stated or (pods and all(pod.text("status", "phase") in _OVER for pod in pods)):
        return GangState.FINISHED, _endings(pods)
    bound = sum(bool(pod.text("spec", "nodeName")) for pod in pods)
    needed = len(pods) if isinstance(least, Missing) else least
    if bound and bound >= needed:
        return GangState.ADMITTED, f"{bound} of {len(pods)} members have a node"
    if bound:
        have = "1 member has" if bound == 1 else f"{bound} members have"
        return GangState.PARTIAL, f"{have} a node, {needed} are needed{_first_reason(pods)}"
    return _unbound(pods, needed, stated)


def _unbound(pods: Sequence[KubeObject], needed: int, stated: Sequence[GangState]) -> tuple[GangState, str]:
    reason = _first_reason(pods).removeprefix(": ")
    if GangState.WAITING in stated or any(map(gates, pods)):
        return GangState.WAITING, reason
    if len(pods) < needed:
        exist = "1 pod exists" if len(pods) == 1 else f"{len(pods)} pods exist"
        short = f"{exist}, {needed} are needed"
        return GangState.PENDING, f"{short}; {reason}" if reason else short
    if pods:
        return GangState.PENDING, reason
    return (stated[0] if stated else GangState.UNKNOWN), ""


def _first_reason(pods: Sequence[KubeObject]) -> str:
    """Return the reason most members without a node give."""
    reasons = Counter(why for pod in pods if not pod.text("spec", "nodeName") and (why := why_unplaced(pod)))
    if not reasons:
        return ""
    reason, times = reasons.most_common(1)[0]
    unplaced = sum(not pod.text("spec", "nodeName") for pod in pods)
    return f": {reason}" + (f" (said of {times} of {unplaced})" if times < unplaced else "")


def _endings(pods: Sequence[KubeObject]) -> str:
    counts = Counter(pod.text("status", "phase") for pod in pods)
    failed = counts.get("Failed", 0)
    return f"{failed} of {len(pods)} members failed" if failed else ""


def with_placement(gang: Gang, domains: Mapping[str, tuple[str, ...]]) -> Gang:
    """Return a gang whose members know the domains of the fabric around their nodes."""
    members = tuple(
        replace(member, placement=replace(member.placement, domains=domains.get(member.placement.node, ())))
        if member.placement
        else member
        for member in gang.members
    )
    return replace(gang, members=members)


def chosen_pods(cluster: Cluster, name: str, pods: Sequence[KubeObject], how: str) -> Gang:
    """Return pods that the user named, by a selector or one by one, as a gang."""
    claim = Claim(
        system="selection",
        layer=Layer.FALLBACK,
        namespace=pods[0].namespace,
        name=name,
        pods=tuple(pods),
        min_members=len(pods),
        total=len(pods),
        ranks=ranks(pods, "selection"),
        pod_evidence={
            pod.uid: Evidence(object=str(pod), field="given by the user", value=how, system="selection") for pod in pods
        },
    )
    return gangs_of(cluster, [claim])[0]
