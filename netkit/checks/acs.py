"""Access Control Services between a GPU and a NIC under one switch, and what a virtual machine cannot know of it.

PCI Express Base Specification 6.0, 6.12; NVIDIA NCCL user guide, troubleshooting, "PCI Access Control Services".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.pci_index import Pair, without
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress
from netkit.model.pci_capabilities import AcsControl

ACS = Rule(
    id="T11",
    name="pcie-acs",
    severity=Severity.WARNING,
    question="May a GPU and a NIC under one PCIe switch talk to each other without a detour through the CPU?",
    reads="the ACS control word of the switch ports between each GPU and each NIC below one switch; needs root",
    passes="request redirect, completion redirect and upstream forwarding are off where the two ways part",
    why="a redirect sends every byte between GPU and NIC up to the root port and back: half the bandwidth or less",
    remedy="switch ACS off in the BIOS, or boot with pci=disable_acs_redir=ADDRESS, or setpci -s ADDRESS "
    "ECAP_ACS+0x6.w=0000 (lost at reboot)",
    source="NCCL troubleshooting guide; nccl-tests issue 112 (-35 %), nccl issue 1086; Linux commit aaca43fda742",
    caution="source validation and translation blocking alone cost nothing; ports that no GPU-NIC way crosses "
    "(NVSwitch, chipset, root ports) are not looked at; a redirect deeper than the parting is only information",
    playbook="pcie-degraded",
)
HIDDEN_ACS = Rule(
    id="T12",
    name="host-acs-hidden",
    severity=Severity.INFO,
    question="Can ACS of the physical switches be seen from here?",
    reads="the hypervisor flag of the processor and the product name",
    passes="this is no virtual machine",
    why="a hypervisor may switch ACS on for isolation; the guest's own PCI tree looks perfect all the same",
    remedy="ask who runs the host for the ACS control words of the real switch ports; with ACS on, ATS with direct "
    "translated requests is the way out (see T14); a topology file mends NCCL's view, never the host's ACS",
    source="nccl-tests issue 256 (350 became 260 GB/s), nccl issue 949",
    caution="information: nothing inside a guest can prove or rule it out; a GPU-memory bandwidth test can",
    playbook="gpu-nic-pairing",
)
ATS = Rule(
    id="T14",
    name="pcie-ats",
    severity=Severity.INFO,
    question="Where ACS must stay on, may NICs at least use translated addresses?",
    reads="the ATS control word of every NIC; needs root",
    passes="ATS is on in a virtual machine; on bare metal it does not matter",
    why="with ACS direct translated requests, ATS lets peer traffic pass the switch although ACS is on",
    remedy="mlxconfig -d DEVICE set ATS_ENABLED=1 on the host, then a cold reboot; only where the switch supports "
    "direct translated requests",
    source="NCCL user guide; nccl-tests issue 256 (ATS without switch support fails memory registration)",
    caution="information: ATS without support in the switch breaks registration, so it is no free fix",
    playbook="pcie-degraded",
)
_REDIRECTS = (
    ("request_redirect", "request redirect"),
    ("completion_redirect", "completion redirect"),
    ("upstream_forwarding", "upstream forwarding"),
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge ACS pair by pair, and say where it cannot be judged."""
    virtual = snapshot.host.virtual_machine is True
    yield from _peer_traffic(context, virtual=virtual)
    yield _visibility(snapshot)
    yield from _translation(context, virtual=virtual)


def _peer_traffic(context: Context, *, virtual: bool) -> Iterator[Result]:
    if virtual:
        yield ACS.incomplete(NODE, "inside a virtual machine the physical switches are not knowable (see T12)")
        return
    if not context.pci.pairs:
        yield ACS.not_applicable("no GPU shares a PCIe switch with a NIC")
        return
    ports = dict.fromkeys(port for pair in context.pci.pairs for port in pair.below)
    parting = {port for pair in context.pci.pairs for port in pair.parting}
    for port in ports:
        yield _port(context, port, parts=port in parting)


def _port(context: Context, port: PciAddress, *, parts: bool) -> Result:
    subject = str(port)
    known = context.pci.capabilities.get(port)
    if known is None:
        return ACS.incomplete(subject, "its configuration space was not read")
    if isinstance(known.acs, Missing):
        if without(known.acs):
            return ACS.ok(subject, "the port has no ACS")
        return ACS.incomplete(subject, known.acs)
    on = [words for field, words in _REDIRECTS if getattr(known.acs, field)]
    if not on:
        return ACS.ok(subject, "no redirect")
    ways = _ways(context, port)
    said = ", ".join(on)
    if parts:
        return ACS.finding(subject, f"{said} on, between {ways[0]}", *ways, _word(known.acs))
    return ACS.finding(
        subject, f"{said} on, but not where ways part: costs nothing by itself", *ways, severity=Severity.INFO
    )


def _ways(context: Context, port: PciAddress) -> list[str]:
    return [_way(context, pair) for pair in context.pci.pairs if port in pair.below]


def _way(context: Context, pair: Pair) -> str:
    return f"{context.pci.name(pair.gpu.address)} and {context.pci.name(pair.nic.address)}"


def _word(acs: AcsControl) -> str:
    bits = (
        acs.source_validation,
        acs.translation_blocking,
        acs.request_redirect,
        acs.completion_redirect,
        acs.upstream_forwarding,
        acs.egress_control,
        acs.direct_translated,
    )
    return f"ACS control 0x{sum(bit << place for place, bit in enumerate(bits)):04x}"


def _visibility(snapshot: NodeSnapshot) -> Result:
    virtual = snapshot.host.virtual_machine
    if isinstance(virtual, Missing):
        return HIDDEN_ACS.incomplete(NODE, virtual)
    if virtual:
        return HIDDEN_ACS.finding(NODE, "a virtual machine: ACS of the host is not knowable from inside")
    return HIDDEN_ACS.ok(NODE, "bare metal: what is read is what is there")


def _translation(context: Context, *, virtual: bool) -> Iterator[Result]:
    if not context.pci.nics:
        yield ATS.not_applicable("no NIC on PCI")
        return
    for nic in context.pci.nics:
        subject, known = context.pci.name(nic.address), context.pci.capabilities.get(nic.address)
        if known is not None and without(known.ats_enabled):
            yield ATS.ok(subject, "the NIC has no ATS")
        elif known is None or isinstance(known.ats_enabled, Missing):
            yield ATS.incomplete(subject, "no ATS control word was read" if known is None else str(known.ats_enabled))
        elif virtual and not known.ats_enabled:
            yield ATS.finding(subject, "ATS is off in a virtual machine, where the host's ACS may be on")
        else:
            yield ATS.ok(subject, f"ATS is {'on' if known.ats_enabled else 'off'}")


CHECK = NodeCheck(id="acs", rules=(ACS, HIDDEN_ACS, ATS), check=check, needs=("pci_devices",))
