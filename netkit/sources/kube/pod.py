"""What has become of one pod: its phase, or that it is gone, as the API server tells it."""

from __future__ import annotations

from netkit.catalogue.kube_resources import RESOURCES
from netkit.errors import SourceError
from netkit.model.kube_object import KubeObject
from netkit.sources.kube.api import Api, Limits, RefusedError
from netkit.sources.kube.config import Open

# Asked while a probe is ending: a short answer or none.
_LIMITS = Limits(connect_s=2.0, read_s=4.0, total_s=6.0, tries=2)
_PODS = next(row for row in RESOURCES if row.name == "pods")


def pod_fate(open_access: Open, namespace: str, name: str) -> str:
    """Return in one phrase what happened to a pod; empty when it runs on, as far as anybody says."""
    api = Api(open_access, _LIMITS)
    try:
        return fate_of(api.object(_PODS, namespace, name))
    except RefusedError as refused:
        return f"pod {namespace}/{name} is gone" if refused.status == 404 else ""
    except SourceError:
        return ""
    finally:
        api.close()


def fate_of(pod: KubeObject) -> str:
    """Return what a pod's own status says happened to it."""
    phase, reason = pod.text("status", "phase"), pod.text("status", "reason")
    words = [f"pod {pod.namespace}/{pod.name}"]
    if pod.text("metadata", "deletionTimestamp"):
        words.append("is being deleted")
    elif phase not in ("", "Running") or reason:
        words.append(f"is {phase}")
    else:
        return ""
    said = ": ".join(filter(None, (reason, pod.text("status", "message"))))
    return " ".join(words) + (f" ({said})" if said else "")
