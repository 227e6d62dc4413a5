"""Pages to read: complete, escaped, and the same bytes every time."""

from __future__ import annotations

import io
import re
import tarfile
from html.parser import HTMLParser

import pytest

from netkit.catalogue.alerts import alerts
from netkit_playbooks.bundle import archive, site
from netkit_playbooks.markdown import to_html
from netkit_playbooks.shelf import ids, playbook, playbooks

VOID = {"meta", "br", "hr", "link", "img"}


class Balance(HTMLParser):
    """Counts tags that are left open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A & B", '<h1 id="a-b">A &amp; B</h1>'),
        ("one\ntwo", "<p>one two</p>"),
        ("1. one\n2. two\n   more", "<ol><li>one</li><li>two more</li></ol>"),
        ("- one", "<ul><li>one</li></ul>"),
        ("`a < b` and *c*", "<p><code>a &lt; b</code> and <em>c</em></p>"),
        ("<script>", "<p>&lt;script&gt;</p>"),
        ("```\na < b\n```", "<pre><code>a &lt; b</code></pre>"),
        (
            "| a | b |\n|---|---|\n| 1 | `x` |",
            (
                "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
                "<tbody><tr><td>1</td><td><code>x</code></td></tr></tbody></table>"
            ),
        ),
    ],
)
def test_markdown_becomes_html(text: str, expected: str) -> None:
    """The part of it that playbooks are written in."""
    assert to_html(text) == expected


@pytest.mark.parametrize("id_", ids())
def test_a_page_has_its_text_causes_and_steps(id_: str) -> None:
    """In HTML whose tags are closed, without a script and without anything from the network."""
    text = site([playbook(id_)])[f"{id_}/index.html"]
    reader = Balance()
    reader.feed(text)
    assert reader.open == []
    assert "<script" not in text
    assert not re.search(r'(?:src|href)="https?:', text)
    for cause in playbook(id_).causes:
        assert f"<code>{cause.id}</code>" in text
    assert text.count("<h2") >= len(("Meaning", "Impact", "First", "Diagnosis", "Mitigation", "Verify", "Escalate"))


def test_where_an_alerts_runbook_leads_there_is_a_page() -> None:
    """`runbook_url` is the base of the pages and the playbook's id."""
    files = site(playbooks().values())
    assert {f"{alert.playbook}/index.html" for alert in alerts()} <= files.keys()
    index = Balance()
    index.feed(files["index.html"])
    assert {f"{link}index.html" for link in index.links} <= files.keys()


def test_the_archive_is_the_same_every_time() -> None:
    """No time and no owner in it; it holds what the folder holds."""
    files = site([playbook("watchdog")])
    packed = archive(files)
    assert packed == archive(dict(sorted(files.items(), reverse=True)))
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        assert {member.name for member in tar} == {f"playbooks/{name}" for name in files}


@pytest.mark.parametrize("id_", ids())
def test_a_page_names_only_causes_and_playbooks_that_exist(id_: str) -> None:
    """A decision table that leads to a cause nobody weighs would mislead."""
    found = playbook(id_)
    known = {cause.id for cause in found.causes} | {step.id for step in found.steps} | {*ids(), *found.wanted}
    tables = [line for line in found.text.splitlines() if line.startswith("| ")]
    named = {word for line in tables for word in re.findall(r"`([a-z][a-z0-9-]*)`", line)}
    assert named <= known
    listed = found.text.split("## Diagnosis")[1].split("## Mitigation")[0]
    assert {cause.id for cause in found.causes} <= set(re.findall(r"`([a-z][a-z0-9-]*)`", listed))
