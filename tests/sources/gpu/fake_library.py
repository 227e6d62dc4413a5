"""Builds the synthetic libnvidia-ml and says how it behaves. Everything it reports is made up."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from netkit.sources.nvml.reader import NvmlReader, NvmlTiming

SOURCE = Path(__file__).parents[2] / "data" / "gpu" / "fake_nvml.c"
QUICK = NvmlTiming(start=5.0, device=0.5, refresh=3.0, grace=0.5, first_retry=1.0, longest_retry=1800.0)


def build(folder: Path, *options: str) -> Path:
    """The library, in a folder of its own so that LD_LIBRARY_PATH can find it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here: the synthetic libnvidia-ml cannot be built")
    if importlib.util.find_spec("pynvml") is None:
        pytest.skip("nvidia-ml-py is not installed (extra `gpu`)")
    place = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", place, SOURCE, *options], check=True, timeout=60)
    return place


class FakeDriver:
    """One machine's synthetic driver: a library, and a file that says how it behaves."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.library = library
        self.folder = folder
        self.log = folder / "calls"
        self.clock = 0.0
        self.behave()

    def behave(self, **settings: object) -> None:
        lines = {"log": self.log, **settings}
        waiting = self.folder / "behaviour.new"
        waiting.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        waiting.replace(self.folder / "behaviour")

    def events(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def environment(self, *, found_by_path: bool = False) -> dict[str, str]:
        more = {"LD_LIBRARY_PATH": str(self.library.parent)} if found_by_path else {}
        return {**os.environ, "FAKE_NVML": str(self.folder / "behaviour"), **more}

    def reader(
        self, timing: NvmlTiming = QUICK, *, keep_open: bool = True, release_file: Path | None = None
    ) -> NvmlReader:
        """A reader whose clock stands still unless the test moves it."""
        return NvmlReader(
            library=self.library,
            timing=timing,
            keep_open=keep_open,
            release_file=release_file,
            environment=self.environment(),
            clock=lambda: self.clock,
        )
