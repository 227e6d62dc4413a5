"""Commands in pods through a real API server and kwok's kubelet: who may run one, and what comes back."""

from __future__ import annotations

import sys

import pytest

from netkit.sources.kube.config import open_access
from netkit.sources.kube.endpoint import endpoint_of
from netkit.sources.kube.exec import Answer, PodCommand, run_all
from tests.e2e.kube.control_plane import ADMIN, ControlPlane
from tests.e2e.kube.scenario import play, settle

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

STRANGER = "stranger"
SECONDS = 20.0


@pytest.fixture(scope="module")
def pods(plane: ControlPlane) -> ControlPlane:
    play(plane.admin, "exec")
    settle(plane.admin, "exec", 2)
    return plane


def python(at: int, code: str, stdin: bytes | None = None) -> PodCommand:
    words = (sys.executable, "-I", "-c", code)
    return PodCommand(namespace="exec", pod=f"trainer-{at}", container="main", words=words, stdin=stdin)


def answers(plane: ControlPlane, *commands: PodCommand, user: str = ADMIN) -> list[Answer]:
    return run_all(endpoint_of(open_access(plane.kubeconfig(user), None)), list(commands), SECONDS)


def test_each_pod_answers_for_itself(pods: ControlPlane) -> None:
    """Two commands at once: each pod's own words on standard output, errors apart."""
    code = "import os, sys; print(os.environ['POD']); print('aside', file=sys.stderr)"
    found = answers(pods, python(0, code), python(1, code))
    assert [(one.stdout, one.stderr, one.outcome.exit_code) for one in found] == [
        (b"trainer-0\n", b"aside\n", 0),
        (b"trainer-1\n", b"aside\n", 0),
    ]


def test_a_failing_command_is_never_taken_for_a_success(pods: ControlPlane) -> None:
    """The kubelet of kwok wraps the exit status into an internal error: netkit repeats it and guesses no number."""
    (found,) = answers(pods, python(0, "import sys; print('half'); sys.exit(7)"))
    assert found.outcome.exit_code is None
    assert "exit status 7" in found.outcome.how


def test_a_command_reads_what_it_is_given(pods: ControlPlane) -> None:
    """A megabyte in and its length and sum out: nothing is lost on the way through two servers."""
    given = bytes(range(256)) * 4096
    code = f"import sys; d = sys.stdin.buffer.read({len(given)}); print(len(d), sum(d))"
    (found,) = answers(pods, python(1, code, given))
    assert found.stdout.split() == [str(len(given)).encode(), str(sum(given)).encode()]


def test_a_pod_that_is_not_there_is_no_result(pods: ControlPlane) -> None:
    """The server's own word on it, and no exit status."""
    (found,) = answers(pods, PodCommand(namespace="exec", pod="gone", container="main", words=("true",)))
    assert found.outcome.exit_code is None
    assert found.outcome.http_status == 404


@pytest.mark.parametrize(("verbs", "may"), [((), False), (("get",), False), (("get", "create"), True)])
def test_exec_needs_both_verbs(pods: ControlPlane, verbs: tuple[str, ...], may: bool) -> None:
    """Since Kubernetes 1.35 a command over a WebSocket needs create beside get on pods/exec."""
    api, kind = pods.admin, {"apiVersion": "rbac.authorization.k8s.io/v1"}
    within = {"name": f"exec-{len(verbs)}", "namespace": "exec"}
    rules = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": list(verbs)}] if verbs else []
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": within["name"]}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": STRANGER}
    api.apply({**kind, "kind": "Role", "metadata": within, "rules": rules})
    bound = {**kind, "kind": "RoleBinding", "metadata": within, "subjects": [subject], "roleRef": reference}
    api.apply(bound)
    (found,) = answers(pods, python(0, "print(1)"), user=STRANGER)
    api.delete(api.path_of(bound))
    assert (found.outcome.exit_code, found.outcome.http_status) == ((0, 0) if may else (None, 403))
