"""Kernel RDMA in a virtual machine: Soft-RoCE under load on a stock kernel, netkit's readings beside other tools'."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netkit.catalogue.counter import tables
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.netlink.memory import RecordedKernel
from netkit.sources.netlink.nldev import read_rdma_links
from netkit.sources.record import record_node
from netkit.sources.recording_file import load
from netkit.sources.snapshot import read_node

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

Results = dict[str, Any]
KERNEL_PACKAGE = re.compile(r"^linux-image-6\.[0-9.]+[-+][0-9a-z+.]+-amd64$", re.MULTILINE)
PROGRAMS = ("qemu-system-x86_64", "rdma", "ib_write_bw", "ibv_devinfo", "ethtool", "dcb", "depmod", "busybox")
NODES = Path(__file__).parents[1] / "nodes"
START = Path(__file__).parent / "rdma_vm" / "start.sh"
BOOT_SECONDS = 450


def cache() -> Path:
    """Where the kernel is kept; not below /tmp or /var, which the guest covers with folders of its own."""
    found = os.environ.get("NETKIT_CACHE")
    return Path(found) if found else Path.home() / ".cache" / "netkit"


def boot_program() -> Path:
    """virtme-ng, beside this interpreter or on PATH."""
    found = shutil.which("vng", path=f"{sysconfig.get_path('scripts')}:{os.environ.get('PATH', '')}")
    if not found:
        pytest.skip("no vng here: pip install virtme-ng")
    return Path(found)


def kernel_image() -> Path:
    """The image of an unpacked kernel package in the cache, fetched once where this machine may."""
    place = cache() / "kernel"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = unpacked(place)
        return fetched(place) if found is None else found


def unpacked(place: Path) -> Path | None:
    """An image is complete when its modules are indexed."""
    for image in sorted(place.glob("*/boot/vmlinuz-*"), reverse=True):
        version = image.name.removeprefix("vmlinuz-")
        if (image.parents[1] / "lib" / "modules" / version / "modules.dep").exists():
            return image
    return None


def fetched(place: Path) -> Path:
    if not shutil.which("apt-cache"):
        pytest.skip(f"no kernel below {place}, and no apt-get to fetch one")
    listed = subprocess.run(["apt-cache", "pkgnames", "linux-image-6."], capture_output=True, text=True, check=False)
    packages = sorted(KERNEL_PACKAGE.findall(listed.stdout), key=lambda name: [*map(int, re.findall(r"\d+", name))])
    if not packages:
        pytest.skip("apt knows no stock kernel 6.x for amd64")
    newest: str = packages[-1]
    words = ["apt-get", "download", newest]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=120, check=False)
    archive = next(place.glob(f"{newest}_*.deb"), None)
    if done.returncode or archive is None:
        pytest.skip(f"{newest} cannot be fetched: {done.stderr.strip()[-200:]}")
    folder = place / newest
    subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
    archive.unlink()
    version = newest.removeprefix("linux-image-")
    subprocess.run(["depmod", "-b", folder, version], check=True)
    return folder / "boot" / f"vmlinuz-{version}"


def boot(vng: Path, image: Path, results: Path) -> subprocess.CompletedProcess[str]:
    # A NIC whose driver is not veth: it has pause settings, statistics and a slot.
    machine = ["--disable-kvm", "--cpus", "2", "-m", "2G", "-r", str(image), "--rw", "--qemu-opts=-device e1000e"]
    return subprocess.run(
        [str(vng), *machine, "--", str(START), sys.executable, str(results)],
        env={**os.environ, "PATH": f"{vng.parent}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOOT_SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def results() -> Iterator[Results]:
    """One boot for every test here."""
    if platform.machine() != "x86_64":
        pytest.skip(f"the kernel package is for x86_64, this is {platform.machine()}")
    missing = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    vng = boot_program()
    image = kernel_image()
    place = cache() / "runs" / f"{os.getpid()}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = [place, place.with_suffix(".jsonl"), place.with_name(place.name + ".log")]
    try:
        booted = boot(vng, image, place)
        log = beside[2].read_text() if beside[2].exists() else ""
        assert place.exists(), f"the guest wrote no results\n{booted.stderr[-2000:]}\n{log[-4000:]}"
        found: Results = json.loads(place.read_text())
        found["by command"] = beside[1].read_text() if beside[1].exists() else ""
        yield found
    finally:
        for path in beside:
            path.unlink(missing_ok=True)


def said(results: Results, tool: str) -> Any:
    assert results[tool]["status"] == 0, results[tool]["err"]
    return json.loads(results[tool]["out"])


def ports(links: Any) -> dict[str, Any]:
    return {link["name"]: link["ports"][0] for link in links}


def test_the_load_ran(results: Results) -> None:
    """Otherwise nothing below means anything."""
    assert results["load"] == [0, 0]
    before, after = (ports(results[when])["rxe0"]["counters"] for when in ("before", "after"))
    sent = [next(each["raw"] for each in counters if each["name"] == "sent_pkts") for counters in (before, after)]
    assert sent[1] - sent[0] > 1000


def test_devices_are_those_of_rdma_dev(results: Results) -> None:
    """Name, index and GUIDs."""
    ours = [(d["index"], d["name"], d["node_guid"], d["system_image_guid"]) for d in results["after"]]
    theirs = [(d["ifindex"], d["ifname"], d["node_guid"], d["sys_image_guid"]) for d in said(results, "rdma dev")]
    assert ours == theirs
    assert f"node_guid:\t\t\t{ours[0][2]}" in results["ibv_devinfo"]["out"]


def test_ports_are_those_of_rdma_link(results: Results) -> None:
    """State, physical state, and the interface behind each port."""
    keys = ("number", "state", "physical_state", "netdev", "netdev_index")
    ours = [[device["name"], *(device["ports"][0][key] for key in keys)] for device in results["after"]]
    names = ("ifname", "port", "state", "physical_state", "netdev", "netdev_index")
    assert ours == [[link[name] for name in names] for link in said(results, "rdma link")]
    assert "PORT_ACTIVE (4)" in results["ibv_devinfo"]["out"]


def test_counters_are_those_of_rdma_statistic(results: Results) -> None:
    """Every name, every value, with nothing moving between the two readings."""
    for theirs in said(results, "rdma statistic"):
        counters = ports(results["after"])[theirs["ifname"]]["counters"]
        ours = {each["name"]: each["raw"] for each in counters}
        assert ours == {name: value for name, value in theirs.items() if name not in {"ifname", "port", "ifindex"}}


def test_counts_of_resources_are_those_of_rdma_resource(results: Results) -> None:
    """After the load, so that both see the same."""
    ours = [{each["name"]: each["count"] for each in device["resources"]} for device in results["after"]]
    theirs = said(results, "rdma resource")
    assert ours == [{name: each[name] for name in ours[0]} for each in theirs]


def test_queue_pairs_belong_to_the_processes_of_the_load(results: Results) -> None:
    """One for the server and one for the client, by PID and name, as `rdma resource` has them."""
    (device,) = (device for device in results["during"] if device["name"] == "rxe0")
    ours = {
        pair["number"]: (pair["process"], pair["owner"], pair["kind"], pair["state"])
        for pair in device["queue_pairs"]
        if isinstance(pair["process"], int)
    }
    theirs = {
        pair["lqpn"]: (pair["pid"], pair["comm"], pair["type"], pair["state"])
        for pair in said(results, "rdma resource qp")
        if pair["ifname"] == "rxe0" and "pid" in pair
    }
    assert sorted(process for process, *_ in ours.values()) == sorted(results["processes"])
    assert ours == theirs


def test_queue_pairs_of_the_kernel_name_their_module(results: Results) -> None:
    """The management queue pair has no process."""
    (pair,) = (each for each in results["after"][1]["queue_pairs"] if each["kind"] == "GSI")
    assert (pair["owner"], pair["process"]["missing"]) == ("[ib_core]", "absent")


def statistics(text: str) -> dict[str, int]:
    return {name.strip(): int(value) for name, value in re.findall(r"^ +(.+): (\d+)$", text, re.MULTILINE)}


def interfaces(results: Results) -> list[str]:
    return [each["name"] for each in results["interfaces"]["interfaces"] if not each["loopback"]]


def test_driver_statistics_are_those_of_ethtool(results: Results) -> None:
    """Names in order; values, as nobody sends on these links now."""
    for name in interfaces(results):
        ours = {each["name"]: each["raw"] for each in results[f"statistics {name}"]}
        assert ours == statistics(results[f"ethtool -S {name}"]["out"])


def test_pause_settings_are_those_of_ethtool(results: Results) -> None:
    """Where one has none, so has the other; the NIC's are equal."""
    read = 0
    for link in results["links"]:
        theirs = results.get(f"pause {link['interface']}")
        if theirs is None:
            continue
        if theirs["status"]:
            assert link["pause"]["missing"] == "unsupported"
            continue
        (one,) = json.loads(theirs["out"])
        keys = ("negotiated", "receives", "sends")
        assert [link["pause"][key] for key in keys] == [one[key] for key in ("autonegotiate", "rx", "tx")]
        read += 1
    assert read == 1


