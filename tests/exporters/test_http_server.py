"""The web server under clients that are slow, hostile, many, or merely wrong: real sockets, no hardware read."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit_exporters.collecting import Sample
from netkit_exporters.exposition import Format
from netkit_exporters.options import address
from netkit_exporters.web import connection as connections
from netkit_exporters.web.connection import Stage
from netkit_exporters.web.listening import listeners
from netkit_exporters.web.negotiation import format_for, wants_gzip
from netkit_exporters.web.request import RefusedError, Request, parse
from netkit_exporters.web.server import MOST_CONNECTIONS, MOST_WRITING, connection_cap
from tests.exporters.serving import (
    COUNT,
    FakeTarget,
    Served,
    answer,
    collector,
    eventually,
    fine,
    refresher,
    served,
)


@pytest.fixture
def exporter() -> Iterator[Served]:
    with served(refresher(collector(fine("a")))) as running:
        yield running


@pytest.fixture
def large() -> Iterator[Served]:
    """An exporter whose page has two megabytes."""
    text = "x" * 500
    samples = [Sample(COUNT, (f"{number:05}", text), 1.0) for number in range(4000)]
    with served(refresher(collector(FakeTarget("large", lambda: samples), deadline=10.0), interval=30.0)) as running:
        yield running


def shed(exporter: Served, reason: str) -> int:
    return exporter.exporter.usage.shed[reason]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough


@pytest.mark.fault("A01")
def test_half_open_requests_keep_no_scrape_out(exporter: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,100 requests that never end: every scrape meanwhile is answered within a second; afterwards nothing is left."""
    monkeypatch.setitem(connections.LIMIT_SECONDS, Stage.HEADER, 1.0)
    before = descriptors()
    attackers = []
    for number in range(1100):
        attacker = exporter.connect()
        attacker.sendall(b"GET /metrics HTTP/1.1\r\nHost:")
        attackers.append(attacker)
        if number % 100 == 99:
            begun = time.perf_counter()
            assert exporter.get()[0] == 200
            assert time.perf_counter() - begun < 1.0

    assert exporter.exporter.usage.connections <= connection_cap()
    assert shed(exporter, "evicted") >= 1100 - MOST_CONNECTIONS
    for attacker in attackers:
        attacker.close()
    assert eventually(lambda: descriptors() <= before, 6.0)


def test_a_client_that_trickles_its_request_is_given_up(exporter: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that come one at a time do not extend the time a request may take."""
    monkeypatch.setitem(connections.LIMIT_SECONDS, Stage.HEADER, 0.5)
    with exporter.connect() as slow:
        for _ in range(100):
            if shed(exporter, "header"):
                break
            with contextlib.suppress(OSError):
                slow.sendall(b"a")
            time.sleep(0.02)
    assert shed(exporter, "header") == 1


@pytest.mark.fault("A02")
def test_a_client_that_reads_a_byte_a_second_is_given_up(large: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection ends at the write deadline and is counted; memory holds a slice of the body, not the body."""
    monkeypatch.setitem(connections.LIMIT_SECONDS, Stage.WRITE, 1.0)
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", large.port))
    slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")
    slow.recv(1)

    assert eventually(lambda: shed(large, "write") == 1, 4.0)
    assert large.exporter.usage.connections == 0
    slow.close()


def test_a_body_of_two_megabytes_arrives_whole(large: Served) -> None:
    """Slices are joined without loss, with and without compression, one request after the other."""
    status, head, plain = large.get()
    _, compressed_head, unpacked = large.get("/metrics", "Accept-Encoding: gzip")

    assert (status, len(plain)) == (200, int(head.partition("Content-Length: ")[2].split()[0]))
    assert len(plain) > 2_000_000
    assert plain == unpacked
    assert "Content-Encoding: gzip" in compressed_head


@pytest.mark.fault("A05")
def test_two_hundred_scrapes_at_once(large: Served) -> None:
    """Nobody is reset: each gets the page, or 503 with Retry-After, and those are counted."""
    ready = threading.Barrier(200)

    def scrape(_number: int) -> tuple[int, str]:
        with large.connect(30.0) as client:
            ready.wait(20)
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            return answer(client)[:2]

    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(scrape, range(200)))

    assert {status for status, _ in answers} <= {200, 503}
    assert all("Retry-After: 1" in head for status, head in answers if status == 503)
    assert sum(status == 200 for status, _ in answers) >= min(200, MOST_WRITING) - shed(large, "busy")


