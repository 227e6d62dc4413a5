"""Commands that other packages add."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from netkit.cli.app import mount_plugins


@pytest.mark.parametrize("group", ["netkit.commands", "netkit.deploy"])
def test_a_package_that_cannot_be_imported_costs_only_its_own_commands(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names it, and everything else goes on."""
    mount_plugins((EntryPoint(name="broken", value="netkit_of_nobody.commands:app", group=group),))
    printed = capsys.readouterr()
    assert printed.err == "netkit: broken is left out: No module named 'netkit_of_nobody'\n"
    assert printed.out == ""
