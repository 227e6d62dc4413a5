"""Environment variables of NCCL and of libraries like it: type, default by version, since when, until when.

NVIDIA NCCL user guide, "Environment Variables" (docs/userguide/source/env.rst at 2.32) for what is documented, its
source (NCCL_PARAM, getenv) for what is not. Names are whole, sizes bytes.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from netkit.catalogue.nccl_variables.form import Kind, NcclVariable, Range
from netkit.catalogue.nccl_variables.other_libraries import OTHER_NAMES
from netkit.catalogue.nccl_variables.system import SYSTEM
from netkit.catalogue.nccl_variables.undocumented import UNDOCUMENTED
from netkit.catalogue.nccl_variables.workarounds import WORKAROUNDS

__all__ = ["OTHER_NAMES", "Kind", "NcclVariable", "Range", "nccl_variables", "nearest_name"]

ALIASES = MappingProxyType(
    {
        "NCCL_IB_GDR_LEVEL": "NCCL_NET_GDR_LEVEL",
        "NCCL_MAX_NRINGS": "NCCL_MAX_CTAS",
        "NCCL_MIN_NRINGS": "NCCL_MIN_CTAS",
    }
)
"""Names NCCL gave up for others."""


@cache
def nccl_variables() -> MappingProxyType[str, NcclVariable]:
    """Return every variable NCCL reads, by name."""
    return MappingProxyType({one.name: one for one in (*SYSTEM, *WORKAROUNDS, *UNDOCUMENTED)})


def nearest_name(name: str) -> str | None:
    """Return the known name that `name` was probably meant to be, None when nothing is close."""
    from difflib import get_close_matches

    found = get_close_matches(name.upper(), [*nccl_variables(), *ALIASES, *OTHER_NAMES], n=1, cutoff=0.86)
    return found[0] if found else None