@pytest.mark.fault("A05")
def test_answers_beyond_the_cap_are_asked_to_come_again(large: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one answer allowed at a time, the second gets 503 and Retry-After, and is counted."""
    monkeypatch.setattr("netkit_exporters.web.server.MOST_WRITING", 1)
    with large.connect() as first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        first.sendall(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")
        first.recv(1)
        status, head, _ = large.get()

    assert (status, shed(large, "busy")) == (503, 1)
    assert "Retry-After: 1" in head


@pytest.mark.fault("A05")
def test_whoever_finds_no_room_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every connection being written to, the next one gets a whole 503 with Retry-After, and is counted."""
    monkeypatch.setattr("netkit_exporters.web.server.connection_cap", lambda: 1)
    samples = [Sample(COUNT, (f"{number:05}", "x" * 500), 1.0) for number in range(4000)]
    with served(refresher(collector(FakeTarget("large", lambda: samples), deadline=10.0), interval=30.0)) as exporter:
        with exporter.connect() as first:
            first.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            first.sendall(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")
            first.recv(1)
            with exporter.connect() as second:
                status, head, body = answer(second)
        assert (status, body, shed(exporter, "busy")) == (503, b"too many connections\n", 1)
        assert "Retry-After: 1" in head


@pytest.mark.fault("A06")
@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET /metrics HTTP/2.0\r\nHost: x\r\n\r\n", 400),
        (b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET metrics HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nA: b\x00\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\nHost: x\n\n\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + b"".join(b"h%d: x\r\n" % n for n in range(300)) + b"\r\n", 431),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 300_000, 431),
        (b"GET /%0d%0aSet-Cookie:x HTTP/1.1\r\nHost: x\r\n\r\n", 404),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ],
)
def test_malformed_requests(exporter: Served, request_bytes: bytes, status: int) -> None:
    """Each gets the status that says why, or a closed connection where more is on its way, and no answer else."""
    with exporter.connect() as client:
        with contextlib.suppress(OSError):
            client.sendall(request_bytes)
            client.shutdown(socket.SHUT_WR)
        found, head, _ = answer(client)
        assert "Set-Cookie" not in head

    assert found == status or (found == 0 and len(request_bytes) > 8192)
    assert exporter.get()[0] == 200


@pytest.mark.fault("A06")
@settings(max_examples=100)
@given(
    st.binary(max_size=300) | st.binary(max_size=200).map(lambda tail: b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + tail)
)
def test_any_bytes_are_a_request_or_refused(head: bytes) -> None:
    """The parser gives a request or a refusal, and never anything else."""
    with contextlib.suppress(RefusedError):
        found = parse(head)
        assert isinstance(found, Request)
        assert found.path.startswith("/")


@pytest.mark.fault("A07")
@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text;version=\xff",
        "application/openmetrics-text;version=99",
        "application/openmetrics-text;q=nan",
        "application/openmetrics-text;q=-1",
        ",;,;=;q",
        "a" * 3000,
        "*/*;q=0",
        "",
    ],
)
def test_hostile_accept_headers_get_plain_text(exporter: Served, accept: str) -> None:
    """Whatever is asked for, the answer is 200 in a format everybody reads."""
    status, head, body = exporter.get("/metrics", f"Accept: {accept}", f"Accept-Encoding: {accept}")

    assert status == 200
    assert f"Content-Type: {Format.TEXT}" in head
    assert body.startswith(b"# HELP")


@pytest.mark.fault("A07")
@given(st.text(max_size=80))
def test_negotiation_never_fails(header: str) -> None:
    """Any text gives one of the two formats and a yes or no to gzip."""
    assert format_for(header) in Format
    assert wants_gzip(header) in (True, False)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            Format.OPENMETRICS,
        ),
        ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", Format.TEXT),
        ("application/openmetrics-text; version=1.0.0", Format.OPENMETRICS),
        ("text/html,application/xhtml+xml,*/*;q=0.8", Format.TEXT),
        ("application/openmetrics-text;q=0.2,text/plain;q=0.9", Format.TEXT),
    ],
)
def test_formats_are_negotiated(exporter: Served, accept: str, form: Format) -> None:
    """What Prometheus sends gets OpenMetrics, what a browser sends gets plain text."""
    _, head, body = exporter.get("/metrics", f"Accept: {accept}")

    assert f"Content-Type: {form}\r\n" in head
    assert body.endswith(b"# EOF\n") is (form is Format.OPENMETRICS)


@pytest.mark.fault("A08")
@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("collect[]=fake", 200),
        ("collect[]=fake&name[]=netkit_test_up", 200),
        ("collect[]=nothing", 400),
        ("name[]=netkit_nothing", 400),
        ("name[]=%ff%fe", 400),
        ("name[]", 400),
        ("other=1", 400),
        ("&".join(["collect[]=fake"] * 260), 400),
        ("name[]=" + "a" * 3000, 400),
        ("name[]=%1b%5b31m", 400),
    ],
)
def test_filters_are_known_names_or_refused(exporter: Served, query: str, status: int) -> None:
    """A filter gives that part of the page; an unknown or broken one is a line that says so, safe to show."""
    found, _, body = exporter.get(f"/metrics?{query}")

    assert found == status
    assert b"\x1b" not in body
    if status == 200:
        assert b"netkit_test_up" in body
        assert b"netkit_exporter_build_info" not in body


