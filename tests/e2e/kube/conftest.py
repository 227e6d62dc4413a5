"""One control plane for all tests of this folder; it skips them with one line where it cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.kube import controllers, custom_resources
from tests.e2e.kube.control_plane import ControlPlane, api_server, start_controllers
from tests.e2e.kube.go_tools import UnavailableError
from tests.e2e.kube.nodes import add_nodes

USERS = ("viewer", "stranger", "prober", "attacher")


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane with every custom resource, and GPU nodes that kwok keeps ready."""
    try:
        with api_server(tmp_path_factory.mktemp("plane"), USERS) as running:
            # First of all: new kinds of objects are dear once controllers follow every kind.
            custom_resources.install(running.admin)
            start_controllers(running)
            add_nodes(running.admin)
            yield running
    except UnavailableError as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def volcano(plane: ControlPlane) -> ControlPlane:
    return _with(plane, controllers.start_volcano)


@pytest.fixture(scope="session")
def jobset(plane: ControlPlane) -> ControlPlane:
    return _with(plane, controllers.start_jobset)


@pytest.fixture(scope="session")
def kueue(plane: ControlPlane) -> ControlPlane:
    return _with(plane, controllers.start_kueue)


def _with(plane: ControlPlane, start: Callable[[ControlPlane], None]) -> ControlPlane:
    try:
        start(plane)
    except UnavailableError as why:
        pytest.skip(str(why))
    return plane
