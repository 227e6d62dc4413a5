"""Options that say what measures: the agents' own sockets, or a benchmark that is installed on the hosts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.probing import require
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.probe.benchmark import Benchmark, Tuning
    from netkit.probe.request import ProbeRequest

_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}(?::[0-9]{1,3})?")
_PROGRAMS = re.compile(r"/[A-Za-z0-9_./+-]{1,300}")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}=[\x20-\x7e]{0,1000}")
_MOST_BYTES = 16 * 1024**3


class Backend(StrEnum):
    """What measures."""

    SOCKET = "socket"
    NCCL_TESTS = "nccl-tests"
    RCCL_TESTS = "rccl-tests"


BackendOption = Annotated[
    Backend, typer.Option("--backend", help="What measures: sockets of netkit's own, or a benchmark on the hosts.")
]
HcaOption = Annotated[
    str | None,
    typer.Option("--hca", help="RDMA devices in rail order, the same everywhere: mlx5_0,mlx5_1.", show_default=False),
]
GpusOption = Annotated[
    str | None, typer.Option("--gpus", help="The GPU of each rail, in rail order; default 0,1,2.", show_default=False)
]
ProgramsOption = Annotated[
    str | None, typer.Option("--programs", help="Folder of the benchmark's programs there.", show_default=False)
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--env", help="Set for the benchmark; may be repeated.", metavar="NAME=VALUE", show_default=False),
]
SizeOption = Annotated[str, typer.Option("--size", help="Message size of a benchmark.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendWishes:
    """What the options of a backend ask for, as given."""

    backend: Backend = Backend.SOCKET
    hca: str | None = None
    gpus: str | None = None
    programs: str | None = None
    settings: tuple[str, ...] = ()
    size: str = "256MiB"

    @property
    def module(self) -> str:
        """The backend's module."""
        return str(self.backend).replace("-", "_")

    def applied_to(self, request: ProbeRequest) -> ProbeRequest:
        """Return the request with what these options ask for; raise InputError for what does not go together."""
        from dataclasses import replace

        tuning, benchmark = self._tuning(), self._benchmark()
        if benchmark is None:
            given = next((name for name, value in self._given.items() if value), None)
            require(given is None, f"{given} with --backend socket", "one of the other backends")
            return request
        named = f"--backend {self.backend}"
        if benchmark.rails_are == "devices":
            require(tuning.devices, f"{named} without --hca", "RDMA devices in rail order: --hca mlx5_0,mlx5_1")
        elif benchmark.rails_are == "either":
            accepted = "--hca mlx5_0,mlx5_1 (RDMA), or --interface or --subnet (sockets), in rail order"
            require(tuning.devices or request.rails.named, f"{named} without rails", accepted)
        rails = len(tuning.devices)
        fits = not (rails and tuning.gpus) or len(tuning.gpus) == rails
        require(fits, f"--gpus for {len(tuning.gpus)} rails with --hca for {rails}", "one GPU for each device")
        return replace(request, benchmark=benchmark, tuning=tuning)

    @property
    def _given(self) -> dict[str, object]:
        return {"--hca": self.hca, "--gpus": self.gpus, "--programs": self.programs, "--env": self.settings}

    def _benchmark(self) -> Benchmark | None:
        if self.backend is Backend.SOCKET:
            return None
        found: Benchmark = import_module(f"netkit.probe.backends.{self.module}").BENCHMARK
        return found

    def _tuning(self) -> Tuning:
        from netkit.model.units import parse_size_bytes
        from netkit.probe.benchmark import Tuning

        devices = self.hca.split(",") if self.hca is not None else []
        for device in devices:
            require(_DEVICE.fullmatch(device), f"--hca {visible(device, 80)!r}", "names of RDMA devices: mlx5_0,mlx5_1")
        require(len(set(devices)) == len(devices), "--hca with one named twice", "each rail once")
        gpus = self.gpus.split(",") if self.gpus is not None else []
        for gpu in gpus:
            require(gpu.isdecimal() and len(gpu) < 4, f"--gpus {visible(gpu, 80)!r}", "numbers such as 0,1,2,3")
        programs = self.programs or ""
        found = not programs or _PROGRAMS.fullmatch(programs)
        require(found, f"--programs {visible(programs, 80)!r}", "the full path of a folder there")
        for setting in self.settings:
            require(_SETTING.fullmatch(setting), f"--env {visible(setting, 80)!r}", "NAME=VALUE")
        size = parse_size_bytes(self.size)
        require(1024 <= size <= _MOST_BYTES, f"--size {visible(self.size, 80)!r}", "1KiB to 16GiB")
        return Tuning(
            devices=tuple(devices),
            gpus=tuple(map(int, gpus)),
            programs=programs,
            environment=dict(setting.split("=", 1) for setting in self.settings),
            bytes=size,
        )
