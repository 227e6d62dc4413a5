"""GPU queries that hang, crash or lie, played by a synthetic libnvidia-ml: what the reader still says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from netkit.model.gpu import GpuInventory, Throttle
from netkit.model.missing import Missing, Reason
from netkit.sources.disposable import end
from netkit.sources.nvml.answer import parse_answer
from netkit.sources.nvml.reader import Backoff, NvmlReader, NvmlTiming
from tests.sources.gpu.fake_library import QUICK, FakeDriver

Keep = Callable[[NvmlReader], NvmlReader]


def inventory(reader: NvmlReader) -> GpuInventory:
    found = parse_answer(reader.refresh())
    assert isinstance(found, GpuInventory)
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def holders(path: Path) -> list[int]:
    """Processes of this user that have a file open, as lsof would list them."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                links = [one.readlink() for one in (process / "fd").iterdir()]
            except OSError:
                continue
            found += [int(process.name)] if path in links else []
    return found


@pytest.mark.fault("E01")
def test_a_node_without_the_library_is_quiet(reading: Keep, driver: FakeDriver, tmp_path: Path) -> None:
    """No libnvidia-ml is absence, asked for again ever more rarely, and costs no process in between."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed (extra `gpu`)")
    driver.library = tmp_path / "no-such-library.so"
    reader = reading(driver.reader())
    found = parse_answer(reader.refresh())
    assert isinstance(found, Missing)
    assert found.reason is Reason.ABSENT
    assert (reader.hangs, reader.crashes, reader.child_pid) == (0, 0, None)
    assert reader.retry_seconds == 1.0


def test_without_a_driver_the_bindings_say_so_themselves(reading: Keep) -> None:
    """Where no library is named and none is installed, NVML's own "library not found" is absence as well."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed (extra `gpu`)")
    reader = reading(NvmlReader(timing=QUICK, environment={**os.environ, "LD_LIBRARY_PATH": ""}))
    found = parse_answer(reader.refresh())
    if not isinstance(found, Missing):
        pytest.skip("this machine has an NVIDIA driver")
    assert (found.reason, found.detail) == (Reason.ABSENT, "no libnvidia-ml.so.1 (NVML 12)")


def test_a_library_found_by_its_search_path_is_used(reading: Keep, driver: FakeDriver) -> None:
    """LD_LIBRARY_PATH is how a container brings the driver's library."""
    reader = reading(NvmlReader(timing=QUICK, environment=driver.environment(found_by_path=True)))
    assert len(inventory(reader).gpus) == 4


@pytest.mark.fault("E02")
def test_a_driver_that_hangs_at_start_costs_one_deadline(reading: Keep, driver: FakeDriver) -> None:
    """Hung is told, the child is gone, nobody is started before the wait is over, and the wait grows."""
    timing = NvmlTiming(start=1.5, device=0.5, refresh=3.0, grace=0.5)
    driver.behave(hang_init=1)
    reader = reading(driver.reader(timing))
    started = time.monotonic()
    found = parse_answer(reader.refresh())
    assert time.monotonic() - started < 4.0
    assert isinstance(found, Missing)
    assert found.reason is Reason.TIMEOUT
    assert (reader.hangs, reader.child_pid, reader.retry_seconds) == (1, None, 1.0)
    reader.refresh()
    assert driver.events().count("init") == 1, "asked again before its time"
    driver.clock = 1.0
    reader.refresh()
    assert (driver.events().count("init"), reader.retry_seconds) == (2, 2.0)
    driver.behave()
    driver.clock = 3.0
    assert len(inventory(reader).gpus) == 4
    assert reader.retry_seconds == 0


def test_waits_double_from_a_second_to_half_an_hour() -> None:
    """Twelve failures in a row end at the limit; one success starts over."""
    backoff = Backoff(1.0, 1800.0)
    waits = []
    for _ in range(13):
        backoff.failed(0.0)
        waits.append(backoff.wait)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800]
    assert (backoff.ready(1799.9), backoff.ready(1800.0)) == (False, True)
    backoff.worked()
    assert backoff.ready(0.0)


@pytest.mark.fault("E02")
@pytest.mark.parametrize("stubborn", [0, 1], ids=["heeds SIGTERM", "ignores SIGTERM"])
def test_a_hung_child_gets_sigterm_before_sigkill(reading: Keep, driver: FakeDriver, stubborn: int) -> None:
    """SIGKILL comes only when the grace period did not help; either way nobody is left in the driver."""
    driver.behave(hang_init=1, ignore_sigterm=stubborn)
    reader = reading(driver.reader(NvmlTiming(start=1.5, grace=0.4)))
    reader.refresh()
    (pid,) = [int(event.split()[1]) for event in driver.events() if event.startswith("hanging")]
    assert not alive(pid)
    assert ("sigterm 15" in driver.events()) is not bool(stubborn)


