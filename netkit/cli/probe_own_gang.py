"""Options of a probe that creates a gang of its own, and the gang they ask for."""

from __future__ import annotations

import getpass
import json
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkit.cli.probing import require
from netkit.errors import InputError
from netkit.model.kube_object import text_of
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.gangs.view import GangView
    from netkit.model.kube_object import KubeObject
    from netkit.probe.gang_targets import Target
    from netkit.probe.probe_job import JobForm, ProbeJob

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][\w./:@-]{0,300}")
_RESOURCE = re.compile(r"((?:[a-z0-9.-]+/)?[A-Za-z0-9][\w.-]{0,62})=([1-9][0-9]{0,4})")
_QUEUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
OWN_SECONDS = 600
"""How long the pods of a gang of netkit's own live at most."""

ImageOption = Annotated[
    str | None, typer.Option("--image", help="Image of the probe's own pods; it needs Python.", show_default=False)
]
ProbeNamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--probe-namespace", help="Where the probe's own gang is created; default: the gang's.", show_default=False
    ),
]
ResourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--resource",
        help="What each pod asks for instead of what the gang's pods ask for: rdma/hca=1; may be repeated.",
        metavar="NAME=COUNT",
        show_default=False,
    ),
]
FormOption = Annotated[
    str | None,
    typer.Option(
        "--form", help="Create it as for this scheduler; default: the gang's.", metavar="FORM", show_default=False
    ),
]
QueueOption = Annotated[
    str | None, typer.Option("--queue", help="Queue of the probe's own gang; default: the gang's.", show_default=False)
]
WithoutGpusOption = Annotated[
    bool, typer.Option("--without-gpus", help="Ask for no GPUs: fits beside a gang that runs, and disturbs it.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnGangWishes:
    """What the options ask for; checked when made."""

    image: str | None = None
    namespace: str | None = None
    resources: tuple[str, ...] = ()
    without_gpus: bool = False
    form: str | None = None
    queue: str | None = None

    def __post_init__(self) -> None:
        given, image = visible(self.namespace or "", 80), visible(self.image or "", 200)
        require(self.namespace is None or _LABEL.fullmatch(self.namespace), f"--probe-namespace {given!r}", "a name")
        require(self.image is None or _IMAGE.fullmatch(self.image), f"--image {image!r}", "the name of an image")
        require(
            self.queue is None or _QUEUE.fullmatch(self.queue), f"--queue {visible(self.queue or '', 80)!r}", "a name"
        )
        for text in self.resources:
            require(_RESOURCE.fullmatch(text), f"--resource {visible(text, 80)!r}", "NAME=COUNT such as rdma/hca=1")

    @property
    def any(self) -> bool:
        """Whether any of the options was given."""
        return self != OwnGangWishes()


def own_gang(
    view: GangView, targets: tuple[Target, ...], wishes: OwnGangWishes, python: str
) -> tuple[ProbeJob, JobForm]:
    """Return the gang to create beside this one, in the form its scheduler understands.

    Raises:
        InputError: no image was named, two pods share a node, or its scheduler has no form here.
    """
    from netkit.probe.probe_job import ProbeJob

    nodes = tuple(target.pod.node for target in targets)
    require(len(set(nodes)) == len(nodes), f"gang {view.gang.key} with two pods on one node", "--as exec")
    form = _form(view, wishes)
    pod = view.pods[targets[0].pod.uid]
    job = ProbeJob(
        id=secrets.token_hex(4),
        namespace=wishes.namespace or view.gang.namespace,
        nodes=nodes,
        image=required_image(wishes),
        python=python,
        seconds=OWN_SECONDS,
        operator=operator(),
        resources=_resources(pod, wishes),
        networks=_networks(pod),
        scheduler=pod.text("spec", "schedulerName"),
        queue=wishes.queue or pod.label(*form.queue_keys) or pod.annotation(*form.queue_keys),
        tolerations=pod.rows("spec", "tolerations"),
        claim_templates=_claim_templates(pod, wishes),
    )
    require_fit(job, form)
    return job, form


def required_image(wishes: OwnGangWishes, what: str = "--as job") -> str:
    """Return the image of the probe's own pods; InputError when none was named."""
    if wishes.image is None:
        raise InputError(f"{what} without --image", "an image that has Python, such as --image python:3.12-slim")
    return wishes.image


def operator() -> str:
    """Return who starts a probe, as others may read it."""
    return visible(f"{getpass.getuser()}@{socket.gethostname()}", 200)


def require_fit(job: ProbeJob, form: JobForm) -> None:
    """Raise InputError unless this form can hold this job."""
    from netkit.probe.probe_job import MOST_ONE_BY_ONE

    require(job.queue or not form.needs_queue, f"form {form.id} without a queue", "--queue NAME")
    pods = len(job.nodes)
    require(pods <= MOST_ONE_BY_ONE, f"a probe with {pods} pods", f"at most {MOST_ONE_BY_ONE}: name fewer nodes")


def form_named(name: str) -> JobForm:
    """Return the form of this name; InputError for one that does not exist."""
    from netkit.probe.probe_job import forms

    known = forms()
    if name not in known:
        near = get_close_matches(name, list(known), n=1)
        raise InputError(f"--form {visible(name, 80)!r}", ", ".join(sorted(known)), next(iter(near), None))
    return known[name]


def _form(view: GangView, wishes: OwnGangWishes) -> JobForm:
    from netkit.gangs.systems import systems
    from netkit.probe.probe_job import form_for

    if wishes.form is not None:
        return form_named(wishes.form)
    return form_for([system for system in systems() if system.id in view.gang.systems], view.gang.key)


def _claim_templates(pod: KubeObject, wishes: OwnGangWishes) -> Mapping[str, str]:
    """Return the templates of the gang's claims: a claim by name belongs to the gang, and is not to be shared."""
    if wishes.without_gpus or wishes.resources:
        return {}
    claims = pod.rows("spec", "resourceClaims")
    rows = ((text_of(row.get("name")), text_of(row.get("resourceClaimTemplateName"))) for row in claims)
    return {name: template for name, template in rows if template}


def _resources(pod: KubeObject, wishes: OwnGangWishes) -> Mapping[str, str]:
    from netkit.gangs.requests import requests
    from netkit.model.gang import DeviceKind

    asked = resources_named(wishes) or {name: str(count) for name, _, count in requests(pod)}
    if not wishes.without_gpus:
        return asked
    kinds = {name: kind for name, kind, _ in requests(pod)}
    return {name: count for name, count in asked.items() if kinds.get(name) in (None, DeviceKind.NIC)}


def resources_named(wishes: OwnGangWishes) -> dict[str, str]:
    """Return the resources that options name; empty without."""
    return {name: count for name, _, count in (text.rpartition("=") for text in wishes.resources)}


def made_of(job: ProbeJob, form: JobForm) -> str:
    """Say what a probe creates, in a phrase."""
    from netkit.probe.probe_job import NAME

    return f"{form.place.resource} {NAME} in namespace {job.namespace} with {len(job.nodes)} pods"


def _networks(pod: KubeObject) -> str:
    """Return the gang's networks, named with their namespace: the probe may live in another one."""
    from netkit.probe.probe_job import NETWORKS

    text = pod.annotation(NETWORKS)
    if not text.lstrip().startswith("["):
        names = [name.strip() for name in text.split(",") if name.strip()]
        return ",".join(name if "/" in name else f"{pod.namespace}/{name}" for name in names)
    try:
        rows: Any = json.loads(text)
    except ValueError:
        return ""
    return json.dumps([{"namespace": pod.namespace, **row} for row in rows if isinstance(row, dict)])


def gpus_of(job: ProbeJob) -> int:
    """Return how many accelerators each pod of a probe asks for."""
    from netkit.gangs.requests import kind_of_resource
    from netkit.model.gang import DeviceKind

    kinds = (DeviceKind.GPU, DeviceKind.NPU)
    return sum(int(count) for name, count in job.resources.items() if kind_of_resource(name) in kinds)
