"""`nvidia-smi` text as records: a synthetic node, recorded ones where they are at hand, and anything at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.gpu import Throttle
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.nvidia_smi import parse_link_status, parse_query, with_links
from tests.sources.extra_recordings import extra_data

DATA = Path(__file__).parents[2] / "data" / "gpu"
QUERY = (DATA / "nvidia_smi_q.txt").read_text()
LINKS = (DATA / "nvidia_smi_nvlink.txt").read_text()

_RECORDED = [
    ("nvidia-smi-q-A10.txt", "550.127.05", 1, "NVIDIA A10", 23028 << 20, 0),
    ("nvidia-smi-query.535.154.05.out.0.valid.txt", "535.154.05", 8, "NVIDIA GeForce RTX 4090", 24564 << 20, 7),
    ("nvidia-smi-query.535.161.08.out.0.valid.txt", "535.161.08", 8, "NVIDIA H100 80GB HBM3", 81559 << 20, 0),
    ("nvidia-smi-query.535.183.01.out.0.valid.txt", "535.183.01", 8, "NVIDIA H100 80GB HBM3", 81559 << 20, 1),
    ("nvidia-smi-query.560.35.03.out.0.valid.txt", "560.35.03", 1, "NVIDIA TITAN V", 12288 << 20, 3),
]


def recorded(name: str) -> str:
    place = extra_data() / "exporters" / "gpud" / name
    if not place.exists():
        pytest.skip(f"no {name} in the extra recordings")
    return place.read_text()


def test_a_report_gives_every_value_in_base_units() -> None:
    """Bytes, hertz, watts and fractions; errors are summed over both memories, aggregates are not counted."""
    gpu = parse_query(QUERY).gpus[0]
    assert (str(gpu.address), gpu.name) == ("0000:19:00.0", "NVIDIA H100 80GB HBM3")
    assert (gpu.memory.total_bytes, gpu.memory.used_bytes) == (81559 << 20, 20322 << 20)
    assert (gpu.utilisation.compute, gpu.utilisation.memory) == (0.93, 0.41)
    assert (gpu.clocks.graphics_hertz, gpu.clocks.max_graphics_hertz) == (86_000_000, 1_980_000_000)
    assert (gpu.power.draw_watts, gpu.power.limit_watts) == (67.74, 700.0)
    assert (gpu.temperature.core_celsius, gpu.temperature.memory_celsius) == (29.0, 39.0)
    assert gpu.throttle == (Throttle.HARDWARE_SLOWDOWN, Throttle.HARDWARE_POWER_BRAKE)
    assert (gpu.pcie.generation, gpu.pcie.width, gpu.pcie.max_width, gpu.pcie.replays) == (5, 8, 16, 67)
    assert (gpu.ecc.corrected, gpu.ecc.uncorrected, gpu.ecc.remapped_rows) == (5, 2, 3)
    assert (gpu.ecc.remap_pending, gpu.ecc.remap_failed, gpu.mig_enabled) == (True, False, False)
    assert not isinstance(gpu.fabric, Missing)
    assert (gpu.fabric.state, gpu.fabric.status) == ("completed", "success")


def test_processes_keep_their_pid_and_kind() -> None:
    """A graphics process is told apart; memory that is N/A is missing."""
    processes = parse_query(QUERY).gpus[0].processes
    assert not isinstance(processes, Missing)
    assert [(one.pid, one.compute, one.name) for one in processes] == [
        (58130, True, "/usr/bin/python"),
        (58131, False, "/usr/lib/xorg/Xorg"),
    ]
    assert processes[0].memory_bytes == 20322 << 20
    assert isinstance(processes[1].memory_bytes, Missing)


@pytest.mark.fault("E08")
def test_what_a_report_does_not_give_is_missing_with_its_reason() -> None:
    """N/A is unsupported, an error of the driver is malformed, a line that is not there is absent; none is zero."""
    gpu = parse_query(QUERY).gpus[1]
    unsupported = (gpu.utilisation.compute, gpu.temperature.memory_celsius, gpu.power.draw_watts, gpu.mig_enabled)
    for value in (*unsupported, gpu.fabric, gpu.ecc.enabled, gpu.ecc.corrected):
        assert isinstance(value, Missing)
        assert (value.reason, value.detail) == (Reason.UNSUPPORTED, "N/A")
    assert isinstance(gpu.memory.used_bytes, Missing)
    assert gpu.memory.used_bytes.reason is Reason.MALFORMED
    assert isinstance(gpu.ecc.remap_pending, Missing)
    assert gpu.ecc.remap_pending.reason is Reason.ABSENT
    assert gpu.throttle == (Throttle.IDLE,)
    assert gpu.processes == ()


@pytest.mark.fault("E03")
def test_a_gpu_the_tool_cannot_open_is_lost_and_the_others_are_read() -> None:
    """The tool's complaint names the bus address."""
    found = parse_query(QUERY)
    assert len(found.gpus) == 2
    (lost,) = found.silent
    assert (str(lost.address), lost.lost) == ("0000:5d:00.0", True)


