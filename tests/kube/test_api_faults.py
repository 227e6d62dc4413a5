"""An API server, its certificate, a kubeconfig or a credential plug-in misbehaves, over real sockets."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from netkit.catalogue.kube_resources import RESOURCES, Use, resources_for
from netkit.errors import InputError, NetkitError, SourceError
from netkit.model.gang_snapshot import GangSnapshot
from netkit.model.missing import Missing, Reason
from netkit.sources.kube.api import Api, Limits
from netkit.sources.kube.config import open_access
from netkit.sources.kube.snapshot import read_snapshot
from tests.gangs.synthetic_cluster import gangs, pod, thing
from tests.kube.fake_api import Answer, FakeApi, Running, status, write_kubeconfig

PODS = "/api/v1/namespaces/team-a/pods"
POD_ROW = next(row for row in RESOURCES if row.name == "pods")
QUICK = Limits(connect_s=1, read_s=0.3, total_s=5, tries=3)


def answer(text: str, content_type: str = "application/json", code: int = 200, **headers: str) -> Answer:
    async def handler(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type, status=code, headers=headers)

    return handler


def refusal(code: int, message: str = "no", **headers: str) -> Answer:
    async def handler(_request: web.Request) -> web.StreamResponse:
        return status(code, message, **headers)

    return handler


def silence(seconds: float) -> Answer:
    async def handler(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return status(500, "late")

    return handler


class Waits(list[float]):
    """A sleep that only remembers."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with Running(FakeApi(tokens={"right"}).add(*(pod(f"p-{at}", node="n0") for at in range(3)))) as running:
        yield running


def client(api: FakeApi, folder: Path, limits: Limits = QUICK, **changes: Any) -> Api:
    config = write_kubeconfig(folder / "config", api.url, **changes)
    return Api(partial(open_access, config, None), limits, sleep=Waits())


def names(found: Api) -> list[str]:
    return [one.name for one in found.objects(POD_ROW, "v1", "team-a")]


@pytest.mark.fault("G01")
def test_a_server_that_never_answers_ends_at_the_deadline(api: FakeApi, tmp_path: Path) -> None:
    """One line with the host and the time it took, not a hang."""
    api.script[PODS] = [silence(30)]
    started = time.monotonic()
    with pytest.raises(
        SourceError, match=r"cannot list pods in namespace team-a: no answer from http://127.0.0.1:\d+/api"
    ):
        names(client(api, tmp_path))
    assert time.monotonic() - started < 15


