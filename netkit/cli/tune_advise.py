"""`netkit tune advise`: settings worth changing on these nodes, each with its reason and the way back."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.check import (
    ConfOption,
    EnvOption,
    LldpOption,
    ProfileOption,
    SinceOption,
    SnapshotsOption,
    SwitchOption,
    SwitchPortOption,
    VersionOption,
    environment,
    members_of,
    switches,
)
from netkit.cli.cluster import (
    AllOption,
    BundleOption,
    ClusterPlace,
    ContextOption,
    DeadlineOption,
    KubeconfigOption,
    NamespaceOption,
    SelectorOption,
)
from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit
from netkit.cli.probing import require
from netkit.cli.snapshot import ProcfsOption, SysfsOption, node_of
from netkit.cli.topo import show
from netkit.errors import ExitStatus
from netkit.model.advice import ANY_CONTAINER, Target
from netkit.model.check import Outcome
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.model.advice import AdviceReport
    from netkit.model.check import Result

_FORMS = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.JSONL)


class AdviceForm(StrEnum):
    """The forms advice can take."""

    TABLE = "table"
    ENV = "env"
    NCCL_CONF = "nccl.conf"
    CONFIG_MAP = "configmap"
    POD_PATCH = "podpatch"
    SHELL = "shell"
    JSON = "json"
    DIFF = "diff"


FormatOption = Annotated[
    AdviceForm,
    typer.Option("--format", help="Form of the advice. shell is a script that only shows until it is told to apply."),
]
TargetOption = Annotated[
    list[Target] | None, typer.Option("--target", help="Advise about this only; repeatable.", show_default=False)
]
ContainerOption = Annotated[
    str, typer.Option("--container", help="The container of the pods that runs the job, for podpatch.")
]
GangOption = Annotated[
    str | None,
    typer.Option("--gang", help="Advise about the pods of this gang too: its name, workload or a pod.", metavar="NAME"),
]


def advise(
    snapshot: SnapshotsOption = None,
    env: EnvOption = None,
    nccl_conf: ConfOption = None,
    nccl: VersionOption = None,
    profile: ProfileOption = None,
    since: SinceOption = None,
    switch: SwitchOption = None,
    switch_port: SwitchPortOption = None,
    lldp: LldpOption = None,
    target: TargetOption = None,
    container: ContainerOption = ANY_CONTAINER,
    sysfs: SysfsOption = None,
    procfs: ProcfsOption = None,
    gang: GangOption = None,
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    selector: SelectorOption = None,
    bundle: BundleOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
    form: FormatOption = AdviceForm.TABLE,
    output: OutputOption = None,
) -> None:
    """Which settings of this job, host or pod should change, why, at which risk, and how to get back?

    Advises about what was seen and is not right; what could not be seen is listed, never guessed. Where vendors publish
    other values for the same setting, all of them are shown. Changes nothing.

    Ends with 1 when something should change, with 3 when nothing could be looked at.

    With --gang the pods' template is advised about; from afar no node is read unless --snapshot names recordings.

    Example: netkit tune advise --snapshot node.jsonl --env job.env --format shell
    """
    from netkit.catalogue.platforms import platform
    from netkit.checks import checks
    from netkit.doctor.context import Wishes
    from netkit.doctor.judge import judge
    from netkit.tuning.advice import families
    from netkit.tuning.advising import advise as advise_on

    shown = chosen_form(output)
    require(shown in _FORMS, f"--output {shown}", ", ".join(_FORMS))
    wishes = Wishes(
        platform=platform(profile) if profile is not None else None,
        environment=environment(env, nccl_conf or [], nccl, live=not snapshot),
        earlier=node_of(since, None, None) if since is not None else None,
        switches=switches(switch, switch_port, lldp),
    )
    place = ClusterPlace(
        namespace=namespace,
        everywhere=everywhere,
        selector=selector,
        bundle=bundle,
        kubeconfig=kubeconfig,
        context=context,
        deadline_s=deadline,
    )
    pods, results = _about_pods(gang, place) if gang is not None else (None, ())
    # Whoever asks about a gang from afar does not ask about the machine the question was typed on.
    members = tuple(members_of(snapshot, None, sysfs, procfs, wishes)) if snapshot or pods is None else ()
    judged = judge(checks(), members, {}).results if members else ()
    report = _joined(advise_on(families(), members, judged), pods, target or list(Target))
    _emit(report, form, shown, container)
    if report.advice:
        raise typer.Exit(int(ExitStatus.FINDINGS))
    leaned_on = {rule for family in families() for one in family.recommendations for rule in one.rules}
    asked = (*results, *(one for one in judged if one.rule in leaned_on))
    looked = any(one.outcome in (Outcome.OK, Outcome.FINDING) for one in asked)
    raise typer.Exit(int(ExitStatus.OK if looked else ExitStatus.NOT_MEASURED))


def _about_pods(name: str, place: ClusterPlace) -> tuple[AdviceReport, tuple[Result, ...]]:
    """Return the advice about the pods of a gang, and what rules about gangs say of them."""
    from netkit.catalogue.kube_resources import Use
    from netkit.cli.gang_choice import gang_at
    from netkit.gangs.rules import families
    from netkit.gangs.view import view_of
    from netkit.tuning.pods import advise_pods

    gang, cluster = gang_at(name, place, Use.GANGS, Use.HOSTFILES, Use.DEVICES, Use.FABRIC, Use.POLICY)
    view = view_of(gang, cluster)
    results = tuple(result for family in families() for result in family.check(view))
    return advise_pods(gang.key, results), results


def _joined(nodes: AdviceReport, pods: AdviceReport | None, wanted: list[Target]) -> AdviceReport:
    from netkit.model.advice import AdviceReport

    both = [nodes] if pods is None else [nodes, pods]
    return AdviceReport(
        nodes=tuple(name for one in both for name in one.nodes),
        advice=tuple(row for one in both for row in one.advice if row.target in wanted),
        unseen=tuple(row for one in both for row in one.unseen),
    )


def _emit(report: AdviceReport, form: AdviceForm, shown: OutputForm, container: str) -> None:
    from netkit.report import advice_forms, advice_json, advice_shell, advice_table

    if form is AdviceForm.JSON or shown in (OutputForm.JSON, OutputForm.JSONL):
        emit(advice_json.render(report, one_line=shown is OutputForm.JSONL))
    elif form is AdviceForm.TABLE:
        show(tuple(advice_table.blocks(report)), shown)
    elif form is AdviceForm.SHELL:
        require(len(report.nodes) == 1, f"--format shell of {len(report.nodes)} nodes", "one node: one --snapshot")
        emit(advice_shell.script(report))
    elif form is AdviceForm.CONFIG_MAP:
        emit(advice_forms.config_map(report, "netkit-tune"))
    elif form is AdviceForm.POD_PATCH:
        emit(advice_forms.pod_patch(report, visible(container)))
    else:
        texts = {
            AdviceForm.ENV: advice_forms.env,
            AdviceForm.NCCL_CONF: advice_forms.nccl_conf,
            AdviceForm.DIFF: advice_forms.difference,
        }
        emit(texts[form](report))
