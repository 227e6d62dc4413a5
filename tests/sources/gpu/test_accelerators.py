"""Accelerators by whatever tells about them: written down and given again alike; tools that hang are bounded."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.gpu import GpuInventory
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.accelerators import read_accelerators, read_nvidia
from netkit.sources.disposable import tool_text
from netkit.sources.drivers import MOST_TEXT, LiveDrivers, RecordedDrivers, RecordingDrivers
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.nvml.answer import parse_answer
from netkit.sources.nvml.reader import NvmlReader, NvmlTiming
from netkit.sources.nvml.values import Plain, is_blank
from tests.sources.gpu.fake_library import FakeDriver

DATA = Path(__file__).parents[2] / "data" / "gpu"
NO_LIBRARY: Plain = {"source": "nvml", "error": 12, "devices": []}
SMI = {
    ("nvidia-smi", "-q"): (DATA / "nvidia_smi_q.txt").read_text(),
    ("nvidia-smi", "nvlink", "--status"): (DATA / "nvidia_smi_nvlink.txt").read_text(),
    ("nvidia-smi", "topo", "-m"): "\tGPU0\tCPU Affinity\nGPU0\t X \t0-47\n",
}
NPU = {
    ("npu-smi", "info"): (DATA / "npu_smi_info.txt").read_text(),
    ("hccn_tool", "-i", "0", "-link", "-g"): "link status: UP\n",
    ("hccn_tool", "-i", "0", "-speed", "-g"): "Speed: 200000 Mb/s\n",
}

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_NAMES = ("uuid", "pci", "name", "memory", "throttle", "links", "values", "fabric", "processes", "remapped_rows", "mig")
_fields = st.dictionaries(st.sampled_from(_NAMES), _json)
_devices = st.lists(
    st.fixed_dictionaries(
        {}, optional={"index": _json, "fields": _json | _fields, "errors": _json, "error": _json, "bus_id": _json}
    ),
    max_size=3,
)


class SaidDrivers:
    """Drivers that say what they are given; a tool not given is not installed."""

    def __init__(self, texts: dict[tuple[str, ...], str], answer: Plain = NO_LIBRARY) -> None:
        self.texts = texts
        self.answer = answer
        self.asked: list[tuple[str, ...]] = []

    def nvml(self) -> Plain:
        return self.answer

    def tool(self, *words: str) -> str | Missing:
        self.asked.append(words)
        return self.texts.get(words, Missing(reason=Reason.ABSENT, where=words[0], detail="not installed"))


def again(recording: RecordingDrivers) -> RecordedDrivers:
    """What a file would hold of it."""
    return RecordedDrivers(json.loads(json.dumps(recording.rows())))


@pytest.mark.parametrize("texts", [SMI, NPU, {}, {**SMI, **NPU}], ids=["nvidia-smi", "npu-smi", "none", "both"])
def test_what_tools_said_survives_being_written_down(texts: dict[tuple[str, ...], str]) -> None:
    """Plain data to text and back: the same records, and nothing asked that was not recorded."""
    recording = RecordingDrivers(SaidDrivers(texts))
    found = read_accelerators(MemoryTree({}), recording)
    assert read_accelerators(MemoryTree({}), again(recording)) == found
    assert "not in this recording" not in str(found)
    assert isinstance(found.nvidia, GpuInventory) is bool(set(SMI) & set(texts))
    assert isinstance(found.ascend, GpuInventory) is bool(set(NPU) & set(texts))


def test_what_nvmls_child_said_survives_being_written_down(
    reading: Callable[[NvmlReader], NvmlReader], driver: FakeDriver
) -> None:
    """Lost, silent and healthy GPUs alike."""
    reader = reading(driver.reader())
    reader.refresh()
    driver.behave(lost_device=3, hang_device=1)
    recording = RecordingDrivers(LiveDrivers(reader))
    found = read_nvidia(recording)
    assert read_nvidia(again(recording)) == found
    assert isinstance(found, GpuInventory)
    assert [gpu.index for gpu in found.gpus] == [0, 2]
    assert {silent.index: silent.lost for silent in found.silent} == {1: False, 3: True}


def test_files_alone_leave_the_drivers_unrecorded() -> None:
    """Which is neither "no GPU" nor "healthy"."""
    found = read_accelerators(MemoryTree({}), None)
    assert isinstance(found.nvidia, Missing)
    assert (found.nvidia.reason, found.nvidia.detail) == (Reason.UNSUPPORTED, "not recorded: only files were read")
    assert found.gpus == ()


def test_a_question_nobody_asked_then_is_not_recorded() -> None:
    """Never "not installed"."""
    recorded = RecordedDrivers([])
    for found in (recorded.nvml(), recorded.tool("npu-smi", "info")):
        assert isinstance(found, Missing)
        assert (found.reason, found.detail) == (Reason.UNSUPPORTED, "not in this recording")


_TOOL = {"op": "tool", "words": ["npu-smi", "info"], "text": "x"}


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"op": "rumour", "text": "x"},
        {"op": ["nvml"], "answer": {}},
        {"op": "nvml", "answer": []},
        {"op": "nvml", "answer": {}, "more": 1},
        {"op": "nvml", "answer": {"devices": [float("inf")]}},
        {"op": "nvml", "answer": json.loads('{"a":' * 40 + "1" + "}" * 40)},
        {"op": "nvml", "missing": "mislaid", "where": "", "detail": ""},
        {"op": "nvml", "missing": ["absent"], "where": "", "detail": ""},
        {"op": "nvml", "missing": "absent", "where": 7, "detail": ""},
        _TOOL | {"words": []},
        _TOOL | {"words": "npu-smi"},
        _TOOL | {"words": ["x" * 300]},
        _TOOL | {"words": ["x"] * 20},
        _TOOL | {"words": [{}]},
        _TOOL | {"text": 7},
        _TOOL | {"text": "x" * (MOST_TEXT + 1)},
        _TOOL | {"answer": {}},
    ],
    ids=lambda row: str(row)[:40],
)
def test_a_row_of_another_form_is_bad_input(row: dict[str, object]) -> None:
    """Wrong op, wrong type, no number, too deep, too long, too many words."""
    with pytest.raises(InputError):
        RecordedDrivers([row])


def test_two_answers_to_one_question_are_bad_input() -> None:
    """Which one counts would depend on who reads."""
    with pytest.raises(InputError, match="npu-smi info again"):
        RecordedDrivers([_TOOL, _TOOL])


def test_output_too_long_to_record_is_missing_in_both() -> None:
    """A recording never says something else than the reading it was made of."""
    recording = RecordingDrivers(SaidDrivers({("npu-smi", "info"): "x" * (MOST_TEXT + 1)}))
    assert recording.tool("npu-smi", "info") == again(recording).tool("npu-smi", "info")
    assert isinstance(recording.tool("npu-smi", "info"), Missing)


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional={"devices": _devices, "driver": _json, "error": _json}))
def test_any_recorded_answer_is_read(answer: dict[str, object]) -> None:
    """A recording may hold anything; records come out, safe to show, and nothing is raised."""
    found = parse_answer(answer)
    if isinstance(found, Missing):
        return
    for gpu in found.gpus:
        assert isinstance(gpu.name, Missing) or visible(gpu.name) == gpu.name
        assert isinstance(gpu.memory.total_bytes, Missing) or gpu.memory.total_bytes >= 0


@pytest.mark.fault("E07")
@pytest.mark.parametrize(
    ("number", "blank"),
    [
        (0xFFFFFFFF, True),
        (0xFFFFFFFFFFFFFFFF, True),
        (9223372036854775794, True),
        (2147483632, True),
        (0, False),
        (29, False),
        (85899345920, False),
        (2147483000, False),
    ],
)
def test_known_blanks_are_told_from_numbers(number: int, blank: bool) -> None:
    """NVML's and DCGM's marks, 32 and 64 bits wide."""
    assert is_blank(number) is blank


def test_a_tool_without_a_driver_is_no_empty_node() -> None:
    """What it complains about is the reason."""
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    found = read_nvidia(SaidDrivers({("nvidia-smi", "-q"): words}))
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (Reason.UNSUPPORTED, words)


def test_report_and_link_status_of_the_tool_become_one_inventory() -> None:
    """Links are in a report of their own."""
    found = read_nvidia(SaidDrivers(SMI))
    assert isinstance(found, GpuInventory)
    assert not isinstance(found.gpus[0].links, Missing)


def test_a_node_without_gpus_starts_no_tool_twice() -> None:
    """One failed start for each vendor's tool, no port asked for, no matrix."""
    drivers = SaidDrivers({})
    read_accelerators(MemoryTree({}), drivers)
    assert drivers.asked == [("nvidia-smi", "-q"), ("npu-smi", "info"), ("cnmon",), ("hy-smi",)]


