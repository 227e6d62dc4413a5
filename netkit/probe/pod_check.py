"""Looks around inside a container before a probe starts there: who uses its GPUs, what runs it. One file, injected.

Python 3.7 or newer, standard library only; imports nothing of netkit and writes nothing. Reads one JSON object on
standard input (nonce, deadline_s) and prints one frame, as the agent does. Interfaces read: /dev, /proc/PID/fd
and /proc/net/dev (proc(5)), and `nvidia-smi --query-gpu`, `--query-compute-apps` (its own help lists the fields) where
the image has it.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

MYPY = False
if MYPY:  # only what Python 3.7 has is imported where this runs
    from typing import Any, Dict, Iterator

    Fields = Dict[str, Any]

# Device nodes that only a process computing on an accelerator holds open.
ACCELERATOR = re.compile(r"/dev/(?:nvidia\d+|davinci\d+|kfd|cambricon_dev\d+|accel/accel\d+)")
NODES = ("/dev/nvidia[0-9]*", "/dev/davinci[0-9]*", "/dev/kfd", "/dev/cambricon_dev[0-9]*", "/dev/accel/accel[0-9]*")
# Variables that overrule what a communication library would choose by itself.
SETTING = re.compile(r"(?:NCCL|RCCL|HCCL|CNCL|UCX|GLOO|OMPI_MCA)_")
MOST_ROWS = 64
TRAFFIC_SECONDS = 1.0
SMI_SECONDS = 10


def holders() -> tuple[list[Fields], int]:
    """Return processes with an accelerator open, and how many processes could not be looked into."""
    rows, unreadable = [], 0
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            held = [target for target in targets(name) if ACCELERATOR.fullmatch(target)]
        except PermissionError:
            unreadable += 1
            continue
        except OSError:
            continue  # it ended while it was looked at
        if held:
            rows.append({"pid": int(name), "name": command(name), "device": held[0]})
    return rows[:MOST_ROWS], unreadable


def targets(pid: str) -> Iterator[str]:
    """What a process has open."""
    folder = "/proc/%s/fd" % pid
    for descriptor in os.listdir(folder):
        try:
            yield os.readlink("%s/%s" % (folder, descriptor))
        except FileNotFoundError:
            continue


def command(pid: str) -> str:
    """The name of a process."""
    try:
        with open("/proc/%s/comm" % pid, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def smi(*query: str) -> str | list[list[str]] | None:
    """Return the rows of one nvidia-smi query; None where there is no nvidia-smi, a text where it fails."""
    words = ["nvidia-smi", *query, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SMI_SECONDS, check=False)
    except FileNotFoundError:
        return None
    except (OSError, subprocess.TimeoutExpired) as fault:
        return "nvidia-smi: %s" % type(fault).__name__
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        return "nvidia-smi ends with status %d: %s" % (done.returncode, said.strip()[:200])
    return [[cell.strip() for cell in line.split(",")] for line in said.splitlines() if line.strip()][:MOST_ROWS]


def boot_id() -> str:
    """Which boot of the machine this is."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def carried() -> dict[str, tuple[int, int]]:
    """Bytes in and out of each interface but loopback so far: /proc/net/dev, proc_pid_net(5)."""
    found = {}
    try:
        with open("/proc/net/dev") as file:
            rows = file.read().splitlines()[2:]
    except OSError:
        return {}
    for name, _, counts in (row.partition(":") for row in rows):
        cells = counts.split()
        if name.strip() != "lo" and len(cells) > 8:
            found[name.strip()] = (int(cells[0]), int(cells[8]))
    return found


def traffic() -> dict[str, list[float]]:
    """Bytes per second in and out of each interface, over a moment."""
    before, began = carried(), time.monotonic()
    time.sleep(TRAFFIC_SECONDS)
    after, seconds = carried(), time.monotonic() - began
    return {
        name: [(after[name][way] - before[name][way]) / seconds for way in (0, 1)]
        for name in sorted(set(before) & set(after))[:MOST_ROWS]
    }


def main() -> None:
    """Look, print, end."""
    start = json.loads(sys.stdin.buffer.readline())
    signal.alarm(max(1, int(start["deadline_s"])))
    held, unreadable = holders()
    found = {
        "seq": 1,
        "python": "%d.%d.%d" % sys.version_info[:3],
        "boot_id": boot_id(),
        "device_nodes": sorted({path for pattern in NODES for path in glob.glob(pattern)})[:MOST_ROWS],
        "holders": held,
        "unreadable": unreadable,
        "gpus": smi("--query-gpu=index,uuid,utilization.gpu,memory.used"),
        "apps": smi("--query-compute-apps=pid,gpu_uuid"),
        "traffic": traffic(),
        "settings": {name: value for name, value in sorted(os.environ.items()) if SETTING.match(name)},
    }
    body = json.dumps(found, separators=(",", ":")).encode("ascii")
    head = "NETKIT/1 %s %d %s\n" % (start["nonce"], len(body), hashlib.sha256(body).hexdigest())
    sys.stdout.buffer.write(head.encode("ascii") + body + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