def test_what_dcb_refuses_is_unsupported_here(results: Results) -> None:
    """No driver of this machine takes part in data center bridging; both say so."""
    for name in interfaces(results):
        assert "Operation not supported" in results[f"dcb {name}"]["err"]
        assert results[f"dcb reading {name}"]["missing"] == "unsupported"


def test_the_nic_with_a_slot_is_the_host_nic(results: Results) -> None:
    """The ends of a veth have no device behind them."""
    (nic,) = results["host nics"]
    assert re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0", nic["parent"])


def test_nothing_was_lost_on_the_way(results: Results) -> None:
    """No overrun, no interrupted dump, no malformed message."""
    assert results["troubles"] == {}


def test_the_recorded_answers_replay_outside(results: Results) -> None:
    """The same records from what was written down inside."""
    found = read_rdma_links(RecordedKernel(results["rows"]), MemoryTree({}))
    assert not isinstance(found, Missing)
    read = [(link.name, link.node_guid, [pair.number for pair in _listed(link.queue_pairs)]) for link in found.links]
    expected = [(d["name"], d["node_guid"], [pair["number"] for pair in d["queue_pairs"]]) for d in results["during"]]
    assert read == expected


def _listed(found: Any) -> Any:
    assert not isinstance(found, Missing)
    return found


