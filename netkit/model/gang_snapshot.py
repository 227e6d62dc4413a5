"""What was read of a cluster at one time: objects by resource, and for each resource that could not be read, why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing

Listing = tuple[KubeObject, ...] | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GangSnapshot:
    """A cluster, or one namespace of it; `taken_at` in seconds since 1970 by the clock of the reader."""

    server: str
    namespace: str
    """Empty: all namespaces."""
    taken_at: float
    listings: Mapping[str, Listing]
    """By resource, such as `pods`; a resource that was not asked for is not here."""

    def objects(self, resource: str) -> tuple[KubeObject, ...]:
        """Return what was listed of a resource; nothing when it could not be."""
        found = self.listings.get(resource, ())
        return () if isinstance(found, Missing) else found

    def missing(self) -> Mapping[str, Missing]:
        """Return the resources that could not be listed, with the reason."""
        return {name: found for name, found in self.listings.items() if isinstance(found, Missing)}
