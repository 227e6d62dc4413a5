"""The synthetic driver, built once per worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netkit.sources.nvml.reader import NvmlReader
from tests.sources.gpu import fake_library
from tests.sources.gpu.fake_library import FakeDriver


@pytest.fixture(scope="session")
def fake_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_library.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_library.build(tmp_path_factory.mktemp("old-nvml"), "-DOLD_DRIVER")


@pytest.fixture
def driver(fake_nvml: Path, tmp_path: Path) -> FakeDriver:
    return FakeDriver(fake_nvml, tmp_path)


@pytest.fixture
def reading() -> Iterator[Callable[[NvmlReader], NvmlReader]]:
    """Closes every reader it was given, whatever the test did."""
    readers: list[NvmlReader] = []

    def keep(reader: NvmlReader) -> NvmlReader:
        readers.append(reader)
        return reader

    yield keep
    for reader in readers:
        reader.close()
