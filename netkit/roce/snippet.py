"""What every snippet offers, and the registry of those in `netkit.roce.snippets`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.roce import snippets
from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.sizes import Sizes, sizes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way to say an intent. `unstated` is what its source does not say, so that nobody invents it.

    `readable` tells whether netkit reads the same form back, and so can prove what it wrote.
    """

    id: str
    title: str
    source: str
    emit: Callable[[FabricIntent, Sizes], str]
    unstated: Callable[[FabricIntent], tuple[str, ...]] = lambda _intent: ()
    readable: bool = False
    comment: str | None = "!"
    """How a line of remarks begins; None where the form has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """An intent in one dialect."""

    dialect: Dialect
    text: str
    unstated: tuple[str, ...]

    @property
    def remarked(self) -> str:
        """The text under the remarks that belong to it, where the form knows remarks."""
        sign = self.dialect.comment
        if sign is None:
            return self.text
        head = [
            f"{self.dialect.title}, after {self.dialect.source}",
            *(f"not stated there: {one}" for one in self.unstated),
        ]
        return "".join(f"{sign} {line}\n" for line in head) + self.text


def snippet_of(name: str, intent: FabricIntent) -> Snippet:
    """Return the intent in the dialect of this name; InputError when there is none."""
    found = dialects().get(name)
    if found is None:
        raise InputError(f"dialect {visible(name)!r}", ", ".join(dialects()))
    return Snippet(dialect=found, text=found.emit(intent, sizes_of(intent)), unstated=found.unstated(intent))


@cache
def dialects() -> dict[str, Dialect]:
    """Return every dialect by its name."""
    names = sorted(module.name for module in iter_modules(snippets.__path__))
    return {name: import_module(f"{snippets.__name__}.{name}").DIALECT for name in names}
