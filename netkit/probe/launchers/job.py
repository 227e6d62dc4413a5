"""Agents in pods of netkit's own: a gang created beside the one in question, on the same nodes, and removed again.

The scheduler's allotment is what keeps it from others' devices. Commands reach the pods over exec, as everywhere; who
may create a job in a namespace can run anything there, so this asks for nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from netkit.catalogue.kube_resources import RESOURCES
from netkit.errors import NetkitError, ProbeError
from netkit.gangs.pod_words import why_unplaced
from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing
from netkit.model.probe import ProbedPod
from netkit.probe.launchers.exec import ExecLauncher, destination
from netkit.probe.launchers.session import Event, Launcher, Member, Sessions, Witness
from netkit.probe.probe_job import CONTAINER, NAME, OPERATOR, PROBE, ROLE, START_SECONDS, JobForm, ProbeJob, owned
from netkit.probe.safety.clock import CLOCK, Clock
from netkit.sources.kube.api import Api, Limits, RefusedError
from netkit.sources.kube.config import Open

GONE_SECONDS = 60.0
_POLL_SECONDS = 0.5
_MOST_NAMED = 5
_PODS = next(row for row in RESOURCES if row.name == "pods")


class LeftBehindError(ProbeError):
    """Something that was created could not be removed; it ends at its own deadline."""


def _anything_goes(_seconds: float) -> None:
    """Allow a probe to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLauncher:
    """A launcher for one probe; `placed` tells, once it has started, which pod stands for which member.

    `check` raises ProbeError when the probe may not go on for so many seconds; `inner` starts agents in pods.
    """

    open_access: Open
    job: ProbeJob
    form: JobForm
    start_seconds: float = START_SECONDS
    check: Callable[[float], None] = _anything_goes
    inner: Launcher | None = None
    clock: Clock = CLOCK
    placed: list[ProbedPod] = field(default_factory=list)
    id: str = "job"
    transport: str = "pods"

    def start(self, members: Sequence[Member], lifetime_seconds: float) -> Sessions:
        """Create the gang, wait until all of it runs, start an agent in each pod; what fails leaves nothing behind.

        Raises:
            ProbeError: another probe is under way, or the gang did not start in time.
        """
        made = OwnGang(self.open_access, self.job, self.form, self.clock)
        try:
            self.check(self.job.seconds)
            made.create()
            self.placed[:] = made.wait_until_it_runs(self.start_seconds, self.check)
            where = {pod.node: destination(pod.namespace, pod.pod, CONTAINER) for pod in self.placed}
            reached = [replace(member, destination=where[member.name]) for member in members]
            self.check(lifetime_seconds)
            inner = (self.inner or ExecLauncher(open_access=self.open_access)).start(reached, lifetime_seconds)
        except BaseException:
            made.remove()
            raise
        return JobSessions(inner, made)


class JobSessions:
    """The agents of a gang of netkit's own; with them, the gang ends."""

    def __init__(self, inner: Sessions, made: OwnGang) -> None:
        self._inner = inner
        self._made = made

    def send(self, rank: int, command: Mapping[str, Any]) -> None:
        """Queue one command for a rank."""
        self._inner.send(rank, command)

    def receive(self, timeout_seconds: float) -> Sequence[Event]:
        """Return what arrived, waiting at most `timeout_seconds` for the first event."""
        return self._inner.receive(timeout_seconds)

    def rejected(self) -> Mapping[int, int]:
        """How many damaged or forged frames were dropped, by rank."""
        return self._inner.rejected()

    def before(self) -> Sequence[Mapping[str, Any] | Missing]:
        """What the sessions behind it saw, if they looked."""
        return self._inner.before() if isinstance(self._inner, Witness) else ()

    def looks(self) -> Sequence[Sequence[Mapping[str, Any] | Missing]]:
        """What the sessions behind it see, if they look."""
        return self._inner.looks() if isinstance(self._inner, Witness) else ()

    def stop(self) -> None:
        """End the agents, remove the gang, and make sure that it is gone."""
        try:
            self._inner.stop()
        finally:
            self._made.remove()


