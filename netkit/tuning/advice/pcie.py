"""PCIe settings of NICs, GPUs and the switch ports between them: ACS, read requests, ordering, payload, IOMMU.

PCI Express Base Specification 6.0, 7.5.3.4 (device control: offset 8 of the capability) and 7.7.11.3 (ACS control:
offset 6); setpci(8) writes only the bits under the mask that follows the colon.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.doctor.context import Context
from netkit.model.advice import KernelFile, Program, Target
from netkit.model.check import Result
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress
from netkit.model.pci_capabilities import AcsControl, PciCapabilities
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation, said
from netkit.tuning.job_variables import without

_ACS_REGISTER = "ECAP_ACS+0x6.w"
_DEVICE_CONTROL = "CAP_EXP+0x8.w"
_REDIRECTS = (("request_redirect", 2), ("completion_redirect", 3), ("upstream_forwarding", 4))
_REDIRECT_MASK = 0x1C
_READ_MASK, _READ_SHIFT, _READ_BYTES = 0x7000, 12, 4096
_ORDERING_MASK = 0x10
_LOST = "lost at reboot and when the device is reset; needs root"


def _register(address: PciAddress, register: str, now: int, wanted: int, mask: int) -> Program:
    at = ("setpci", "-s", str(address))
    return Program(
        changes=(*at, f"{register}={wanted:04x}:{mask:04x}"),
        restores=(*at, f"{register}={now:04x}:{mask:04x}"),
        shows=(*at, register),
    )


def _capability(context: Context, result: Result) -> PciCapabilities | None:
    """Return the capabilities of the device a finding is about: its subject is an address or ends with one."""
    found = (one for address, one in context.pci.capabilities.items() if context.pci.name(address) == result.subject)
    return next(found, None)


def _acs(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("T11"):
        known = _capability(facts.context, found)
        if found.severity is Severity.INFO or known is None or not isinstance(known.acs, AcsControl):
            continue
        now = sum(getattr(known.acs, field) << bit for field, bit in _REDIRECTS)
        yield Proposal(
            setting=f"ACS redirects of {known.address}",
            now=f"0x{now:02x}",
            proposed="0x00",
            evidence=(*said([found]), *found.evidence),
            changes=(_register(known.address, _ACS_REGISTER, now, 0, _REDIRECT_MASK),),
        )


def _read_request(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("T16"):
        known = _capability(facts.context, found)
        if known is None or isinstance(known.max_read_request_bytes, Missing):
            continue
        now, wanted = known.max_read_request_bytes, _READ_BYTES
        yield Proposal(
            setting=f"maximal read request of {known.address}",
            now=f"{now} bytes",
            proposed=f"{wanted} bytes",
            evidence=said([found]),
            changes=(_register(known.address, _DEVICE_CONTROL, _coded(now), _coded(wanted), _READ_MASK),),
        )


def _coded(size: int) -> int:
    """128 bytes are 0, every doubling one more."""
    return (size.bit_length() - 8) << _READ_SHIFT


def _ordering(facts: Facts) -> Iterator[Proposal | Blank]:
    for found in facts.findings("T17"):
        known = _capability(facts.context, found)
        if known is not None and known.relaxed_ordering is False:
            yield Proposal(
                setting=f"relaxed ordering of {known.address}",
                now="off",
                proposed="on",
                evidence=said([found]),
                changes=(_register(known.address, _DEVICE_CONTROL, 0, _ORDERING_MASK, _ORDERING_MASK),),
            )


def _job_ordering(facts: Facts) -> Iterator[Proposal | Blank]:
    found = facts.findings("T17")
    if found and facts.context.environment.number("NCCL_IB_PCI_RELAXED_ORDERING") == 0:
        yield from without(facts, ["NCCL_IB_PCI_RELAXED_ORDERING"], said(found))


def _argument(setting: str, argument: str, rule: str, facts: Facts) -> Iterator[Proposal | Blank]:
    """Propose one argument of the kernel's command line; it holds from the next boot on."""
    found = facts.findings(rule)
    line = facts.snapshot.host.command_line
    if not found or (not isinstance(line, Missing) and argument in line):
        return
    grubby = ("grubby", "--update-kernel=ALL")
    yield Proposal(
        setting=setting,
        now="not set",
        proposed=argument,
        evidence=(*said(found), *(line for one in found for line in one.evidence)),
        changes=(
            Program(
                changes=(*grubby, f"--args={argument}"),
                restores=(*grubby, f"--remove-args={argument}"),
                shows=("cat", "/proc/cmdline"),
            ),
        ),
    )


