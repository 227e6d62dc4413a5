"""RDMA counters: what goes out, in which order it is read, and what one bad file or device costs."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import cast

import pytest

from netkit.catalogue.counter import tables
from netkit.model.missing import Missing, Reason
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.netlink.kernel import Answer, Kernel, Question
from netkit.sources.recording_file import Recording, load
from netkit.sources.tree import READ_LIMIT, LiveTree, Tree
from netkit_exporters.collecting import Machine
from netkit_exporters.collectors.rdma import COLLECTOR
from tests.exporters import scrape
from tests.sources import made_up
from tests.sources.extra_recordings import extra_data, h100


def machine(tree: Tree, **options: str) -> Machine:
    return Machine(tree=tree, open_kernel=None, options=options)


def one_port(hw: dict[str, str | int], counters: dict[str, str | int] | None = None) -> made_up.Machine:
    built = made_up.Machine()
    at = built.pci("pci0000:5d/0000:5d:01.0/0000:5e:00.0", "0x020700", driver="mlx5_core")
    device = built.rdma(at, "mlx5_0", guid="0011:2233:4455:6677")
    built.port(device, hw=hw, counters=counters or {})
    return built


class Firmware:
    """A tree with mlx5's habits: what a read costs in commands, and which read fills the cache of a port."""

    def __init__(self, tree: MemoryTree) -> None:
        self._tree = tree
        self._cached: set[str] = set()
        self.commands: dict[str, int] = {}

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        port, _, name = path.partition("/hw_counters/")
        if name and name != "lifespan" and port not in self._cached:
            self.commands[port] = self.commands.get(port, 0) + 3
            self._cached |= {port} if name == "rx_write_requests" else set()
        return self._tree.read(path, limit)

    def __getattr__(self, name: str) -> object:
        return getattr(self._tree, name)


def test_the_firmware_is_asked_three_times_a_port_at_most() -> None:
    """All names of mlx5 on one port: one file fills the cache, the others are free."""
    names = [row.name for table in tables() if table.id == "mlx5" for row in table.hardware]
    firmware = Firmware(one_port(dict.fromkeys(names, "1")).tree())
    found = scrape.samples(COLLECTOR, machine(cast("Tree", firmware)))
    assert len([sample for sample in found if sample.value == b"1"]) == len(names) == 34
    assert list(firmware.commands.values()) == [3]


@pytest.mark.parametrize(
    ("name", "bits"),
    [("link_downed", 8), ("symbol_error", 16), ("port_xmit_wait", 32), ("local_link_integrity_errors", 4)],
)
def test_a_full_counter_is_flagged(name: str, bits: int) -> None:
    """Its rate is 0 for ever; the flag says that this is not health."""
    full = scrape.samples(COLLECTOR, machine(one_port({}, {name: str(2**bits - 1)}).tree()))
    assert scrape.values(full, "netkit_rdma_saturated") == {("mlx5_0", "1", name): 1.0}
    almost = scrape.samples(COLLECTOR, machine(one_port({}, {name: str(2**bits - 2)}).tree()))
    assert scrape.values(almost, "netkit_rdma_saturated") == {}


def test_words_are_bytes_once() -> None:
    """The kernel counts words of four bytes."""
    found = scrape.samples(COLLECTOR, machine(one_port({}, {"port_rcv_data": "25"}).tree()))
    assert scrape.values(found, "netkit_rdma_port_data_received_bytes_total") == {("mlx5_0", "1"): 100.0}


def test_an_unknown_counter_goes_out_under_its_own_name() -> None:
    """A new driver never yields nothing."""
    found = scrape.samples(COLLECTOR, machine(one_port({"SwLinkUp,32": "7"}).tree()))
    assert scrape.values(found, "netkit_rdma_hw_events_total") == {("mlx5_0", "1", "SwLinkUp,32"): 7.0}


@pytest.mark.parametrize("bad", ["N/A (no PMA)", "0x10", "-1", "1e3", " 5", "9" * 30, errno.EIO, errno.EACCES])
def test_one_bad_file_costs_that_sample_alone(bad: str | int) -> None:
    """It is counted as a fault; nothing is guessed."""
    tree = one_port({"out_of_sequence": bad, "np_cnp_sent": "3"}).tree()
    found = scrape.samples(COLLECTOR, machine(tree))
    assert scrape.values(found, "netkit_rdma_out_of_sequence_packets_received_total") == {}
    assert scrape.values(found, "netkit_rdma_np_cnp_packets_sent_total") == {("mlx5_0", "1"): 3.0}
    assert any("out_of_sequence" in fault.where for fault in scrape.faults(COLLECTOR, machine(tree)))


def test_a_32_bit_counter_counts_on_when_asked() -> None:
    """Past 2^32 it goes up, not back; a reset goes back, as Prometheus expects."""
    built = one_port({"rx_write_requests": str(2**32 - 1)})
    source = COLLECTOR.open(machine(cast("Tree", Changing(built)), unwrap="1"))
    seen = []
    for value in (2**32 - 1, 4, 10, 3):
        path = next(path for path in built.files if path.endswith("/hw_counters/rx_write_requests"))
        built.files[path] = f"{value}\n".encode()
        targets = source.targets()
        assert not isinstance(targets, Missing)
        found = [sample for target in targets for sample in target.read().samples]
        seen += list(scrape.values(found, "netkit_rdma_rx_write_requests_total").values())
    assert seen == [2**32 - 1, 2**32 + 4, 2**32 + 10, 3]


