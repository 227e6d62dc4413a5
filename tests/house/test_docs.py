"""The documentation is true: generated pages are fresh, links lead somewhere, every command is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate import PAGES

HOME = Path(__file__).parents[2]
PAGES_WITH_LINKS = [HOME / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (HOME / "docs").rglob("*.md")
)


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_fresh(name: str) -> None:
    """`make docs` would change nothing."""
    assert PAGES[name]() == (HOME / "docs" / name).read_text()


@pytest.mark.parametrize("page", PAGES_WITH_LINKS, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """No relative link is dead."""
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_commands_in_the_readme_exist() -> None:
    """Every `netkit …` line of the README names a command and options that it has."""
    reference = (HOME / "docs" / "cli.md").read_text()
    lines = re.findall(r"^ {4}(?:.*\| )?(?:\$ )?netkit (.*)$", (HOME / "README.md").read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        for option in re.findall(r"(--[a-z-]+)", line):
            assert option in reference, line
