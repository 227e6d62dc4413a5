"""The web configuration of exporter-toolkit: what is accepted, what is refused, and what a client meets at the door."""

from __future__ import annotations

import base64
import contextlib
import shutil
import socket
import ssl
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit_exporters.web import connection as connections
from netkit_exporters.web.certificate import expires_at
from netkit_exporters.web.config import WebConfig, parse
from netkit_exporters.web.connection import Stage
from netkit_exporters.web.passwords import Passwords, credentials
from netkit_exporters.web.rate import Bucket
from tests.exporters.serving import Served, collector, eventually, fine, refresher, served

bcrypt = pytest.importorskip("bcrypt", reason="the exporter extra is not installed")
pytest.importorskip("yaml", reason="the exporter extra is not installed")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")

PASSWORD = "correct horse"
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


def certificate(folder: Path, name: str, *more: str) -> tuple[Path, Path]:
    """Make a self-signed certificate and its key."""
    cert, key = folder / f"{name}.crt", folder / f"{name}.key"
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30")
    named = ("-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,URI:spiffe://node/a")
    command = ["openssl", "req", "-x509", *kind, "-keyout", str(key), "-out", str(cert), *named, *more]
    subprocess.run(command, check=True, capture_output=True)
    key.chmod(0o600)
    return cert, key


def trusting(*cas: Path) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for ca in cas:
        context.load_verify_locations(ca)
    return context


@pytest.fixture
def tls_folder(tmp_path: Path) -> Path:
    cert, key = certificate(tmp_path, "server")
    (tmp_path / "web.yml").write_text(
        f"tls_server_config:\n  cert_file: {cert.name}\n  key_file: {key.name}\n"
        "http_server_config:\n  headers:\n    X-Frame-Options: deny\n"
    )
    return tmp_path


@pytest.fixture
def encrypted(tls_folder: Path) -> Iterator[Served]:
    with served(refresher(collector(fine("a"))), tls_folder / "web.yml") as running:
        yield running