def test_a_recording_taken_inside_under_load_replays_outside(results: Results, tmp_path: Path) -> None:
    """Files, netlink and drivers: the node read from the recording is the one that was read inside, to the letter."""
    node = replayed(tmp_path, results["recording"]["text"])
    assert repr(node) == results["recording"]["node"]
    assert not isinstance(node.rdma_links, Missing)
    processes = {
        pair.process
        for link in node.rdma_links.links
        for pair in _listed(link.queue_pairs)
        if not isinstance(pair.process, Missing)
    }
    assert processes == set(results["processes"])
    names = {link.interface for link in _listed(node.ethernet_links)}
    assert {"v0", "v1"} < names


def test_redacted_it_is_the_same_machine_without_its_names(results: Results, tmp_path: Path) -> None:
    """GUIDs and addresses change, in files and netlink alike; NETKIT_REWRITE_GOLDEN=1 keeps it as a recorded node."""
    place = tmp_path / "guest.jsonl"
    place.write_text(results["recording"]["text"])
    whole = load(place)
    text = record_node(whole.sources, whole.taken_at, redact=True).text
    node = replayed(tmp_path, text)
    assert not isinstance(node.rdma_links, Missing)
    assert not isinstance(node.rdma_devices, Missing)
    assert [link.node_guid for link in node.rdma_links.links] == [device.node_guid for device in node.rdma_devices]
    assert all(each["node_guid"] not in text for each in results["after"])
    if os.environ.get("NETKIT_REWRITE_GOLDEN"):
        (NODES / "soft-roce-virtual-machine.jsonl").write_text(text)


def replayed(folder: Path, text: str) -> NodeSnapshot:
    place = folder / "guest.jsonl"
    place.write_text(text)
    loaded = load(place)
    return read_node(loaded.tree, loaded.taken_at, kernel=loaded.kernel, drivers=loaded.drivers)


def test_a_snapshot_taken_inside_is_a_recording_of_that_machine(results: Results, tmp_path: Path) -> None:
    """The command writes it; its files say the same as netlink: both devices, their ports, the GUID."""
    assert results["snapshot"]["status"] == 0, results["snapshot"]["err"]
    devices = replayed(tmp_path, results["by command"]).rdma_devices
    assert not isinstance(devices, Missing)
    ours = [(device.name, device.node_guid) for device in devices]
    assert ours == [(each["name"], each["node_guid"]) for each in results["after"]]


EXPORTED = {row.name: row.stem for table in tables() if table.id == "rxe" for row in table.hardware}


def by_tool(shown: str) -> dict[tuple[str, str], int]:
    """What `rdma statistic` counts, by series name and device."""
    return {
        (f"netkit_rdma_{EXPORTED[name]}_total", each["ifname"]): value
        for each in json.loads(shown)
        for name, value in each.items()
        if name in EXPORTED
    }


def by_exporter(samples: list[list[Any]]) -> dict[tuple[str, str], float]:
    """What the exporter gave of them."""
    return {(name, labels[0]): value for name, labels, value in samples if name.endswith("_total")}


@pytest.mark.parametrize(("way", "before", "after"), [("netlink", "before", "between"), ("files", "between", "after")])
def test_exported_counters_stand_between_two_looks_of_the_tool(
    results: Results, way: str, before: str, after: str
) -> None:
    """Under load, by netlink and from files: every counter, none older than the first look or newer than the second."""
    assert results["exporter"]["status"] == 0, results["exporter"]["err"]
    read = json.loads(results["exporter"]["out"])
    assert read["load"] == [0, 0]
    first, ours, second = by_tool(read[before]), by_exporter(read[way]), by_tool(read[after])
    assert len(ours) == 2 * len(EXPORTED) == 30
    assert ours.keys() == first.keys() == second.keys()
    assert all(first[key] <= ours[key] <= second[key] for key in ours)
    sent = ("netkit_rdma_port_packets_transmitted_total", "rxe0")
    assert second[sent] > first[sent] > 0


def test_the_exporters_page_says_what_the_tool_says_at_rest(results: Results) -> None:
    """The same names, devices and numbers, to the last digit."""
    read = json.loads(results["exporter"]["out"])
    series = re.findall(r'^(netkit_rdma_\w+_total)\{device="(\w+)",port="1"\} ([0-9.e+]+)$', read["page"], re.MULTILINE)
    assert {(name, device): float(value) for name, device, value in series} == by_tool(read["rest"])
