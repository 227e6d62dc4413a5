"""Devices of resource claims: the claim says which device of which pool, slices say what that device is.

ResourceClaim and ResourceSlice of resource.k8s.io/v1; v1beta1 holds a device's data one level deeper, under `basic`.
Only slices of the highest generation of a pool count. Attributes: resource.kubernetes.io/*, gpu.nvidia.com, dra.net,
sriovnetwork.k8snetworkplumbingwg.io.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netkit.gangs.cluster import Cluster
from netkit.gangs.devices import DeviceSource, Reader
from netkit.gangs.pci_text import pci_address
from netkit.model.gang import Device, DeviceKind
from netkit.model.kube_object import KubeObject, text_of

ID = "dra"
_CLAIMS = "resourceclaims.resource.k8s.io"
_SLICES = "resourceslices.resource.k8s.io"

Attributes = Mapping[str, str]
Place = tuple[str, str, str]
"""Driver, pool and device."""


def _prepare(cluster: Cluster) -> Reader:
    known = _known_devices(cluster.objects(_SLICES))

    def read(pod: KubeObject) -> Iterator[Device]:
        for name in _claims(pod):
            claim = cluster.named(_CLAIMS, (pod.namespace, name))
            if claim is not None:
                yield from _allotted(claim, known)

    return read


def _claims(pod: KubeObject) -> Iterator[str]:
    made = {
        text_of(row.get("name")): text_of(row.get("resourceClaimName"))
        for row in pod.rows("status", "resourceClaimStatuses")
    }
    for row in pod.rows("spec", "resourceClaims"):
        yield text_of(row.get("resourceClaimName")) or made.get(text_of(row.get("name")), "")
    yield pod.text("status", "extendedResourceClaimStatus", "resourceClaimName")


def _known_devices(slices: tuple[KubeObject, ...]) -> Mapping[Place, Attributes]:
    newest: dict[tuple[str, str], int] = {}
    for one in slices:
        pool, generation = _pool(one), one.number("spec", "pool", "generation")
        newest[pool] = max(newest.get(pool, 0), generation if isinstance(generation, int) else 0)
    found: dict[Place, Attributes] = {}
    for one in slices:
        generation = one.number("spec", "pool", "generation")
        if (generation if isinstance(generation, int) else 0) == newest[_pool(one)]:
            found |= {(*_pool(one), text_of(row.get("name"))): _attributes(row) for row in one.rows("spec", "devices")}
    return found


def _pool(one: KubeObject) -> tuple[str, str]:
    return one.text("spec", "driver"), one.text("spec", "pool", "name")


def _attributes(row: Mapping[str, Any]) -> Attributes:
    """Return attributes by the last part of their names: drivers repeat the standard ones with and without a domain."""
    basic = row.get("basic")
    written = (basic if isinstance(basic, dict) else row).get("attributes")
    pairs = written.items() if isinstance(written, dict) else ()
    return {name.rpartition("/")[2]: _value(value) for name, value in pairs}


def _value(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    return next(
        (text_of(value[form]) for form in ("string", "int", "version") if form in value), str(value.get("bool", ""))
    )


def _allotted(claim: KubeObject, known: Mapping[Place, Attributes]) -> Iterator[Device]:
    networks = {_place(row): row.get("networkData") for row in claim.rows("status", "devices")}
    for row in claim.rows("status", "allocation", "devices", "results"):
        place = _place(row)
        network = networks.get(place)
        yield _device(row, place, known.get(place, {}), network if isinstance(network, dict) else {})


def _place(row: Mapping[str, Any]) -> Place:
    return text_of(row.get("driver")), text_of(row.get("pool")), text_of(row.get("device"))


def _device(row: Mapping[str, Any], place: Place, attributes: Attributes, network: Mapping[str, Any]) -> Device:
    numa = attributes.get("numaNode", "")
    address = attributes.get("pciBusID") or attributes.get("pciAddress") or ""
    return Device(
        kind=_kind(place[0], attributes),
        id=attributes.get("uuid") or f"{place[1]}/{place[2]}",
        source=ID,
        resource=text_of(row.get("request")),
        pci=pci_address(address),
        pcie_root=attributes.get("pcieRoot", ""),
        numa=int(numa) if numa.isascii() and numa.isdigit() else None,
        rdma=attributes.get("rdmaDevice", ""),
        interface=text_of(network.get("interfaceName"))
        or attributes.get("ifName", attributes.get("interfaceName", "")),
    )


def _kind(driver: str, attributes: Attributes) -> DeviceKind:
    if driver.startswith("gpu.") or "uuid" in attributes:
        return DeviceKind.GPU
    if driver == "dra.net" or "sriov" in driver or {"rdma", "rdmaDevice", "rdmaCapable", "ifName"} & set(attributes):
        return DeviceKind.NIC
    return DeviceKind.OTHER


SOURCE = DeviceSource(id=ID, title="resource claims (DRA)", order=20, prepare=_prepare)
