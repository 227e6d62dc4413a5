"""`netkit probe gang`: measure the pods of a gang from inside, and say which rail, node, leaf or uplink is slow."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.cluster import (
    ClusterPlace,
    ContextOption,
    DeadlineOption,
    KubeconfigOption,
    NamespaceOption,
    boots,
    boots_now,
)
from netkit.cli.gang_choice import NameArgument, gang_at
from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit, talk
from netkit.cli.probe_backend import (
    Backend,
    BackendOption,
    BackendWishes,
    GpusOption,
    HcaOption,
    ProgramsOption,
    SettingOption,
    SizeOption,
)
from netkit.cli.probe_guard import AgainOption, GuardWishes, LockNamespaceOption, WaitOption, guard_of
from netkit.cli.probe_options import (
    DryRunOption,
    FailOnOption,
    InterfaceOption,
    LineRateOption,
    PythonOption,
    ReportOption,
    SecondsOption,
    SeedOption,
    SubnetOption,
    TextfileOption,
    YesOption,
)
from netkit.cli.probe_own_gang import (
    FormOption,
    ImageOption,
    OwnGangWishes,
    ProbeNamespaceOption,
    QueueOption,
    ResourceOption,
    WithoutGpusOption,
    gpus_of,
    made_of,
    own_gang,
)
from netkit.cli.probing import FailOn, Wishes, checked_python, checked_wishes, end, probe, rail_choice, require
from netkit.errors import InputError

if TYPE_CHECKING:
    from netkit.model.probe import ProbeReport
    from netkit.probe.gang_event import Subject
    from netkit.probe.gang_targets import Target
    from netkit.probe.probe_job import JobForm, ProbeJob
    from netkit.probe.probe_plan import GangPlan
    from netkit.probe.rails import RailChoice
    from netkit.probe.request import ProbeRequest
    from netkit.sources.kube.config import Open

_LIFETIME_SECONDS = 600.0
_ANSWER_SECONDS = 20.0


class As(StrEnum):
    """How a probe comes into a gang."""

    JOB = "job"
    EXEC = "exec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A probe ready to run: its plan, its rails, and the gang to create, if one is."""

    plan: GangPlan
    rails: RailChoice
    own: tuple[ProbeJob, JobForm] | None
    boots: Mapping[str, str]
    """Which boot of itself each node of the cluster was in when the plan was made."""
    subject: Subject | None = None
    """What an event about the probe is about."""