class Changing:
    """A machine whose files may change between readings."""

    def __init__(self, built: made_up.Machine) -> None:
        self._built = built

    def __getattr__(self, name: str) -> object:
        return getattr(self._built.tree(), name)


def test_virtual_functions_are_left_out_unless_asked_for() -> None:
    """They would multiply series and firmware commands."""
    tree = made_up.bonded_with_virtual_functions().tree()
    fewer = scrape.values(scrape.samples(COLLECTOR, machine(tree)), "netkit_rdma_devices")
    more = scrape.values(scrape.samples(COLLECTOR, machine(tree, virtual_functions="1")), "netkit_rdma_devices")
    assert 0 < fewer[()] < more[()]


def test_expected_ports_and_rates_come_from_the_platform() -> None:
    """A machine type of eight 400G cards expects them of the cards that are here, and says how many are missing."""
    found = scrape.samples(COLLECTOR, machine(made_up.roce_two_rails().tree(), platform="hgx-h100"))
    assert scrape.values(found, "netkit_rdma_devices_expected") == {(): 8.0}
    rates = scrape.values(found, "netkit_rdma_port_expected_rate_bytes_per_second")
    assert len(rates) == 2
    assert set(rates.values()) == {50e9}


def test_zeros_of_infiniband_on_ethernet_are_left_out() -> None:
    """Thirteen firmware commands a port for nothing; one that counted all the same goes out."""
    built = one_port({}, {"VL15_dropped": "0", "symbol_error": "3", "port_rcv_data": "0"})
    given = {sample.metric.name for sample in scrape.samples(COLLECTOR, machine(built.tree()))}
    assert "netkit_rdma_vl15_dropped_total" not in given
    assert {"netkit_rdma_symbol_error_total", "netkit_rdma_port_data_received_bytes_total"} <= given


def test_no_rdma_class_is_no_data() -> None:
    """A machine without RDMA is quiet."""
    found = scrape.readings(COLLECTOR, machine(MemoryTree({"sys/class/net/lo/mtu": b"65536\n"})))
    assert isinstance(found, Missing)
    assert found.reason is Reason.ABSENT


def live(tmp_path: Path, names: dict[str, str]) -> Path:
    at = tmp_path / "sys/class/infiniband/mlx5_0/ports/1/hw_counters"
    at.mkdir(parents=True)
    for name, value in names.items():
        (at / name).write_text(value)
    return at


def test_kept_descriptors_see_new_values_and_new_devices(tmp_path: Path) -> None:
    """A value that changes is read anew; a device that was taken out and put back is a new one."""
    at = live(tmp_path, {"out_of_sequence": "1\n"})
    source = COLLECTOR.open(Machine(tree=LiveTree({"sys": tmp_path / "sys"}), open_kernel=None))

    def seen() -> list[float]:
        targets = source.targets()
        assert not isinstance(targets, Missing)
        found = [sample for target in targets for sample in target.read().samples]
        return list(scrape.values(found, "netkit_rdma_out_of_sequence_packets_received_total").values())

    assert seen() == [1.0]
    (at / "out_of_sequence").write_text("2\n")
    assert seen() == [2.0]
    (at / "out_of_sequence").unlink()
    source.close()
    assert seen() == []


def test_the_h100_tree_gives_at_least_what_node_exporter_gives() -> None:
    """Nine ports of 21 port counters and 25 of the driver's, with state, rate and info of each."""
    extra_data()
    found = scrape.samples(COLLECTOR, machine(h100()))
    counters = [sample for sample in found if re.fullmatch(r"netkit_rdma_\w+_total", sample.metric.name)]
    assert len(counters) >= 423 - 9
    assert len(found) >= 462
    assert len({(sample.metric.name, sample.labels) for sample in found}) == len(found)


class Counting:
    """A kernel that counts questions, and may refuse some."""

    def __init__(self, kernel: Kernel, refuse: str = " ") -> None:
        self._kernel = kernel
        self._refuse = refuse
        self.asked: list[str] = []

    def ask(self, question: Question) -> Answer | Missing:
        self.asked.append(question.where)
        if question.where.startswith(self._refuse):
            return Missing(reason=Reason.MALFORMED, where=question.where, detail="EMSGSIZE")
        return self._kernel.ask(question)


def soft_roce() -> Recording:
    return load(Path(__file__).parents[2] / "nodes" / "soft-roce-virtual-machine.jsonl")


def counted(kernel: Counting) -> dict[tuple[str, tuple[str, ...]], float]:
    found = scrape.samples(COLLECTOR, Machine(tree=soft_roce().tree, open_kernel=lambda: kernel))
    return {(one.metric.name, one.labels): float(one.value) for one in found if one.metric.name.endswith("_total")}


def test_netlink_is_asked_once_a_port() -> None:
    """And no file of the same counters is read."""
    recording = soft_roce()
    assert recording.kernel is not None
    kernel = Counting(recording.kernel)
    assert len(counted(kernel)) == 30
    assert sorted(where for where in kernel.asked if "statistics" in where) == [
        "rdma statistics of rxe0/1",
        "rdma statistics of rxe1/1",
    ]


def test_files_are_read_where_netlink_refuses() -> None:
    """Some drivers' answers do not fit into one message; the series are the same."""
    recording = soft_roce()
    assert recording.kernel is not None
    by_netlink = counted(Counting(recording.kernel))
    by_files = counted(Counting(recording.kernel, refuse="rdma statistics"))
    assert by_files.keys() == by_netlink.keys()