@pytest.mark.fault("G01")
def test_a_server_that_drips_ends_at_the_deadline_too(tmp_path: Path) -> None:
    """A byte now and then meets every read timeout; the outer deadline ends it."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
            while not stop.wait(0.05):
                connection.sendall(b" ")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    config = write_kubeconfig(tmp_path / "c", f"http://127.0.0.1:{listener.getsockname()[1]}")
    with pytest.raises(SourceError, match=r"no answer from .* within 0.6 s"):
        names(Api(partial(open_access, config, None), Limits(read_s=0.3, total_s=0.6)))
    stop.set()
    thread.join(5)
    listener.close()


@pytest.mark.fault("G02")
@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(api: FakeApi, tmp_path: Path, code: int) -> None:
    """Twice refused, then answered."""
    api.script[PODS] = [refusal(code), refusal(code)]
    assert names(client(api, tmp_path)) == ["p-0", "p-1", "p-2"]


@pytest.mark.fault("G02")
def test_throttling_is_said_and_bounded(api: FakeApi, tmp_path: Path) -> None:
    """Retry-After is honoured; the number of tries is not endless, and the line says who was in the way."""
    api.script[PODS] = [refusal(429, "slow down", **{"Retry-After": "1"})] * 9
    found = client(api, tmp_path)
    waits = found._sleep
    with pytest.raises(SourceError, match=r"429: API throttled \(slow down\); tried 3 times"):
        names(found)
    assert isinstance(waits, Waits)
    assert [round(wait) for wait in waits] == [1, 1]
    assert sum(call.resource == "pods" for call in api.calls) == 3


@pytest.mark.fault("G02")
def test_a_wait_longer_than_the_deadline_is_not_begun(api: FakeApi, tmp_path: Path) -> None:
    """A server that asks for an hour gets none."""
    api.script[PODS] = [refusal(503, "busy", **{"Retry-After": "3600"})]
    found = client(api, tmp_path)
    with pytest.raises(SourceError, match="503"):
        names(found)
    assert list(found._sleep) == []  # type: ignore[call-overload]


NOT_AN_ANSWER = {
    "truncated": (answer('{"kind":"PodList","items":[{"meta'), "no JSON"),
    "html": (answer("<html>sign in</html>", "text/html"), "bytes of text/html"),
    "wrong kind": (answer('{"kind":"Status","items":[]}'), "kind Status"),
    "a list": (answer("[1]"), "JSON that is no object"),
    "deep": (answer("[" * 100000 + "]" * 100000), "no JSON"),
}


@pytest.mark.fault("G05")
@pytest.mark.parametrize("name", NOT_AN_ANSWER)
def test_what_is_no_answer_is_one_line_with_the_url(api: FakeApi, tmp_path: Path, name: str) -> None:
    """No dump of a model: what was asked, of whom, and what came."""
    handler, said = NOT_AN_ANSWER[name]
    api.script[PODS] = [handler]
    with pytest.raises(SourceError) as caught:
        names(client(api, tmp_path))
    line = str(caught.value)
    assert PODS in line
    assert said in line
    assert "\n" not in line


@pytest.mark.fault("G05")
@pytest.mark.parametrize(
    "items", ["null", "[null, 3, {}]", '{"a": 1}', '[{"metadata": null, "spec": 7, "status": "x"}]']
)
def test_items_that_are_no_objects_cost_only_themselves(api: FakeApi, tmp_path: Path, items: str) -> None:
    """null, numbers and objects without metadata are survived, down to the gangs."""
    api.script[PODS] = [answer(f'{{"kind":"PodList","items":{items}}}')]
    found = client(api, tmp_path).objects(POD_ROW, "v1", "team-a")
    assert gangs(*(dict(one.body) | {"metadata": {}} for one in found)) == ()


@pytest.mark.fault("G06")
def test_a_rotated_token_is_read_again(api: FakeApi, tmp_path: Path) -> None:
    """The token file changes after start: the next call that is refused reads it anew, once."""
    token = tmp_path / "token"
    token.write_text("right")
    found = client(api, tmp_path, user={"tokenFile": str(token)})
    assert len(names(found)) == 3
    api.tokens = {"newer"}
    token.write_text("newer")
    assert len(names(found)) == 3
    assert [call.token for call in api.calls][-2:] == ["right", "newer"]


@pytest.mark.fault("G07")
def test_an_expired_token_makes_no_storm(api: FakeApi, tmp_path: Path) -> None:
    """401 twice and no more: once with what was known, once with what is on disk."""
    with pytest.raises(SourceError, match="401: the credentials are not valid or have expired") as caught:
        names(client(api, tmp_path, user={"token": "wrong"}))
    assert caught.value.exit_status == 3
    assert len(api.calls) == 2


@pytest.mark.fault("G07")
def test_a_missing_right_is_named(api: FakeApi, tmp_path: Path) -> None:
    """403 on pods ends with the verb, the resource and the namespace, asked once."""
    api.denied = {"pods"}
    with pytest.raises(SourceError, match="you lack verb 'list' on pods in namespace team-a"):
        names(client(api, tmp_path))
    assert len(api.calls) == 1


def read(api: FakeApi, folder: Path, *uses: Use, **changes: Any) -> GangSnapshot:
    return read_snapshot(client(api, folder, **changes), resources_for(*uses), namespace="team-a", taken_at=1.0)


@pytest.mark.fault("G07")
def test_one_denied_kind_hides_no_other(api: FakeApi, tmp_path: Path) -> None:
    """Jobs may not be listed: pods still are, and the snapshot says which right is missing."""
    api.denied = {"jobs.batch"}
    api.served["batch"] = ("v1",)
    found = read(api, tmp_path, Use.GANGS)
    denied = found.missing()["jobs.batch"]
    assert len(found.objects("pods")) == 3
    assert (denied.reason, "you lack verb 'list' on jobs.batch" in denied.detail) == (Reason.DENIED, True)


def plugin(folder: Path, script: str) -> dict[str, Any]:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    row = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path), "interactiveMode": "Never"}
    return {"exec": row}


CREDENTIAL = json.dumps(
    {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "right"}}
)


def test_a_credential_plug_in_is_asked(api: FakeApi, tmp_path: Path) -> None:
    """Its token is the one that is sent."""
    assert len(names(client(api, tmp_path, user=plugin(tmp_path, f"echo '{CREDENTIAL}'")))) == 3
    assert {call.token for call in api.calls} == {"right"}


@pytest.mark.fault("G08")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 30", "no answer in 0.5 s"),
        ("echo junk", "printed no ExecCredential"),
        ("echo '{\"status\":{}}'", "printed no ExecCredential"),
        ("printf 'bad \\033[31m thing\\n' >&2; exit 7", r"ended with status 7; it said: bad \x1b[31m thing"),
    ],
)
def test_a_plug_in_that_fails_is_one_line(api: FakeApi, tmp_path: Path, script: str, said: str) -> None:
    """Hanging, junk, an error with escape sequences: named, limited in time, shown visibly."""
    config = write_kubeconfig(tmp_path / "config", api.url, user=plugin(tmp_path, script))
    started = time.monotonic()
    with pytest.raises(SourceError) as caught:
        open_access(config, None, plugin_limit_s=0.5)
    assert said in str(caught.value)
    assert "credential plug-in" in str(caught.value)
    assert time.monotonic() - started < 15


@pytest.mark.fault("G08")
def test_a_plug_in_that_is_not_there_is_named(api: FakeApi, tmp_path: Path) -> None:
    """The command that could not be started stands in the line."""
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}}
    with pytest.raises(SourceError, match="credential plug-in /no/such/plugin: cannot be started"):
        client(api, tmp_path, user=user)


@pytest.mark.fault("G09")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{unclosed", "a kubeconfig in YAML"),
        ("", "is empty"),
        ("- a\n- b\n", "kubeconfig"),
        ('{"contexts": [{"name": "main"}]}', "without a current context"),
        (
            '{"current-context": "main", "contexts": [{"name": "main", "context": {"cluster": "no"}}], "clusters": []}',
            "complete",
        ),
    ],
)
def test_a_bad_kubeconfig_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    """Each says which file and what is accepted, and ends with 2."""
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        open_access(path, None)
    line = str(caught.value)
    assert said in line
    assert str(path) in line
    assert "\n" not in line


@pytest.mark.fault("G09")
def test_an_absent_kubeconfig_and_a_missing_context_are_told_apart(tmp_path: Path) -> None:
    """The context gets its nearest."""
    with pytest.raises(InputError, match="No such file"):
        open_access(tmp_path / "none", None)
    config = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    with pytest.raises(InputError, match="did you mean 'main'"):
        open_access(config, "mian")


@pytest.mark.fault("G09")
def test_no_cluster_at_all_says_what_would_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a kubeconfig nor a service account."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(InputError, match="no cluster: accepted is a kubeconfig"):
        open_access(None, None)


@pytest.mark.fault("G09")
def test_a_kubeconfig_that_others_can_read_is_warned_about(tmp_path: Path) -> None:
    """It works, and says chmod."""
    config = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    assert open_access(config, None).warnings == ()
    config.chmod(0o644)
    (warning,) = open_access(config, None).warnings
    assert "can be read by everybody" in warning
    assert "chmod 600" in warning


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """A good and an expired certificate of 127.0.0.1, with their key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: no certificate can be made")
    folder = tmp_path_factory.mktemp("tls")
    key, good, request, old = (folder / name for name in ("key", "good", "request", "old"))
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    commands = (
        [
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            key,
            "-out",
            good,
            "-days",
            "2",
            *subject,
        ],
        ["req", "-new", "-key", key, "-out", request, *subject],
        ["x509", "-req", "-in", request, "-signkey", key, "-days", "-1", "-copy_extensions", "copy", "-out", old],
    )
    for command in commands:
        subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)
    return {"good": (good, key), "expired": (old, key)}