@pytest.mark.fault("A09")
@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("POST", "/metrics", 405),
        ("PUT", "/metrics", 405),
        ("DELETE", "/", 405),
        ("GET", "/metrics/", 404),
        ("GET", "/../metrics", 404),
        ("GET", "/%2e%2e/etc/passwd", 404),
        ("GET", "//metrics", 404),
        ("GET", "/debug/pprof", 404),
        ("POST", "/anything", 404),
        ("GET", "http://somewhere:1234/metrics", 200),
        ("HEAD", "/metrics", 200),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/", 200),
    ],
)
def test_only_known_addresses_and_methods_are_answered(exporter: Served, method: str, target: str, status: int) -> None:
    """Metrics are at /metrics alone, and a HEAD has no body."""
    found, head, body = exporter.get(target, method=method)

    assert found == status
    assert (b"netkit_test_up" in body) is (target.endswith("/metrics") and (method, status) == ("GET", 200))
    assert ("Allow: GET, HEAD" in head) is (status == 405)
    assert bool(body) is (method != "HEAD")


@pytest.mark.fault("A10")
@pytest.mark.parametrize(
    ("given_address", "says"),
    [("192.0.2.1:9879", "Cannot assign"), ("no-such-host.invalid:9879", "no-such-host.invalid")],
)
def test_an_address_that_cannot_be_had_is_one_line(given_address: str, says: str) -> None:
    """The line names the address, and no socket stays open."""
    before = descriptors()
    with pytest.raises(InputError, match=says):
        listeners([address("127.0.0.1:0"), address(given_address)])
    assert descriptors() == before


@pytest.mark.fault("A10")
def test_a_port_in_use_names_who_has_it(exporter: Served) -> None:
    """The line says which process listens there."""
    with pytest.raises(InputError, match=rf"in use by .*\(process {os.getpid()}\)"):
        listeners([address(f"127.0.0.1:{exporter.port}")])


@pytest.mark.fault("A14")
def test_a_reading_longer_than_the_scrapers_deadline_delays_no_answer() -> None:
    """The scrape is answered at once from what is known, and the state says how old that is."""
    gate, first = threading.Event(), [True]

    def act() -> list[Sample]:
        if not first:
            gate.wait(300)
        first.clear()
        return [Sample(COUNT, ("slow", ""), 1.0)]

    with served(refresher(collector(FakeTarget("slow", act), deadline=0.05), interval=0.1)) as exporter:
        begun = time.perf_counter()
        assert exporter.get(timeout=0.5)[0] == 200
        assert time.perf_counter() - begun < 0.5
        assert eventually(lambda: exporter.value('netkit_collector_hung{collector="fake"}') == 1.0)
        assert eventually(lambda: b"netkit_test_reads_total" not in exporter.get()[2])
        gate.set()


def test_requests_follow_each_other_on_one_connection(exporter: Served) -> None:
    """Two requests sent at once get two answers in order; HTTP/1.0 closes after one."""
    with exporter.connect() as client:
        client.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        _, _, rest = answer(client)
    assert rest.count(b"HTTP/1.1 200 OK") == 1
    assert rest.startswith(b"ok\n")
    assert rest.endswith(b"ready\n")
    assert exporter.ask(b"GET /healthz HTTP/1.0\r\n\r\n")[2] == b"ok\n"


def test_a_request_with_a_body_ends_the_connection(exporter: Served) -> None:
    """Its bytes are never taken for a second request."""
    status, head, body = exporter.ask(
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    assert (status, body) == (200, b"ok\n")
    assert "Connection: close" in head


def test_readiness_waits_for_the_first_round() -> None:
    """Before it, /readyz says to come again, and /healthz is fine."""
    found = refresher(collector(fine("a")))
    with served(found) as exporter:
        found.ready.clear()
        status, head, _ = exporter.get("/readyz")
        assert (status, exporter.get("/healthz")[0]) == (503, 200)
        assert "Retry-After" in head
        assert eventually(lambda: exporter.get("/readyz")[0] == 200)


@pytest.mark.fault("M05")
def test_when_descriptors_run_out_it_sheds_and_recovers(exporter: Served) -> None:
    """Accepting rests instead of spinning: little processor time, and scrapes again once there is room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    waiting = [socket.socket() for _ in range(20)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors(), hard))
        for one in waiting:
            one.connect(("127.0.0.1", exporter.port))
        used = time.process_time()
        time.sleep(1.0)
        used = time.process_time() - used
        assert shed(exporter, "descriptors") >= 1
        assert used < 0.25
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for one in waiting:
            one.close()
    assert eventually(lambda: exporter.get()[0] == 200)


def test_the_cap_leaves_descriptors_for_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with few descriptors keeps most of them for what it reads."""
    for soft, cap in ((1024, 256), (256, 96), (64, 8), (resource.RLIM_INFINITY, 256)):
        monkeypatch.setattr(resource, "getrlimit", lambda _which, soft=soft: (soft, soft))
        assert connection_cap() == cap
