"""How NICs of one node are set up beside each other: firmware, queues, congestion settings, address resolution.

Linux Documentation/networking/ip-sysctl.rst (arp_ignore, arp_announce, rp_filter).
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.doctor.nic_ports import NicPort
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.roce.qos import HostQos

FIRMWARE = Rule(
    id="N05",
    name="nic-firmware-uniform",
    severity=Severity.WARNING,
    question="Do NICs of one board type run one firmware?",
    reads="fw_ver and board_id of every training NIC",
    passes="one version for each board id",
    why="two versions behave differently under congestion, and only one of them was tested",
    remedy="flash the odd one: mlxfwmanager, or the vendor's tool",
    source="oracle-quickstart/oci-hpc",
    caution="boards of different types have different versions by nature; between nodes see J04",
    playbook="rdma-device-missing",
)
UNIFORM = Rule(
    id="R11",
    name="roce-settings-uniform",
    severity=Severity.WARNING,
    question="Are all training NICs of the node set up for RoCE alike?",
    reads="trust, PFC, DSCP table and ECN of every training interface",
    passes="one value each",
    why="settings of mlnx_qos and sysfs do not survive a reboot or a reset: the NIC that lost them shows here first",
    remedy="set them by udev rule, systemd unit or NIC operator, so that they come back by themselves",
    source="NVIDIA network operator notes on persistence",
    caution="compares NICs with each other; what all of them lack is found by R05 to R09",
    playbook="qos-mismatch",
)
QUEUE = Rule(
    id="N14",
    name="nic-queue-length",
    severity=Severity.INFO,
    question="Have all training interfaces one transmit queue length?",
    reads="tx_queue_len of every training interface",
    passes="they all have one value",
    why="a sign that one interface was set up by another hand; RDMA itself does not use that queue",
    remedy="ip link set INTERFACE txqueuelen 20000 where the platform asks for it",
    source="oracle-quickstart/oci-hpc (ring 8192, queue 20000)",
    caution="information: RDMA traffic passes it by",
)
FLUX = Rule(
    id="R21",
    name="arp-flux",
    severity=Severity.WARNING,
    question="Does every NIC answer for its own address only?",
    reads="arp_ignore, arp_announce, rp_filter of every RoCE interface and of `all`; addresses in the GID tables",
    passes="where two NICs share a network: arp_ignore 1 or 2, arp_announce 2, rp_filter not 1",
    why="otherwise any NIC answers for any address: peers send to the wrong rail, or replies are dropped",
    remedy="sysctl net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2",
    source="oracle-quickstart/oci-hpc; Linux ip-sysctl",
    caution="prefix lengths are not in the GID table: NICs whose addresses share the first 24 bits are taken for one "
    "network; the kernel uses the larger of the interface's value and that of `all`",
    playbook="qos-mismatch",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Compare the training NICs of one node."""
    if not context.ports:
        yield from (no_ports(rule, snapshot) for rule in (FIRMWARE, UNIFORM, QUEUE, FLUX))
        return
    yield from _firmware(context)
    yield _uniform(context)
    yield _queues(context)
    yield from _flux(snapshot, context)


def _firmware(context: Context) -> Iterator[Result]:
    boards: dict[str, dict[str, list[str]]] = {}
    for port in context.ports:
        board, version = port.device.board_id, port.device.firmware
        if isinstance(board, str) and isinstance(version, str):
            boards.setdefault(board, {}).setdefault(version, []).append(port.name)
    if not boards:
        yield FIRMWARE.incomplete(NODE, "no NIC says its board and firmware")
    for board, versions in boards.items():
        shown = [f"{version}: {', '.join(names)}" for version, names in sorted(versions.items())]
        if len(versions) > 1:
            yield FIRMWARE.finding(board, f"{len(versions)} firmware versions on {board}", *shown)
        else:
            yield FIRMWARE.ok(board, shown[0])


