"""Where launchers look for hostfiles, and which ConfigMap of a pod stands there.

Volcano's svc plug-in: /etc/volcano; MPIJob and TrainJob: /etc/mpi; DeepSpeed: /job/hostfile, or what DLTS_HOSTFILE
names.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.model.kube_object import KubeObject, rows_of, text_of

FOLDERS = ("/etc/volcano", "/etc/mpi")
_DEEPSPEED = "/job"
_VARIABLE = "DLTS_HOSTFILE"


def hostfile_configs(pod: KubeObject) -> Iterator[str]:
    """Yield the ConfigMaps that a pod mounts as hostfiles, each once."""
    named = {config_at(pod, folder) for folder in (*FOLDERS, deepspeed_folder(pod))}
    yield from sorted(named - {""})


def deepspeed_folder(pod: KubeObject) -> str:
    """Return the folder in which DeepSpeed looks for its hostfile in a pod."""
    for container in pod.rows("spec", "containers"):
        for row in rows_of(container.get("env")):
            if row.get("name") == _VARIABLE:
                return text_of(row.get("value")).rpartition("/")[0] or _DEEPSPEED
    return _DEEPSPEED


def config_at(pod: KubeObject, folder: str) -> str:
    """Return the ConfigMap mounted at a folder, or as the file `hostfile` in it; empty when there is none."""
    volumes = {text_of(row.get("name")): row.get("configMap") for row in pod.rows("spec", "volumes")}
    for container in pod.rows("spec", "containers"):
        for mount in rows_of(container.get("volumeMounts")):
            source = volumes.get(text_of(mount.get("name")))
            place = text_of(mount.get("mountPath")).rstrip("/")
            if isinstance(source, dict) and place in (folder, f"{folder}/hostfile"):
                return text_of(source.get("name"))
    return ""
