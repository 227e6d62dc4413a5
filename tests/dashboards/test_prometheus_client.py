"""Prometheus's answers are read with caps, and nothing that answers can hold us or fool us."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from typing import Any
from urllib.parse import parse_qs

import pytest

from netkit.errors import InputError, SourceError
from netkit.sources.prometheus import MOST_BYTES, MOST_SAMPLES, Prometheus
from tests.dashboards.scripted_server import Reply, serving


def answered(result: Any, kind: str = "vector") -> Reply:
    return Reply(body=json.dumps({"status": "success", "data": {"resultType": kind, "result": result}}).encode())


def test_an_instant_answer_becomes_series() -> None:
    """Labels and value, with Prometheus's own words for what is no number."""
    result = [
        {"metric": {"__name__": "up", "node": "n1"}, "value": [1700000000.5, "1"]},
        {"metric": {}, "value": [1700000000.5, "NaN"]},
        {"metric": {}, "value": [1700000000.5, "+Inf"]},
    ]
    with serving(lambda _: answered(result)) as server:
        one, nan, inf = Prometheus(server.url).instant('up{a="b+c"}', 1700000000.5)

    assert dict(one.labels) == {"__name__": "up", "node": "n1"}
    assert one.points == ((1700000000.5, 1.0),)
    assert math.isnan(nan.points[0][1])
    assert inf.points[0][1] == math.inf
    assert parse_qs(server.asked[0].body.decode())["query"] == ['up{a="b+c"}']


def test_a_scalar_and_a_range_are_series_too() -> None:
    """`vector(1)` and `1` are both drawn."""
    with serving(lambda _: answered([1.0, "7"], "scalar")) as server:
        assert Prometheus(server.url).instant("7", 1.0)[0].points == ((1.0, 7.0),)
    matrix = [{"metric": {"a": "b"}, "values": [[1, "1"], [2, "2"]]}]
    with serving(lambda _: answered(matrix, "matrix")) as server:
        assert Prometheus(server.url).over("x", 1, 2, 1)[0].points == ((1.0, 1.0), (2.0, 2.0))
        assert server.asked[0].path == "/api/v1/query_range"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=400, body=b'{"status":"error","error":"parse error"}'), "400: parse error"),
        (Reply(status=302, body=b"", headers={"Location": "http://127.0.0.1:1/"}), "302"),
        (Reply(body=b"<html>login</html>"), "no JSON"),
        (Reply(body=b"[" * 100_000), "no JSON"),
        (Reply(body=b'{"status":"success"}'), "without data"),
        (Reply(body=b'{"status":"success","data":{"resultType":"vector","result":{}}}'), "no list"),
        (Reply(body=b'{"status":"success","data":{"resultType":"vector","result":[{"metric":1}]}}'), "another form"),
        (Reply(status=503, body=b'{"status":"error","error":"\x1b[31mred"}'.replace(b"\x1b", b"\\u001b")), r"\x1b"),
    ],
)
def test_an_answer_that_is_none_is_one_line(reply: Reply, said: str) -> None:
    """Errors, redirects, login pages and broken answers are told apart, and escapes are made visible."""
    with serving(lambda _: reply) as server, pytest.raises(SourceError) as fault:
        Prometheus(server.url).instant("up", 1.0)

    assert said in str(fault.value)
    assert "\x1b" not in str(fault.value)
    assert len(server.asked) == 1


@pytest.mark.fault("I13")
def test_more_samples_than_the_cap_are_refused() -> None:
    """200,001 samples end in one line; 200,000 are read within the deadline."""
    values = ",".join(f'[{at},"1"]' for at in range(MOST_SAMPLES))
    form = '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}'
    with serving(lambda _: Reply(body=(form % values).encode())) as server:
        assert len(Prometheus(server.url).over("x", 0, 1, 1)[0].points) == MOST_SAMPLES
    more = (form % f'{values},[1,"1"]').encode()
    with serving(lambda _: Reply(body=more)) as server, pytest.raises(SourceError, match="more than 200000 samples"):
        Prometheus(server.url).over("x", 0, 1, 1)


@pytest.mark.fault("I13")
def test_labels_of_a_megabyte_are_cut_in_linear_time() -> None:
    """A label of a mebibyte, and one of escaped quotes, cost no more than reading them."""
    metric = {"long": "x" * 1024 * 1024, "quotes": '\\"' * 200_000}
    with serving(lambda _: answered([{"metric": metric, "value": [1, "1"]}])) as server:
        began = time.monotonic()
        found = Prometheus(server.url).instant("x", 1.0)[0]

    assert time.monotonic() - began < 5
    assert all(len(value) <= 1001 for value in found.labels.values())


@pytest.mark.fault("I13")
def test_an_answer_above_the_cap_is_not_kept() -> None:
    """Reading stops at 32 MiB."""
    large = Reply(body=b" " * (MOST_BYTES + 1))
    with serving(lambda _: large) as server, pytest.raises(SourceError, match="more than 32 MiB"):
        Prometheus(server.url).instant("x", 1.0)


def test_a_peer_that_drips_is_cut_at_the_deadline() -> None:
    """A byte now and then keeps no read from ending, and the call ends all the same."""
    listening = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        link, _ = listening.accept()
        with link:
            try:
                link.sendall(b"HTTP/1.1 200 OK\r\n")
                while True:
                    link.sendall(b"X-A: b\r\n")
                    time.sleep(0.05)
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    began = time.monotonic()
    with listening, pytest.raises(SourceError):
        Prometheus(f"http://127.0.0.1:{listening.getsockname()[1]}", deadline_seconds=0.5).instant("x", 1.0)
    thread.join()

    assert time.monotonic() - began < 3


@pytest.mark.parametrize("url", ["", "prometheus:9090", "ftp://x", "http://user:secret@x", "http://x?y=z", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    """With what is accepted."""
    with pytest.raises(InputError, match="http://prometheus:9090"):
        Prometheus(url)


def test_nobody_there_is_one_line() -> None:
    """A closed port is a source that did not answer."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(SourceError, match="did not answer"):
        Prometheus(f"http://127.0.0.1:{port}").instant("x", 1.0)
