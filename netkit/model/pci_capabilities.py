"""What a PCI function's configuration space and error counters say, beside what sysfs prints as text.

PCI Express Base Specification 6.0, chapter 7 (capability layouts); error names as in the kernel's
Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.counter import Counter
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress

NO_CAPABILITY = "no such capability"
"""The detail of a capability that was looked for and is not there, as opposed to one that could not be read."""


class PortType(StrEnum):
    """Device/port type of the PCI Express capability."""

    ENDPOINT = "endpoint"
    LEGACY_ENDPOINT = "legacy endpoint"
    ROOT_PORT = "root port"
    UPSTREAM = "upstream switch port"
    DOWNSTREAM = "downstream switch port"
    TO_PCI_BRIDGE = "PCIe to PCI bridge"
    FROM_PCI_BRIDGE = "PCI to PCIe bridge"
    INTEGRATED_ENDPOINT = "integrated endpoint"
    EVENT_COLLECTOR = "event collector"


@dataclass(frozen=True, slots=True, kw_only=True)
class AcsControl:
    """Access Control Services as they are switched now; the three redirects force peer traffic through the root."""

    source_validation: bool
    translation_blocking: bool
    request_redirect: bool
    completion_redirect: bool
    upstream_forwarding: bool
    egress_control: bool
    direct_translated: bool

    @property
    def redirects(self) -> bool:
        """Whether traffic between two devices below this port is sent up instead of across."""
        return self.request_redirect or self.completion_redirect or self.upstream_forwarding


@dataclass(frozen=True, slots=True, kw_only=True)
class PciCapabilities:
    """The settings that decide how fast a function moves data, from its configuration space and its IOMMU group."""

    address: PciAddress
    port_type: PortType | Missing
    max_payload_bytes: int | Missing
    max_payload_supported_bytes: int | Missing
    max_read_request_bytes: int | Missing
    relaxed_ordering: bool | Missing
    no_snoop: bool | Missing
    extended_tags: bool | Missing
    acs: AcsControl | Missing
    ats_enabled: bool | Missing
    iommu_domain: str | Missing
    """`identity` is passthrough; `DMA` and `DMA-FQ` translate every transfer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PciErrors:
    """Advanced Error Reporting counts of one function; `root_port` totals exist on root ports only.

    An endpoint may show 0 while its link partner counts: read the parent port beside it.
    """

    address: PciAddress
    correctable: tuple[Counter, ...] | Missing
    nonfatal: tuple[Counter, ...] | Missing
    fatal: tuple[Counter, ...] | Missing
    root_port: tuple[Counter, ...]