GOOD = {
    "empty": "",
    "users": f"basic_auth_users:\n  alice: {HASH}\n",
    "all of it": f"""
tls_server_config:
  cert_file: a.crt
  key_file: a.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [node.example]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: false
  curve_preferences: [X25519, CurveP256]
http_server_config:
  http2: true
  headers:
    Strict-Transport-Security: max-age=1
    X-Content-Type-Options: nosniff
    X-XSS-Protection: ''
basic_auth_users:
  alice: {HASH}
rate_limit:
  interval: 1s500ms
  burst: 20
""",
    "rate of nothing": "rate_limit:\n  interval: 0\n",
}
BAD = {
    "not a mapping": ("- a\n", "a list"),
    "broken yaml": ("a: [", "line 1"),
    "unknown key": ("tls_server_confg:\n", "did you mean 'tls_server_config'"),
    "unknown inner key": ("tls_server_config:\n  cert_fil: a\n", "did you mean 'cert_file'"),
    "given twice": ("rate_limit:\n  burst: 1\n  burst: 2\n", "burst is given twice"),
    "cert and cert_file": ("tls_server_config:\n  cert: x\n  cert_file: a\n  key_file: b\n", "both cert and cert_file"),
    "no key": ("tls_server_config:\n  cert_file: a\n", "neither key nor key_file"),
    "auth type": ("tls_server_config: {cert_file: a, key_file: b, client_auth_type: Maybe}\n", "NoClientCert"),
    "auth without CA": (
        "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAndVerifyClientCert}\n",
        "without client_ca",
    ),
    "CA without auth": ("tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}\n", "without client_auth"),
    "SANs without auth": (
        "tls_server_config: {cert_file: a, key_file: b, client_allowed_sans: [x]}\n",
        "without verified clients",
    ),
    "version": ("tls_server_config: {cert_file: a, key_file: b, min_version: TLS9}\n", "TLS12"),
    "versions": (
        "tls_server_config: {cert_file: a, key_file: b, min_version: TLS13, max_version: TLS12}\n",
        "min_version above",
    ),
    "boolean": ("http_server_config:\n  http2: perhaps\n", "true or false"),
    "header": ("http_server_config:\n  headers:\n    Server: mine\n", "unknown header"),
    "header value": ("http_server_config:\n  headers:\n    X-Frame-Options: allow\n", "deny or sameorigin"),
    "header split": ('http_server_config:\n  headers:\n    X-XSS-Protection: "1\\r\\nA: b"\n', "one line"),
    "plain password": ("basic_auth_users:\n  alice: secret\n", "a bcrypt hash"),
    "interval": ("rate_limit:\n  interval: soon\n", "a duration"),
    "burst": ("rate_limit:\n  burst: -1\n", "a number of requests"),
    "alias": ("a: &x [1]\nb: *x\n", "alias"),
    "python object": ("a: !!python/object:os.system x\n", "YAML"),
    "list for text": ("tls_server_config: {cert_file: [a], key_file: b}\n", "a text"),
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_what_the_toolkit_accepts_is_accepted(text: str) -> None:
    """Each of these parses, and the plain parts come through."""
    found = parse(text, "web.yml")
    assert isinstance(found, WebConfig)
    if "1s500ms" in text:
        assert found.rate_limit.interval == 1.5
        assert found.http_server_config.headers == {
            "Strict-Transport-Security": "max-age=1",
            "X-Content-Type-Options": "nosniff",
        }


@pytest.mark.fault("A11")
@pytest.mark.parametrize(("text", "says"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_named(text: str, says: str) -> None:
    """One line with the file, the key and what is accepted; a secret is never in it."""
    with pytest.raises(InputError, match=says) as caught:
        parse(text, "web.yml")
    assert str(caught.value).startswith("web.yml")
    assert "secret" not in str(caught.value)


@pytest.mark.fault("A11")
@settings(max_examples=60)
@given(st.text(max_size=60) | st.text(alphabet="a:-[]{}\n &*!'\"", max_size=40))
def test_any_text_is_a_configuration_or_refused(text: str) -> None:
    """No text raises anything but InputError."""
    with contextlib.suppress(InputError):
        assert isinstance(parse(text, "web.yml"), WebConfig)


@pytest.mark.fault("A11")
def test_a_broken_change_keeps_the_last_good_one(tmp_path: Path) -> None:
    """At the start it is fatal; later it is told by a series, and passwords go on as they were."""
    path = tmp_path / "web.yml"
    with pytest.raises(InputError, match="No such file"), served(refresher(), path):
        pass
    path.write_text(f"basic_auth_users:\n  alice: {HASH}\n")
    with served(refresher(collector(fine("a")), interval=0.1), path) as exporter:
        path.write_text("basic_auth_users: [broken")
        exporter.door.reload()
        assert exporter.get()[0] == 401
        assert exporter.get("/metrics", authorization("alice", PASSWORD))[0] == 200
        assert eventually(
            lambda: (
                b"netkit_web_config_last_reload_success 0.0"
                in exporter.get("/metrics", authorization("alice", PASSWORD))[2]
            )
        )
        path.write_text("")
        assert eventually(lambda: exporter.get()[0] == 200)
        assert eventually(lambda: exporter.value("netkit_web_config_last_reload_success ") == 1.0)


@needs_openssl
@pytest.mark.fault("A03")
def test_idle_clients_on_the_tls_port_delay_nobody(
    encrypted: Served, tls_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty connections that never begin a handshake: others are served, and the idle ones are given up."""
    monkeypatch.setitem(connections.LIMIT_SECONDS, Stage.HANDSHAKE, 1.0)
    idle = [encrypted.connect() for _ in range(50)]
    begun = time.perf_counter()
    status, head, _ = encrypted.get(context=trusting(tls_folder / "server.crt"))

    assert status == 200
    assert time.perf_counter() - begun < 1.0
    assert "X-Frame-Options: deny" in head
    assert eventually(lambda: encrypted.exporter.usage.connections == 0)
    assert encrypted.exporter.usage.shed["handshake"] >= 50
    for one in idle:
        one.close()


@needs_openssl
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
@pytest.mark.fault("A04")
def test_garbage_plain_http_and_old_versions_on_the_tls_port(encrypted: Served, tls_folder: Path) -> None:
    """Each is closed and counted, nothing of it stays, and the next client is served."""
    for garbage in (
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\xff\xff" + b"\xff" * 600,
        b"\x00" * 100,
    ):
        with encrypted.connect() as client:
            client.sendall(garbage)
            client.settimeout(5)
            assert b"HTTP/1.1 200" not in _everything(client)
    old = trusting(tls_folder / "server.crt")
    old.maximum_version = ssl.TLSVersion.TLSv1_1  # deprecated on purpose
    with pytest.raises(ssl.SSLError):
        encrypted.get(context=old)

    assert eventually(lambda: encrypted.exporter.usage.connections == 0)
    assert encrypted.exporter.usage.shed["handshake"] >= 3
    assert encrypted.get(context=trusting(tls_folder / "server.crt"))[0] == 200


def _everything(client: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(4096):
            data += part
    return data


@needs_openssl
@pytest.mark.fault("A12")
def test_a_replaced_certificate_is_used_for_the_next_connection(encrypted: Served, tls_folder: Path) -> None:
    """No restart, and the series says when the new one expires; one that does not fit its key changes nothing."""
    first = ssl.get_server_certificate(("127.0.0.1", encrypted.port))
    certificate(tls_folder, "other", "-days", "90")
    shutil.copy(tls_folder / "other.crt", tls_folder / "server.crt")
    encrypted.door.reload()
    assert ssl.get_server_certificate(("127.0.0.1", encrypted.port)) == first

    shutil.copy(tls_folder / "other.key", tls_folder / "server.key")
    assert eventually(lambda: ssl.get_server_certificate(("127.0.0.1", encrypted.port)) != first)
    told = [sample for sample in encrypted.door.samples() if "expiry" in sample.metric.name]
    assert [sample.value for sample in told] == [expires_at((tls_folder / "other.crt").read_text())]


@needs_openssl
def test_an_expiry_is_what_openssl_says(tmp_path: Path) -> None:
    """The date found in the DER is the one openssl prints; other text has none."""
    cert, _ = certificate(tmp_path, "x")
    said = subprocess.run(
        ["openssl", "x509", "-enddate", "-noout", "-in", str(cert)], check=True, capture_output=True, text=True
    )
    assert expires_at(cert.read_text()) == ssl.cert_time_to_seconds(said.stdout.strip().removeprefix("notAfter="))
    assert expires_at("no certificate") is None


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_any_bytes_have_an_expiry_or_none(der: bytes) -> None:
    """A certificate is read without trust."""
    found = expires_at(ssl.DER_cert_to_PEM_cert(der))
    assert found is None or isinstance(found, float)


@needs_openssl
def test_client_certificates_and_their_names(tmp_path: Path) -> None:
    """Without one, or with one of another CA, there is no answer; the name must be among those allowed."""
    server, key = certificate(tmp_path, "server")
    client, client_key = certificate(tmp_path, "client")
    certificate(tmp_path, "stranger")
    for allowed, status in (("spiffe://node/a", 200), ("spiffe://node/b", 0)):
        path = tmp_path / "web.yml"
        path.write_text(
            f"tls_server_config:\n  cert: |\n{_indented(server)}  key: |\n{_indented(key)}"
            "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client.crt\n"
            f"  client_allowed_sans: ['{allowed}']\n"
        )
        with served(refresher(collector(fine("a"))), path) as exporter:
            known, stranger = trusting(server), trusting(server)
            known.load_cert_chain(client, client_key)
            stranger.load_cert_chain(tmp_path / "stranger.crt", tmp_path / "stranger.key")
            assert _status(exporter, known) == status
            assert _status(exporter, stranger) == 0
            assert _status(exporter, trusting(server)) == 0


def _indented(path: Path) -> str:
    return "".join(f"    {line}\n" for line in path.read_text().splitlines())


def _status(exporter: Served, context: ssl.SSLContext) -> int:
    try:
        return exporter.get(context=context)[0]
    except OSError:
        return 0


def authorization(user: str, password: str) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Served]:
    path = tmp_path / "web.yml"
    path.write_text(f"basic_auth_users:\n  alice: {HASH}\n  bob: {bcrypt.hashpw(b'b', bcrypt.gensalt(8)).decode()}\n")
    with served(refresher(collector(fine("a"))), path) as running:
        yield running


@pytest.mark.fault("A13")
@pytest.mark.parametrize(
    "header",
    [
        "X: y",
        authorization("alice", "wrong"),
        authorization("nobody", PASSWORD),
        authorization("alice", HASH),
        authorization("alice", PASSWORD + "\0"),
        authorization("", ""),
        "Authorization: Basic !!!",
        "Authorization: Bearer " + "a" * 50,
        "Authorization: Basic " + base64.b64encode(b"no colon").decode(),
    ],
)
def test_wrong_credentials_get_401(guarded: Served, header: str) -> None:
    """A wrong password, an unknown user, the hash itself: 401 on every address, before and after somebody was right."""
    for target in ("/metrics", "/healthz", "/nothing"):
        assert guarded.get(target, header)[0] == 401
    assert guarded.get("/metrics", authorization("alice", PASSWORD))[0] == 200
    assert guarded.get("/metrics", header)[0] == 401


@pytest.mark.fault("A13")
def test_an_unknown_user_costs_as_much_as_a_known_one(guarded: Served) -> None:
    """The time of a refusal says nothing about which names there are: the same work is done for both."""

    def median(user: str) -> float:
        times = []
        for number in range(7):
            begun = time.perf_counter()
            assert guarded.get("/metrics", authorization(user, f"wrong {number}"))[0] == 401
            times.append(time.perf_counter() - begun)
        return statistics.median(times)

    assert median("nobody") > 0.4 * median("bob")


@pytest.mark.fault("A13")
def test_a_flood_of_guesses_is_shed_and_a_known_scraper_served(guarded: Served) -> None:
    """One check at a time, 503 beyond what may wait; whoever was right before waits for nobody."""
    right = authorization("bob", "b")
    assert guarded.get("/metrics", right)[0] == 200
    flood = [guarded.connect() for _ in range(120)]
    for number, client in enumerate(flood):
        request = f"GET / HTTP/1.1\r\nHost: x\r\n{authorization('bob', str(number))}\r\n\r\n"
        client.sendall(request.encode())
    begun = time.perf_counter()
    assert guarded.get("/metrics", right)[0] == 200
    assert time.perf_counter() - begun < 1.0
    assert eventually(lambda: guarded.exporter.usage.shed["busy"] > 0)
    for client in flood:
        client.close()


@pytest.mark.fault("A13")
@given(st.tuples(st.text(max_size=5), st.binary(max_size=5)), st.tuples(st.text(max_size=5), st.binary(max_size=5)))
def test_no_two_credentials_share_a_place_in_memory(first: tuple[str, bytes], second: tuple[str, bytes]) -> None:
    """Moving a character from the user to the password gives another digest."""
    one, other = _PASSWORDS._digest(*first, "h"), _PASSWORDS._digest(*second, "h")
    assert (one == other) is (first == second)


_PASSWORDS = Passwords({"alice": HASH})


@given(st.text(max_size=60))
def test_any_header_is_credentials_or_none(header: str) -> None:
    """Whatever stands there, it is a user with a password or nothing."""
    found = credentials(header)
    assert found is None or isinstance(found[1], bytes)


def test_a_bucket_gives_a_burst_and_then_its_rate() -> None:
    """Three at once, then one a second, and no more saved up than the burst."""
    now = 0.0
    bucket = Bucket(interval_seconds=1.0, burst=3, clock=lambda: now)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    now = 1.0
    assert [bucket.take(), bucket.take()] == [True, False]
    now = 100.0
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


def test_requests_above_the_rate_are_asked_to_come_again(tmp_path: Path) -> None:
    """429 with Retry-After, counted."""
    path = tmp_path / "web.yml"
    path.write_text("rate_limit:\n  interval: 1h\n  burst: 2\n")
    with served(refresher(collector(fine("a"))), path) as exporter:
        found = [exporter.get()[:2] for _ in range(3)]
    assert [status for status, _ in found] == [200, 200, 429]
    assert "Retry-After" in found[2][1]
    assert exporter.exporter.usage.shed["rate"] == 1
