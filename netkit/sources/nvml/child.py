"""The process that talks to NVML so that netkit itself never waits for a GPU driver: one JSON line in, one out.

Calls and structures: nvml.h through nvidia-ml-py. Run as a file by `reader`; imports nothing of netkit, so it starts
fast and dies alone. Requests: `{"ask": "hello"}` and `{"ask": "device", "index": 3, "seconds": 1.5}`. A field that
could not be read appears under `errors` with NVML's return code, never under `fields`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import IO, Any

NO_BINDINGS = -1
OUT_OF_TIME = -2
_PR_SET_PDEATHSIG = 1
_UNINITIALIZED = 1
_INVALID_ARGUMENT = 2
_NOT_SUPPORTED = 3
_FUNCTION_NOT_FOUND = 13
_LOST = 15
_VERSION_MISMATCH = 18
# After a driver was reloaded every handle of the old one is void.
_STALE = (_UNINITIALIZED, _VERSION_MISMATCH)
_NEVER_CHANGES = ("uuid", "pci", "name", "pcie_max_generation", "pcie_max_width", "clock_max_graphics")
_MOST_LINKS = 36

# What names the device comes first: time may run out on the way down.
_CALLS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("uuid", "nvmlDeviceGetUUID", ()),
    ("pci", "nvmlDeviceGetPciInfo", ()),
    ("name", "nvmlDeviceGetName", ()),
    ("utilisation", "nvmlDeviceGetUtilizationRates", ()),
    ("memory", "nvmlDeviceGetMemoryInfo", ()),
    ("throttle", "nvmlDeviceGetCurrentClocksEventReasons", ()),
    ("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", ()),
    ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", ()),
    ("pcie_max_generation", "nvmlDeviceGetMaxPcieLinkGeneration", ()),
    ("pcie_max_width", "nvmlDeviceGetMaxPcieLinkWidth", ()),
    ("processes", "nvmlDeviceGetComputeRunningProcesses", ()),
    ("temperature", "nvmlDeviceGetTemperature", (0,)),
    ("power_milliwatts", "nvmlDeviceGetPowerUsage", ()),
    ("power_limit_milliwatts", "nvmlDeviceGetEnforcedPowerLimit", ()),
    ("clock_graphics", "nvmlDeviceGetClockInfo", (0,)),
    ("clock_memory", "nvmlDeviceGetClockInfo", (2,)),
    ("clock_max_graphics", "nvmlDeviceGetMaxClockInfo", (0,)),
    ("clock_max_memory", "nvmlDeviceGetMaxClockInfo", (2,)),
    ("pcie_replays", "nvmlDeviceGetPcieReplayCounter", ()),
    ("mig", "nvmlDeviceGetMigMode", ()),
    ("ecc_mode", "nvmlDeviceGetEccMode", ()),
    ("ecc_corrected", "nvmlDeviceGetTotalEccErrors", (0, 0)),
    ("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", (1, 0)),
    ("remapped_rows", "nvmlDeviceGetRemappedRows", ()),
)
_ALL_LINKS = 0xFFFFFFFF
# What only grows, by field number: the name in the answer, the constant of nvml.h, the scope.
_COUNTS: tuple[tuple[str, str, int], ...] = (
    ("energy_millijoules", "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 0),
    ("nvlink_sent_kibibytes", "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX", _ALL_LINKS),
    ("nvlink_received_kibibytes", "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX", _ALL_LINKS),
    ("nvlink_replay_errors", "NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", 0),
    ("nvlink_recovery_errors", "NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", 0),
    ("nvlink_crc_flit_errors", "NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 0),
    ("nvlink_crc_data_errors", "NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 0),
    ("pcie_sent_bytes", "NVML_FI_DEV_PCIE_COUNT_TX_BYTES", 0),
    ("pcie_received_bytes", "NVML_FI_DEV_PCIE_COUNT_RX_BYTES", 0),
    ("throttle_power_nanoseconds", "NVML_FI_DEV_PERF_POLICY_POWER", 0),
    ("throttle_thermal_nanoseconds", "NVML_FI_DEV_PERF_POLICY_THERMAL", 0),
)
# nvmlValueType_t: which member of nvmlValue_t holds the value.
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
# Drivers before 535 know the same bit mask under this name.
_OLDER_NAMES = {"nvmlDeviceGetCurrentClocksEventReasons": "nvmlDeviceGetCurrentClocksThrottleReasons"}

Answer = dict[str, Any]


class Driver:
    """NVML in this process: its handles, what never changes, and what its library lacks."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._handles: dict[int, Any] = {}
        self._known: dict[int, Answer] = {}
        self._absent: set[str] = set()

    def hello(self) -> Answer:
        """Count the devices; start the driver's library where it is not started yet."""
        return self._fresh(
            lambda: {"driver": self._nvml.nvmlSystemGetDriverVersion(), "count": self._nvml.nvmlDeviceGetCount()}
        )

    def device(self, index: int, seconds: float) -> Answer:
        """Read one device, as far as `seconds` reach."""
        return self._fresh(lambda: self._read(index, time.monotonic() + seconds))

    def close(self) -> None:
        """Give every handle back to the driver."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _fresh(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except self._nvml.NVMLError as fault:
            if fault.value not in _STALE:
                return {"error": fault.value}
        try:
            self._restart()
            return ask()
        except self._nvml.NVMLError as fault:
            return {"error": fault.value, "fatal": fault.value in _STALE}

    def _restart(self) -> None:
        self._handles.clear()
        self._known.clear()
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError as fault:
            if fault.value not in _STALE:
                raise
        self._nvml.nvmlInit()

    def _read(self, index: int, end: float) -> Answer:
        if index not in self._handles:
            self._handles[index] = self._nvml.nvmlDeviceGetHandleByIndex(index)
        fields: Answer = {}
        errors: dict[str, int] = {}
        for name, ask in self._questions(self._handles[index]):
            if time.monotonic() >= end:
                errors[name] = OUT_OF_TIME
                continue
            self._one(name, ask, self._known.setdefault(index, {}), (fields, errors))
        return {"index": index, "fields": fields, "errors": errors, "features_off": sorted(self._absent)}

    def _one(self, name: str, ask: Callable[[], object], known: Answer, into: tuple[Answer, dict[str, int]]) -> None:
        fields, errors = into
        if name in known:
            fields[name] = known[name]
            return
        try:
            fields[name] = _plain(ask())
        except self._nvml.NVMLError as fault:
            if fault.value in (*_STALE, _LOST):
                raise
            errors[name] = fault.value
            return
        if name in _NEVER_CHANGES:
            known[name] = fields[name]

    def _questions(self, handle: object) -> Iterable[tuple[str, Callable[[], object]]]:
        for name, function, arguments in _CALLS:
            yield name, partial(self._call, function, handle, *arguments)
        yield "values", partial(self._values, handle)
        yield "links", partial(self._links, handle)
        yield "fabric", partial(self._fabric, handle)

    def _call(self, function: str, *arguments: object) -> object:
        """Call one function; one this driver's library does not have is looked for once, then left alone."""
        older = _OLDER_NAMES.get(function)
        if function in self._absent:
            return self._call(older, *arguments) if older else self._not_there()
        try:
            return getattr(self._nvml, function, self._not_there)(*arguments)
        except self._nvml.NVMLError as fault:
            if fault.value != _FUNCTION_NOT_FOUND:
                raise
            self._absent.add(function)
            return self._call(function, *arguments)

    def _not_there(self, *_: object) -> object:
        raise self._nvml.NVMLError(_FUNCTION_NOT_FOUND)

    def _values(self, handle: object) -> object:
        """Everything NVML gives by field number in one call."""
        nvml = self._nvml
        speeds = [(nvml.NVML_FI_DEV_NVLINK_GET_SPEED, link) for link in range(_MOST_LINKS)]
        counts = [(name, getattr(nvml, constant, None), scope) for name, constant, scope in _COUNTS]
        known = [(name, (field, scope)) for name, field, scope in counts if field is not None]
        asked = [(nvml.NVML_FI_DEV_MEMORY_TEMP, 0), *speeds, *(field for _, field in known)]
        found: Any = self._call("nvmlDeviceGetFieldValues", handle, asked)
        numbers = [None if value.nvmlReturn else value.value.uiVal for value in found[: _MOST_LINKS + 1]]
        counted = zip((name for name, _ in known), found[_MOST_LINKS + 1 :], strict=True)
        return {
            "memory_celsius": numbers[0],
            "link_megabytes_per_second": numbers[1:],
            "counts": {name: _member(value) for name, value in counted if not value.nvmlReturn},
        }

    def _links(self, handle: object) -> object:
        states: list[object] = []
        for link in range(_MOST_LINKS):
            try:
                states.append(self._call("nvmlDeviceGetNvLinkState", handle, link))
            except self._nvml.NVMLError as fault:
                if fault.value == _INVALID_ARGUMENT or (states and fault.value == _NOT_SUPPORTED):
                    break
                raise
        return states

    def _fabric(self, handle: object) -> object:
        found = self._nvml.c_nvmlGpuFabricInfo_v2_t()
        self._call("nvmlDeviceGetGpuFabricInfoV", handle, ctypes.byref(found))
        return {
            "state": found.state & 0xFF,  # one byte in nvml.h, four in the bindings
            "status": found.status,
            "clique": found.cliqueId,
            "cluster": bytes(found.clusterUuid).hex(),
        }


