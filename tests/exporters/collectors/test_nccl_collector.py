"""Results in a folder: benchmark logs, netkit's probe, Inspector's two forms, RAS; bounded series, values for times."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.missing import Missing
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.nccl_inspector import parse_prometheus, parse_records
from netkit.sources.nccl_ras import parse_status
from netkit_exporters.collecting import Machine, Reading, State
from netkit_exporters.collectors.nccl import COLLECTOR, size_label
from tests.exporters import scrape
from tests.sources.extra_recordings import extra_data

LOGS = Path(__file__).parents[2] / "data" / "nccl_tests"
PROM = (
    'nccl_bus_bandwidth_gbs{{comm_id="0x1",rank="0",nranks="16",n_nodes="2",gpu_device_id="3",collective="AllReduce",'
    'coll_sn="{number}",timestamp="{number}",message_size="{size}"}} {value}\n'
)
RECORD = {
    "header": {"id": "0x7f", "rank": 2, "n_ranks": 8, "nnodes": 1},
    "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": 1},
    "coll_perf": {
        "coll": "AllReduce",
        "coll_sn": 1407,
        "coll_msg_size_bytes": (1 << 34) + 5,
        "coll_exec_time_us": 61974,
        "coll_busbw_gbs": 485.1,
    },
}
RAS = {
    "communicators": [
        {
            "ranks": [{"rank": 0, "status": {"async_error": 6}}, {"rank": 1, "status": {"async_error": 0}}],
            "missing_ranks": [{"rank": 2, "status": {"unresponsive": True, "considered_dead": False}}],
        }
    ],
    "ras": {"timeouts_count": 1},
}
PROBE = {
    "schema": "netkit.probe/1",
    "verdict": "slow",
    "smallest_detectable_slowdown": 0.05,
    "started_at": "2026-01-01T00:00:00+00:00",
    "findings": [{"id": "slow-rail", "class": "rail", "node": "n3", "rail": 2, "slowdown": 0.4, "severity": "warning"}],
}


class Folder:
    """A folder of results, and the collector that reads it again and again."""

    def __init__(self, place: Path, **options: str) -> None:
        self.place = place
        self.clock = 1_700_000_000
        machine = Machine(tree=MemoryTree({}), open_kernel=None, options={"nccl_results": str(place), **options})
        targets = COLLECTOR.open(machine).targets()
        assert not isinstance(targets, Missing)
        (self.target,) = targets

    def put(self, name: str, text: str) -> None:
        self.clock += 60
        (self.place / name).write_text(text)
        os.utime(self.place / name, (self.clock, self.clock))

    def read(self) -> Reading:
        return self.target.read()


def test_results_become_series(tmp_path: Path) -> None:
    """One file of each kind."""
    folder = Folder(tmp_path, platform="hgx-h100")
    folder.put("allreduce.log", (LOGS / "v2_18_all_reduce_two_nodes.log").read_text())
    folder.put("job.prom", PROM.format(number=1, size="1.00MB", value=48.5))
    folder.put("records.jsonl", json.dumps(RECORD))
    folder.put("ras.json", json.dumps(RAS))
    folder.put("nightly.json", json.dumps(PROBE))
    scrape.check_golden("nccl", folder.read().samples)


def test_a_dump_makes_no_new_series(tmp_path: Path) -> None:
    """A thousand collectives of one size are one series with the last value; sizes are powers of two."""
    folder = Folder(tmp_path)
    lines = [PROM.format(number=number, size="1.02MB", value=number + 1) for number in range(1000)]
    folder.put("job.prom", "".join(lines))
    found = scrape.values(folder.read().samples, "netkit_nccl_inspector_bus_bandwidth_bytes_per_second")
    assert found == {("AllReduce", "1MiB", "2", "16", "3"): 1000e9}


def test_runs_are_counted_from_zero(tmp_path: Path) -> None:
    """What lay there before the start was not seen to run; each newer file is one run, with its result."""
    folder = Folder(tmp_path)
    log = (LOGS / "v2_18_all_reduce_two_nodes.log").read_text()
    folder.put("nightly.log", log)
    name = "netkit_nccl_probe_runs_total"
    assert set(scrape.values(folder.read().samples, name).values()) == {0.0}
    folder.put("nightly.log", log)
    assert scrape.values(folder.read().samples, name)["nightly", "success"] == 1.0
    assert scrape.values(folder.read().samples, name)["nightly", "success"] == 1.0
    folder.put("nightly.log", log[: len(log) * 2 // 3])
    found = scrape.values(folder.read().samples, name)
    assert (found["nightly", "success"], found["nightly", "incomplete"]) == (1.0, 1.0)


def test_a_cut_log_gives_no_bandwidth(tmp_path: Path) -> None:
    """A run that broke off is no measurement."""
    folder = Folder(tmp_path)
    log = (LOGS / "v2_18_all_reduce_two_nodes.log").read_text()
    folder.put("cut.log", log[: len(log) * 2 // 3])
    found = folder.read().samples
    assert scrape.values(found, "netkit_nccl_bus_bandwidth_bytes_per_second") == {}
    assert scrape.values(found, "netkit_nccl_probe_last_success_timestamp_seconds") == {}


def test_a_wrong_result_is_corrupt_and_gives_no_bandwidth(tmp_path: Path) -> None:
    """Fast and wrong is not fast."""
    folder = Folder(tmp_path)
    shutil.copy(LOGS / "wrong_values.log", tmp_path / "wrong.log")
    found = folder.read().samples
    assert scrape.values(found, "netkit_nccl_bus_bandwidth_bytes_per_second") == {}


def test_a_strange_file_costs_itself_alone(tmp_path: Path) -> None:
    """The others are read; links are not followed."""
    folder = Folder(tmp_path)
    folder.put("notes.txt", "remember the milk")
    folder.put("ras.json", json.dumps(RAS))
    (tmp_path / "link.json").symlink_to("/etc/passwd")
    reading = folder.read()
    assert [fault.where for fault in reading.faults] == ["notes.txt"]
    assert scrape.values(reading.samples, "netkit_nccl_ras_ranks")["missing",] == 1.0


def test_no_folder_is_said(tmp_path: Path) -> None:
    """Named and not there is an error; not named is no data."""
    assert Folder(tmp_path / "absent").read().state is State.ERROR
    found = COLLECTOR.open(Machine(tree=MemoryTree({}), open_kernel=None)).targets()
    assert isinstance(found, Missing)


def test_nvidias_own_samples_are_read() -> None:
    """Records, Prometheus text and RAS as NVIDIA's pages print them."""
    place = extra_data() / "nccl"
    (record,) = parse_records((place / "inspector_record_sample.json").read_text())
    assert record.busbw_bytes_per_second == pytest.approx(485.119099e9)
    assert parse_records((place / "inspector_record_verbose_sample.json").read_text())
    found = parse_prometheus((place / "inspector_prom_sample.prom").read_text())
    assert {one.place.collective for one in found} == {"AllReduce", "Send"}
    assert {one.place.size_bytes for one in found} == {4 << 30, 512 << 20}
    status = parse_status((place / "ras_status_sample.json").read_text())
    assert (status.ranks, status.missing_ranks, status.unresponsive_ranks) == (1, 1, 1)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but InputError leaves a parser."""
    for parse in (parse_prometheus, parse_records, parse_status):
        with contextlib.suppress(InputError):
            assert parse(text)


@pytest.mark.parametrize(("size", "shown"), [(1, "1B"), (1 << 20, "1MiB"), (1 << 33, "8GiB"), (1 << 29, "512MiB")])
def test_sizes_are_shown_in_binary_units(size: int, shown: str) -> None:
    """Short and bounded."""
    assert size_label(size) == shown
