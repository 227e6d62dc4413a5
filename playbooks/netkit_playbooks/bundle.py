"""All playbooks as pages that need no network: a folder of HTML, or the same as one tar file.

A page lies at `<id>/index.html`, so that `runbook_url` of an alert, which is the base of the pages and the id, leads to
it wherever the folder is served.
"""

from __future__ import annotations

import gzip
import html
import io
import tarfile
from collections.abc import Iterable, Mapping

from netkit import __version__
from netkit_playbooks.markdown import to_html
from netkit_playbooks.page import page
from netkit_playbooks.playbook import Playbook
from netkit_playbooks.self_test import tried

_STYLE = """\
:root{color-scheme:light dark}
body{max-width:76rem;margin:0 auto;padding:1.5rem;font:16px/1.55 system-ui,sans-serif}
table{border-collapse:collapse;display:block;overflow-x:auto}
th,td{border:1px solid #8884;padding:.35rem .6rem;text-align:left;vertical-align:top}
code,pre{font-family:ui-monospace,monospace;font-size:.92em;overflow-wrap:anywhere}
pre{padding:.8rem;border:1px solid #8884;overflow-x:auto}
footer{margin-top:3rem;font-size:.85em}"""


def site(playbooks: Iterable[Playbook]) -> Mapping[str, str]:
    """Return every file of the folder, by path."""
    listed = tuple(playbooks)
    pages = {f"{one.id}/index.html": _document(one.title, to_html(page(one)), _footer(one)) for one in listed}
    sources = {f"{one.id}/{one.id}.md": page(one) for one in listed}
    return {"index.html": _document("Playbooks", _index(listed), ""), **pages, **sources}


def archive(files: Mapping[str, str]) -> bytes:
    """Return the files as a gzipped tar; the same files give the same bytes."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name, text in sorted(files.items()):
            data = text.encode()
            member = tarfile.TarInfo(f"playbooks/{name}")
            member.size, member.mode = len(data), 0o644
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(written.getvalue(), mtime=0)


def _document(title: str, body: str, footer: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><main>\n{body}\n</main>{footer}</body></html>\n"
    )


def _index(playbooks: Iterable[Playbook]) -> str:
    rows = "".join(
        f'<tr><td><a href="{one.id}/">{one.id}</a></td><td>{html.escape(one.title)}</td>'
        f"<td>{html.escape(', '.join(one.alerts))}</td></tr>"
        for one in playbooks
    )
    return f"<h1>Playbooks</h1><table><tr><th>playbook</th><th>about</th><th>alerts</th></tr>{rows}</table>"


def _footer(playbook: Playbook) -> str:
    """Say what was tried with this version: a page nobody has tested is to be read with more care."""
    found = list(tried([playbook]))
    passed = sum(one.passed for one in found)
    said = f"netkit {__version__}: {passed} of {len(found)} cases of this playbook name their cause."
    return f'<footer><a href="../">All playbooks</a>. {html.escape(said)}</footer>'
