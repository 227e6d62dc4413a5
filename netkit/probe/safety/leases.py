"""Leases and the policy in one namespace of a cluster, each call with a deadline of its own.

Nobody knows what a lost answer did, so a creation that was not answered is looked up: it is ours when it bears our
probe's label.
"""

from __future__ import annotations

from urllib.parse import quote

from netkit.catalogue.kube_resources import LEASES
from netkit.catalogue.kube_roles import CONFIG_MAP
from netkit.errors import ProbeError, SourceError
from netkit.model.kube_object import KubeObject
from netkit.model.text import visible
from netkit.probe.probe_job import MANAGED_BY, PROBE, Manifest
from netkit.probe.safety.lease import Held, read
from netkit.probe.safety.policy import Policy, policy_of
from netkit.sources.kube.api import Api, RefusedError
from netkit.sources.kube.objects import cleaned, object_of

_NOT_THERE, _CONFLICT = 404, 409


class Leases:
    """The leases that netkit keeps in a namespace, over one connection; used in one thread at a time."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._connection = api
        self.namespace = namespace

    def policy(self) -> Policy:
        """Return what the owners of the cluster allow.

        Raises:
            InputError: the policy cannot be understood.
        """
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{CONFIG_MAP}"
        try:
            answer, _ = self._api().get(path, {}, self._what("get", "configmaps"))
        except RefusedError as refused:
            if refused.status != _NOT_THERE:
                raise
            return Policy()
        return policy_of(KubeObject("configmaps", cleaned(answer)))

    def all(self) -> list[Held]:
        """Return every lease that netkit keeps, held or not."""
        return self._list(f"{MANAGED_BY}=netkit")

    def of(self, probe: str) -> list[Held]:
        """Return the leases that one probe holds."""
        return self._list(f"{PROBE}={probe}")

    def create(self, lease: Manifest) -> Held | None:
        """Create a lease; None when there is one of that name already.

        Raises:
            ProbeError: the namespace is not there.
        """
        try:
            answer = self._api().send("POST", self._path(), lease, self._what("create"))
        except RefusedError as refused:
            if refused.status == _CONFLICT:
                return None
            if refused.status == _NOT_THERE:
                raise self._no_namespace() from refused
            return self._found(lease, refused)
        except SourceError as fault:
            return self._found(lease, fault)
        return read(object_of(answer, LEASES.name))

    def replace(self, held: Held, lease: Manifest) -> Held | None:
        """Write a lease anew; None when it is gone or has changed since it was read."""
        try:
            answer = self._api().send("PUT", self._path(held.name), lease, self._what("update"))
        except RefusedError as refused:
            if refused.status not in (_NOT_THERE, _CONFLICT):
                raise
            return None
        return read(object_of(answer, LEASES.name))

    def delete(self, held: Held, *, unchanged: bool = True) -> bool:
        """Delete a lease, as it was read or at least the very one; tell whether it is gone by this."""
        conditions = {"uid": held.uid} | ({"resourceVersion": held.version} if unchanged else {})
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
        try:
            self._api().send("DELETE", self._path(held.name), options, self._what("delete"))
        except RefusedError as refused:
            if refused.status not in (_NOT_THERE, _CONFLICT):
                raise
            return False
        return True

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def _found(self, lease: Manifest, fault: SourceError) -> Held:
        """Return the lease that a creation without an answer has left, if it is ours; it failed otherwise."""
        wanted = lease["metadata"]
        for held in self.of(wanted["labels"][PROBE]):
            if held.name == wanted["name"]:
                return held
        raise fault

    def _list(self, selector: str) -> list[Held]:
        return [read(one) for one in self._api().objects(LEASES, LEASES.versions[0], self.namespace, selector)]

    def _api(self) -> Api:
        """Return the connection with a whole deadline before it."""
        self._connection.begin_again()
        return self._connection

    def _path(self, name: str = "") -> str:
        path = f"/apis/{LEASES.group}/{LEASES.versions[0]}/namespaces/{self.namespace}/{LEASES.plural}"
        return f"{path}/{quote(name)}" if name else path

    def _what(self, verb: str, resource: str = LEASES.name) -> str:
        return f"{verb} {resource} in namespace {self.namespace}"

    def _no_namespace(self) -> ProbeError:
        place = visible(self.namespace)
        return ProbeError(
            "locking nodes",
            f"namespace {place}, where the locks of this cluster are, is not there",
            f"kubectl create namespace {place}, or --lock-namespace with the one that all operators share",
        )
