"""Gangs of a large cluster: 10,000 pods listed in pages and resolved into 500 gangs, with time and memory.

The API server is a thread of ready-made pages in another process, so that only the reader's time and memory are
counted. Synthetic: pods of about 8 KB, as clusters have them.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from netkit.catalogue.kube_resources import Use, resources_for

PODS, GANGS, PAGE = 10_000, 500, 500
_FILLER = "x" * 60


def pod(at: int) -> dict[str, Any]:
    """Return one pod of about 8 KB, member of one of the gangs."""
    gang, index = at % GANGS, at // GANGS
    key = {"annotations": {"scheduling.k8s.io/group-name": f"pg-{gang}", **{f"note/{n}": _FILLER for n in range(8)}}}
    labels = {
        "volcano.sh/job-name": f"job-{gang}",
        "volcano.sh/task-spec": "worker",
        "volcano.sh/task-index": str(index),
    }
    managed = [
        {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:{n}": {"f:" + _FILLER: {}} for n in range(30)}}
    ]
    device = {
        "name": "nvidia.com/gpu",
        "resources": [{"resourceID": f"GPU-{at:08x}-{n}", "health": "Healthy"} for n in range(8)],
    }
    env = [{"name": f"NCCL_{n}", "value": "1"} for n in range(5)] + [
        {"name": f"OTHER_{n}", "value": _FILLER} for n in range(15)
    ]
    return {
        "metadata": {
            "name": f"job-{gang}-worker-{index}",
            "namespace": "team",
            "uid": f"u-{at}",
            "labels": labels,
            "managedFields": managed,
            **key,
        },
        "spec": {
            "nodeName": f"n{at // 8}",
            "schedulerName": "volcano",
            "containers": [
                {"name": "main", "image": "train:1", "env": env, "resources": {"limits": {"nvidia.com/gpu": "8"}}}
            ],
            "tolerations": [{"key": _FILLER, "operator": "Exists"}] * 4,
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-03-01T10:00:00Z"}
                for kind in ("PodScheduled", "Ready")
            ],
            "containerStatuses": [
                {"name": "main", "imageID": f"sha256:{_FILLER}", "allocatedResourcesStatus": [device]}
            ],
        },
    }


def pages(rows: list[dict[str, Any]], kind: str) -> list[bytes]:
    """Return list answers, PAGE objects each."""
    found = []
    for start in range(0, len(rows), PAGE):
        more = {"continue": str(start + PAGE)} if start + PAGE < len(rows) else {}
        found.append(json.dumps({"kind": kind, "metadata": more, "items": rows[start : start + PAGE]}).encode())
    return found


def serve(port: Any, size: int) -> None:
    """Answer as an API server with ready-made pages, until ended."""
    group = {"name": "scheduling.volcano.sh", "versions": [{"version": "v1beta1"}]}
    groups = [
        {"metadata": {"name": f"pg-{n}", "namespace": "team", "uid": f"g{n}"}, "spec": {"minMember": PODS // GANGS}}
        for n in range(GANGS)
    ]
    answers = {
        "/apis": [json.dumps({"kind": "APIGroupList", "groups": [group]}).encode()],
        "/api/v1/pods": pages([pod(at) for at in range(size)], "PodList"),
        "/apis/scheduling.volcano.sh/v1beta1/podgroups": pages(groups, "PodGroupList"),
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            place = urlsplit(self.path)
            ready = answers.get(place.path, [b'{"kind":"EmptyList","items":[]}'])
            body = ready[int(parse_qs(place.query).get("continue", ["0"])[0]) // PAGE]
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.send(server.server_address[1])
    server.serve_forever()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one reading took."""

    pods: int
    gangs: int
    cpu_s: float
    wall_s: float
    peak_mib: float


def measure(port: int) -> Figures:
    """Read and resolve a served cluster; run in a fresh process, whose peak memory is the figure.

    Importing the Kubernetes client is not in the time: it is the same for one pod and for ten thousand.
    """
    import kubernetes.client
    import kubernetes.config  # noqa: F401

    from netkit.gangs.cluster import Cluster
    from netkit.gangs.device_sources import device_sources
    from netkit.gangs.devices import with_devices
    from netkit.gangs.resolver import resolve
    from netkit.gangs.systems import systems
    from netkit.sources.kube.api import Api
    from netkit.sources.kube.config import open_access
    from netkit.sources.kube.snapshot import read_snapshot

    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config"
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        config.write_text(
            json.dumps(
                {
                    "current-context": "c",
                    "contexts": [context],
                    "clusters": [cluster],
                    "users": [{"name": "u", "user": {}}],
                }
            )
        )
        wall, cpu = time.perf_counter(), time.process_time()
        snapshot = read_snapshot(
            Api(partial(open_access, config, None)), resources_for(Use.GANGS, Use.DEVICES), namespace="", taken_at=0.0
        )
        view = Cluster(snapshot)
        found = with_devices(resolve(view, systems()), view, device_sources())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert all(len(gang.members) == len(view.pods) // GANGS for gang in found)
    return Figures(
        pods=len(view.pods),
        gangs=len(found),
        cpu_s=time.process_time() - cpu,
        wall_s=time.perf_counter() - wall,
        peak_mib=peak,
    )


def _measured(port: int, answer: Any) -> None:
    answer.send(measure(port))


def run(size: int = PODS) -> Figures:
    """Serve a cluster of `size` pods from one process, read it in another."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs, size), daemon=True)
    server.start()
    port = ours.recv()
    answer, given = context.Pipe()
    reader = context.Process(target=_measured, args=(port, given))
    reader.start()
    given.close()
    figures: Figures = answer.recv()
    reader.join()
    server.terminate()
    server.join()
    return figures


def main() -> None:
    """Print the figures, as one line of JSON where asked for."""
    figures = run()
    if "--json" in sys.argv[1:]:
        print(json.dumps({"benchmark": "gangs"} | asdict(figures)))
        return
    print(f"{figures.pods} pods in {figures.gangs} gangs, pages of {PAGE}, Python {sys.version.split()[0]}")
    print(f"client time {figures.cpu_s:.1f} s (goal 5), wall {figures.wall_s:.1f} s")
    print(f"peak memory {figures.peak_mib:.0f} MiB (goal 250)")


if __name__ == "__main__":
    main()
