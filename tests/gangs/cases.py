"""Cases of gang systems as YAML under tests/gangs/cases: objects, and the gang that must come out.

`pods` are short forms that `synthetic_cluster.pod` completes; `all` is merged into each of them. `configs` are
ConfigMaps. Everything is synthetic, written from the documented shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.gangs.synthetic_cluster import Body, pod, thing

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One cluster and what must be said of it."""

    name: str
    kind: str
    """placed, pending, malformed or none."""
    bodies: tuple[Body, ...]
    gangs: tuple[dict[str, Any], ...]


def cases(system: str) -> tuple[Case, ...]:
    """Return the cases of one system."""
    path = FOLDER / f"{system}.yaml"
    return tuple(_case(row) for row in yaml.safe_load(path.read_text())) if path.exists() else ()


def all_cases() -> list[tuple[str, Case]]:
    """Return every case with its system."""
    return [(path.stem, case) for path in sorted(FOLDER.glob("*.yaml")) for case in cases(path.stem)]


def _case(row: dict[str, Any]) -> Case:
    shared = row.get("all", {})
    pods = tuple(pod(**_merged(shared, short)) for short in row.get("pods", ()))
    objects = tuple(_object(body) for body in row.get("objects", ()))
    gangs = row["gangs"] if "gangs" in row else [row["gang"]]
    return Case(name=row["case"], kind=row["kind"], bodies=(*objects, *pods), gangs=tuple(gangs))


def _merged(shared: dict[str, Any], short: dict[str, Any]) -> dict[str, Any]:
    both = {key: {**shared[key], **short[key]} for key in shared.keys() & short.keys() if isinstance(shared[key], dict)}
    return {**shared, **short, **both}


def _object(short: dict[str, Any]) -> Body:
    kind, name = short.pop("kind"), short.pop("name")
    body = thing(short.pop("api"), kind, name, **{key: short.pop(key) for key in ("spec", "status") if key in short})
    body["metadata"] |= short.pop("metadata", {})
    return body | short
