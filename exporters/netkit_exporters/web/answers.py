"""What each address answers: `/metrics`, `/healthz`, `/readyz`, the page at `/`, and nothing else.

`/healthz` says that the process answers, never that hardware does: a GPU that hangs must not restart the exporter that
reports it. `/readyz` waits for the first round of readings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from netkit.model.text import visible
from netkit_exporters.page import Page
from netkit_exporters.refresher import Refresher
from netkit_exporters.web.index_page import index_page
from netkit_exporters.web.negotiation import format_for, wants_gzip
from netkit_exporters.web.request import Request
from netkit_exporters.web.response import Response, busy, line

MOST_FILTERS = 64
"""Names in one `collect[]` or `name[]` filter at most."""
_ALLOWED = ("Allow", "GET, HEAD")
_VARY = ("Vary", "Accept, Accept-Encoding")
_GZIPPED = (("Content-Encoding", "gzip"), _VARY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers requests from what the refresher has; never reads anything itself."""

    refresher: Refresher

    def to(self, request: Request) -> Response:
        """Return the answer to a well-formed request."""
        if request.path not in ("/metrics", "/healthz", "/readyz", "/"):
            return line(404, "not found; there are /metrics, /healthz, /readyz and /")
        if request.method not in ("GET", "HEAD"):
            return line(405, "only GET and HEAD", _ALLOWED)
        if request.path == "/metrics":
            return self._metrics(request)
        if request.path == "/healthz":
            return line(200, "ok")
        if request.path == "/readyz":
            return line(200, "ready") if self.refresher.ready.is_set() else busy("the first readings are not done")
        return index_page(self.refresher)

    def _metrics(self, request: Request) -> Response:
        page = self.refresher.page()
        if request.query:
            try:
                page = self._filtered(page, request.query)
            except ValueError as fault:
                return line(400, visible(str(fault)))
        form = format_for(request.headers.get("accept", ""))
        compressed = wants_gzip(request.headers.get("accept-encoding", ""))
        body = page.body(form, compressed)
        return Response(status=200, body=body, content_type=form, headers=_GZIPPED if compressed else (_VARY,))

    def _filtered(self, page: Page, query: str) -> Page:
        """Return the part that was asked for; ValueError names what is unknown."""
        known = self._known()
        asked: dict[str, set[str]] = {name: set() for name in known}
        for name, value in _pairs(query):
            if name not in known:
                raise ValueError(f"unknown parameter {name[:100]!r}: there are collect[] and name[]")
            if value not in known[name]:
                raise ValueError(f"{name} {value[:100]!r} is not known: see `netkit exporter metrics`")
            asked[name].add(value)
        if max(map(len, asked.values())) > MOST_FILTERS:
            raise ValueError(f"more than {MOST_FILTERS} names")
        return page.only(asked["collect[]"], asked["name[]"])

    def _known(self) -> Mapping[str, frozenset[str]]:
        from netkit.catalogue.metric_rows import exporter

        collectors = self.refresher.collectors
        names = {metric.name for collector in collectors for metric in collector.metrics}
        return {
            "collect[]": frozenset({"exporter", *(collector.id for collector in collectors)}),
            "name[]": frozenset(names | {metric.name for metric in exporter.METRICS}),
        }


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=256)
    except UnicodeDecodeError:
        raise ValueError("the query is not UTF-8") from None
    except ValueError:
        raise ValueError("the query is malformed or too long") from None
