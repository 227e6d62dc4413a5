"""Options that say what measures: the agents' own sockets, or a benchmark that is installed on the hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
_GPU = re.compile(r"[0-9]{1,3}")
_MOST_BYTES = 16 * 1024**3
_RAILS = {
    "devices": "RDMA devices in rail order: --hca mlx5_0,mlx5_1",
    "accelerators": "accelerators in rail order: --gpus 0,1,2,3",
    "either": "--hca mlx5_0,mlx5_1 (RDMA), or --interface or --subnet (sockets), in rail order",
}


class Backend(StrEnum):
    """What measures."""

    SOCKET = "socket"
    NCCL_TESTS = "nccl-tests"
    RCCL_TESTS = "rccl-tests"
    TORCH = "torch"
    PERFTEST = "perftest"
    HCCL_TEST = "hccl-test"
    CNCL = "cncl"


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

    def __post_init__(self) -> None:
        self._tuning()

    def applied_to(self, request: ProbeRequest) -> ProbeRequest:
        """Return the request with what these options ask for; raise InputError for what does not go together."""
        from dataclasses import replace

        benchmark, tuning = self._benchmark(), self._tuning()
        if benchmark is None:
            given = next((name for name, value in self._given.items() if value), None)
            require(given is None, f"{given} with --backend socket", "one of the other backends")
            return request
        said = {
            "devices": tuning.devices,
            "accelerators": tuning.gpus,
            "either": tuning.devices or request.rails.named,
            "addresses": True,
        }
        accepted = _RAILS.get(benchmark.rails_are, "")
        require(said[benchmark.rails_are], f"--backend {self.backend} without rails", accepted)
        counts = {len(listed) for listed in (tuning.devices, tuning.gpus) if listed}
        require(len(counts) < 2, "--hca and --gpus of different lengths", "one GPU for each device")
        return replace(request, benchmark=benchmark, tuning=tuning)

    @property
    def _given(self) -> dict[str, object]:
        return {"--hca": self.hca, "--gpus": self.gpus, "--programs": self.programs, "--env": self.settings}

    def _benchmark(self) -> Benchmark | None:
        if self.backend is Backend.SOCKET:
            return None
        module = self.backend.replace("-", "_")
        found: Benchmark = import_module(f"netkit.probe.backends.{module}").BENCHMARK
        return found

    def _tuning(self) -> Tuning:
        from netkit.model.units import parse_size_bytes
        from netkit.probe.benchmark import Tuning

        folders = [self.programs] if self.programs is not None else []
        _check("--programs", folders, _PROGRAMS, "the full path of a folder there")
        _check("--env", self.settings, _SETTING, "NAME=VALUE")
        size = parse_size_bytes(self.size)
        require(1024 <= size <= _MOST_BYTES, f"--size {visible(self.size, 80)!r}", "1KiB to 16GiB")
        return Tuning(
            devices=_listed("--hca", self.hca, _DEVICE, "names of RDMA devices: mlx5_0,mlx5_1"),
            gpus=tuple(map(int, _listed("--gpus", self.gpus, _GPU, "numbers such as 0,1,2,3"))),
            programs=self.programs or "",
            environment=dict(setting.split("=", 1) for setting in self.settings),
            bytes=size // 4 * 4,
        )


def _listed(option: str, text: str | None, known: re.Pattern[str], accepted: str) -> tuple[str, ...]:
    words = text.split(",") if text is not None else []
    _check(option, words, known, accepted)
    require(len(set(words)) == len(words), f"{option} with one named twice", "each rail once")
    return tuple(words)


def _check(option: str, words: Iterable[str], known: re.Pattern[str], accepted: str) -> None:
    for word in words:
        require(known.fullmatch(word), f"{option} {visible(word, 80)!r}", accepted)
