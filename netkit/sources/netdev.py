"""Network interfaces of a machine, as far as files tell.

`/sys/class/net/<interface>`: Linux Documentation/ABI/testing/sysfs-class-net and -net-statistics,
Documentation/networking/{bonding,ip-sysctl}.rst. `ecn/` comes with NVIDIA's out-of-tree mlx5 driver.
"""

from __future__ import annotations

from netkit.model.counter import Counter, Setting
from netkit.model.ethernet import Bond, NetDev, RoceCongestion
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress
from netkit.model.text import visible
from netkit.sources.attributes import base_name, integer, names, natural, text
from netkit.sources.counters import netdev_form
from netkit.sources.pci import address_behind
from netkit.sources.tree import Tree

CLASS = "sys/class/net"
MOST_INTERFACES = 4096
_STATISTICS = (
    *(f"{way}_{what}" for way in ("rx", "tx") for what in ("bytes", "packets", "errors", "dropped")),
    *("rx_crc_errors", "rx_missed_errors", "rx_over_errors", "tx_carrier_errors"),
)
_ADDRESS_RESOLUTION = ("arp_ignore", "arp_announce", "rp_filter")
_BYTES_PER_MEGABIT = 125_000
_PRIORITIES = tuple(str(priority) for priority in range(8))


def read_netdevs(tree: Tree, virtual_functions: bool = False) -> tuple[NetDev, ...] | Missing:
    """Return every interface of this network namespace; those of virtual functions only when asked for."""
    found = tree.list(CLASS)
    if isinstance(found, Missing):
        return found
    folders = (name for name in found if name != "bonding_masters")
    wanted = (name for name in folders if virtual_functions or not is_virtual(tree, name))
    return tuple(read_netdev(tree, name) for _, name in zip(range(MOST_INTERFACES), wanted, strict=False))


def is_virtual(tree: Tree, name: str) -> bool:
    """Tell whether an interface belongs to an SR-IOV virtual function."""
    return tree.exists(f"{CLASS}/{name}/device/physfn")


def read_netdev(tree: Tree, name: str) -> NetDev:
    """Return one interface; its counters only when a device stands behind it."""
    at = f"{CLASS}/{name}"
    address = address_behind(tree, f"{at}/device")
    driver = base_name(tree, f"{at}/device/driver")
    device_port = integer(tree, f"{at}/dev_port")
    speed = natural(tree, f"{at}/speed")
    carrier = integer(tree, f"{at}/carrier")
    return NetDev(
        name=visible(name),
        identity=_identity(name, address, device_port),
        address=address,
        driver=driver,
        hardware_address=text(tree, f"{at}/address"),
        index=natural(tree, f"{at}/ifindex"),
        link_type=natural(tree, f"{at}/type"),
        device_port=device_port,
        mtu_bytes=natural(tree, f"{at}/mtu"),
        speed_bytes_per_second=speed if isinstance(speed, Missing) else float(speed * _BYTES_PER_MEGABIT),
        operational_state=text(tree, f"{at}/operstate"),
        carrier=carrier if isinstance(carrier, Missing) else bool(carrier),
        carrier_changes=natural(tree, f"{at}/carrier_changes"),
        carrier_ups=natural(tree, f"{at}/carrier_up_count"),
        carrier_downs=natural(tree, f"{at}/carrier_down_count"),
        queue_length=natural(tree, f"{at}/tx_queue_len"),
        master=base_name(tree, f"{at}/master"),
        bond=_bond(tree, f"{at}/bonding"),
        rdma_devices=tuple(visible(device) for device in names(tree, f"{at}/device/infiniband")),
        congestion=_congestion(tree, f"{at}/ecn"),
        address_resolution=() if isinstance(driver, Missing) else _address_resolution(tree, name),
        counters=() if isinstance(driver, Missing) else _counters(tree, f"{at}/statistics"),
    )


def _identity(name: str, address: PciAddress | Missing, device_port: int | Missing) -> str:
    if isinstance(address, Missing):
        return visible(name)
    return f"{address}/{device_port}" if isinstance(device_port, int) else str(address)


def _address_resolution(tree: Tree, name: str) -> tuple[Setting, ...]:
    at = f"proc/sys/net/ipv4/conf/{name}"
    return tuple(Setting(name=setting, value=natural(tree, f"{at}/{setting}")) for setting in _ADDRESS_RESOLUTION)


def _counters(tree: Tree, at: str) -> tuple[Counter, ...]:
    return tuple(Counter(name=name, raw=integer(tree, f"{at}/{name}"), form=netdev_form(name)) for name in _STATISTICS)


def _bond(tree: Tree, at: str) -> Bond | Missing:
    mode = text(tree, f"{at}/mode")
    if isinstance(mode, Missing):
        return mode
    members = text(tree, f"{at}/slaves")
    return Bond(
        mode=mode,
        hash_policy=text(tree, f"{at}/xmit_hash_policy"),
        link_check=text(tree, f"{at}/miimon"),
        active_member=text(tree, f"{at}/active_slave"),
        members=() if isinstance(members, Missing) else tuple(members.split()),
    )


def _congestion(tree: Tree, at: str) -> RoceCongestion | Missing:
    found = tree.list(at)
    if isinstance(found, Missing):
        return found
    return RoceCongestion(
        notification_priorities=_priorities(tree, f"{at}/roce_np/enable"),
        reaction_priorities=_priorities(tree, f"{at}/roce_rp/enable"),
        notification=_settings(tree, f"{at}/roce_np"),
        reaction=_settings(tree, f"{at}/roce_rp"),
    )


def _priorities(tree: Tree, at: str) -> tuple[Setting, ...]:
    return tuple(Setting(name=priority, value=natural(tree, f"{at}/{priority}")) for priority in _PRIORITIES)


def _settings(tree: Tree, at: str) -> tuple[Setting, ...]:
    numbers = (name for name in names(tree, at)[:64] if name != "enable")
    return tuple(Setting(name=visible(name), value=natural(tree, f"{at}/{name}")) for name in numbers)
