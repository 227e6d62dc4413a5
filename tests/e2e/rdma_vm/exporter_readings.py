"""Runs in the guest: what the exporter gives of the RDMA devices, between two looks of the `rdma` tool, under load."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from netkit.model.missing import Missing
from netkit.sources.netlink.kernel import LiveKernel
from netkit.sources.tree import LiveTree
from netkit_exporters.collecting import Machine
from netkit_exporters.collectors.rdma import COLLECTOR

LOAD_SECONDS = 25


def shown(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def counters(by_netlink: bool) -> list[list[Any]]:
    """Name, labels, value of every counter, by netlink or from files."""
    source = COLLECTOR.open(Machine(tree=LiveTree(), open_kernel=LiveKernel if by_netlink else None))
    targets = source.targets()
    assert not isinstance(targets, Missing), targets
    found = [sample for target in targets for sample in target.read().samples]
    source.close()
    return [[sample.metric.name, sample.labels, float(sample.value)] for sample in found]


def exported() -> dict[str, Any]:
    """The same counters three times under load, then at rest, and the whole page."""
    words = ["ib_write_bw", "-d", "rxe0", "-D", str(LOAD_SECONDS)]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(words, **quiet)
    time.sleep(2)
    client = subprocess.Popen([*words, "10.9.0.1"], **quiet)
    time.sleep(3)
    results: dict[str, Any] = {"before": shown("rdma", "-j", "statistic", "show")}
    results["netlink"] = counters(by_netlink=True)
    results["between"] = shown("rdma", "-j", "statistic", "show")
    results["files"] = counters(by_netlink=False)
    results["after"] = shown("rdma", "-j", "statistic", "show")
    results["load"] = [server.wait(), client.wait()]
    results["rest"] = shown("rdma", "-j", "statistic", "show")
    results["page"] = shown(sys.executable, "-m", "netkit_exporters", "once", "--collectors", "rdma")
    return results


if __name__ == "__main__":
    print(json.dumps(exported()))