class OwnGang:
    """The objects of one probe in the cluster: created, watched until they run, removed."""

    def __init__(self, open_access: Open, job: ProbeJob, form: JobForm, clock: Clock = CLOCK) -> None:
        self._open = open_access
        self._job = job
        self._form = form
        self._clock = clock
        self._may_exist = False

    def create(self) -> None:
        """Create the gang, unless there is one already.

        Raises:
            ProbeError: somebody's probe is under way in this namespace.
        """
        api = self._api()
        self._may_exist = True
        try:
            made = api.send("POST", self._path, self._form.render(self._job), self._what("create"))
            self._create_companions(api, made)
        except RefusedError as refused:
            # A server in trouble may have done it all the same.
            self._may_exist = refused.status >= 500
            if refused.status != 409:
                raise
            raise ProbeError("starting a probe", self._other(api), "wait for it, or: netkit cleanup") from refused
        finally:
            api.close()

    def _create_companions(self, api: Api, owner: dict[str, Any]) -> None:
        for companion in self._form.companions:
            path, resource = companion.place.path.format(namespace=self._job.namespace), companion.place.resource
            try:
                api.send("POST", path, owned(companion.render(self._job), owner), f"create {resource}")
            except RefusedError as refused:
                raise ProbeError("starting a probe", str(refused), "nothing was left behind") from refused

    def wait_until_it_runs(self, seconds: float, check: Callable[[float], None] = _anything_goes) -> list[ProbedPod]:
        """Return the pods by node once all run; raise ProbeError with each one's reason when they do not in time."""
        deadline = self._clock.watched() + seconds
        while True:
            check(0.0)
            pods = [pod for pod in self._pods() if not pod.label(ROLE)]
            if len(pods) == len(self._job.nodes) and all(_runs(pod) for pod in pods):
                return [_probed(pod) for pod in pods]
            if self._clock.watched() > deadline:
                raise ProbeError("starting a probe", self._why(pods, seconds), "nothing was left behind")
            self._clock.sleep(_POLL_SECONDS)

    def remove(self) -> None:
        """Delete the gang, unless none was made, and wait until no pod of it is left.

        Raises:
            LeftBehindError: the API server did not do it; the message holds the command that does.
        """
        deadline = self._clock.watched() + GONE_SECONDS
        while self._may_exist:
            try:
                self._delete()
                if not self._pods():
                    self._may_exist = False
                    return
                cause = "its pods are still there"
            except NetkitError as fault:
                cause = str(fault)
            if self._clock.watched() > deadline:
                words = f"kubectl delete {self._form.place.resource} -n {self._job.namespace} -l {self._job.selector}"
                raise LeftBehindError("removing the probe", cause, f"its pods end by their deadline; now: {words}")
            self._clock.sleep(_POLL_SECONDS)

    @property
    def _path(self) -> str:
        return self._form.place.path.format(namespace=self._job.namespace)

    def _api(self) -> Api:
        return Api(self._open, Limits(total_s=20.0), self._clock.watched, self._clock.sleep)

    def _delete(self) -> None:
        """Delete what bears our name and our label; another operator's probe may bear the name by now."""
        api = self._api()
        try:
            found = KubeObject(self._form.place.resource, api.get(f"{self._path}/{NAME}", {}, self._what("get"))[0])
            if found.label(PROBE) == self._job.id:
                delete_exactly(api, f"{self._path}/{NAME}", found.uid, self._what("delete"))
        except RefusedError as refused:
            if refused.status != 404:
                raise
        finally:
            api.close()

    def _what(self, verb: str) -> str:
        return f"{verb} {self._form.place.resource} in namespace {self._job.namespace}"

    def _pods(self) -> list[KubeObject]:
        api = self._api()
        try:
            return api.objects(_PODS, "v1", self._job.namespace, self._job.selector)
        finally:
            api.close()

    def _other(self, api: Api) -> str:
        """Say whose probe is under way."""
        try:
            body, _ = api.get(f"{self._path}/{NAME}", {}, self._what("get"))
        except NetkitError:
            return f"another one is under way in namespace {self._job.namespace}"
        other = KubeObject(self._form.place.resource, body)
        whose = other.annotation(OPERATOR) or "somebody"
        return f"another one is under way in namespace {self._job.namespace}, by {whose} since {other.created}"

    def _why(self, pods: Sequence[KubeObject], seconds: float) -> str:
        waiting = [pod for pod in pods if not _runs(pod)]
        reasons = [f"{pod.name}: {why_unplaced(pod) or pod.text('status', 'phase') or 'no phase'}" for pod in waiting]
        missing = len(self._job.nodes) - len(pods)
        reasons += [f"{missing} pods were not created: its queue or scheduler holds it back"] if missing > 0 else []
        more = f" and {len(reasons) - _MOST_NAMED} more" if len(reasons) > _MOST_NAMED else ""
        count = len(pods) - len(waiting)
        return (
            f"{count} of {len(self._job.nodes)} pods run after {seconds:g} s: {'; '.join(reasons[:_MOST_NAMED])}{more}"
        )


def delete_exactly(api: Api, path: str, uid: str, what: str) -> None:
    """Delete the object of this uid; one that has taken its name since is left alone."""
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    try:
        api.send("DELETE", path, options | {"preconditions": {"uid": uid}}, what)
    except RefusedError as refused:
        if refused.status not in (404, 409):
            raise


def _runs(pod: KubeObject) -> bool:
    return pod.text("status", "phase") == "Running" and not pod.text("metadata", "deletionTimestamp")


def _probed(pod: KubeObject) -> ProbedPod:
    node = pod.text("spec", "nodeName")
    return ProbedPod(member=node, namespace=pod.namespace, pod=pod.name, uid=pod.uid, node=node)
