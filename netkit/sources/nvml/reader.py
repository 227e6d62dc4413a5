"""NVML at arm's length: a child process with deadlines does the calls, and what it says is kept as plain data.

nvml.h through nvidia-ml-py, in `child.py`. GPU queries hang rather than fail, so the caller never waits longer
than the deadlines given here: at most one child lives, one GPU that hangs is left out until its turn comes again, and
a child that cannot be killed is left behind. For one thread, which must live on: the child goes when it ends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from netkit.sources.disposable import Child, ChildGoneError, ChildSilentError
from netkit.sources.nvml import child
from netkit.sources.nvml.values import GONE, HELD, LEFT_BEHIND, NOT_REACHED, OUT_OF_TIME, STOPPED, Plain

_MOST_DEVICES = 256
_MOST_RESTARTS = 3
"""Children started in one refresh at most, so that a library that always crashes costs no more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlTiming:
    """Deadlines in seconds. `start` covers loading the driver, `refresh` bounds one round over all devices."""

    start: float = 10.0
    device: float = 2.0
    refresh: float = 8.0
    grace: float = 2.0
    first_retry: float = 1.0
    longest_retry: float = 1800.0


class Backoff:
    """When to try again something that failed: twice as long after each failure, up to a limit."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._wait = 0.0
        self._until = float("-inf")

    @property
    def wait(self) -> float:
        """Seconds between the last failure and the next try; 0 after a success."""
        return self._wait

    def failed(self, now: float) -> None:
        """Note a failure at `now`."""
        self._wait = min(self._wait * 2 or self._first, self._longest)
        self._until = now + self._wait

    def worked(self) -> None:
        """Forget earlier failures."""
        self._wait = 0.0
        self._until = float("-inf")

    def ready(self, now: float) -> bool:
        """Tell whether it is time to try."""
        return now >= self._until


class _UnavailableError(Exception):
    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(str(code))


class NvmlReader:
    """Read all NVIDIA GPUs of this machine again and again.

    `library` is the path of another libnvidia-ml. Without `keep_open`, or as soon as `release_file` exists, no
    process holds the device files between two refreshes, so that a driver can be unloaded.
    """

    def __init__(
        self,
        *,
        library: Path | None = None,
        timing: NvmlTiming | None = None,
        keep_open: bool = True,
        release_file: Path | None = None,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._library = library
        self._timing = timing or NvmlTiming()
        self._keep_open = keep_open
        self._release_file = release_file
        self._environment = environment
        self._clock = clock
        self._child: Child | None = None
        self._left_behind: Child | None = None
        self._hello: Plain = {}
        self._starts = 0
        self._source = self._backoff()
        self._devices: dict[int, Backoff] = {}
        self._trouble = OUT_OF_TIME
        self._seen: dict[str, Plain] = {}
        self._first = 0
        self.hangs = 0
        self.crashes = 0

    @property
    def hung(self) -> bool:
        """Whether a child that cannot be ended is still in the driver."""
        return self._left_behind is not None and self._left_behind.process.poll() is None

    @property
    def child_pid(self) -> int | None:
        """The process that is in the driver now, if any."""
        return self._child.process.pid if self._child else None

    @property
    def retry_seconds(self) -> float:
        """How long the whole source waits after its last failure; 0 when it works."""
        return self._source.wait

    def refresh(self) -> Plain:
        """Ask every device once; what could not be had is in the answer, nothing is raised."""
        end = self._clock() + self._timing.refresh
        self._starts = 0
        try:
            self._start()
            order = self._order()
            devices = [self._device(index, end, len(order) - turn) for turn, index in enumerate(order)]
        except _UnavailableError as fault:
            return {"source": "nvml", "error": fault.code, "devices": [*self._unseen(set(), fault.code)]}
        finally:
            if not self._keep_open:
                self.close()
        late = [device["index"] for device in devices if device.get("error") == NOT_REACHED]
        self._first = late[0] if late else 0
        devices.sort(key=lambda device: device["index"])
        return {"source": "nvml", "driver": self._hello.get("driver"), "devices": devices + self._missing(devices)}

    def close(self) -> None:
        """End the child and let go of the device files; the next refresh starts another."""
        child, self._child = self._child, None
        if child is not None and not child.close(self._timing.grace):
            self._left_behind = child

    def _backoff(self) -> Backoff:
        return Backoff(self._timing.first_retry, self._timing.longest_retry)

    def _order(self) -> list[int]:
        """Begin where the last refresh ran out of time, so that every device has its turn."""
        count = min(int(self._hello.get("count", 0)), _MOST_DEVICES)
        return [(self._first + step) % count for step in range(count)]

    def _start(self) -> None:
        """Have a child that reached the driver, or say why there is none."""
        if self._release_file is not None and self._release_file.exists():
            self.close()
            raise _UnavailableError(HELD)
        if self.hung:
            raise _UnavailableError(LEFT_BEHIND)
        if not self._source.ready(self._clock()):
            raise _UnavailableError(self._trouble)
        answer = self._said_hello()
        if answer.get("fatal"):
            # A library loaded before the driver changed never matches again; a new process loads the new one.
            self.close()
            answer = self._said_hello()
        if "error" in answer:
            self.close()
            raise self._given_up(answer["error"])
        self._source.worked()
        self._hello = answer

    def _said_hello(self) -> Plain:
        try:
            return self._running().ask({"ask": "hello"}, self._timing.start)
        except ChildSilentError as fault:
            self.hangs += 1
            self.close()
            raise self._given_up(OUT_OF_TIME) from fault
        except ChildGoneError as fault:
            self.crashes += 1
            self.close()
            raise self._given_up(STOPPED) from fault

    def _given_up(self, code: int) -> _UnavailableError:
        self._trouble = code
        self._source.failed(self._clock())
        return _UnavailableError(code)

    def _running(self) -> Child:
        if self._child is None:
            if self._starts >= _MOST_RESTARTS:
                raise self._given_up(STOPPED)
            self._starts += 1
            place = [str(self._library)] if self._library else []
            self._child = Child([sys.executable, "-P", child.__file__, *place], self._environment)
        return self._child

    def _device(self, index: int, end: float, still_to_ask: int) -> Plain:
        turn = self._devices.setdefault(index, self._backoff())
        now = self._clock()
        if now >= end:
            return self._silent(index, NOT_REACHED)
        if not turn.ready(now):
            return self._silent(index, OUT_OF_TIME)
        share = max((end - now) / still_to_ask, self._timing.device / 4)
        answer = self._asked(index, min(self._timing.device, share), turn)
        if "error" in answer:
            return self._silent(index, answer["error"])
        turn.worked()
        self._remember(index, answer)
        return answer

    def _asked(self, index: int, seconds: float, turn: Backoff) -> Plain:
        try:
            if self._child is None:
                self._start()
            # Between two calls the child looks at the clock itself; only a call that hangs costs the child its life.
            return self._running().ask(
                {"ask": "device", "index": index, "seconds": seconds}, seconds + self._timing.device
            )
        except ChildSilentError:
            self.hangs += 1
            return self._failed(turn, OUT_OF_TIME)
        except ChildGoneError:
            self.crashes += 1
            return self._failed(turn, STOPPED)
        except _UnavailableError as fault:
            return {"error": fault.code}

    def _failed(self, turn: Backoff, code: int) -> Plain:
        turn.failed(self._clock())
        self.close()
        return {"error": code}

    def _remember(self, index: int, answer: Plain) -> None:
        fields = answer["fields"]
        if "uuid" in fields:
            bus = fields.get("pci", {}).get("busId")
            self._seen[fields["uuid"]] = {"index": index, "uuid": fields["uuid"], "bus_id": bus}

    def _silent(self, index: int, code: int) -> Plain:
        known = next((one for one in self._seen.values() if one["index"] == index), {"index": index})
        return {**known, "error": code}

    def _unseen(self, uuids: set[object], code: int) -> Iterator[Plain]:
        for uuid, known in self._seen.items():
            if uuid not in uuids:
                yield {**known, "error": code}

    def _missing(self, devices: list[Plain]) -> list[Plain]:
        """Name the devices seen before that a complete answer no longer holds."""
        if any("fields" not in device for device in devices):
            return []
        return [*self._unseen({device["fields"].get("uuid") for device in devices}, GONE)]
