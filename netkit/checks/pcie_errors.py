"""PCIe errors of training devices and of the ports above them.

Linux Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats; counted since boot, hence judged by growth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.growth import Since, since
from netkit.model.check import NODE, Result, Rule
from netkit.model.counter import Counter
from netkit.model.counter_delta import delta
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciAddress
from netkit.model.pci_capabilities import PciErrors

ERRORS = Rule(
    id="T20",
    name="pcie-errors",
    severity=Severity.WARNING,
    question="Do PCIe errors of GPUs, NICs and the ports above them stand still?",
    reads="aer_dev_correctable, aer_dev_nonfatal, aer_dev_fatal now and in the recording given by --since",
    passes="nothing was counted in between",
    why="every corrected error is a packet sent again; they grow before a link trains down or dies",
    remedy="reseat the card, the riser or the cable; errors that come back in another slot are the card's",
    source="oracle-quickstart/oci-hpc fault code for PCIe errors; Linux AER statistics",
    caution="counts since boot hold the boot itself, so alone they prove nothing; an endpoint may show 0 while the "
    "port above it counts, so both are read",
    playbook="pcie-degraded",
)
_GROUPS = ("correctable", "nonfatal", "fatal")


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every training device together with the port above it."""
    wanted = dict.fromkeys(
        address for device in context.pci.trainers() for address in (device.address, *device.chain[-1:])
    )
    errors = {one.address: one for one in snapshot.pci_errors if one.address in wanted}
    if not wanted:
        yield ERRORS.not_applicable("no GPU and no RDMA NIC on PCI")
        return
    before = since(snapshot, context)
    if isinstance(before, Missing):
        yield from _since_boot(context, errors, before)
        return
    for address, now in errors.items():
        yield _growth(context, before, address, now)
    if not errors:
        yield ERRORS.incomplete(NODE, "no device on the data path reports errors")


def _since_boot(context: Context, errors: dict[PciAddress, PciErrors], why: Missing) -> Iterator[Result]:
    if not errors:
        yield ERRORS.incomplete(NODE, "no device on the data path reports errors")
    for address, now in errors.items():
        subject = context.pci.name(address)
        counts = [
            counter for group in _GROUPS if not isinstance(found := getattr(now, group), Missing) for counter in found
        ]
        counted = [f"{one.name} {one.raw}" for one in counts if one.raw != 0 and not _is_total(one)]
        if not counts:
            missing = now.correctable
            yield ERRORS.incomplete(subject, missing if isinstance(missing, Missing) else "no error counts")
        elif counted:
            yield ERRORS.incomplete(subject, f"{', '.join(counted)} since boot; {why.detail}")
        else:
            yield ERRORS.ok(subject, "none since boot")


def _is_total(counter: Counter) -> bool:
    return counter.name.startswith("TOTAL_")


def _growth(context: Context, before: Since, address: PciAddress, now: PciErrors) -> Result:
    subject = context.pci.name(address)
    old = next((one for one in before.snapshot.pci_errors if one.address == address), None)
    if old is None:
        return ERRORS.incomplete(subject, "the device was not there before")
    grown: dict[str, dict[str, int]] = {}
    for group in _GROUPS:
        first, second = getattr(old, group), getattr(now, group)
        if isinstance(first, Missing) or isinstance(second, Missing):
            return ERRORS.incomplete(subject, first if isinstance(first, Missing) else second)
        grown[group] = _counted(first, second)
    said = [f"{name} +{count} ({group})" for group, counts in grown.items() for name, count in counts.items()]
    if not said:
        return ERRORS.ok(subject, f"none in {before.seconds:.0f} s")
    severe = bool(grown["fatal"])
    return ERRORS.finding(
        subject, f"{', '.join(said)} in {before.seconds:.0f} s", severity=Severity.CRITICAL if severe else None
    )


def _counted(before: Iterable[Counter], after: Iterable[Counter]) -> dict[str, int]:
    old = {one.name: one for one in before}
    pairs = ((one.name, delta(old[one.name], one)) for one in after if one.name in old and not _is_total(one))
    return {name: one.amount for name, one in pairs if not isinstance(one, Missing) and one.amount}


CHECK = NodeCheck(id="pcie_errors", rules=(ERRORS,), check=check, needs=("pci_devices",))
