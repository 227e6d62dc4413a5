"""`netkit probe nodes`: burn-in of nodes that nobody uses, by a gang of netkit's own."""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.cluster import ClusterPlace, ContextOption, DeadlineOption, KubeconfigOption, NamespaceOption
from netkit.cli.node_choice import ChosenNodes, chosen_nodes
from netkit.cli.output import OutputOption, chosen_form
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
from netkit.cli.probe_gang import Prepared, agreed, measure
from netkit.cli.probe_guard import AgainOption, GuardWishes, LockNamespaceOption, WaitOption
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
    OWN_SECONDS,
    FormOption,
    ImageOption,
    OwnGangWishes,
    QueueOption,
    ResourceOption,
    form_named,
    gpus_of,
    made_of,
    operator,
    require_fit,
    required_image,
    resources_named,
)
from netkit.cli.probing import FailOn, checked_python, checked_wishes, rail_choice, require
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.probe.probe_job import ProbeJob
    from netkit.probe.rails import RailChoice

_NETWORK = re.compile(r"(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?/)?[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")

SelectorArgument = Annotated[
    str,
    typer.Argument(help="Label selector of nodes, as kubectl knows it: pool=h100,zone in (a,b).", metavar="SELECTOR"),
]
NetworkOption = Annotated[
    list[str] | None,
    typer.Option(
        "--network",
        help="A rail of the pods, as Multus names it (NS/NAME); in rail order, repeated.",
        metavar="NETWORK",
        show_default=False,
    ),
]


def nodes(
    selector: SelectorArgument,
    network: NetworkOption = None,
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
    namespace: NamespaceOption = None,
    resource: ResourceOption = None,
    form: FormOption = None,
    queue: QueueOption = None,
    lock_namespace: LockNamespaceOption = "netkit",
    wait: WaitOption = 0.0,
    again: AgainOption = None,
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
    """Which rail, node, leaf or uplink among these free nodes is slow? A burn-in, before anybody gets them.

    Only nodes whose GPUs nobody holds are taken; every other one is named with the reason. Prints the plan first, and
    does nothing without --yes or a yes on the terminal. Each pod asks for all GPUs of its node, so that the scheduler
    lets nobody else in meanwhile.

    Example: netkit probe nodes pool=h100 --network rails/rail0 --image python:3.12-slim --dry-run
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
    networks = checked_networks(network or [])
    rails = _rails(networks, rail_choice(interface, subnet))
    place = ClusterPlace(
        namespace=namespace, selector=selector, kubeconfig=kubeconfig, context=context, deadline_s=deadline
    )
    own = OwnGangWishes(image=image, resources=tuple(resource or ()), form=form, queue=queue)
    required_image(own, "a probe of nodes")
    guarded = GuardWishes(namespace=lock_namespace, wait_seconds=wait, again=again)
    chosen = chosen_nodes(selector, place)
    job = _job(chosen, place, own, python, networks)
    prepared = _prepared(selector, chosen, job, own, rails, seconds)
    if agreed(prepared.plan, chosen_form(output), dry_run=dry_run, yes=yes):
        measure(prepared, python, place, wishes, guarded)


def checked_networks(given: list[str]) -> tuple[str, ...]:
    """Return networks as Multus names them, or raise InputError."""
    for name in given:
        require(_NETWORK.fullmatch(name), f"--network {visible(name, 80)!r}", "NAMESPACE/NAME of a network")
    require(len(set(given)) == len(given), "--network with one named twice", "each rail once")
    return tuple(given)


def _rails(networks: tuple[str, ...], chosen: RailChoice) -> RailChoice:
    """Return the rails that were named, else those that Multus makes of the networks: net1, net2, in their order."""
    if chosen.named:
        return chosen
    require(networks, "no rail", "--network NS/NAME, --interface net1,net2 or --subnet 10.0.0.0/16, in rail order")
    return replace(chosen, interfaces=tuple(f"net{number}" for number in range(1, len(networks) + 1)))


def _job(
    chosen: ChosenNodes, place: ClusterPlace, wishes: OwnGangWishes, python: str, networks: tuple[str, ...]
) -> ProbeJob:
    from netkit.probe.free_nodes import accelerators_alike
    from netkit.probe.probe_job import ProbeJob

    free = chosen.choice.free
    tolerations = {tuple(row.items()): row for node in free for row in node.tolerations}
    alike = {} if wishes.resources else accelerators_alike(chosen.choice)
    return ProbeJob(
        id=secrets.token_hex(4),
        namespace=place.namespace or chosen.namespace,
        nodes=tuple(node.name for node in free),
        image=required_image(wishes),
        python=python,
        seconds=OWN_SECONDS,
        operator=operator(),
        resources=resources_named(wishes) or {name: str(count) for name, count in alike.items()},
        networks=",".join(networks),
        queue=wishes.queue or "",
        tolerations=tuple(tolerations.values()),
    )


def _prepared(
    selector: str, chosen: ChosenNodes, job: ProbeJob, wishes: OwnGangWishes, rails: RailChoice, seconds: float
) -> Prepared:
    from netkit.probe.free_nodes import targets_on
    from netkit.probe.probe_plan import attach_plan, own_gang_plan

    form = form_named(wishes.form or "indexed_job")
    require_fit(job, form)
    targets = targets_on(chosen.choice, job.namespace)
    subnets = tuple(map(str, rails.subnets))
    plan = attach_plan(f"nodes {selector}", (form.id,), targets, rails.interfaces, subnets, seconds)
    plan = replace(own_gang_plan(plan, made_of(job, form), gpus_of(job)), left_out=chosen.choice.left_out)
    return Prepared(plan=plan, rails=rails, own=(job, form), boots=chosen.boots)
