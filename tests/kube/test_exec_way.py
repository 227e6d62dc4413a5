"""The way to an API server for commands in pods: as the Kubernetes client would go, also through a proxy."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from netkit.errors import InputError, SourceError
from netkit.sources.kube.config import open_access
from netkit.sources.kube.endpoint import Endpoint, endpoint_of
from netkit.sources.kube.exec import Answer, PodCommand, run_all
from tests.kube.exec_server import Asked, ExecServer
from tests.kube.fake_api import write_kubeconfig

COMMAND = PodCommand(namespace="team-a", pod="train-0", container="main", words=("prog",))


async def speaks(asked: Asked) -> None:
    await asked.accept()
    await asked.say(1, b"out")
    await asked.end()


def endpoint(folder: Path, url: str, **cluster: str) -> Endpoint:
    return endpoint_of(open_access(write_kubeconfig(folder / "config", url, cluster=cluster), None))


def answer(way: Endpoint) -> Answer:
    [found] = run_all(way, [COMMAND], 5.0)
    return found


@contextmanager
def proxy(reply: bytes, onward: int) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that answers its first request with `reply`, and then passes bytes on to a port; what it was asked."""
    heads: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            heads.append(client.recv(65536))
            client.sendall(reply)
            if b" 200 " in reply:
                with socket.create_connection(("127.0.0.1", onward)) as server:
                    there = threading.Thread(target=_pass_on, args=(client, server), daemon=True)
                    there.start()
                    _pass_on(server, client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1], heads
    listener.close()
    thread.join(5)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


def test_host_credentials_and_prefix_are_those_of_the_kubeconfig(tmp_path: Path) -> None:
    """A server below a path, such as Rancher's, is asked below it; the token travels in a header."""
    with ExecServer(speaks) as server:
        assert answer(endpoint(tmp_path, f"{server.url}/k8s/clusters/c1")).outcome.exit_code == 0
        [asked] = server.asked
    assert asked.path == "/k8s/clusters/c1/api/v1/namespaces/team-a/pods/train-0/exec"
    assert asked.headers["authorization"] == "Bearer right"
    assert asked.headers["host"] == f"127.0.0.1:{server.port}"


def test_a_proxy_is_asked_for_a_tunnel(tmp_path: Path) -> None:
    """CONNECT names the API server, with the proxy's own credentials; the rest goes through."""
    with ExecServer(speaks) as server, proxy(b"HTTP/1.1 200 OK\r\n\r\n", server.port) as (port, heads):
        way = endpoint(tmp_path, server.url, **{"proxy-url": f"http://al:secret@127.0.0.1:{port}"})
        assert answer(way).stdout == b"out"
    lines = heads[0].decode().split("\r\n")
    assert lines[0] == f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"
    assert "Proxy-Authorization: Basic YWw6c2VjcmV0" in lines
    assert "secret" not in repr(way)


def test_a_proxy_that_refuses_is_said(tmp_path: Path) -> None:
    """Its status, and no result."""
    with ExecServer(speaks) as server, proxy(b"HTTP/1.1 407 No\r\n\r\n", server.port) as (port, _):
        found = answer(endpoint(tmp_path, server.url, **{"proxy-url": f"http://127.0.0.1:{port}"}))
    assert found.outcome.exit_code is None
    assert found.outcome.how.startswith("the proxy answers 407")


def test_a_proxy_of_another_kind_is_one_line(tmp_path: Path) -> None:
    """What netkit cannot use is said before anything is sent."""
    with pytest.raises(InputError, match="a SOCKS or TLS proxy on the way to the pods: accepted is an http:// proxy"):
        endpoint(tmp_path, "http://127.0.0.1:1", **{"proxy-url": "https://127.0.0.1:2"})


def test_a_server_whose_name_is_unknown_is_one_line(tmp_path: Path) -> None:
    """The server and the resolver's words."""
    with pytest.raises(SourceError, match=r"cannot reach the pods: http://no\.invalid:1"):
        endpoint(tmp_path, "http://no.invalid:1")


def test_the_next_address_is_tried(tmp_path: Path) -> None:
    """A name with two addresses, of which the first does not answer."""
    with ExecServer(speaks) as server:
        nobody = socket.create_server(("127.0.0.1", 0))
        closed = nobody.getsockname()[1]
        nobody.close()
        way = endpoint(tmp_path, server.url)
        both = ((socket.AF_INET, ("127.0.0.1", closed)), *way.addresses)
        assert answer(replace(way, addresses=both)).stdout == b"out"


def test_a_silent_server_costs_the_others_nothing(tmp_path: Path) -> None:
    """One pod that stalls does not hold up the answers of its siblings."""

    async def some(asked: Asked) -> None:
        if asked.pod == "silent":
            await asyncio.sleep(30)
        await speaks(asked)

    with ExecServer(some) as server:
        pods = [replace(COMMAND, pod=name) for name in ("a", "silent", "b")]
        found = run_all(endpoint(tmp_path, server.url), pods, 0.5)
    assert [one.outcome.exit_code for one in found] == [0, None, 0]