def _member(found: Any) -> object:
    """Return the member of the union that the driver filled."""
    kind = found.valueType
    return getattr(found.value, _MEMBERS[kind]) if kind < len(_MEMBERS) else None


def _plain(value: object) -> object:
    """Turn NVML's structures into what JSON can carry."""
    if isinstance(value, ctypes.Structure):
        names = [field[0] for field in value._fields_]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, int | float | str):
        return value
    return {name: _plain(one) for name, one in (value if isinstance(value, dict) else vars(value)).items()}


def answers(driver: Driver, request: Answer) -> Answer:
    """Answer one request."""
    if request.get("ask") == "device":
        return driver.device(int(request["index"]), float(request["seconds"]))
    return driver.hello()


def _bindings(library: str | None) -> Any:
    import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore]

    if library:
        pynvml.nvmlLib = ctypes.CDLL(library)
    return pynvml


def _own_output() -> IO[str]:
    """Keep the answers' stream; what the driver's library prints goes where nobody takes it for an answer."""
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return kept


def main(library: str | None) -> None:
    """Serve until the other end closes; a parent that dies takes this process along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The kernel means the thread that started this process: a reader belongs to a thread that stays.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    output = _own_output()
    try:
        driver = Driver(_bindings(library))
    except (ImportError, OSError):
        output.write(json.dumps({"error": NO_BINDINGS}) + "\n")
        output.flush()
        return
    for line in sys.stdin:
        output.write(json.dumps(answers(driver, json.loads(line))) + "\n")
        output.flush()
    driver.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