def test_a_tool_that_is_not_here_is_absent() -> None:
    """Absence, no exception."""
    found = LiveDrivers().tool("/nonexistent/nvidia-smi", "-q")
    assert isinstance(found, Missing)
    assert found.reason is Reason.ABSENT


@pytest.mark.fault("E02")
def test_a_driver_that_hangs_is_not_asked_again_through_the_tool(
    reading: Callable[[NvmlReader], NvmlReader], driver: FakeDriver
) -> None:
    """The fallback is for NVML that is not there, not for one that does not answer."""
    driver.behave(hang_init=1)
    answer = reading(driver.reader(NvmlTiming(start=1.0, grace=0.3))).refresh()
    drivers = SaidDrivers(SMI, answer)
    hung = read_nvidia(drivers)
    assert isinstance(hung, Missing)
    assert hung.reason is Reason.TIMEOUT
    assert drivers.asked == []


@pytest.mark.fault("E04")
@pytest.mark.parametrize("stubborn", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN);"])
def test_a_tool_that_hangs_costs_its_deadline(stubborn: str) -> None:
    """What it printed before it hung is no answer."""
    code = f"import signal, time; {stubborn} print('GPU 0', flush=True); time.sleep(60)"
    started = time.monotonic()
    found = tool_text([sys.executable, "-c", code], 1.0, 0.3)
    assert time.monotonic() - started < 5.0
    assert isinstance(found, Missing)
    assert found.reason is Reason.TIMEOUT


def test_a_tool_that_fails_still_says_why() -> None:
    """Its words are kept, for the parser to refuse."""
    assert tool_text([sys.executable, "-c", "import sys; print('no driver'); sys.exit(9)"], 10, 1) == "no driver\n"