def gang(
    name: NameArgument,
    how: Annotated[
        As, typer.Option("--as", help="job: a gang of its own on the same nodes; exec: inside the gang's own pods.")
    ] = As.JOB,
    namespace: NamespaceOption = None,
    interface: InterfaceOption = None,
    subnet: SubnetOption = None,
    python: PythonOption = "python3",
    backend: BackendOption = Backend.SOCKET,
    hca: HcaOption = None,
    gpus: GpusOption = None,
    programs: ProgramsOption = None,
    env: SettingOption = None,
    size: SizeOption = "256MiB",
    image: ImageOption = None,
    probe_namespace: ProbeNamespaceOption = None,
    resource: ResourceOption = None,
    without_gpus: WithoutGpusOption = False,
    form: FormOption = None,
    queue: QueueOption = None,
    lock_namespace: LockNamespaceOption = "netkit",
    wait: WaitOption = 0.0,
    again: AgainOption = None,
    event: Annotated[
        bool, typer.Option("--event", help="Also leave the verdict as an Event on the gang's workload.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
    seed: SeedOption = None,
    line_rate: LineRateOption = None,
    seconds: SecondsOption = 0.8,
    fail_on: FailOnOption = FailOn.WARNING,
    output: OutputOption = None,
    report: ReportOption = None,
    textfile: TextfileOption = None,
) -> None:
    """Which rail, node, leaf or uplink of this gang is slow? Measured between pods on its nodes.

    Prints the plan first, and does nothing without --yes or a yes on the terminal. As a job, pods of its own are
    created for the gang's scheduler and removed again; as exec, no pod is created, and pods whose GPUs are in use, or
    may be, are refused. The rails are the pods' own extra interfaces, or those named.

    A Lease on each node keeps other probes away. ConfigMap netkit-probes beside the Leases holds the cluster's limits:
    stop (a reason; ends every probe), probes-at-once, nodes-at-once, percent-of-nodes, gpu-minutes, cool-down-minutes.

    Example: netkit probe gang train -n team-a --as exec --dry-run
    """
    wishes = checked_wishes(
        seed=seed,
        line_rate=line_rate,
        seconds=seconds,
        fail_on=fail_on,
        output=output,
        report=report,
        textfile=textfile,
        backend=BackendWishes(
            backend=backend, hca=hca, gpus=gpus, programs=programs, settings=tuple(env or ()), size=size
        ),
    )
    checked_python(python)
    rails = rail_choice(interface, subnet)
    place = ClusterPlace(namespace=namespace, kubeconfig=kubeconfig, context=context, deadline_s=deadline)
    own = OwnGangWishes(
        image=image,
        namespace=probe_namespace,
        resources=tuple(resource or ()),
        without_gpus=without_gpus,
        form=form,
        queue=queue,
    )
    require(how is As.JOB or not own.any, "--as exec with an option of --as job", "one or the other")
    guarded = GuardWishes(namespace=lock_namespace, wait_seconds=wait, again=again)
    prepared = _prepared(name, place, rails, seconds, python, own if how is As.JOB else None)
    if agreed(prepared.plan, chosen_form(output), dry_run=dry_run, yes=yes):
        measure(prepared, python, place, wishes, guarded, event=event)


def _prepared(
    name: str, place: ClusterPlace, rails: RailChoice, seconds: float, python: str, wishes: OwnGangWishes | None
) -> Prepared:
    from netkit.catalogue.kube_resources import Use
    from netkit.gangs.view import view_of
    from netkit.probe.gang_event import subject_of
    from netkit.probe.gang_targets import shared_interfaces, targets_of
    from netkit.probe.probe_plan import attach_plan, own_gang_plan

    found, cluster = gang_at(name, place, Use.GANGS, Use.HOSTFILES, Use.DEVICES, Use.FABRIC)
    view = view_of(found, cluster)
    targets = targets_of(view, running=wishes is None)
    if not rails.interfaces and not rails.subnets:
        rails = replace(rails, interfaces=shared_interfaces(targets))
    if not rails.interfaces and not rails.subnets:
        given = f"gang {found.key}, whose pods name no network interfaces of their own"
        raise InputError(given, "--interface eth0,net1 or --subnet 10.0.0.0/16 in rail order")
    subnets = tuple(map(str, rails.subnets))
    plan = attach_plan(found.key, found.systems, targets, rails.interfaces, subnets, seconds)
    known = boots(cluster.objects("nodes"))
    if wishes is None:
        return Prepared(plan=plan, rails=rails, own=None, boots=known, subject=subject_of(found))
    job, form = own_gang(view, targets, wishes, python)
    own_plan = own_gang_plan(plan, made_of(job, form), gpus_of(job))
    return Prepared(plan=own_plan, rails=rails, own=(job, form), boots=known, subject=subject_of(found))


def agreed(plan: GangPlan, form: OutputForm, *, dry_run: bool, yes: bool) -> bool:
    """Show the plan, and tell whether it is to be carried out."""
    from netkit.report.probe_plan_text import render, render_json

    if yes and not dry_run:
        talk(render(plan).splitlines()[0])
        return True
    if not dry_run and sys.stdin.isatty() and sys.stderr.isatty():
        talk(render(plan))
        return typer.confirm("Do it?", default=False, err=True)
    emit(render_json(plan) if form is OutputForm.JSON else render(plan))
    if not dry_run:
        talk("nothing was done: --yes does it")
    return False


def measure(
    prepared: Prepared,
    python: str,
    place: ClusterPlace,
    wishes: Wishes,
    guarded: GuardWishes,
    *,
    event: bool = False,
) -> None:
    """Carry a probe out, deliver its report, and end the command with the status of the verdict."""
    from functools import partial

    from netkit.probe.launchers.exec import launcher_for
    from netkit.probe.launchers.guarded import GuardedLauncher
    from netkit.probe.launchers.job import JobLauncher
    from netkit.sources.kube.config import open_access

    way_in, plan, own = partial(open_access, place.kubeconfig, place.context), prepared.plan, prepared.own
    guard = guard_of(
        plan,
        guarded,
        place,
        probe=own[0].id if own else secrets.token_hex(4),
        lifetime_seconds=_LIFETIME_SECONDS,
        cluster_nodes=len(prepared.boots),
    )
    placed = [] if own else [target.pod for target in plan.targets]
    inner = (
        JobLauncher(open_access=way_in, job=own[0], form=own[1], check=guard.check, placed=placed)
        if own
        else launcher_for(way_in)
    )
    report = probe(
        _request(prepared, python, wishes),
        GuardedLauncher(inner=inner, guard=guard),
        wishes,
        pods=lambda: tuple(placed),
        rebooted=lambda: _rebooted(prepared, place),
    )
    if event and prepared.subject is not None:
        _leave_event(report, prepared.subject, way_in)
    end(report, wishes)


def _leave_event(report: ProbeReport, subject: Subject, way_in: Open) -> None:
    """Leave the verdict on the gang; that it cannot be left changes nothing about it."""
    from datetime import UTC, datetime

    from netkit.errors import SourceError
    from netkit.probe.gang_event import gang_event
    from netkit.sources.kube.api import Api, Limits

    place = f"namespace {subject.namespace}"
    try:
        api = Api(way_in, Limits(total_s=20.0))
        try:
            path = f"/api/v1/namespaces/{subject.namespace}/events"
            api.send("POST", path, gang_event(report, subject, datetime.now(UTC)), f"create events in {place}")
        finally:
            api.close()
    except SourceError as fault:
        talk(f"warning: no event was left: {fault}")
    else:
        talk(f"event on {subject.kind} {subject.namespace}/{subject.name}")


def _rebooted(prepared: Prepared, place: ClusterPlace) -> tuple[str, ...]:
    """Return the nodes of the plan that have rebooted since it was made."""
    from netkit.probe.doubts import rebooted

    planned = {target.pod.node for target in prepared.plan.targets}
    before = {node: boot for node, boot in prepared.boots.items() if node in planned}
    return rebooted(before, boots_now(place)) if any(before.values()) else ()


def _request(prepared: Prepared, python: str, wishes: Wishes) -> ProbeRequest:
    from netkit.probe.launchers.exec import FAN_OUT, destination
    from netkit.probe.launchers.session import Member
    from netkit.probe.request import ProbeRequest

    plan, own = prepared.plan, prepared.own is not None

    def member(target: Target) -> Member:
        where = "" if own else destination(target.pod.namespace, target.pod.pod, target.container)
        # What the scheduler has allotted to a pod of the probe's own is nobody else's.
        gpus = 0 if own else target.accelerators
        return Member(name=target.pod.member, python=python, destination=where, gpus=gpus)

    leaves = {target.pod.member: target.leaf for target in plan.targets}
    waves = -(-len(plan.targets) // FAN_OUT)
    return ProbeRequest(
        name=plan.gang,
        transport="pods",
        members=tuple(map(member, plan.targets)),
        rails=prepared.rails,
        leaf_of=leaves if all(leaves.values()) else {},
        wire_rate=wishes.wire_rate,
        seed=wishes.seed,
        seconds=wishes.seconds,
        start_seconds=waves * _ANSWER_SECONDS,
        lifetime_seconds=_LIFETIME_SECONDS,
    )