def _uniform(context: Context) -> Result:
    found = {port.name: context.qos[port.name] for port in context.ports if port.roce and port.hardware}
    known = {name: qos for name, qos in found.items() if isinstance(qos, HostQos)}
    if len(known) < 2:
        return UNIFORM.not_applicable("fewer than two RoCE interfaces to compare")
    odd = [line for what, field in _COMPARED.items() for line in _odd(known, what, field)]
    if odd:
        return UNIFORM.finding(NODE, f"{len(odd)} settings differ between NICs: {odd[0]}", *odd)
    read = [
        what for what, field in _COMPARED.items() if not isinstance(getattr(next(iter(known.values())), field), Missing)
    ]
    if not read:
        return UNIFORM.incomplete(NODE, "no RoCE setting could be read")
    return UNIFORM.ok(NODE, f"{', '.join(read)}: one value on {len(known)} NICs")


_COMPARED = {
    "trust": "trust",
    "PFC": "lossless",
    "DSCP table": "dscp_to_priority",
    "ECN notification": "ecn_notification",
    "ECN reaction": "ecn_reaction",
    "CNP priority": "cnp_priority",
}


def _odd(known: dict[str, HostQos], what: str, field: str) -> Iterator[str]:
    values = {name: _shown(getattr(qos, field)) for name, qos in known.items()}
    usual = Counter(values.values()).most_common(1)[0][0]
    strange = [name for name, value in values.items() if value != usual]
    if strange and usual != _UNREAD:
        yield f"{what} of {', '.join(strange)}: {values[strange[0]]}, elsewhere {usual}"


_UNREAD = "not read"


def _shown(value: object) -> str:
    if isinstance(value, Missing):
        return _UNREAD
    if isinstance(value, frozenset):
        return ",".join(map(str, sorted(value))) or "none"
    return str(sorted(value.items())) if isinstance(value, dict) else str(value)


def _queues(context: Context) -> Result:
    lengths = {port.name: port.netdev.queue_length for port in context.ports if port.netdev is not None}
    known = {name: length for name, length in lengths.items() if isinstance(length, int)}
    if len(known) < 2:
        return QUEUE.not_applicable("fewer than two training interfaces to compare")
    if len(set(known.values())) > 1:
        shown = [f"{name}: {length}" for name, length in known.items()]
        return QUEUE.finding(NODE, f"between {min(known.values())} and {max(known.values())}", *shown)
    return QUEUE.ok(NODE, f"{next(iter(known.values()))} on {len(known)} interfaces")


def _flux(snapshot: NodeSnapshot, context: Context) -> Iterator[Result]:
    networks: dict[str, list[NicPort]] = {}
    for port in context.ports:
        for network in _networks(port):
            networks.setdefault(network, []).append(port)
    shared = dict.fromkeys(port for ports in networks.values() if len(ports) > 1 for port in ports)
    if not shared:
        yield FLUX.not_applicable("no two NICs share a network")
    for port in shared:
        yield _guarded(snapshot, port)


def _networks(port: NicPort) -> set[str]:
    table = port.port.gid_table
    if isinstance(table, Missing) or not port.roce:
        return set()
    mapped = (ipaddress.IPv6Address(gid.gid).ipv4_mapped for gid in table.gids if _is_address(gid.gid))
    return {str(ipaddress.ip_network(f"{address}/24", strict=False)) for address in mapped if address is not None}


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _guarded(snapshot: NodeSnapshot, port: NicPort) -> Result:
    own = {one.name: one.value for one in port.netdev.address_resolution} if port.netdev is not None else {}
    everywhere = {one.name.rpartition(".")[2]: one.value for one in snapshot.host.sysctls if ".conf.all." in one.name}
    used: dict[str, int] = {}
    for name in ("arp_ignore", "arp_announce", "rp_filter"):
        values = [value for value in (own.get(name), everywhere.get(name)) if isinstance(value, int)]
        if not values:
            return FLUX.incomplete(port.name, f"{name} was not read")
        used[name] = max(values)
    wrong = [
        f"{name} is {used[name]}, wanted {wanted}"
        for name, good, wanted in (
            ("arp_ignore", used["arp_ignore"] in {1, 2}, "1 or 2"),
            ("arp_announce", used["arp_announce"] == 2, "2"),
            ("rp_filter", used["rp_filter"] != 1, "0 or 2"),
        )
        if not good
    ]
    return FLUX.finding(port.name, "; ".join(wrong)) if wrong else FLUX.ok(port.name, "answers for itself only")


CHECK = NodeCheck(id="nic_setup", rules=(FIRMWARE, UNIFORM, QUEUE, FLUX), check=check, needs=("rdma_devices",))