def test_links_join_their_gpu_by_uuid() -> None:
    """A link that is down has no speed; a GPU without links keeps none."""
    found = with_links(parse_query(QUERY), parse_link_status(LINKS))
    links = found.gpus[0].links
    assert not isinstance(links, Missing)
    assert [link.index for link in links if link.active is not True] == [5]
    assert {link.bytes_per_second for link in links if link.active} == {26.562e9}
    assert isinstance(links[5].bytes_per_second, Missing)
    assert found.gpus[1].links == ()


@pytest.mark.parametrize(("name", "driver", "count", "model", "memory", "processes"), _RECORDED)
def test_recorded_reports_are_read_whole(
    name: str, driver: str, count: int, model: str, memory: int, processes: int
) -> None:
    """Five drivers' reports: every GPU has an address, a UUID, memory, lanes and its processes."""
    found = parse_query(recorded(name))
    assert (found.driver, len(found.gpus), found.silent) == (driver, count, ())
    assert {gpu.name for gpu in found.gpus} == {model}
    assert {gpu.memory.total_bytes for gpu in found.gpus} == {memory}
    assert len({str(gpu.address) for gpu in found.gpus}) == len({gpu.uuid for gpu in found.gpus}) == count
    assert {gpu.pcie.width for gpu in found.gpus} == {16}
    assert sum(len(gpu.processes) for gpu in found.gpus if not isinstance(gpu.processes, Missing)) == processes
    assert not any(isinstance(gpu.processes, Missing) for gpu in found.gpus)


def test_recorded_h100s_on_a_power_brake_say_so() -> None:
    """The recording has all eight under hardware slowdown at 86 MHz."""
    found = parse_query(recorded("nvidia-smi-query.535.161.08.out.0.valid.txt"))
    assert {gpu.throttle for gpu in found.gpus} == {(Throttle.HARDWARE_SLOWDOWN, Throttle.HARDWARE_POWER_BRAKE)}


def test_recorded_link_status_has_twelve_links_each() -> None:
    """Eight A100, twelve links of 25 GB/s."""
    links = parse_link_status(recorded("nvidia-smi.nvlink.status.a100.txt"))
    assert [len(found) for found in links.values()] == [12] * 8
    assert {link.bytes_per_second for found in links.values() for link in found} == {25e9}


@settings(deadline=None)
@given(st.integers(0, len(QUERY)))
def test_a_report_cut_anywhere_gives_no_value_the_whole_one_has_not(length: int) -> None:
    """GPUs before the cut are unchanged; the one that was cut may miss values, never its neighbours'."""
    try:
        cut = parse_query(QUERY[:length])
    except InputError:
        return
    whole = parse_query(QUERY)
    assert cut.gpus[:-1] == whole.gpus[: max(0, len(cut.gpus) - 1)]


@settings(deadline=None)
@given(st.text(alphabet="GPU 0:.-FNAC\n\x1b[]()kMiB5", max_size=300))
def test_any_text_is_a_report_or_refused(text: str) -> None:
    """Nothing but InputError is raised, and what is kept is safe to show."""
    try:
        found = parse_query(f"Attached GPUs : 1\nGPU 00000000:19:00.0\n    Product Name : {text}")
    except InputError:
        return
    assert all(isinstance(gpu.name, Missing) or visible(gpu.name) == gpu.name for gpu in found.gpus)
    parse_link_status(text)


@pytest.mark.parametrize("text", ["", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."])
def test_what_is_no_report_is_refused(text: str) -> None:
    """An error message is not a node without GPUs."""
    with pytest.raises(InputError, match="nvidia-smi -q"):
        parse_query(text)


def test_a_line_that_goes_on_for_ever_is_cut() -> None:
    """Time stays proportional to the text."""
    assert parse_query(QUERY + " " * 200_000 + "x" + " " * 200_000 + "y").gpus
