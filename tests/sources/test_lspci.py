"""A PCI tree from the text of lspci: chains, links, capabilities, and what is missing without root."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress
from netkit.model.pci_capabilities import PortType
from netkit.sources.lspci import looks_like_lspci, parse_lspci

TEXT = """\
15:01.0 PCI bridge: Intel Corporation Device 352a (rev 04) (prog-if 00 [Normal decode])
\tNUMA node: 0
\tBus: primary=15, secondary=16, subordinate=1a, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot-), MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0
\t\tDevCtl:\tCorrErr- NonFatalErr- FatalErr+ UnsupReq-
\t\t\tRlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop-
\t\t\tMaxPayload 256 bytes, MaxReadReq 128 bytes
\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)
16:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)
\tBus: primary=16, secondary=17, subordinate=1a, sec-latency=0
\tCapabilities: [68] Express (v2) Upstream Port, MSI 00
17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)
\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0
\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
18:00.0 Ethernet controller [0200]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
\tNUMA node: 1
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
\t\t\tMaxPayload 256 bytes, MaxReadReq 4096 bytes
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
\t\tATSCtl:\tEnable+, Smallest Translation Unit: 00
\tKernel driver in use: mlx5_core
"""


def read(text: str = TEXT) -> NodeSnapshot:
    return parse_lspci(text, 1.0)


def test_a_device_hangs_below_the_bridges_whose_buses_hold_it() -> None:
    """Root port, switch, downstream port, in that order; ids and class where lspci prints them."""
    nic = read().pci_device(PciAddress.parse("18:00.0"))
    assert nic is not None
    assert [str(one) for one in nic.chain] == ["0000:15:01.0", "0000:16:00.0", "0000:17:00.0"]
    assert (nic.vendor, nic.device, nic.class_code, nic.numa_node) == (0x15B3, 0x1021, 0x020000, 1)
    assert nic.driver == "mlx5_core"
    assert (nic.current_link.speed_gt_per_second, nic.current_link.width) == (16.0, 8)
    assert (nic.max_link.speed_gt_per_second, nic.max_link.width) == (32.0, 16)


def test_capabilities_are_read_from_their_lines() -> None:
    """Payload, read request, ordering, ACS bits, ATS; a function without one says so."""
    found = {str(one.address): one for one in read().pci_capabilities}
    nic, down, root = found["0000:18:00.0"], found["0000:17:00.0"], found["0000:15:01.0"]
    assert (nic.port_type, nic.max_payload_bytes, nic.max_read_request_bytes) == (PortType.ENDPOINT, 256, 4096)
    assert (nic.relaxed_ordering, nic.extended_tags, nic.ats_enabled) == (True, True, True)
    assert (root.port_type, root.max_payload_supported_bytes, root.relaxed_ordering) == (PortType.ROOT_PORT, 512, False)
    assert not isinstance(down.acs, Missing)
    assert (down.acs.source_validation, down.acs.request_redirect, down.acs.redirects) == (True, True, True)
    assert isinstance(nic.acs, Missing)
    assert nic.acs.reason is Reason.UNSUPPORTED


def test_without_root_capabilities_are_denied_and_not_absent() -> None:
    """Lspci says `<access denied>`, which is no answer about ACS."""
    text = "18:00.0 Ethernet controller: Mellanox Technologies X\n\tCapabilities: <access denied>\n"
    (only,) = read(text).pci_capabilities
    assert isinstance(only.acs, Missing)
    assert only.acs.reason is Reason.DENIED


def test_what_lspci_does_not_print_is_missing() -> None:
    """No RDMA, no interfaces, no host: nothing of it is called absent hardware."""
    node = read()
    for group in (node.rdma_devices, node.netdevs, node.kernel_events, node.host.virtual_machine):
        assert isinstance(group, Missing)


def test_a_text_without_functions_is_refused() -> None:
    """One line that says what is accepted."""
    assert looks_like_lspci(TEXT)
    assert not looks_like_lspci("GPU0 X NV18")
    with pytest.raises(InputError, match="lspci -vvv"):
        read("nothing of the kind\n")


@given(st.integers(0, len(TEXT)))
def test_a_text_cut_anywhere_is_read_or_refused(end: int) -> None:
    """Never an exception of another kind, never a device that the part does not name."""
    try:
        node = read(TEXT[:end])
    except InputError:
        return
    assert not isinstance(node.pci_devices, Missing)
    assert len(node.pci_devices) <= 4
