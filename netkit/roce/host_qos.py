"""One NIC port's QoS as the chain wants it, from what the kernel and the driver say of its interface.

Linux drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c: the first DSCP entry of the application table switches the
port to trust DSCP, the last one that goes switches it back; so where the kernel cannot name the trust, the table does.
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.model.counter import Setting
from netkit.model.ethernet import NetDev
from netkit.model.missing import Missing, Reason
from netkit.model.qos import AppPriority, AppSelector, Dcb, Trust
from netkit.roce.qos import HostQos


def host_qos(netdev: NetDev, bridging: Dcb | Missing) -> HostQos:
    """Return what one interface does with RoCE traffic; whatever nobody could read stays Missing."""
    dcb = bridging if isinstance(bridging, Dcb) else None
    unread = bridging if isinstance(bridging, Missing) else _absent("dcb", netdev.name)
    apps = dcb.app_priorities if dcb is not None else unread
    buffers = dcb.buffers if dcb is not None else unread
    congestion = netdev.congestion
    np, rp = (
        (congestion, congestion)
        if isinstance(congestion, Missing)
        else (_enabled(congestion.notification_priorities), _enabled(congestion.reaction_priorities))
    )
    marks = () if isinstance(congestion, Missing) else congestion.notification
    return HostQos(
        interface=netdev.name,
        trust=_trust(dcb, apps, unread),
        dscp_to_priority=apps if isinstance(apps, Missing) else _dscps(apps),
        default_priority=0 if isinstance(apps, Missing) else _default(apps),
        lossless=_lossless(dcb, unread),
        ecn_notification=np,
        ecn_reaction=rp,
        buffer_of_priority=buffers if isinstance(buffers, Missing) else buffers.buffer_of_priority,
        buffer_bytes=buffers if isinstance(buffers, Missing) else buffers.size_bytes,
        cnp_dscp=_mark(marks, "cnp_dscp", netdev.name),
        cnp_priority=_mark(marks, "cnp_802p_prio", netdev.name),
    )


def _trust(dcb: Dcb | None, apps: tuple[AppPriority, ...] | Missing, unread: Missing) -> Trust | Missing:
    if dcb is None:
        return unread
    if not isinstance(dcb.trust, Missing) and dcb.trust:
        return dcb.trust[0]
    if isinstance(apps, Missing):
        return apps
    return Trust.DSCP if _dscps(apps) else Trust.PCP


def _dscps(apps: Iterable[AppPriority]) -> dict[int, int]:
    """Return the priority of each DSCP; of two entries for one the higher counts (802.1Q, 6.9.4)."""
    found: dict[int, int] = {}
    for app in apps:
        if app.selector is AppSelector.DSCP:
            found[app.protocol] = max(app.priority, found.get(app.protocol, 0))
    return found


def _default(apps: Iterable[AppPriority]) -> int:
    return max((app.priority for app in apps if app.selector is AppSelector.DEFAULT), default=0)


def _lossless(dcb: Dcb | None, unread: Missing) -> frozenset[int] | Missing:
    if dcb is None:
        return unread
    if isinstance(dcb.flow_control, Missing):
        return dcb.flow_control
    return frozenset(priority for priority, on in enumerate(dcb.flow_control.enabled) if on)


def _enabled(settings: Iterable[Setting]) -> frozenset[int] | Missing:
    found = tuple(settings)
    missing = next((one.value for one in found if isinstance(one.value, Missing)), None)
    return missing if missing is not None else frozenset(int(one.name) for one in found if one.value)


def _mark(settings: Iterable[Setting], name: str, interface: str) -> int | Missing:
    found = next((one.value for one in settings if one.name == name), None)
    return _absent(f"ecn/roce_np/{name}", interface) if found is None else found


def _absent(what: str, interface: str) -> Missing:
    return Missing(reason=Reason.ABSENT, where=f"{what} of {interface}", detail="the driver does not show it")
