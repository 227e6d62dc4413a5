"""`netkit playbook list|show|test|bundle`: the pages themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netkit.errors import ExitStatus
from netkit_playbooks.command_options import Form, IdArgument, OutputOption, dump


def list_(output: OutputOption = Form.PLAIN) -> None:
    """Which playbooks are there, and for which alerts?

    Example: netkit playbook list
    """
    from netkit_playbooks.shelf import playbooks

    rows = [
        {"id": one.id, "title": one.title, "severity": one.severity, "alerts": list(one.alerts)}
        for one in playbooks().values()
    ]
    if output is Form.PLAIN:
        width = max(len(one.id) for one in playbooks().values())
        for one in playbooks().values():
            print(f"{one.id:{width}}  {one.title} [{', '.join(one.alerts)}]")
        return
    dump({"schema": "netkit.playbooks/1", "playbooks": rows}, output)


def show(id_: IdArgument, output: OutputOption = Form.PLAIN) -> None:
    """What does this playbook say?

    Example: netkit playbook show pfc-storm
    """
    from netkit_playbooks.page import page
    from netkit_playbooks.shelf import playbook

    found = playbook(id_)
    if output is Form.PLAIN:
        print(page(found), end="")
        return
    dump({"schema": "netkit.playbook-page/1", "id": found.id, "title": found.title, "page": page(found)}, output)


def self_tested(
    names: Annotated[list[str] | None, typer.Argument(help="Playbooks; none: all of them.", metavar="[ID]...")] = None,
    output: OutputOption = Form.PLAIN,
) -> None:
    """Do the playbooks name what they say they name? Tries the cases that each carries; ends with 1 when one fails.

    Example: netkit playbook test pfc-storm
    """
    from netkit_playbooks import self_test
    from netkit_playbooks.shelf import ids, playbook

    found = tuple(self_test.tried(playbook(id_) for id_ in names or ids()))
    if output is Form.PLAIN:
        for one in found:
            print(f"{'ok' if one.passed else 'FAILED':6}  {one.playbook}: {one.case.name}: {one.named or 'none'}")
    else:
        dump(self_test.document(found), output)
    raise typer.Exit(int(ExitStatus.OK if all(one.passed for one in found) else ExitStatus.FINDINGS))


def bundle(
    place: Annotated[
        Path,
        typer.Option("-o", "--output-path", help="A folder, made when missing, or a file NAME.tar.gz.", metavar="PATH"),
    ],
) -> None:
    """All playbooks as HTML that needs no network: serve the folder where the alerts' runbook_url leads.

    Example: netkit playbook bundle -o playbooks.tar.gz
    """
    from netkit_playbooks.bundle import archive, site
    from netkit_playbooks.shelf import playbooks
    from netkit_playbooks.writing import write_all

    files = site(playbooks().values())
    packed = place.name.endswith((".tar.gz", ".tgz"))
    write_all(place.parent if packed else place, {place.name: archive(files)} if packed else files)
    print(f"{place}: {len(playbooks())} playbooks")