def _payload(facts: Facts) -> Iterator[Proposal | Blank]:
    yield from _argument("kernel argument pci=pcie_bus_safe", "pci=pcie_bus_safe", "T15", facts)


def _passthrough(facts: Facts) -> Iterator[Proposal | Blank]:
    """Ask for it at boot; where that was done already, some device was put into another domain since."""
    line = facts.snapshot.host.command_line
    if isinstance(line, Missing) or _PASSTHROUGH not in line:
        yield from _argument(f"kernel argument {_PASSTHROUGH}", _PASSTHROUGH, "T13", facts)
        return
    for found in facts.findings("T13"):
        known = _capability(facts.context, found)
        if known is not None and isinstance(known.iommu_domain, str):
            path = f"/sys/bus/pci/devices/{known.address}/iommu_group/type"
            yield Proposal(
                setting=f"IOMMU domain of {known.address}",
                now=known.iommu_domain,
                proposed="identity",
                evidence=(*said([found]), f"the kernel was booted with {_PASSTHROUGH}"),
                changes=(KernelFile(path=path, present=known.iommu_domain, proposed="identity"),),
            )


_PASSTHROUGH = "iommu=pt"


_BOOT = "holds from the next boot on; grubby is Red Hat's, elsewhere edit /etc/default/grub and run update-grub"

FAMILY = Family(
    id="pcie",
    recommendations=(
        Recommendation(
            id="pcie-acs",
            target=Target.HOST,
            rules=("T11",),
            reason="a redirect where the ways of GPU and NIC part sends every byte between them up to the CPU and back",
            source="NCCL user guide, troubleshooting; PCI Express 6.0, 6.12; nccl-tests issue 112 (-35 %)",
            effect="GPUDirect RDMA at the switch's speed: up to twice the bandwidth",
            risk=f"{_LOST}; devices below the switch are no longer isolated from each other, as guests would need",
            propose=_acs,
        ),
        Recommendation(
            id="pcie-read-request",
            target=Target.HOST,
            rules=("T16",),
            reason="a NIC that asks for little at a time waits for the way there and back more often",
            source="PCI Express 6.0, 7.5.3.4; oracle-quickstart/oci-hpc and NVIDIA network operator (4096)",
            effect="sending reaches the line rate on Gen4 and Gen5 slots",
            risk=_LOST,
            propose=_read_request,
        ),
        Recommendation(
            id="pcie-relaxed-ordering",
            target=Target.HOST,
            rules=("T17",),
            reason="writes of a NIC that must keep their order wait for each other, most of all in guests",
            source="PCI Express 6.0, 7.5.3.4; nccl issue 1205; Azure's published setting",
            effect="receiving reaches the line rate; most in virtual machines",
            risk=f"{_LOST}; some old root complexes reorder wrongly, and their kernels forbid it",
            propose=_ordering,
        ),
        Recommendation(
            id="nccl-relaxed-ordering",
            target=Target.ENV,
            rules=(),
            reason="the job forbids what the NIC may do; the default asks the hardware",
            source="NVIDIA NCCL user guide, NCCL_IB_PCI_RELAXED_ORDERING",
            effect="NCCL registers memory with relaxed ordering where that is possible",
            risk="none known on hardware since 2017",
            propose=_job_ordering,
        ),
        Recommendation(
            id="pcie-payload",
            target=Target.HOST,
            rules=("T15",),
            reason="a device with a larger payload than the rest of its way has its packets refused",
            source="Linux admin-guide/kernel-parameters, pci=pcie_bus_safe",
            effect="one payload on every way, the largest all of it can",
            risk=_BOOT,
            propose=_payload,
        ),
        Recommendation(
            id="iommu-passthrough",
            target=Target.HOST,
            rules=("T13",),
            reason="translating every address costs the NIC bandwidth and sends peer traffic through the root complex",
            source="ROCm RCCL documentation; nccl-tests issue 115; Linux admin-guide/kernel-parameters, iommu=",
            effect="NICs and GPUs reach memory at full speed",
            risk=f"{_BOOT}; a device must be without a driver while its domain changes; none is confined",
            propose=_passthrough,
        ),
    ),
)