class Unkillable:
    """A process in uninterruptible sleep, as `end` sees it."""

    def __init__(self) -> None:
        self.signals: list[str] = []

    def poll(self) -> int | None:
        return None

    def terminate(self) -> None:
        self.signals.append("TERM")

    def kill(self) -> None:
        self.signals.append("KILL")


@pytest.mark.fault("E02")
def test_a_child_in_uninterruptible_sleep_is_left_behind() -> None:
    """Nothing ends it, so nobody waits for it."""
    process = Unkillable()
    started = time.monotonic()
    assert end(process, 0.1) is False
    assert time.monotonic() - started < 2.0
    assert process.signals == ["TERM", "KILL"]


@pytest.mark.fault("E02")
def test_no_second_child_is_started_beside_one_left_behind(
    reading: Keep, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most one process is ever in the driver; when the old one is gone at last, reading goes on."""
    driver.behave(hang_init=1)
    reader = reading(driver.reader(NvmlTiming(start=1.5, grace=0.1)))
    with monkeypatch.context() as patched:
        # SIGKILL that has no effect is what uninterruptible sleep is.
        patched.setattr("netkit.sources.disposable.end", lambda _process, _grace: False)
        reader.refresh()
    assert reader.hung
    driver.behave()
    driver.clock = 10.0
    found = parse_answer(reader.refresh())
    assert isinstance(found, Missing)
    assert "cannot be ended" in found.detail
    assert driver.events().count("init") == 1
    left = reader._left_behind
    assert left is not None
    left.process.kill()
    left.process.wait(5)
    assert not reader.hung
    assert len(inventory(reader).gpus) == 4


@pytest.mark.fault("E03")
@pytest.mark.parametrize("how", ["lost_device", "no_handle"], ids=["while running", "before the first call"])
def test_a_lost_gpu_keeps_its_siblings_and_its_name(reading: Keep, driver: FakeDriver, how: str) -> None:
    """The others are read; the lost one is named by UUID and bus where it was ever seen."""
    reader = reading(driver.reader())
    if how == "lost_device":
        inventory(reader)
    driver.behave(**{how: 2})
    found = inventory(reader)
    assert [gpu.index for gpu in found.gpus] == [0, 1, 3]
    (silent,) = found.silent
    assert (silent.lost, silent.index) == (True, 2)
    seen = how == "lost_device"
    assert isinstance(silent.uuid, str) is seen
    assert (str(silent.address) == "0000:1b:00.0") is seen


@pytest.mark.fault("E03")
def test_a_gpu_the_driver_no_longer_lists_is_not_forgotten(reading: Keep, driver: FakeDriver) -> None:
    """A count that shrinks names who is gone."""
    reader = reading(driver.reader())
    inventory(reader)
    driver.behave(count=3)
    found = inventory(reader)
    assert len(found.gpus) == 3
    (gone,) = found.silent
    assert (gone.uuid, str(gone.address), gone.lost) == (
        "GPU-00000003-0000-0000-0000-000000000000",
        "0000:1c:00.0",
        True,
    )


@pytest.mark.fault("E04")
@pytest.mark.parametrize("call", ["utilisation", "pcie", "fabric"])
def test_one_gpu_that_hangs_does_not_hold_up_the_others(reading: Keep, driver: FakeDriver, call: str) -> None:
    """GPU 2 is silent without being called lost, the others are fresh, and GPU 2 waits for its next turn."""
    reader = reading(driver.reader())
    inventory(reader)
    driver.behave(hang_device=2, hang_call=call)
    found = inventory(reader)
    assert [gpu.index for gpu in found.gpus] == [0, 1, 3]
    (silent,) = found.silent
    assert (silent.index, silent.lost, silent.why.reason) == (2, False, Reason.TIMEOUT)
    assert (reader.hangs, reader.retry_seconds) == (1, 0)
    inventory(reader)
    assert reader.hangs == 1, "asked again before its time"
    driver.behave()
    driver.clock = 1.0
    assert [gpu.index for gpu in inventory(reader).gpus] == [0, 1, 2, 3]


@pytest.mark.fault("E05")
def test_an_old_driver_costs_features_not_readings(reading: Keep, old_nvml: Path, tmp_path: Path) -> None:
    """A missing symbol switches one feature off; an older name of the same thing is used."""
    reader = reading(FakeDriver(old_nvml, tmp_path).reader())
    found = inventory(reader)
    assert found.features_off == (
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetRemappedRows",
    )
    gpu = found.gpus[0]
    assert gpu.throttle == (Throttle.HARDWARE_SLOWDOWN, Throttle.HARDWARE_POWER_BRAKE)
    assert gpu.utilisation.compute == 0.93
    assert isinstance(gpu.fabric, Missing)
    assert (gpu.fabric.reason, gpu.fabric.detail) == (Reason.UNSUPPORTED, "not in this driver's library (NVML 13)")
    assert isinstance(gpu.links, tuple)
    assert isinstance(gpu.links[0].bytes_per_second, Missing)
    assert gpu.links[0].active is True


@pytest.mark.fault("E06")
def test_a_reloaded_driver_is_opened_again_after_the_old_handles_are_closed(reading: Keep, driver: FakeDriver) -> None:
    """Version mismatch: shut down, start again, read on, in the same child."""
    reader = reading(driver.reader())
    inventory(reader)
    pid = reader.child_pid
    driver.behave(generation=1)
    found = inventory(reader)
    assert (found.driver, len(found.gpus), found.silent) == ("999.01", 4, ())
    assert reader.child_pid == pid
    assert driver.events() == ["init", "shutdown", "init"]


@pytest.mark.fault("E06")
def test_a_library_of_the_old_driver_is_replaced_with_its_process(reading: Keep, driver: FakeDriver) -> None:
    """Where the loaded library stays mismatched only a new process has the new one; no reading is lost."""
    reader = reading(driver.reader())
    driver.behave(library_of_its_driver=1)
    inventory(reader)
    pid = reader.child_pid
    driver.behave(library_of_its_driver=1, generation=1)
    found = inventory(reader)
    assert (found.driver, len(found.gpus)) == ("999.01", 4)
    assert reader.child_pid != pid
    assert "init while open" not in driver.events()


@pytest.mark.fault("E07")
def test_blanks_are_no_values(reading: Keep, driver: FakeDriver) -> None:
    """0xFFFFFFFF and 9223372036854775794 are never a temperature, an error count or a speed."""
    driver.behave(blanks=1)
    gpu = inventory(reading(driver.reader())).gpus[1]
    numbers = (
        gpu.temperature.core_celsius,
        gpu.temperature.memory_celsius,
        gpu.memory.used_bytes,
        gpu.utilisation.compute,
        gpu.power.draw_watts,
        gpu.clocks.graphics_hertz,
        gpu.pcie.generation,
        gpu.pcie.replays,
        gpu.ecc.corrected,
        gpu.ecc.remapped_rows,
        gpu.throttle,
    )
    assert [value for value in numbers if not isinstance(value, Missing)] == []
    assert isinstance(gpu.links, tuple)
    assert isinstance(gpu.links[0].bytes_per_second, Missing)
    assert gpu.memory.total_bytes == 80 << 30


@pytest.mark.fault("E08")
def test_what_mig_does_not_support_is_missing_and_not_zero(reading: Keep, driver: FakeDriver) -> None:
    """Utilisation and memory are unsupported, everything else is there."""
    driver.behave(unsupported=1, mig=1)
    gpu = inventory(reading(driver.reader())).gpus[0]
    assert gpu.mig_enabled is True
    for value in (gpu.utilisation.compute, gpu.utilisation.memory, gpu.memory.used_bytes, gpu.memory.total_bytes):
        assert isinstance(value, Missing)
        assert value.reason is Reason.UNSUPPORTED
    assert gpu.pcie.width == 8


@pytest.mark.fault("E09")
@pytest.mark.parametrize("how", ["between polls", "on request"])
def test_device_files_are_let_go_so_that_a_driver_can_be_unloaded(
    reading: Keep, driver: FakeDriver, tmp_path: Path, how: str
) -> None:
    """No process holds the device between two polls, or from the moment a file asks for it."""
    device, request = tmp_path / "nvidia0", tmp_path / "release"
    device.touch()
    driver.behave(device_file=device)
    reader = reading(driver.reader(keep_open=how != "between polls", release_file=request))
    assert len(inventory(reader).gpus) == 4
    if how == "on request":
        assert holders(device) == [reader.child_pid]
        request.touch()
        held = parse_answer(reader.refresh())
        assert isinstance(held, GpuInventory)
        assert held.gpus == ()
        assert {(one.lost, one.why.reason) for one in held.silent} == {(False, Reason.STALE)}
        request.unlink()
    assert holders(device) == []
    assert driver.events()[-1] == "shutdown"
    assert len(inventory(reader).gpus) == 4


@pytest.mark.fault("E10")
def test_a_crash_in_the_library_is_survived_and_counted(reading: Keep, driver: FakeDriver) -> None:
    """The child dies, the parent does not; the other devices are read by the next child."""
    reader = reading(driver.reader())
    inventory(reader)
    driver.behave(crash_device=1)
    found = inventory(reader)
    assert [gpu.index for gpu in found.gpus] == [0, 2, 3]
    assert (reader.crashes, found.silent[0].index, found.silent[0].lost) == (1, 1, False)
    inventory(reader)
    assert reader.crashes == 1, "asked again before its time"


@pytest.mark.fault("E10")
def test_crashes_on_every_device_end_the_round(reading: Keep, driver: FakeDriver) -> None:
    """Three children a round at most; the devices not reached are silent, and the source waits before the next."""
    driver.behave(count=8, crash_devices=1)
    reader = reading(driver.reader())
    found = inventory(reader)
    assert (found.gpus, len(found.silent), reader.crashes) == ((), 8, 3)
    assert reader.retry_seconds == 1.0
    assert isinstance(parse_answer(reader.refresh()), Missing)
    assert reader.crashes == 3


@pytest.mark.fault("E10")
def test_a_library_that_always_crashes_is_tried_ever_more_rarely(reading: Keep, driver: FakeDriver) -> None:
    """One crash a try, and the tries double their distance."""
    driver.behave(crash_init=1)
    reader = reading(driver.reader())
    for at in (0.0, 0.5, 1.0, 2.9, 3.0):
        driver.clock = at
        assert isinstance(parse_answer(reader.refresh()), Missing)
    assert (reader.crashes, driver.events().count("init"), reader.retry_seconds) == (3, 3, 4.0)


@pytest.mark.fault("E11")
def test_sixteen_slow_gpus_take_no_longer_than_one_round_may(reading: Keep, driver: FakeDriver) -> None:
    """200 ms a call: the round is bounded, nobody is killed, and every GPU is told apart before time runs out."""
    driver.behave(count=16, delay_ms=200)
    timing = NvmlTiming(start=10.0, device=1.2, refresh=1.5, grace=0.5)
    reader = reading(NvmlReader(library=driver.library, timing=timing, environment=driver.environment()))
    named: set[object] = set()
    for _ in range(3):
        started = time.monotonic()
        found = inventory(reader)
        assert time.monotonic() - started < timing.refresh + 2 * timing.device
        assert len(found.gpus) + len(found.silent) == 16
        assert not any(one.lost for one in found.silent)
        named |= {gpu.index for gpu in found.gpus}
    assert (reader.hangs, reader.crashes) == (0, 0)
    assert len(named) >= 9, "every round began with the same devices"


def test_what_the_library_prints_is_not_taken_for_an_answer(reading: Keep, driver: FakeDriver) -> None:
    """Libraries write to stdout when they feel like it."""
    driver.behave(chatter=1)
    assert len(inventory(reading(driver.reader())).gpus) == 4


def test_what_never_changes_is_read_once(reading: Keep, driver: FakeDriver) -> None:
    """The second round asks for no name and no UUID."""
    driver.behave(trace=1, count=1)
    reader = reading(driver.reader())
    inventory(reader)
    first = driver.events()
    inventory(reader)
    second = driver.events()[len(first) :]
    assert "call 0 uuid" in first
    assert {"call 0 uuid", "call 0 name", "call 0 pci"} & set(second) == set()
    assert "call 0 utilisation" in second


def test_a_child_does_not_outlive_its_reader(driver: FakeDriver) -> None:
    """Closing lets the child give its handles back and leave."""
    reader = driver.reader()
    inventory(reader)
    pid = reader.child_pid
    assert pid is not None
    reader.close()
    assert not alive(pid)
    assert driver.events() == ["init", "shutdown"]


_PARENT = """
import sys
from pathlib import Path
from netkit.sources.nvml.reader import NvmlReader
NvmlReader(library=Path(sys.argv[1])).refresh()
"""


def test_a_parent_that_is_killed_leaves_nobody_in_the_driver(driver: FakeDriver) -> None:
    """Not even a child that hangs."""
    driver.behave(hang_init=1)
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, driver.library], env=driver.environment())
    deadline = time.monotonic() + 15
    while not (hanging := [event for event in driver.events() if event.startswith("hanging")]):
        assert time.monotonic() < deadline, "the child never reached the driver"
        time.sleep(0.02)
    parent.kill()
    parent.wait(5)
    pid = int(hanging[0].split()[1])
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)
