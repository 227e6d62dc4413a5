"""The exporter as it is deployed: a DaemonSet with its monitor, a systemd unit, a container file; text, with options.

Kubernetes Pod Security Standards; systemd.exec(5). The host's network namespace and `/sys` read-only are what every
form needs; a process of no privilege does the rest. What needs more is said by `netkit exporter metrics` and is off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from netkit.errors import InputError
from netkit.model.text import visible

PORT = 9879
POD_RESOURCES = "/var/lib/kubelet/pod-resources"
POD_LOGS = "/var/log/pods"
_NOBODY = 65534
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/@-]{0,254}", re.IGNORECASE)
_FOLDER = re.compile(r"/[A-Za-z0-9._/-]{1,200}")


class Form(StrEnum):
    """What is written."""

    KUBERNETES = "kubernetes"
    SYSTEMD = "systemd"
    CONTAINER = "container"


class Monitor(StrEnum):
    """How the Prometheus operator finds the exporter."""

    POD = "pod"
    SERVICE = "service"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What is deployed where. Raises InputError for a name that cannot be one."""

    namespace: str = "netkit"
    image: str = "netkit-exporter:latest"
    monitor: Monitor = Monitor.POD
    gpu: bool = False
    """Lets the NVIDIA runtime mount the driver's library and devices."""
    pods: bool = False
    """Names pods: needs root for the kubelet's socket, and the host's processes."""
    optics: bool = False
    """Reads optical modules: needs CAP_NET_ADMIN."""
    platform: str = ""
    results: str = ""
    """A folder of each node with results of collectives."""

    def __post_init__(self) -> None:
        _require(_NAME, "--namespace", self.namespace, "lower-case letters, digits and '-', at most 63")
        _require(_IMAGE, "--image", self.image, "an image name such as netkit-exporter:0.1")
        if self.results:
            _require(_FOLDER, "--results", self.results, "an absolute path of letters, digits and ._/-")
        if self.platform:
            from netkit.catalogue.platforms import platform

            platform(self.platform)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the exporter is told beyond where to listen."""
        from netkit_exporters.discovery import collectors

        more = [name for name, on in (("pods", self.pods), ("optics", self.optics)) if on]
        default = [collector.id for collector in collectors() if collector.default]
        said = [f"--collectors={','.join((*default, *more))}"] if more else []
        said += [f"--platform={self.platform}"] if self.platform else []
        return (*said, *([f"--nccl-results={self.results}"] if self.results else ()))

    @property
    def root(self) -> bool:
        """Whether the container runs as root: capabilities and the kubelet's socket are nobody else's."""
        return self.pods or self.optics


def _require(form: re.Pattern[str], option: str, given: str, accepted: str) -> None:
    if not form.fullmatch(given):
        raise InputError(f"{option} {visible(given, 100)!r}", accepted)


def render(form: Form, wanted: Deployment) -> str:
    """Return the file of this form."""
    texts: dict[Form, Callable[[Deployment], str]] = {
        Form.KUBERNETES: _kubernetes,
        Form.SYSTEMD: _unit,
        Form.CONTAINER: lambda _: _CONTAINER,
    }
    return texts[form](wanted)


def _kubernetes(wanted: Deployment) -> str:
    monitors = {Monitor.POD: (_POD_MONITOR,), Monitor.SERVICE: (_SERVICE, _SERVICE_MONITOR), Monitor.NONE: ()}
    listed = (_daemon_set(wanted), *(text.format(namespace=wanted.namespace) for text in monitors[wanted.monitor]))
    return "---\n".join(listed)


def _daemon_set(wanted: Deployment) -> str:
    memory = "192Mi" if wanted.gpu else "128Mi"
    return _DAEMON_SET.format(
        namespace=wanted.namespace,
        image=json.dumps(wanted.image),
        arguments="".join(f"\n            - {json.dumps(said)}" for said in wanted.arguments),
        host_pid=str(wanted.pods).lower(),
        root="false" if wanted.root else "true",
        user=0 if wanted.root else _NOBODY,
        added="\n              add: [NET_ADMIN]" if wanted.optics else "",
        runtime="\n      runtimeClassName: nvidia" if wanted.gpu else "",
        environment=_GPU_ENVIRONMENT if wanted.gpu else "",
        memory=memory,
        mounts="".join(_MOUNT.format(name=name, at=at) for name, at in _mounts(wanted)),
        volumes="".join(_VOLUME.format(name=name, at=at) for name, at in _mounts(wanted)),
    )


def _mounts(wanted: Deployment) -> Iterator[tuple[str, str]]:
    yield "sys", "/sys"
    if wanted.pods:
        yield "pod-resources", POD_RESOURCES
        yield "pod-logs", POD_LOGS
    if wanted.results:
        yield "results", wanted.results


def _unit(wanted: Deployment) -> str:
    capabilities = "CAP_NET_ADMIN" if wanted.optics else ""
    user = "User=root" if wanted.pods else "DynamicUser=yes"
    devices = "DevicePolicy=closed\nDeviceAllow=char-nvidia* rw\n" if wanted.gpu else "PrivateDevices=yes\n"
    return _UNIT.format(
        arguments="".join(f" {said}" for said in wanted.arguments),
        user=user,
        devices=devices.rstrip(),
        capabilities=capabilities,
        memory="192M" if wanted.gpu else "128M",
    )


_MOUNT = "\n            - {{name: {name}, mountPath: {at}, readOnly: true}}"
_VOLUME = "\n        - {{name: {name}, hostPath: {{path: {at}}}}}"
_GPU_ENVIRONMENT = """
            - {name: NVIDIA_VISIBLE_DEVICES, value: all}
            - {name: NVIDIA_DRIVER_CAPABILITIES, value: utility}"""

_DAEMON_SET = """\
# Written by `netkit deploy exporter`. The namespace must allow hostNetwork and hostPath (Pod Security: privileged); the
# container itself has neither root nor capabilities, unless --pods or --optics asked for what needs them.
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: netkit-exporter
  namespace: {namespace}
  labels: {{app.kubernetes.io/name: netkit-exporter, app.kubernetes.io/part-of: netkit}}
