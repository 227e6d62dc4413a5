"""Schedulers and job controllers on the control plane of the tests: Volcano, JobSet, Kueue, run as their projects do.

Their admission webhooks are registered from their own manifests, but reached on the loopback and in the namespaces
that ask for them alone: a label `tests/<controller>: "true"` on the namespace.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import yaml

from tests.e2e.kube.api import Object
from tests.e2e.kube.control_plane import ADMIN, ControlPlane, words
from tests.e2e.kube.go_tools import module_folder, program
from tests.e2e.kube.processes import free_port, listens

START_SECONDS = 60
# Those of jobs, queues and gangs; the others wait for custom resources that no test uses.
VOLCANO_CONTROLLERS = "job-controller,queue-controller,pg-controller,gc-controller"
VOLCANO_QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


def start_volcano(plane: ControlPlane) -> None:
    """Start Volcano's scheduler and controllers, and wait for the queue that the scheduler makes for itself."""
    scheduler, controllers = program("vc-scheduler"), program("vc-controller-manager")
    conf = module_folder("volcano", "volcano.sh/volcano") / "installer/helm/chart/volcano/config/volcano-scheduler.conf"
    both = {"kubeconfig": plane.kubeconfig(ADMIN), "leader-elect": "false"}
    plane.processes.start("vc-controller-manager", words(controllers, {**both, "controllers": VOLCANO_CONTROLLERS}))
    plane.processes.start(
        "vc-scheduler",
        words(scheduler, {**both, "scheduler-conf": conf, "cache-dumper": "false", "schedule-period": "300ms"}),
    )
    plane.processes.wait_for("vc-scheduler", lambda: _has_open_queue(plane), START_SECONDS)


def start_jobset(plane: ControlPlane) -> None:
    """Start the JobSet controller."""
    binary, folder = program("jobset"), _certificates(plane, "jobset")
    webhooks, probes = free_port(), free_port()
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "metrics": {"bindAddress": "0", "certDir": str(folder)},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": str(folder)},
    }
    _start_manager(plane, "jobset", [binary], config)
    manifests = module_folder("kubernetes", "sigs.k8s.io/jobset") / "config/components/webhook/manifests.yaml"
    _register_webhooks(plane, "jobset", manifests, webhooks)


def start_kueue(plane: ControlPlane) -> None:
    """Start the Kueue controller with its own defaults, but for the frameworks: those the tests use."""
    binary, folder = program("kueue"), _certificates(plane, "kueue")
    webhooks, probes = free_port(), free_port()
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": str(folder)},
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod"]},
        "featureGates": {"VisibilityOnDemand": False},
    }
    _start_manager(plane, "kueue", _with_certificates_in_etc(folder, binary), config)
    manifests = module_folder("kubernetes", "sigs.k8s.io/kueue") / "config/components/webhook/manifests.yaml"
    _register_webhooks(plane, "kueue", manifests, webhooks)


def _has_open_queue(plane: ControlPlane) -> bool:
    queues = plane.admin.items(VOLCANO_QUEUES)
    return any(queue.get("status", {}).get("state") == "Open" for queue in queues)


def _certificates(plane: ControlPlane, name: str) -> Path:
    folder = plane.folder / f"{name}-certificates"
    folder.mkdir()
    for file in (plane.certificate.chain, plane.certificate.key):
        (folder / file.name).symlink_to(file)
    return folder


def _with_certificates_in_etc(folder: Path, binary: Path) -> list[str | Path]:
    """Return the words that start Kueue where /etc holds nothing but the certificates it insists to find there."""
    script = (
        'mount -t tmpfs none /etc && mkdir -p /etc/kueue/metrics && ln -s "$0" /etc/kueue/metrics/certs && exec "$@"'
    )
    return ["unshare", "--mount", "--map-root-user", "--", "sh", "-c", script, folder, binary]


def _start_manager(plane: ControlPlane, name: str, words: list[str | Path], config: Object) -> None:
    place = plane.folder / f"{name}.json"
    place.write_text(json.dumps(config))
    plane.processes.start(name, [*words, f"--config={place}", f"--kubeconfig={plane.kubeconfig(ADMIN)}"])
    plane.processes.wait_for(name, lambda: listens(config["webhook"]["port"]), START_SECONDS)


def _register_webhooks(plane: ControlPlane, name: str, manifests: Path, port: int) -> None:
    for document in yaml.safe_load_all(manifests.read_text()):
        document["metadata"] = {"name": f"{name}-{document['kind'].lower()}"}
        document["webhooks"] = [_on_the_loopback(plane, name, port, row) for row in document["webhooks"]]
        plane.admin.apply(document)


def _on_the_loopback(plane: ControlPlane, name: str, port: int, webhook: Object) -> Object:
    url = f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"
    authority = base64.b64encode(plane.certificate.chain.read_bytes()).decode()
    asked_for = {"matchLabels": {f"tests/{name}": "true"}}
    return {**webhook, "clientConfig": {"url": url, "caBundle": authority}, "namespaceSelector": asked_for}
