"""`netkit probe schedule`: a probe by the clock, as manifests to review and apply. Nothing here touches a cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkit.cli.output import emit, talk
from netkit.cli.probe_guard import lock_namespace_checked
from netkit.cli.probe_own_gang import OwnGangWishes, required_image
from netkit.cli.probing import require
from netkit.errors import InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.report.probe_schedule import Schedule

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,39}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][\w./:@-]{0,300}")
_FIELD = r"[0-9A-Za-z*,/?-]{1,64}"
_CRON = re.compile(rf"{_FIELD}(?: {_FIELD}){{4}}|@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)")
_PROBES = ("gang", "nodes")
# Said by the schedule itself, or without a meaning inside a cluster.
_NOT_HERE = ("dry_run", "yes", "kubeconfig", "context", "output", "lock_namespace", "report", "textfile")


def schedule(
    words: Annotated[
        list[str],
        typer.Argument(help="A probe and its options, after --: nodes pool=h100 --image ….", metavar="-- PROBE"),
    ],
    cron: Annotated[str, typer.Option("--cron", help="When, in five fields or as @daily.", metavar="WHEN")],
    netkit_image: Annotated[str, typer.Option("--netkit-image", help="An image that has netkit.", metavar="IMAGE")],
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Where the CronJob is.", metavar="NS")],
    name: Annotated[str, typer.Option("--name", help="Name of the CronJob and of its account.")] = "netkit-burn-in",
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            help="A limit of the cluster for all probes, such as gpu-minutes=500; may be repeated.",
            metavar="KEY=NUMBER",
            show_default=False,
        ),
    ] = None,
    lock_namespace: Annotated[
        str, typer.Option("--lock-namespace", help="Where the locks and the limits of this cluster are; one for all.")
    ] = "netkit",
) -> None:
    """What would run this probe by the clock? A CronJob, its account and role, and the budget, to review and apply.

    The probe asks for the locks and keeps the budget as every other one does. A Job that failed has found something
    (status 1) or could not measure (status 3): its log is the report.

    Example: netkit probe schedule --cron @daily --netkit-image me/netkit:1 -n x -- nodes pool=h100 --image python:3
    """
    from netkit.report.probe_schedule import render

    require(_CRON.fullmatch(cron), f"--cron {visible(cron, 80)!r}", "five fields such as '0 3 * * 6', or @daily")
    require(_NAME.fullmatch(name), f"--name {visible(name, 80)!r}", "small letters, digits and dashes, at most 41")
    require(_LABEL.fullmatch(namespace), f"--namespace {visible(namespace, 80)!r}", "the name of a namespace")
    require(_IMAGE.fullmatch(netkit_image), f"--netkit-image {visible(netkit_image, 200)!r}", "the name of an image")
    asked = _checked_words(words)
    emit(
        render(
            _scheduled(
                asked,
                words,
                cron=cron,
                image=netkit_image,
                namespace=namespace,
                name=name,
                budget=_budget(budget or []),
                lock_namespace=lock_namespace_checked(lock_namespace),
            )
        )
    )
    talk("nothing was applied: review it, try the probe with --dry-run, then kubectl apply -f -")


def _scheduled(asked: dict[str, Any], words: list[str], **known: Any) -> Schedule:
    from netkit.cli.probe_gang import As
    from netkit.report.probe_schedule import Schedule

    within, locks = asked["namespace"] or known["namespace"], known["lock_namespace"]
    said = ("probe", *words, "--yes", "--output", "json", "--lock-namespace", locks)
    return Schedule(
        words=said if asked["namespace"] else (*said, "--namespace", within),
        acts_in=asked.get("probe_namespace") or within,
        enters_pods=asked.get("how") == As.EXEC,
        looks_in=within if words[0] == "gang" else "",
        **known,
    )


def _checked_words(words: list[str]) -> dict[str, Any]:
    """Return the options of a probe as its own command reads them, without running it."""
    from netkit.cli.probe import app
    from netkit.cli.probe_gang import As

    given = f"a schedule of {visible(words[0], 40)!r}"
    require(words[0] in _PROBES, given, "gang or nodes with their options, after --")
    command = getattr(typer.main.get_command(app), "commands")[words[0]]  # noqa: B009 - a group by construction
    context = command.make_context(f"netkit probe {words[0]}", list(words[1:]))
    asked: dict[str, Any] = context.params
    for option in _NOT_HERE:
        if context.get_parameter_source(option).name == "COMMANDLINE":
            given = f"--{option.replace('_', '-')} of a probe in a schedule"
            raise InputError(given, "the probe's other options: the schedule says this, or it has no meaning there")
    if asked.get("how") != As.EXEC:
        required_image(OwnGangWishes(image=asked["image"]), "a probe in a schedule")
    return asked


def _budget(given: list[str]) -> dict[str, str]:
    """Return limits as the ConfigMap holds them; InputError for one that is none."""
    from netkit.model.kube_object import KubeObject
    from netkit.probe.safety.policy import STOP, policy_of

    for text in given:
        limit = "=" in text and not text.startswith(f"{STOP}=")
        require(limit, f"--budget {visible(text, 80)!r}", "KEY=NUMBER such as gpu-minutes=500")
    pairs = (text.partition("=") for text in given)
    limits = {key: number for key, _, number in pairs}
    policy_of(KubeObject("configmaps", {"data": limits}))
    return limits
