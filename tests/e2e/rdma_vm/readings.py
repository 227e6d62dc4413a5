"""Runs in the guest: reads the kernel with netkit and with the field's own tools, under load, and writes both down."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from netkit.model.missing import Missing
from netkit.model.rdma_resources import RdmaLinks
from netkit.sources.drivers import LiveDrivers
from netkit.sources.netlink.dcb import read_dcb
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.netlink.kernel import LiveKernel
from netkit.sources.netlink.links import host_nics, read_ethernet_links, read_interfaces
from netkit.sources.netlink.memory import RecordingKernel
from netkit.sources.netlink.module_eeprom import read_module
from netkit.sources.netlink.nldev import read_rdma_links
from netkit.sources.node_sources import NodeSources
from netkit.sources.record import record_node
from netkit.sources.tree import LiveTree

LOAD_SECONDS = 40


def plain(value: object) -> Any:
    if isinstance(value, Missing):
        return {"missing": str(value.reason), "detail": value.detail}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def tool(*words: str) -> dict[str, Any]:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


TREE = LiveTree()


def devices(found: RdmaLinks | Missing) -> Any:
    assert isinstance(found, RdmaLinks), found
    assert not found.partial
    return plain(found.links)


def start_load() -> list[subprocess.Popen[bytes]]:
    words = ["ib_write_bw", "-d", "rxe0", "-D", str(LOAD_SECONDS)]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(words, **quiet)
    time.sleep(2)
    return [server, subprocess.Popen([*words, "10.9.0.1"], **quiet)]


def wait_for_queue_pairs(kernel: LiveKernel, wanted: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        links = read_rdma_links(kernel, TREE)
        listed = () if isinstance(links, Missing) else (link.queue_pairs for link in links.links)
        pairs = [pair for each in listed if not isinstance(each, Missing) for pair in each]
        if sum(isinstance(pair.process, int) and pair.state in {"RTR", "RTS"} for pair in pairs) >= wanted:
            return
        time.sleep(0.2)


def timed(read: Any) -> float:
    begin = time.monotonic()
    read()
    return time.monotonic() - begin


def recorded(live: LiveKernel) -> dict[str, str]:
    """The machine under load: as it is read, and the recording of just that."""
    with LiveDrivers() as drivers:
        whole = record_node(NodeSources(tree=TREE, kernel=live, drivers=drivers), time.time())
    return {"node": repr(whole.node), "text": whole.text}


def readings(results: dict[str, Any]) -> None:
    with LiveKernel() as live:
        before = read_rdma_links(live, TREE)
        load = start_load()
        wait_for_queue_pairs(live, 2)
        time.sleep(2)
        kernel = RecordingKernel(live)
        results["processes"] = [process.pid for process in load]
        results["before"] = devices(before)
        results["during"] = devices(read_rdma_links(kernel, TREE))
        results["rdma resource qp"] = tool("rdma", "-j", "resource", "show", "qp")
        results["rdma statistic first"] = tool("rdma", "-j", "statistic", "show")
        results["recording"] = recorded(live)
        results["load"] = [process.wait() for process in load]
        results["after"] = devices(read_rdma_links(live, TREE))
        results["rdma statistic"] = tool("rdma", "-j", "statistic", "show")
        results["rdma link"] = tool("rdma", "-j", "link", "show")
        results["rdma dev"] = tool("rdma", "-j", "dev", "show")
        results["rdma resource"] = tool("rdma", "-j", "resource", "show")
        results["ibv_devinfo"] = tool("ibv_devinfo", "-v", "-d", "rxe0")
        interfaces = read_interfaces(kernel)
        assert not isinstance(interfaces, Missing), interfaces
        results["interfaces"] = plain(interfaces)
        results["host nics"] = plain(host_nics(interfaces))
        results["links"] = plain(read_ethernet_links(kernel, interfaces.interfaces))
        for name in (interface.name for interface in interfaces.interfaces if not interface.loopback):
            results[f"ethtool -S {name}"] = tool("ethtool", "-S", name)
            results[f"statistics {name}"] = plain(read_driver_statistics(live, name))
            results[f"ethtool {name}"] = tool("ethtool", "--json", name)
            results[f"pause {name}"] = tool("ethtool", "--json", "-I", "--show-pause", name)
            results[f"dcb {name}"] = tool("dcb", "-j", "pfc", "show", "dev", name)
            results[f"dcb reading {name}"] = plain(read_dcb(kernel, name))
            results[f"module {name}"] = plain(read_module(kernel, name))
        results["seconds for one reading"] = timed(lambda: read_rdma_links(live, TREE))
        results["troubles"] = dict(live.troubles)
        results["rows"] = kernel.rows()


def main() -> None:
    results: dict[str, Any] = {"kernel": os.uname().release}
    readings(results)
    results["exporter"] = tool(sys.executable, str(Path(__file__).with_name("exporter_readings.py")))
    place = Path(sys.argv[1])
    results["snapshot"] = tool(sys.executable, "-m", "netkit", "snapshot", "-o", str(place.with_suffix(".jsonl")))
    place.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
