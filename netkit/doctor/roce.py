"""RoCE ports of a node as QoS chains, and whether anything on the node is lossless at all."""

from __future__ import annotations

from netkit.doctor.context import Context
from netkit.doctor.nic_ports import NicPort
from netkit.model.environment import Environment
from netkit.model.missing import Missing, Reason
from netkit.roce.qos import DSCPS, HostQos, Intent, SwitchQos
from netkit.roce.qos_chain import QosChain, prove

_CUSTOMARY_DSCP = 26
_ECN_CAPABLE = 2


def lossless_meant(context: Context) -> bool | Missing:
    """Tell whether any NIC or switch port of this node is lossless; Missing where no NIC could be asked."""
    if context.wishes.switches:
        return True
    found = [context.qos[port.name] for port in context.ports if port.roce]
    known = [qos.lossless for qos in found if isinstance(qos, HostQos) and not isinstance(qos.lossless, Missing)]
    if any(known):
        return True
    if known:
        return False
    first = next((qos if isinstance(qos, Missing) else qos.lossless for qos in found), None)
    return first if isinstance(first, Missing) else Missing(reason=Reason.ABSENT, where="dcb", detail="no RoCE port")


def chain_of(context: Context, port: NicPort) -> QosChain:
    """Return the proven or broken chain of one port."""
    qos = context.qos[port.name]
    if isinstance(qos, Missing):
        return QosChain(interface=port.name, switch_port=None, priority=None, links=())
    intent = intent_of(context.environment) if context.environment.given else presumed_intent(qos)
    return prove(intent, qos, switch_of(context, qos.interface))


def intent_of(environment: Environment) -> Intent:
    """Return what a job's settings ask of the fabric."""
    wanted, control = environment.number("NCCL_IB_TC"), environment.number("NCCL_IB_FIFO_TC")
    return Intent(
        traffic_class=wanted if wanted is not None and wanted >= 0 else None,
        control_class=control if control is not None and control >= 0 else None,
    )


def presumed_intent(qos: HostQos) -> Intent:
    """Return what a job that fits this NIC would ask: nobody said, so the chain is followed from the NIC on."""
    lossless = frozenset() if isinstance(qos.lossless, Missing) else qos.lossless
    fitting = [dscp for dscp in (_CUSTOMARY_DSCP, *DSCPS) if qos.priority_of(dscp) in lossless]
    return Intent(traffic_class=fitting[0] << 2 | _ECN_CAPABLE) if fitting else Intent()


def switch_of(context: Context, interface: str) -> SwitchQos | None:
    """Return the switch port behind an interface; a port given for every interface alike is named `*`."""
    return context.wishes.switches.get(interface) or context.wishes.switches.get("*")
