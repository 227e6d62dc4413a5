"""Trees of real machines that lie outside this repository, read into memory without extracting anything."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from netkit.sources.memory_tree import MemoryTree


def extra_data() -> Path:
    """The folder of extra recordings, or a skip that says how to have one."""
    folder = os.environ.get("NETKIT_EXTRA_DATA")
    if not folder:
        pytest.skip("NETKIT_EXTRA_DATA is not set: no recordings of real machines here")
    return Path(folder)


def archive(path: str, prefix: str, root: str) -> MemoryTree:
    """An archive below the extra folder whose `prefix` stands for `root`."""
    place = extra_data() / path
    if not place.exists():
        pytest.skip(f"no {path} in the extra recordings")
    files: dict[str, bytes | int] = {}
    links: dict[str, str] = {}
    with tarfile.open(place) as members:
        for member in members:
            name = root + member.name.removeprefix(prefix)
            data = members.extractfile(member) if member.isfile() else None
            if data is not None:
                files[name] = data.read()
            elif member.issym():
                links[name] = member.linkname
    return MemoryTree(files, links)


def h100() -> MemoryTree:
    return archive(
        "exporters/gpud/sys-class-infiniband-h100.0.tar.gz", "sys-class-infiniband-h100.0", "sys/class/infiniband"
    )


def mixed() -> MemoryTree:
    return archive("exporters/procfs/sysfs-infiniband-net-pci-aer.tar.gz", "fixtures/", "")


ARCHIVES = {"h100": h100, "mixed": mixed}
