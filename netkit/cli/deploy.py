"""`netkit deploy`: what netkit needs in a cluster, as manifests to review and apply. Nothing here touches a cluster.

Packages above netkit add what they deploy through the `netkit.deploy` entry-point group.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.output import emit, talk
from netkit.errors import InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.report.kube_manifests import Subject

app = typer.Typer(
    name="deploy",
    help="Print manifests of what netkit needs in a cluster, to review and to apply.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# RFC 1123 label, as namespaces and service accounts are named.
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class RoleOf(StrEnum):
    """Whose role to print."""

    VIEWER = "viewer"
    PROBER = "prober"
    ATTACH = "attach"


@app.callback()
def _group() -> None:
    """A group, also while it has one command."""


@app.command("rbac", short_help="What may a person see and do who runs the gang and probe commands?")
def rbac(
    role_of: Annotated[
        RoleOf,
        typer.Option("--role", help="viewer: reads gangs; prober: --as job, in its namespace; attach: --as exec."),
    ] = RoleOf.VIEWER,
    namespaces: Annotated[
        list[str] | None,
        typer.Option(
            "-n", "--namespace", help="Grant in this namespace only; may be repeated.", metavar="NS", show_default=False
        ),
    ] = None,
    users: Annotated[
        list[str] | None,
        typer.Option("--user", help="Bind this user; may be repeated.", metavar="NAME", show_default=False),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", help="Bind this group; may be repeated.", metavar="NAME", show_default=False),
    ] = None,
    service_accounts: Annotated[
        list[str] | None,
        typer.Option(
            "--service-account", help="Bind this account; may be repeated.", metavar="NS/NAME", show_default=False
        ),
    ] = None,
    lock_namespace: Annotated[
        str, typer.Option("--lock-namespace", help="Where all probes of this cluster keep their locks.")
    ] = "netkit",
) -> None:
    """What may a person see and do who runs the gang and probe commands? A role with exactly what they ask for.

    The viewer's reads gangs, and no secrets. The other two come on top of it and hold in the namespaces named only: who
    has them can run code there. With them comes the namespace of the locks, where a probe asks for nothing else.

    Example: netkit deploy rbac -n training --user alice | kubectl apply -f -
    """
    from netkit.report.kube_manifests import documents

    subjects = _subjects(users or [], groups or [], service_accounts or [])
    scopes = [_label("--namespace", name) for name in namespaces or []]
    if role_of is RoleOf.VIEWER:
        emit(documents(*_manifests(dict.fromkeys(scopes), subjects)))
    else:
        locks = _label("--lock-namespace", lock_namespace)
        emit(documents(*_acting(role_of, dict.fromkeys(scopes), subjects), *_locking(locks, subjects)))
    if not subjects:
        talk("roles only: --user, --group or --service-account add their bindings")


def _manifests(namespaces: dict[str, None], subjects: list[Subject]) -> list[str]:
    """Return one role for the cluster; given namespaces, a role in each and one for what has no namespace."""
    from netkit.catalogue.kube_roles import VIEWER, viewer_rules
    from netkit.report.kube_manifests import binding, role

    inside, outside = viewer_rules(namespaced=True), viewer_rules(namespaced=False)
    made = [role(VIEWER, outside if namespaces else [*inside, *outside])]
    made += [role(VIEWER, inside, name) for name in namespaces]
    if subjects:
        made += [binding(VIEWER, subjects, name) for name in ("", *namespaces)]
    return made


def _acting(role_of: RoleOf, namespaces: dict[str, None], subjects: list[Subject]) -> list[str]:
    """Return a role in each namespace, and its bindings; such a role is never the whole cluster's."""
    from netkit.catalogue.kube_roles import ATTACH, PROBER, attach_rules, prober_rules
    from netkit.report.kube_manifests import binding, role

    if not namespaces:
        raise InputError(f"--role {role_of} without a namespace", "-n NAMESPACE, where it may act")
    name, rules = (PROBER, prober_rules()) if role_of is RoleOf.PROBER else (ATTACH, attach_rules())
    made = [role(name, rules, namespace) for namespace in namespaces]
    return made + [binding(name, subjects, namespace) for namespace in namespaces if subjects]


def _locking(namespace: str, subjects: list[Subject]) -> list[str]:
    """Return the namespace of the locks, and what every probe may do there."""
    from netkit.catalogue.kube_roles import LOCKS, lock_rules
    from netkit.report import kube_manifests

    made = [kube_manifests.namespace(namespace), kube_manifests.role(LOCKS, lock_rules(), namespace)]
    return made + ([kube_manifests.binding(LOCKS, subjects, namespace)] if subjects else [])


def _subjects(users: list[str], groups: list[str], service_accounts: list[str]) -> list[Subject]:
    from netkit.report.kube_manifests import Subject, SubjectKind

    return [
        *(Subject(kind=SubjectKind.USER, name=_name("--user", name)) for name in users),
        *(Subject(kind=SubjectKind.GROUP, name=_name("--group", name)) for name in groups),
        *map(_service_account, service_accounts),
    ]


def _service_account(given: str) -> Subject:
    from netkit.report.kube_manifests import Subject, SubjectKind

    namespace, slash, name = given.partition("/")
    if not slash:
        raise InputError(f"--service-account {visible(given)}", "NAMESPACE/NAME")
    return Subject(
        kind=SubjectKind.SERVICE_ACCOUNT,
        name=_label("--service-account", name),
        namespace=_label("--service-account", namespace),
    )


def _label(option: str, given: str) -> str:
    if not _LABEL.fullmatch(given):
        raise InputError(
            f"{option} {visible(given) or repr(given)}",
            "lower-case letters, digits and '-', at most 63, as in training",
        )
    return given


def _name(option: str, given: str) -> str:
    if not given or not given.isprintable():
        raise InputError(f"{option} {visible(given) or repr(given)}", "a name in printable characters")
    return given
