"""A cluster as one file: JSON Lines with a header, one line a listing, one a object, and a digest, as recordings have.

    {"schema":"netkit.bundle/1",…}
    {"list":"pods","objects":2}
    {"object":{…}}
    {"list":"jobs.batch","missing":{"reason":"denied",…}}
    {"lines":5,"sha256":"…"}

Limits: 512 MiB, 500,000 lines of 4 MiB. A file that breaks one is refused in one line before anything of it is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

from netkit import __version__
from netkit.errors import InputError
from netkit.model.gang_snapshot import GangSnapshot, Listing
from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.given_file import open_given
from netkit.sources.kube.objects import object_of

SCHEMA = "netkit.bundle/1"
MOST_BYTES = 512 << 20
MOST_LINES = 500_000
MOST_LINE_BYTES = 4 << 20


def dump(
    snapshot: GangSnapshot, *, change: Callable[[Any], Any] | None = None, redacted: bool = False
) -> Iterator[str]:
    """Yield the lines of a bundle, ending in its digest; `change` takes each object as JSON and returns it changed."""
    digest, number = hashlib.sha256(), 0
    for row in _rows(snapshot, redacted=redacted):
        line = _line(change(row) if change and "object" in row else row)
        digest.update(line.encode())
        number += 1
        yield line
    yield _line({"lines": number, "sha256": digest.hexdigest()})


def _rows(snapshot: GangSnapshot, *, redacted: bool) -> Iterator[dict[str, Any]]:
    server = "redacted" if redacted else snapshot.server
    header = {"schema": SCHEMA, "netkit": __version__, "taken_at": snapshot.taken_at, "redacted": redacted}
    yield header | {"server": server, "namespace": snapshot.namespace}
    for name, found in snapshot.listings.items():
        if isinstance(found, Missing):
            where = f"{server} {name}"
            detail = "" if redacted else found.detail
            yield {"list": name, "missing": {"reason": found.reason.value, "where": where, "detail": detail}}
            continue
        yield {"list": name, "objects": len(found)}
        yield from ({"object": one.body} for one in found)


def _line(row: Any) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"


def load(path: Path) -> GangSnapshot:
    """Read a bundle; InputError says in one line why a file is none."""
    with open_given(path, "bundle", "netkit gang bundle", MOST_BYTES) as file:
        return _Reader(visible(str(path)), file).snapshot()


class _Reader:
    """One pass over a file, line by line, with the digest taken along."""

    def __init__(self, name: str, file: BufferedReader) -> None:
        self._name = name
        self._file = file
        self._number = 0
        self._digest = hashlib.sha256()

    def snapshot(self) -> GangSnapshot:
        header = self._header()
        listings: dict[str, Listing] = {}
        for row in iter(self._row, None):
            name = row.get("list")
            if not isinstance(name, str) or name in listings:
                self._refuse(f"list {_shown(name)}", "each listing once, by its name")
            listings[visible(name, 200)] = self._listing(row, name)
        return GangSnapshot(
            server=visible(str(header.get("server")), 300),
            namespace=visible(str(header.get("namespace") or ""), 300),
            taken_at=header["taken_at"],
            listings=listings,
        )

    def _header(self) -> dict[str, Any]:
        header = self._parsed()
        if header.get("schema") != SCHEMA:
            self._refuse(f"schema {_shown(header.get('schema'))}", f"{SCHEMA}, as `netkit gang bundle` writes it")
        taken_at = header.get("taken_at")
        if not isinstance(taken_at, int | float) or isinstance(taken_at, bool) or not 0 <= taken_at < 2**40:
            self._refuse(f"taken_at {_shown(taken_at)}", "seconds since 1970")
        return header

    def _listing(self, row: dict[str, Any], name: str) -> Listing:
        missing, size = row.get("missing"), row.get("objects")
        if isinstance(missing, dict) and missing.get("reason") in list(Reason):
            where, detail = (visible(str(missing.get(key, "")), 300) for key in ("where", "detail"))
            return Missing(reason=Reason(missing["reason"]), where=where, detail=detail)
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < MOST_LINES:
            self._refuse(f"listing {_shown(row)}", "a number of objects, or what is missing")
        return tuple(self._object(name) for _ in range(size))

    def _object(self, name: str) -> KubeObject:
        row = self._row()
        body = row.get("object") if row else None
        if not isinstance(body, dict):
            self._refuse("no object", f"one object a line in the listing of {visible(name, 200)}")
        return object_of(body, name)

    def _row(self) -> dict[str, Any] | None:
        """Return the next row, None at the digest."""
        seen = self._digest.hexdigest()
        row = self._parsed()
        if "sha256" not in row:
            return row
        if row != {"lines": self._number - 1, "sha256": seen}:
            self._refuse("digest", "the digest of the lines before it: this bundle was edited or damaged")
        if self._file.read(1):
            self._refuse("data after the digest", "nothing after the last line")
        return None

    def _parsed(self) -> dict[str, Any]:
        line = self._file.readline(MOST_LINE_BYTES + 1)
        self._number += 1
        if not line:
            self._refuse("end of file", "a digest in the last line: this bundle is cut short")
        if len(line) > MOST_LINE_BYTES or self._number > MOST_LINES:
            self._refuse("length", f"at most {MOST_LINES} lines of {MOST_LINE_BYTES >> 20} MiB")
        self._digest.update(line)
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        return row if isinstance(row, dict) else self._refuse("no JSON object", "one JSON object a line")

    def _refuse(self, given: str, accepted: str) -> NoReturn:
        raise InputError(f"bundle {self._name} line {self._number}: {given}", accepted)


def _shown(value: Any) -> str:
    return visible(repr(value), 120)
