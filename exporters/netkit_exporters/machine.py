"""Where the collectors read: this node, folders that look like one, or a recording."""

from __future__ import annotations

from pathlib import Path

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.sources.drivers import LiveDrivers
from netkit.sources.netlink.kernel import LiveKernel
from netkit.sources.recording_file import Recording, load
from netkit.sources.tree import ROOTS, LiveTree
from netkit_exporters.collecting import Machine
from netkit_exporters.options import Options


def machine_of(options: Options) -> Machine:
    """Return the machine that the options name; InputError for a folder or a file that is not there."""
    if options.snapshot is not None:
        if options.sysfs is not None or options.procfs is not None:
            raise InputError("--snapshot with --sysfs or --procfs", "one of them: a recording holds its own files")
        return _recorded(load(options.snapshot), options)
    given = {"sys": options.sysfs, "proc": options.procfs}
    places = {name: _folder(name, given.get(name)) or place for name, place in ROOTS.items()}
    # Netlink answers for this machine, so it says nothing about a folder that stands for another.
    return Machine(
        tree=LiveTree(places),
        open_kernel=LiveKernel if options.sysfs is None else None,
        open_drivers=LiveDrivers if options.sysfs is None else None,
        roots={name: str(places[name]) for name in given},
        options=options.for_collectors,
    )


def _recorded(recording: Recording, options: Options) -> Machine:
    kernel, drivers = recording.kernel, recording.drivers
    return Machine(
        tree=recording.tree,
        open_kernel=None if kernel is None else lambda: kernel,
        open_drivers=None if drivers is None else lambda: drivers,
        options=options.for_collectors,
    )


def _folder(name: str, given: Path | None) -> Path | None:
    if given is not None and not given.is_dir():
        raise InputError(f"--{name}fs {visible(str(given))}", "a folder that looks like /" + name)
    return given
