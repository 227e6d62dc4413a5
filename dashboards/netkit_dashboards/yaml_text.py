"""YAML that people read and machines load: one home for the library."""

from __future__ import annotations

from functools import cache
from typing import Any


def dump(document: object) -> str:
    """Return a document as YAML, keys in the order given, long text on one line."""
    import yaml

    return str(yaml.dump(document, Dumper=_dumper(), sort_keys=False, width=4096, allow_unicode=True))


def dump_all(documents: list[Any]) -> str:
    """Return documents as one stream."""
    return "---\n".join(map(dump, documents))


@cache
def _dumper() -> Any:
    """Return a dumper without anchors that writes text of many lines as a block."""
    import yaml

    dumper: Any = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _text)
    return dumper


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)
