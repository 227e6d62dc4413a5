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
from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit
from netkit.cli.probing import require
from netkit.cli.snapshot import ProcfsOption, SysfsOption, node_of
from netkit.cli.topo import show
from netkit.errors import ExitStatus
from netkit.model.advice import ANY_CONTAINER, Target
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.model.advice import AdviceReport

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
    form: FormatOption = AdviceForm.TABLE,
    output: OutputOption = None,
) -> None:
    """Which settings of this job, host or pod should change, why, at which risk, and how to get back?

    Advises about what was seen and is not right; what could not be seen is listed, never guessed. Where vendors publish
    other values for the same setting, all of them are shown. Changes nothing.

    Ends with 1 when something should change, with 3 when nothing could be looked at.

    Example: netkit tune advise --snapshot node.jsonl --env job.env --format shell
    """
    from dataclasses import replace

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
    members = tuple(members_of(snapshot, None, sysfs, procfs, wishes))
    judged = judge(checks(), members, {})
    report = advise_on(families(), members, judged.results)
    if target:
        report = replace(report, advice=tuple(one for one in report.advice if one.target in target))
    _emit(report, form, shown, container)
    if report.advice:
        raise typer.Exit(int(ExitStatus.FINDINGS))
    looked = judged.counts["ok"] + judged.counts["finding"]
    raise typer.Exit(int(ExitStatus.OK if looked else ExitStatus.NOT_MEASURED))


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
