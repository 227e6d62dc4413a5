"""Advanced Error Reporting counts of a PCI function.

`/sys/bus/pci/devices/<address>/aer_*`: Linux Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats. The file
prints short names (`BadTLP 3`); that document shows long ones (`Bad TLP 3`), which are taken too.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from netkit.model.counter import Counter, CounterForm
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.pci_capabilities import PciErrors
from netkit.model.text import visible
from netkit.sources.attributes import malformed, natural
from netkit.sources.pci import DEVICES
from netkit.sources.tree import Tree

_FORM = CounterForm(unit="errors", bits=64)
_LINE = re.compile(r"(\S.{0,60}?)\s+([0-9]{1,20})")
_ROOT_PORT = ("aer_rootport_total_err_cor", "aer_rootport_total_err_nonfatal", "aer_rootport_total_err_fatal")

_SHORT = MappingProxyType(
    {
        "Receiver Error": "RxErr",
        "Bad TLP": "BadTLP",
        "Bad DLLP": "BadDLLP",
        "RELAY_NUM Rollover": "Rollover",
        "Replay Timer Timeout": "Timeout",
        "Advisory Non-Fatal": "NonFatalErr",
        "Corrected Internal Error": "CorrIntErr",
        "Header Log Overflow": "HeaderOF",
        "Data Link Protocol": "DLP",
        "Surprise Down Error": "SDES",
        "Poisoned TLP": "TLP",
        "Flow Control Protocol": "FCP",
        "Completion Timeout": "CmpltTO",
        "Completer Abort": "CmpltAbrt",
        "Unexpected Completion": "UnxCmplt",
        "Receiver Overflow": "RxOF",
        "Malformed TLP": "MalfTLP",
        "Unsupported Request": "UnsupReq",
        "ACS Violation": "ACSViol",
        "Uncorrectable Internal Error": "UncorrIntErr",
        "MC Blocked TLP": "BlockedTLP",
        "AtomicOp Egress Blocked": "AtomicOpBlocked",
        "TLP Prefix Blocked Error": "TLPBlockedErr",
    }
)


def read_pci_errors(tree: Tree, address: PciAddress) -> PciErrors:
    """Return the counts of one function; Missing where it has no error reporting."""
    at = f"{DEVICES}/{address}"
    totals = ((name, natural(tree, f"{at}/{name}")) for name in _ROOT_PORT)
    return PciErrors(
        address=address,
        correctable=_group(tree, f"{at}/aer_dev_correctable"),
        nonfatal=_group(tree, f"{at}/aer_dev_nonfatal"),
        fatal=_group(tree, f"{at}/aer_dev_fatal"),
        root_port=tuple(Counter(name=name, raw=count, form=_FORM) for name, count in totals if isinstance(count, int)),
    )


def _group(tree: Tree, path: str) -> tuple[Counter, ...] | Missing:
    data = tree.read(path)
    return data if isinstance(data, Missing) else parse_errors(data, path)


def parse_errors(data: bytes, where: str) -> tuple[Counter, ...] | Missing:
    """Read `name count` lines; one line that is neither makes the file malformed, for a cut one would lose errors."""
    matches = [_LINE.fullmatch(line) for line in data.decode(errors="surrogateescape").splitlines()]
    if not matches:
        return Missing(reason=Reason.ABSENT, where=visible(where), detail="empty")
    if not all(matches):
        return malformed(data, where)
    return tuple(_counter(match[1], int(match[2])) for match in matches if match)


def _counter(name: str, count: int) -> Counter:
    return Counter(name=visible(_SHORT.get(name, name)), raw=count, form=_FORM)
