"""K06, K10, K13, K14, K16: what pods were made of: shared memory, host network, image, memlock, settings."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.requests import asks_for_devices
from netkit.gangs.view import GangRules, GangView, odd_ones
from netkit.model.check import Result, Rule
from netkit.model.finding import Severity
from netkit.model.kube_object import KubeObject, rows_of, text_of

_SHM = "/dev/shm"  # noqa: S108 - a path inside pods
_LEAST_SHM_BYTES = 1 << 30
_UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "k": 10**3, "M": 10**6, "G": 10**9}

SHARED_MEMORY = Rule(
    id="K06",
    name="pod-shared-memory",
    severity=Severity.WARNING,
    question="Is /dev/shm of every member large enough?",
    reads="volumes of the pods: an emptyDir of medium Memory mounted at /dev/shm, and its sizeLimit",
    passes="at least 1 GiB",
    why="without it a container has 64 MiB; NCCL then fails, or workers of data loaders die",
    remedy="mount an emptyDir with medium: Memory at /dev/shm",
    source="NCCL documentation, troubleshooting, shared memory",
    caution="A pod with hostIPC uses the shared memory of its node.",
)
HOST_NETWORK = Rule(
    id="K10",
    name="pod-network-kind",
    severity=Severity.CRITICAL,
    question="Do all members use the same kind of network: the host's, or one of their own?",
    reads="spec.hostNetwork, and the networks asked for by annotation",
    passes="one value over the gang",
    why="members that see different NICs under different names do not find a common ring",
    remedy="make all members from one template",
    source="NVIDIA/nccl issue 1427",
    caution="A launcher without GPUs may differ; it is left out where it has no rank.",
)
IMAGE = Rule(
    id="K13",
    name="pod-image",
    severity=Severity.WARNING,
    question="Do all members run the same image?",
    reads="images of the pods' containers, by digest where the status tells one",
    passes="one set of images over the gang",
    why="members with different NCCL or driver libraries choose different algorithms, or cannot talk at all",
    remedy="pin the image by digest in the job's template",
    source="NVIDIA/nccl documentation: all ranks need the same version",
    caution="Containers that are only sidecars may differ on purpose.",
)
MEMLOCK = Rule(
    id="K14",
    name="pod-memlock",
    severity=Severity.WARNING,
    question="May every member lock memory, as RDMA needs?",
    reads="capabilities of containers that ask for GPUs or RDMA",
    passes="IPC_LOCK or a privileged container, the same on all members",
    why="without it registering memory fails where the runtime limits locked memory, on that member only",
    remedy="add the capability IPC_LOCK, or set the runtime's memlock limit to unlimited",
    source="NCCL documentation, troubleshooting, memory issues",
    caution="Where the container runtime sets no limit, the capability is not needed: then only differences count.",
)
SETTINGS = Rule(
    id="K16",
    name="pod-settings",
    severity=Severity.CRITICAL,
    question="Are the settings of the communication library the same on all members?",
    reads="NCCL_*, RCCL_*, HCCL_* and UCX_* in the pods' specs: NIC list, GID index, traffic class and the rest",
    passes="one value of each over the gang; values that count a member may differ",
    why="a GID index, traffic class or NIC list that differs on one member hangs or slows all of them",
    remedy="set them once, in the job's template",
    source="NVIDIA/nccl environment documentation; k8snetworkplumbingwg/multus-cni issue 1100 on the GID index",
    caution="Only variables in the spec are seen; what a script exports is not.",
)
_PREFIXES = ("NCCL_", "RCCL_", "HCCL_", "MCCL_", "CNCL_", "UCX_")
_DIFFER = frozenset({"NCCL_HOSTID", "NCCL_COMM_ID", "HCCL_IF_IP"})


def _check(view: GangView) -> Iterator[Result]:
    yield from _shared_memory(view)
    network = {member.pod: _network(pod) for member, pod in view.members()}
    yield from odd_ones(HOST_NETWORK, "the network", network)
    yield from odd_ones(IMAGE, "the image", {member.pod: _images(pod) for member, pod in view.members()})
    yield from odd_ones(MEMLOCK, "the right to lock memory", {member.pod: _lock(pod) for member, pod in view.members()})
    yield from _settings(view)


def _shared_memory(view: GangView) -> Iterator[Result]:
    for member, pod in view.members():
        size = _shm_bytes(pod)
        if not asks_for_devices(pod):
            yield SHARED_MEMORY.not_applicable("it asks for no device", member.pod)
        elif size is None:
            yield SHARED_MEMORY.ok(member.pod, "no limit below its memory")
        elif size < _LEAST_SHM_BYTES:
            yield SHARED_MEMORY.finding(member.pod, f"{_SHM} holds {size >> 20} MiB, 1 GiB is the least")
        else:
            yield SHARED_MEMORY.ok(member.pod, f"{_SHM} holds {size >> 20} MiB")


def _shm_bytes(pod: KubeObject) -> int | None:
    """Return the size of /dev/shm in bytes; None: not limited by the spec."""
    if pod.find("spec", "hostIPC") is True:
        return None
    memory = {
        text_of(row.get("name")): row["emptyDir"]
        for row in pod.rows("spec", "volumes")
        if isinstance(row.get("emptyDir"), dict)
    }
    for container in pod.rows("spec", "containers"):
        for mount in rows_of(container.get("volumeMounts")):
            volume = memory.get(text_of(mount.get("name")))
            if text_of(mount.get("mountPath")).rstrip("/") == _SHM and volume is not None:
                return _bytes(text_of(volume.get("sizeLimit")))
    return 64 << 20


def _bytes(quantity: str) -> int | None:
    digits = quantity.rstrip("KMGTPEki")
    unit = _UNITS.get(quantity[len(digits) :])
    return int(float(digits) * unit) if unit and digits.replace(".", "", 1).isdigit() and len(digits) < 16 else None


def _network(pod: KubeObject) -> str:
    if pod.find("spec", "hostNetwork") is True:
        return "host network"
    extra = pod.annotation("k8s.v1.cni.cncf.io/networks")
    return "pod network with more networks" if extra else "pod network"


def _images(pod: KubeObject) -> str:
    told = {text_of(row.get("name")): text_of(row.get("imageID")) for row in pod.rows("status", "containerStatuses")}
    rows = ((text_of(row.get("name")), text_of(row.get("image"))) for row in pod.rows("spec", "containers"))
    return ", ".join(image if "@" not in told.get(name, "") else told[name].rpartition("/")[2] for name, image in rows)


def _lock(pod: KubeObject) -> str:
    rights = set()
    for container in pod.rows("spec", "containers"):
        context = KubeObject("", container)
        if context.find("securityContext", "privileged") is True:
            rights.add("privileged")
        added = context.find("securityContext", "capabilities", "add")
        rights |= {"IPC_LOCK"} if isinstance(added, list) and {"IPC_LOCK", "ALL"} & set(map(str, added)) else set()
    return " ".join(sorted(rights)) or "not given"


def _settings(view: GangView) -> Iterator[Result]:
    by_pod = {member.pod: dict(_variables(pod)) for member, pod in view.members()}
    names = sorted({name for variables in by_pod.values() for name in variables})
    if not names:
        yield SETTINGS.not_applicable("no setting of a communication library in any pod's spec")
    for name in names:
        yield from odd_ones(SETTINGS, name, {pod: variables.get(name, "") for pod, variables in by_pod.items()})


def _variables(pod: KubeObject) -> Iterator[tuple[str, str]]:
    for container in pod.rows("spec", "containers"):
        for row in rows_of(container.get("env")):
            name = text_of(row.get("name"))
            if name.startswith(_PREFIXES) and name not in _DIFFER:
                yield name, text_of(row.get("value"))


RULES = GangRules(id="template", rules=(SHARED_MEMORY, HOST_NETWORK, IMAGE, MEMLOCK, SETTINGS), check=_check)
