"""The page at `/`: where the metrics are and how the collectors fare, readable without a script or a style sheet."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from netkit import __version__
from netkit_exporters.web.response import Response

if TYPE_CHECKING:
    from netkit_exporters.refresher import Refresher

_POLICY = (("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),)


def index_page(refresher: Refresher) -> Response:
    """Return the page as it is now."""
    now = refresher.clock()
    rows = "".join(
        _row(one.watch.collector.id, one.watch.collector.question, one.watch.state(now, one.stale_after))
        for one in refresher.schedules
    )
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>netkit exporter</title></head>\n<body>\n'
        f"<h1>netkit exporter {escape(__version__)}</h1>\n"
        '<p><a href="/metrics">metrics</a> · <a href="/healthz">health</a> · <a href="/readyz">readiness</a></p>\n'
        '<table border="1">\n<caption>Collectors</caption>\n'
        '<tr><th scope="col">collector</th><th scope="col">state</th><th scope="col">what it answers</th></tr>\n'
        f"{rows}</table>\n</body>\n</html>\n"
    )
    return Response(status=200, body=text.encode(), content_type="text/html; charset=utf-8", headers=_POLICY)


def _row(name: str, question: str, state: str) -> str:
    return f'<tr><th scope="row">{escape(name)}</th><td>{escape(state)}</td><td>{escape(question)}</td></tr>\n'