def test_tls_works_with_the_right_authority(certificates: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    """The kubeconfig's authority is the one that is asked."""
    with Running(FakeApi(certificate=certificates["good"]).add(pod("p", node="n"))) as api:
        assert names(client(api, tmp_path, cluster={"certificate-authority": str(certificates["good"][0])})) == ["p"]


@pytest.mark.fault("G10")
@pytest.mark.parametrize(
    ("served", "trusted", "said"),
    [("good", None, "self-signed certificate"), ("expired", "expired", "certificate has expired")],
)
def test_a_bad_certificate_is_named_and_never_ignored(
    certificates: dict[str, tuple[Path, Path]], tmp_path: Path, served: str, trusted: str | None, said: str
) -> None:
    """The line says what is wrong with it; no second try without verification follows."""
    cluster = {"certificate-authority": str(certificates[trusted][0])} if trusted else {}
    with Running(FakeApi(certificate=certificates[served])) as api:
        with pytest.raises(SourceError) as caught:
            names(client(api, tmp_path, cluster=cluster))
        assert api.calls == []
    assert said in str(caught.value)
    assert "never turns verification off" in str(caught.value)


@pytest.mark.fault("G10")
def test_a_proxy_in_the_way_is_named_without_its_password(tmp_path: Path) -> None:
    """It points nowhere: the error says that a proxy was used."""
    config = write_kubeconfig(
        tmp_path / "config", "https://api.example.invalid", cluster={"proxy-url": "http://me:pa55@127.0.0.1:9"}
    )
    with pytest.raises(SourceError) as caught:
        names(Api(partial(open_access, config, None), QUICK, sleep=Waits()))
    assert "proxy" in str(caught.value)
    assert "pa55" not in str(caught.value)


@pytest.mark.fault("G16")
def test_readers_share_no_client(api: FakeApi, tmp_path: Path) -> None:
    """A reader takes a way to open a client, never a client: eight at once stay eight."""
    config = write_kubeconfig(tmp_path / "config", api.url)
    readers = [Api(partial(open_access, config, None), QUICK) for _ in range(8)]
    results: list[list[str]] = []
    threads = [threading.Thread(target=lambda one=one: results.extend(names(one) for _ in range(5))) for one in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({id(one.access.client) for one in readers}) == 8
    assert results == [["p-0", "p-1", "p-2"]] * 40


@pytest.mark.fault("G17")
def test_five_thousand_pods_come_in_pages(tmp_path: Path) -> None:
    """By limit and continue, no page larger than asked, nothing lost or doubled."""
    with Running(FakeApi().add(*(pod(f"p-{at}", node="n0") for at in range(5000)))) as api:
        found = names(client(api, tmp_path, Limits(read_s=10, total_s=60)))
        pages = [call.path for call in api.calls]
    assert found == [f"p-{at}" for at in range(5000)]
    assert len(pages) == 10
    assert all("limit=500" in page for page in pages)


@pytest.mark.fault("G17")
def test_a_listing_that_expires_half_way_starts_again(api: FakeApi, tmp_path: Path) -> None:
    """410 on continue: nothing of the first attempt is kept; for ever expired is an error."""
    limits = Limits(read_s=1, total_s=5, page=2, restarts=2)
    first_page = json.dumps({"kind": "PodList", "metadata": {"continue": "2"}, "items": [pod("gone")]})
    api.script[PODS] = [answer(first_page), refusal(410, "continue token expired")]
    assert names(client(api, tmp_path, limits)) == ["p-0", "p-1", "p-2"]
    api.script[PODS] = [answer(first_page), refusal(410)] * 3
    with pytest.raises(SourceError, match="the listing expired while it was read"):
        names(client(api, tmp_path, limits))


@pytest.mark.fault("G18")
def test_the_servers_clock_does_not_matter(api: FakeApi, tmp_path: Path) -> None:
    """Dates ten minutes off, in headers and objects, move no deadline and no wait."""
    dated = {"Date": "Mon, 01 Jan 2035 00:00:00 GMT", "Retry-After": "Mon, 01 Jan 2035 00:10:00 GMT"}
    api.script[PODS] = [refusal(503, "busy", **dated)]
    found = client(api, tmp_path)
    assert len(names(found)) == 3
    assert isinstance(found._sleep, Waits)
    assert max(found._sleep) < 1


@pytest.mark.fault("G19")
@pytest.mark.parametrize(("code", "said"), [(404, "404: it is not there"), (409, "409: it is being changed")])
def test_an_object_that_changes_under_us_is_asked_for_once_more(
    api: FakeApi, tmp_path: Path, code: int, said: str
) -> None:
    """Once refused is nothing; twice is explained."""
    row = next(row for row in RESOURCES if row.name == "configmaps")
    api.add(thing("v1", "ConfigMap", "hosts", data={"hostfile": "a\nb"}))
    place = "/api/v1/namespaces/team-a/configmaps/hosts"
    api.script[place] = [refusal(code)]
    assert client(api, tmp_path).object(row, "team-a", "hosts").name == "hosts"
    api.script[place] = [refusal(code), refusal(code)]
    with pytest.raises(SourceError, match=said):
        client(api, tmp_path).object(row, "team-a", "hosts")


@pytest.mark.fault("G19")
def test_a_hostfile_that_is_gone_costs_only_itself(api: FakeApi, tmp_path: Path) -> None:
    """A pod still names a deleted ConfigMap: the rest is read."""
    mount = {"containers": [{"name": "m", "volumeMounts": [{"name": "h", "mountPath": "/etc/mpi"}]}]}
    volumes = {"volumes": [{"name": "h", "configMap": {"name": "deleted"}}]}
    api.add(pod("p-9", node="n0", spec=mount | volumes))
    found = read(api, tmp_path, Use.GANGS, Use.HOSTFILES)
    assert (found.listings["configmaps"], len(found.objects("pods"))) == ((), 4)


@pytest.mark.fault("G20")
def test_an_absent_system_is_absent_and_no_error(api: FakeApi, tmp_path: Path) -> None:
    """Neither its group nor, of a served group, its resource need exist."""
    api.served["kubeflow.org"] = ("v1",)
    api.script["/apis/kubeflow.org/v1/namespaces/team-a/mpijobs"] = [refusal(404)]
    missing = read(api, tmp_path, Use.GANGS).missing()
    assert missing["podgroups.scheduling.volcano.sh"].reason is Reason.ABSENT
    assert missing["mpijobs.kubeflow.org"].reason is Reason.ABSENT
    assert "pods" not in missing


@pytest.mark.fault("G20")
def test_an_older_version_is_used_and_an_unknown_one_named(api: FakeApi, tmp_path: Path) -> None:
    """The newest version both sides know; a version nobody knows is unsupported, not empty."""
    api.add(thing("kueue.x-k8s.io/v1beta1", "Workload", "w"))
    api.served["jobset.x-k8s.io"] = ("v7",)
    found = read(api, tmp_path, Use.GANGS)
    assert [one.name for one in found.objects("workloads.kueue.x-k8s.io")] == ["w"]
    unknown = found.listings["jobsets.jobset.x-k8s.io"]
    assert isinstance(unknown, Missing)
    assert (unknown.reason, "v7" in unknown.detail) == (Reason.UNSUPPORTED, True)


@pytest.mark.fault("H18")
def test_longest_names_and_equal_names_stay_apart(api: FakeApi, tmp_path: Path) -> None:
    """253 characters, the same in two namespaces, a pod made anew: keys hold the namespace and the uid."""
    longest = "a" * 63 + "." + "b" * 189
    api.served["batch"] = ("v1",)
    for namespace in ("one", "two"):
        api.add(
            thing(
                "batch/v1",
                "Job",
                longest,
                metadata={"namespace": namespace},
                spec={"completionMode": "Indexed", "parallelism": 1},
            ),
            pod(longest, node="n0", namespace=namespace, uid=f"new-{namespace}", labels={"job-name": longest}),
            pod(
                longest,
                node="n0",
                namespace=namespace,
                uid=f"old-{namespace}",
                phase="Failed",
                labels={"job-name": longest},
            ),
        )
    snapshot = read_snapshot(client(api, tmp_path), resources_for(Use.GANGS), namespace="", taken_at=1.0)
    found = gangs(*(dict(one.body) for name in ("pods", "jobs.batch") for one in snapshot.objects(name)))
    assert [gang.key for gang in found] == [f"one/{longest}", f"two/{longest}"]
    assert {member.uid for gang in found for member in gang.members} >= {"new-one", "new-two"}


def test_no_fault_of_a_cluster_is_a_bug(tmp_path: Path) -> None:
    """A port nobody listens on is a source that is broken, too."""
    config = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    with pytest.raises(NetkitError, match="tried 3 times") as caught:
        names(Api(partial(open_access, config, None), QUICK, sleep=Waits()))
    assert caught.value.exit_status == 3
