"""`netkit snapshot`: one node as one file, to look at elsewhere or to send with a question."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.output import emit, is_folder, talk, write_atomically
from netkit.errors import InputError, OutputError
from netkit.model.text import visible
from netkit.model.units import show_size

if TYPE_CHECKING:
    from netkit.model.node import NodeSnapshot
    from netkit.sources.node_sources import NodeSources
    from netkit.sources.tree import Tree

_MOST_NAMES = 1000

SysfsOption = Annotated[
    Path | None, typer.Option("--sysfs", help="Where sysfs is; default /sys.", show_default=False, metavar="DIR")
]
ProcfsOption = Annotated[
    Path | None, typer.Option("--procfs", help="Where procfs is; default /proc.", show_default=False, metavar="DIR")
]
KernelLogOption = Annotated[
    Path | None,
    typer.Option(
        "--kernel-log",
        help="A kernel log; default /dev/kmsg, or none when --sysfs or --procfs names another machine's files.",
        show_default=False,
        metavar="FILE",
    ),
]
SnapshotOption = Annotated[
    Path | None,
    typer.Option("--snapshot", help="Read a recorded node instead of this one.", show_default=False, metavar="FILE"),
]


def snapshot(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output-file", help="File, or folder for a new file; default: standard output.", show_default=False
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace host names, serial numbers, GUIDs, MAC and IP addresses.")
    ] = False,
    sysfs: SysfsOption = None,
    procfs: ProcfsOption = None,
    kernel_log: KernelLogOption = None,
    virtual_functions: Annotated[
        bool, typer.Option("--virtual-functions", help="Read SR-IOV virtual functions too.")
    ] = False,
) -> None:
    """What does netkit see on this node? Record all of it in one file that every command takes as --snapshot.

    Example: netkit snapshot --redact -o node.jsonl
    """
    from netkit.sources.record import record_node

    sources, now = node_sources(None, sysfs, procfs, kernel_log)
    with sources:
        recorded = record_node(sources, now, redact=redact, virtual_functions=virtual_functions)
    if output is None:
        emit(recorded.text)
        return
    place = _new_file(output, now) if is_folder(output) else output
    write_atomically(place, recorded.text)
    names = "names replaced" if redact else "with host names and addresses; --redact replaces them"
    talk(f"{visible(str(place))}: {recorded.answers} answers, {show_size(len(recorded.text))}, {names}")


def live_tree(sysfs: Path | None, procfs: Path | None, kernel_log: Path | None = None) -> Tree:
    """Return this machine's files, or those in the given folders; InputError when one is no folder."""
    from netkit.sources.tree import ROOTS, LiveTree

    given = {name: folder for name, folder in (("sys", sysfs), ("proc", procfs)) if folder is not None}
    for name, folder in given.items():
        if not is_folder(folder):
            raise InputError(f"--{name}fs {visible(str(folder))}", "a folder that exists")
    roots = {**ROOTS, **given}
    if kernel_log is not None:
        roots["kmsg"] = kernel_log
    elif given:
        del roots["kmsg"]
    return LiveTree(roots)


def node_sources(
    recording: Path | None, sysfs: Path | None = None, procfs: Path | None = None, kernel_log: Path | None = None
) -> tuple[NodeSources, float]:
    """Return what to read a node from, and when it is: a recording at the time it was taken, or this machine now.

    Another machine's files (`--sysfs`, `--procfs`) come without a kernel and without drivers to ask.
    """
    from netkit.sources.node_sources import NodeSources, live_sources

    if recording is not None:
        if sysfs is not None or procfs is not None:
            raise InputError("--snapshot with --sysfs or --procfs", "one or the other")
        from netkit.sources.recording_file import load

        loaded = load(recording)
        return loaded.sources, loaded.taken_at
    tree = live_tree(sysfs, procfs, kernel_log)
    only_files = sysfs is not None or procfs is not None
    return NodeSources(tree=tree) if only_files else live_sources(tree), time.time()


def node_of(recording: Path | None, sysfs: Path | None = None, procfs: Path | None = None) -> NodeSnapshot:
    """Return everything there is to know of a recorded node, of one whose folders are given, or of this one."""
    from netkit.sources.snapshot import read_node

    sources, now = node_sources(recording, sysfs, procfs)
    with sources:
        return read_node(sources.tree, now, kernel=sources.kernel, drivers=sources.drivers)


def node_tree(recording: Path | None, sysfs: Path | None = None, procfs: Path | None = None) -> tuple[Tree, float]:
    """Return the files of a node, and when it is; for what needs nothing else of it."""
    sources, now = node_sources(recording, sysfs, procfs)
    return sources.tree, now


def _new_file(folder: Path, now: float) -> Path:
    """Reserve a name nobody has: two runs into one folder never meet."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    for number in range(_MOST_NAMES):
        place = folder / f"netkit-snapshot-{stamp}{f'-{number}' if number else ''}.jsonl"
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        except FileExistsError:
            continue
        except OSError as fault:
            raise OutputError(f"cannot write {visible(str(place))}: {fault.strerror}; nothing was saved") from fault
        return place
    raise OutputError(f"cannot find a free name in {visible(str(folder))}; nothing was saved")
