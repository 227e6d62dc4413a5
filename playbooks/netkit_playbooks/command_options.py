"""What the commands of `netkit playbook` share: options, forms of a result, and netkit's own commands inside them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkit.errors import InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.report.blocks import Block
    from netkit_playbooks.running import Netkit

# typer exports only leaves of its exception tree.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


class Form(StrEnum):
    """Forms of a result."""

    PLAIN = "plain"
    JSON = "json"
    JSONL = "jsonl"


IdArgument = Annotated[str, typer.Argument(help="A playbook, such as pfc-storm.", metavar="ID")]
OutputOption = Annotated[Form, typer.Option("--output", help="Form of the result.")]
PrometheusOption = Annotated[
    str, typer.Option("--prometheus", help="Address of the Prometheus that scrapes the node.", metavar="URL")
]
NodeOption = Annotated[str, typer.Option("--node", help="The node, as its series name it.", metavar="NAME")]
ClusterOption = Annotated[str, typer.Option("--cluster", help="Its cluster, where series name one.", metavar="NAME")]
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", help="A recording of the node (netkit snapshot).", metavar="FILE")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="What else is known: device=mlx5_0, netdev=eth2, gpu=gpu3; repeatable.", metavar="K=V"),
]


def named_values(option: str, given: list[str], accepted: Collection[str]) -> dict[str, str]:
    """Return what NAME=VALUE options say; InputError for one without `=`, and for a name nothing would use."""
    named = dict(one.partition("=")[::2] for one in given)
    for one in given:
        name, equals, _ = one.partition("=")
        if not equals or name not in accepted:
            nearest = difflib.get_close_matches(name, accepted, n=1)
            raise InputError(f"{option} {visible(one)}", f"NAME=VALUE of {', '.join(accepted)}", *nearest)
    return named


def netkit_of(context: typer.Context) -> Netkit:
    """Return what runs other commands of netkit inside this one."""
    from netkit_playbooks.inside import netkit_in

    return netkit_in(context.find_root().command, _USAGE_ERROR)


def show_blocks(shown: tuple[Block, ...]) -> None:
    """Print blocks as plain text."""
    from netkit.report.plain_text import plain_text

    print(plain_text(shown), end="")


def dump(document: dict[str, Any], output: Form) -> None:
    """Print a document as JSON."""
    print(json.dumps(document, ensure_ascii=True, allow_nan=False, indent=None if output is Form.JSONL else 1))
