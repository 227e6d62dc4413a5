"""What every collector and every counter row must come with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from netkit.catalogue.counter import CounterRow, CounterTable, Way, tables
from netkit.catalogue.metrics import Kind, Metric
from netkit.model.missing import Missing
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.recording_file import load
from netkit_exporters.collecting import Collector, State
from netkit_exporters.discovery import collector_named, collectors
from tests.exporters import scrape
from tests.exporters.full_node import full_node
from tests.exporters.scenes import INCOMPLETE, WHOLE
from tests.sources.extra_recordings import extra_data

NODES = Path(__file__).parents[2] / "nodes"
ALL = collectors()
OWN_TESTS = {"pods", "nccl", "process"}
_UNITS_AND_WAYS = re.compile(
    r"^(Always 1|1 (for|when|while)|State|Physical state|Rank|Degrees|Joules|Hertz|Watts|Volts|Amperes|Share|Priority"
    r"|Traffic class|Receive buffer|Findings|Objects on|RDMA devices|Collective ports|Width in bits|Lanes|NVLinks"
    r"|Seconds between|Seconds the driver|Seconds since|Series|Ranks|Communicators|Bytes of)"
    r"|\b(received|sent|here|on this|over|each way|both ends|each of)\b"
)
KERNEL_DRIVERS = {
    "mlx5_ib": "mlx5",
    "bnxt_re": "bnxt",
    "hns_roce": "hns",
    "mlx4_ib": "mlx4",
    **{name: name for name in ("irdma", "rxe", "erdma", "efa", "cxgb4")},
}


def rows_of(table: CounterTable) -> list[CounterRow]:
    return [*table.hardware, *table.port, *table.statistics]


@pytest.fixture(scope="module")
def named_in_nodes() -> frozenset[str]:
    """Every counter that some node under tests/nodes has."""
    found: set[str] = set()
    for path in sorted(NODES.glob("*.jsonl")):
        recording = load(path)
        found |= {match[1] for match in re.finditer(r'counters/([^"/]+)"', path.read_text())}
        counted = read_driver_statistics(recording.kernel, "eth0") if recording.kernel else ()
        found |= set() if isinstance(counted, Missing) else {counter.name for counter in counted}
    return frozenset(found)


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.id)
def test_every_counter_of_the_catalogue_is_in_a_recorded_node(
    table: CounterTable, named_in_nodes: frozenset[str]
) -> None:
    """A row that no node has was never read."""
    names = {row.name.replace("%d", "3") for row in rows_of(table)}
    assert names - named_in_nodes == set()


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.id)
def test_a_row_says_unit_and_direction(table: CounterTable) -> None:
    """In the first words of its help."""
    for row in rows_of(table):
        assert row.help.startswith(f"{row.form.unit.capitalize()} {row.way}: "), row.name
        assert row.meaning, row.name
        if row.name.startswith("port_"):
            assert row.way is (Way.TX if "xmit" in row.name else Way.RX), row.name


def test_drivers_that_share_a_series_mean_the_same() -> None:
    """One stem has one unit and one set of labels, whoever counts it, and once in each driver."""
    for which in ("hardware", "statistics"):
        meant: dict[str, tuple[object, ...]] = {}
        for table in tables():
            seen = [(row.stem, row.label) for row in getattr(table, which)]
            assert len(seen) == len(set(seen)), table.id
            for row in getattr(table, which):
                assert meant.setdefault(row.stem, (row.form.unit, row.labels)) == (row.form.unit, row.labels), row.name


def test_names_are_the_kernels() -> None:
    """Every RDMA counter of Linux 6.12 is in its driver's table."""
    listed = json.loads((extra_data() / "exporters/kernel/counters-catalogue-linux-6.12.json").read_text())
    found = 0
    for driver, groups in listed["rdma_hw_counters"].items():
        names = groups if isinstance(groups, list) else [name for group in groups.values() for name in group]
        table = next(table for table in tables() if table.id == KERNEL_DRIVERS[driver])
        assert set(names) <= {row.name for row in table.hardware}, driver
        found += len(names)
    assert found == 282


