"""An answer written down gives the same records again; tools that fail or hang cost a bounded time."""

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
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.disposable import tool_text
from netkit.sources.gpu import GpuSource, GpuWay, read_nvidia, read_nvidia_smi
from netkit.sources.nvml import NvmlReader, NvmlTiming
from netkit.sources.nvml_answer import parse_answer
from netkit.sources.nvml_values import is_blank
from tests.sources.gpu.fake_library import FakeDriver

DATA = Path(__file__).parents[2] / "data" / "gpu"
_ANSWERS = {
    GpuWay.NVIDIA_SMI: {
        "query": (DATA / "nvidia_smi_q.txt").read_text(),
        "nvlink": (DATA / "nvidia_smi_nvlink.txt").read_text(),
    },
    GpuWay.NPU_SMI: {"info": (DATA / "npu_smi_info.txt").read_text()},
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


@pytest.mark.parametrize("way", sorted(_ANSWERS))
def test_a_tools_answer_survives_being_written_down(way: GpuWay) -> None:
    """Plain data to text and back, same records."""
    source = GpuSource(way=way, answer=_ANSWERS[way])
    again = GpuSource.from_plain(json.loads(json.dumps(source.plain())))
    assert again == source
    assert again.inventory() == source.inventory()
    assert not isinstance(again.inventory(), Missing)


def test_the_childs_answer_survives_being_written_down(
    reading: Callable[[NvmlReader], NvmlReader], driver: FakeDriver
) -> None:
    """Lost, silent and healthy GPUs alike."""
    reader = reading(driver.reader())
    reader.refresh()
    driver.behave(lost_device=3, hang_device=1)
    source = read_nvidia(reader)
    assert isinstance(source, GpuSource)
    assert source.way is GpuWay.NVML
    again = GpuSource.from_plain(json.loads(json.dumps(source.plain()))).inventory()
    assert again == source.inventory()
    assert not isinstance(again, Missing)
    assert [gpu.index for gpu in again.gpus] == [0, 2]
    assert {silent.index: silent.lost for silent in again.silent} == {1: False, 3: True}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"schema": "netkit.gpu/2", "way": "nvml", "answer": {}},
        {"schema": "netkit.gpu/1", "way": "rumour", "answer": {}},
        {"schema": "netkit.gpu/1", "way": ["nvml"], "answer": {}},
        {"schema": "netkit.gpu/1", "way": "nvml", "answer": []},
        {"schema": "netkit.gpu/1", "way": "nvml", "answer": {"devices": [float("inf")]}},
        {"schema": "netkit.gpu/1", "way": "nvml", "answer": json.loads('{"a":' * 40 + "1" + "}" * 40)},
    ],
)
def test_a_recording_of_another_form_is_refused(data: object) -> None:
    """Wrong schema, unknown way, wrong type, no number, too deep."""
    with pytest.raises(InputError, match="recorded GPU answer"):
        GpuSource.from_plain(data)


def test_a_recording_without_its_text_is_refused() -> None:
    """The parser is never handed something else than text."""
    with pytest.raises(InputError, match="query"):
        GpuSource(way=GpuWay.NVIDIA_SMI, answer={"query": 7}).inventory()


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


def test_a_tool_that_is_not_here_is_absent() -> None:
    """Absence, no exception."""
    found = read_nvidia_smi("/nonexistent/nvidia-smi")
    assert isinstance(found, Missing)
    assert found.reason is Reason.ABSENT


def tool(folder: Path, *, query: str, links: str = "", status: int = 0) -> str:
    """A stand-in for `nvidia-smi` that prints what it is given."""
    place = folder / "nvidia-smi"
    code = f"import sys; print({query!r} if sys.argv[1] == '-q' else {links!r}, end=''); sys.exit({status})"
    place.write_text(f"#!{sys.executable}\n{code}\n")
    place.chmod(0o755)
    return str(place)


def test_the_tool_gives_a_source_like_any_other(tmp_path: Path) -> None:
    """Report and link status travel together."""
    answer = _ANSWERS[GpuWay.NVIDIA_SMI]
    source = read_nvidia_smi(tool(tmp_path, query=answer["query"], links=answer["nvlink"]))
    assert source == GpuSource(way=GpuWay.NVIDIA_SMI, answer=answer)


def test_a_tool_without_a_driver_is_no_empty_node(tmp_path: Path) -> None:
    """What it complains about is the reason."""
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    found = read_nvidia_smi(tool(tmp_path, query=words, status=9))
    assert isinstance(found, Missing)
    assert (found.reason, found.detail) == (Reason.UNSUPPORTED, words)


@pytest.mark.fault("E02")
def test_a_driver_that_hangs_is_not_asked_again_through_the_tool(
    reading: Callable[[NvmlReader], NvmlReader], driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fallback is for NVML that is not there, not for one that does not answer."""
    tool(tmp_path, query=_ANSWERS[GpuWay.NVIDIA_SMI]["query"])
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    driver.behave(hang_init=1)
    hung = read_nvidia(reading(driver.reader(NvmlTiming(start=1.0, grace=0.3))))
    assert isinstance(hung, Missing)
    assert hung.reason is Reason.TIMEOUT
    driver.library = tmp_path / "no-such-library.so"
    absent = read_nvidia(reading(driver.reader()))
    assert isinstance(absent, GpuSource)
    assert absent.way is GpuWay.NVIDIA_SMI


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