spec:
  selector:
    matchLabels: {{app.kubernetes.io/name: netkit-exporter}}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate: {{maxUnavailable: 10%}}
  template:
    metadata:
      labels: {{app.kubernetes.io/name: netkit-exporter, app.kubernetes.io/part-of: netkit}}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Interfaces belong to a network namespace: a pod of its own sees none of the host's.
      hostNetwork: true
      hostPID: {host_pid}
      dnsPolicy: Default
      terminationGracePeriodSeconds: 10{runtime}
      nodeSelector: {{kubernetes.io/os: linux}}
      tolerations: [{{operator: Exists}}]
      securityContext:
        runAsNonRoot: {root}
        runAsUser: {user}
        runAsGroup: {user}
        seccompProfile: {{type: RuntimeDefault}}
      containers:
        - name: exporter
          image: {image}
          args:
            - "--listen=$(HOST_IP):9879"{arguments}
          env:
            - {{name: HOST_IP, valueFrom: {{fieldRef: {{fieldPath: status.hostIP}}}}}}{environment}
          ports:
            - {{name: metrics, containerPort: 9879, protocol: TCP}}
          resources:
            requests: {{cpu: 20m, memory: 64Mi}}
            limits: {{cpu: 500m, memory: {memory}}}
          # The process being alive, not the hardware: a GPU that hangs must not restart the exporter.
          livenessProbe:
            httpGet: {{path: /healthz, port: metrics}}
            periodSeconds: 20
            timeoutSeconds: 5
          readinessProbe:
            httpGet: {{path: /readyz, port: metrics}}
            periodSeconds: 10
            timeoutSeconds: 5
          securityContext:
            allowPrivilegeEscalation: false
            privileged: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]{added}
          volumeMounts:{mounts}
      volumes:{volumes}
"""

_RELABELLING = """\
      honorLabels: true  # a probe's findings say themselves which node they are about
      relabelings:
        - {{sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: node}}
      # Rules and dashboards group by `rail`; say here which device is which rail of this cluster, such as:
      # metricRelabelings:
      #   - {{sourceLabels: [device], regex: "mlx5_([0-7])", targetLabel: rail}}
"""

_POD_MONITOR = (
    """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: netkit-exporter
  namespace: {namespace}
  labels: {{app.kubernetes.io/name: netkit-exporter}}
spec:
  jobLabel: app.kubernetes.io/part-of
  selector:
    matchLabels: {{app.kubernetes.io/name: netkit-exporter}}
  podMetricsEndpoints:
    - port: metrics
      interval: 15s
      scrapeTimeout: 10s
"""
    + _RELABELLING
)

_SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: netkit-exporter
  namespace: {namespace}
  labels: {{app.kubernetes.io/name: netkit-exporter, app.kubernetes.io/part-of: netkit}}
spec:
  clusterIP: None
  selector: {{app.kubernetes.io/name: netkit-exporter}}
  ports:
    - {{name: metrics, port: 9879, targetPort: metrics}}
"""

_SERVICE_MONITOR = (
    """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: netkit-exporter
  namespace: {namespace}
  labels: {{app.kubernetes.io/name: netkit-exporter}}
spec:
  jobLabel: app.kubernetes.io/part-of
  selector:
    matchLabels: {{app.kubernetes.io/name: netkit-exporter}}
  endpoints:
    - port: metrics
      interval: 15s
      scrapeTimeout: 10s
"""
    + _RELABELLING
)

_UNIT = """\
# Written by `netkit deploy exporter --form systemd`; for /etc/systemd/system/netkit-exporter.service.
[Unit]
Description=RDMA, PFC, PCIe, GPU and NCCL signals of this node, for Prometheus
Documentation=man:systemd.exec(5)
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/bin/env netkit-exporter --listen [::]:9879{arguments}
Restart=always
RestartSec=5
TimeoutStopSec=10
{user}
MemoryMax={memory}
TasksMax=256
LimitNOFILE=8192
OOMScoreAdjust=500
CapabilityBoundingSet={capabilities}
AmbientCapabilities={capabilities}
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
PrivateTmp=yes
{devices}
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
# No MemoryDenyWriteExecute: ctypes makes its callbacks at run time.
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallErrorNumber=EPERM
UMask=0077

[Install]
WantedBy=multi-user.target
"""

_CONTAINER = """\
# Build with: docker build -f exporters/deploy/Containerfile -t netkit-exporter .
ARG PYTHON=python:3.12-slim

FROM ${PYTHON} AS build
COPY . /source
RUN python -m venv /opt/netkit && /opt/netkit/bin/pip install --no-cache-dir "/source[gpu,exporter]"

FROM ${PYTHON}
COPY --from=build /opt/netkit /opt/netkit
ENV PATH=/opt/netkit/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# Nobody: counters need no privilege. The root file system may be read-only; nothing is ever written.
USER 65534:65534
EXPOSE 9879
ENTRYPOINT ["netkit-exporter"]
CMD ["--listen", "0.0.0.0:9879"]
"""
