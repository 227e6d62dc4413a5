"""This process as the kernel accounts for it, through psutil: proc(5) `stat`, `statm`, `fd` and `limits`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUsage:
    """What one process uses."""

    cpu_seconds: float
    """User and system time."""
    resident_bytes: int
    virtual_bytes: int
    open_descriptors: int
    threads: int
    started_at: float
    """Seconds since 1970."""


def own_usage() -> ProcessUsage:
    """Return what the running process uses at present."""
    import psutil

    process = psutil.Process()
    with process.oneshot():
        times, memory = process.cpu_times(), process.memory_info()
        return ProcessUsage(
            cpu_seconds=times.user + times.system,
            resident_bytes=memory.rss,
            virtual_bytes=memory.vms,
            open_descriptors=process.num_fds(),
            threads=process.num_threads(),
            started_at=process.create_time(),
        )