def test_names_are_those_of_real_machines() -> None:
    """RDMA and Ethernet counters of an AMD Pollara node, Ethernet counters of a Broadcom one."""
    pollara = extra_data() / "exporters/rocm-device-metrics-exporter"
    ionic = next(table for table in tables() if table.id == "ionic")
    ports = json.loads((pollara / "rdma_statistic_j.txt").read_text())
    seen = {name for port in ports for name in port} - {"ifname", "port"}
    assert seen == {row.name for row in ionic.hardware} - {"tx_rdma_retx_pkts"}
    assert spelled(ionic) <= printed(pollara / "ethtool_S_enp132s0.txt")
    bnxt = next(table for table in tables() if table.id == "bnxt")
    assert spelled(bnxt) <= printed(extra_data() / "exporters/ethq/ethtool-S-bnxt_en.excerpt.txt")


def spelled(table: CounterTable) -> set[str]:
    return {row.name.replace("%d", "3") for row in table.statistics}


def printed(path: Path) -> set[str]:
    return {match[1] for match in re.finditer(r"^\s*([\w.%-]+):\s*\d+\s*$", path.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("collector", ALL, ids=lambda collector: collector.id)
def test_a_collector_has_a_whole_and_an_incomplete_machine(collector: Collector) -> None:
    """Or tests of its own."""
    assert collector.id in OWN_TESTS or (collector.id in WHOLE and collector.id in INCOMPLETE)


@pytest.mark.parametrize("name", WHOLE)
def test_a_collector_gives_what_its_golden_says(name: str) -> None:
    """NETKIT_REWRITE_GOLDEN=1 writes it again."""
    scrape.check_golden(name, scrape.samples(collector_named(name), WHOLE[name]()))


@pytest.mark.parametrize("name", INCOMPLETE)
def test_a_collector_says_what_it_could_not_read(name: str) -> None:
    """A reason, a fault, or fewer series than on a whole machine; never an exception."""
    found = scrape.readings(collector_named(name), INCOMPLETE[name]())
    if isinstance(found, Missing):
        assert found.detail
        return
    silent = [key for key, reading in found.items() if reading.state is State.NO_DATA and not reading.samples]
    faults = [fault for reading in found.values() for fault in reading.faults]
    given = {sample.metric.name for reading in found.values() for sample in reading.samples}
    whole = {sample.metric.name for sample in scrape.samples(collector_named(name), WHOLE[name]())}
    assert silent or faults or whole - given


@pytest.mark.parametrize("name", [*WHOLE])
def test_samples_are_of_the_rows_a_collector_declares(name: str) -> None:
    """The right number of labels, no series twice, no label that is not text."""
    collector = collector_named(name)
    seen = set()
    for sample in scrape.samples(collector, WHOLE[name]()):
        assert sample.metric in collector.metrics, sample.metric.name
        assert len(sample.labels) == len(sample.metric.labels), sample.metric.name
        assert (sample.metric, sample.labels) not in seen, sample
        seen.add((sample.metric, sample.labels))


@pytest.mark.parametrize("collector", ALL, ids=lambda collector: collector.id)
def test_rows_are_well_formed(collector: Collector) -> None:
    """Counters end in `_total`, units stand in the name, help says unit and direction."""
    assert collector.question.endswith("?")
    for metric in collector.metrics:
        base = metric.name.removesuffix("_total")
        assert re.fullmatch(r"(netkit|process)_[a-z0-9_]+", metric.name)
        assert (metric.kind is Kind.COUNTER) == (metric.name != base), metric.name
        assert not re.search("_(counter|gauge|summary|histogram)(_|$)", metric.name), metric.name
        assert not metric.unit or base.endswith(f"_{metric.unit}"), metric.name
        assert metric.help.endswith("."), metric.name
        assert not metric.name.startswith("netkit") or _UNITS_AND_WAYS.search(metric.help), (metric.name, metric.help)
        assert len(set(metric.labels)) == len(metric.labels), metric.name


def test_no_two_rows_have_one_name() -> None:
    """A name belongs to one row, whoever gives it."""
    by_name: dict[str, Metric] = {}
    for collector in ALL:
        for metric in collector.metrics:
            assert by_name.setdefault(metric.name, metric) is metric, metric.name


def test_eight_nics_and_eight_gpus_are_1300_series() -> None:
    """With everything mlx5 and NVML count, and room for what the exporter says of itself."""
    machine, own = full_node(), 6
    read = [scrape.readings(collector, machine) for collector in ALL if collector.default]
    targets = [target for found in read if not isinstance(found, Missing) for target in found.values()]
    series = sum(len(target.samples) for target in targets) + own * len(read)
    assert 1100 < series <= 1300
