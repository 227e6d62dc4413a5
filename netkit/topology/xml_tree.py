"""XML text to a plain tree of tags, or one refusal: no DTD, no entity, and caps that hold before a tree exists.

The parser is expat through defusedxml (https://pypi.org/project/defusedxml), which refuses document type
declarations outright; the caps are checked on each tag as it opens, so depth and size cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from netkit.errors import InputError
from netkit.model.text import visible

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 64
MAX_TAGS = 100_000
_MAX_ATTRIBUTES = 64
_ACCEPTED = "an NCCL topology XML, plain and without a document type declaration"


@dataclass(slots=True)
class Tag:
    """One element: its name, its attributes, its children, its parent's depth plus one."""

    name: str
    attributes: dict[str, str]
    children: list[Tag] = field(default_factory=list)


class _Tree:
    """The target expat reports to; it keeps tags and forgets text."""

    def __init__(self) -> None:
        self.root: Tag | None = None
        self.tags = 0
        self._open: list[Tag] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.tags += 1
        _cap(len(self._open), MAX_DEPTH, "levels of nesting")
        _cap(self.tags, MAX_TAGS, "tags")
        _cap(len(attributes), _MAX_ATTRIBUTES, "attributes on one tag")
        shown = {visible(key, limit=80): visible(value, limit=200) for key, value in attributes.items()}
        tag = Tag(visible(name, limit=80), shown)
        if self._open:
            self._open[-1].children.append(tag)
        elif self.root is None:
            self.root = tag
        self._open.append(tag)

    def end(self, _name: str) -> None:
        self._open.pop()

    def data(self, _text: str) -> None:
        """Text between tags means nothing in this format."""

    def close(self) -> Tag | None:
        return self.root


def parse(text: str | bytes) -> tuple[Tag, int]:
    """Return the root tag and how many tags there are.

    Raises:
        InputError: not XML, too large, too deep, too many tags, or a document type declaration.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped] # ships no types
    from defusedxml.ElementTree import XMLParser  # type: ignore[import-untyped] # ships no types

    raw = text.encode("utf-8", errors="surrogatepass") if isinstance(text, str) else text
    _cap(len(raw), MAX_BYTES, "bytes")
    tree = _Tree()
    try:
        parser = XMLParser(target=tree, forbid_dtd=True)
        parser.feed(_without_comments(raw))
        parser.close()
    except DefusedXmlException as fault:
        raise InputError(f"topology XML with a {_refused(fault)}", _ACCEPTED) from fault
    except ParseError as fault:
        raise InputError(f"topology XML: {visible(str(fault), limit=120)}", _ACCEPTED) from fault
    except (LookupError, ValueError) as fault:
        raise InputError(
            f"topology XML in an unusable encoding: {visible(str(fault), limit=120)}", _ACCEPTED
        ) from fault
    if tree.root is None:
        raise InputError("topology XML without any tag", _ACCEPTED)
    return tree.root, tree.tags


def _without_comments(raw: bytes) -> bytes:
    """Take comments out, lines kept: NCCL skips to the next `-->` (xml.cc), whatever XML thinks of it.

    The models that RCCL ships begin with `<!-----`, which XML forbids. Linear in the size: a comment without an
    end is left for the parser to refuse.
    """
    kept, at = [], 0
    while (begin := raw.find(b"<!--", at)) >= 0 and (end := raw.find(b"-->", begin + 4)) >= 0:
        kept += [raw[at:begin], b"\n" * raw.count(b"\n", begin, end)]
        at = end + 3
    return b"".join([*kept, raw[at:]])


def _refused(fault: Exception) -> str:
    return {"DTDForbidden": "document type declaration", "EntitiesForbidden": "entity"}.get(
        type(fault).__name__, "reference to something outside"
    )


def _cap(count: int, most: int, what: str) -> None:
    if count > most:
        raise InputError(f"topology XML of more than {most:,} {what}", f"at most {most:,} {what}")
