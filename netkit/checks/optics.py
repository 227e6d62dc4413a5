"""The module in the cage of every training port: its own alarms, its temperature, the light on each lane.

SFF-8636, CMIS 5.2; limits are the module's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.doctor.context import Context, no_ports
from netkit.doctor.contract import NodeCheck
from netkit.model.check import NODE, Result, Rule
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.optics import OpticalModule

ALARM = Rule(
    id="N17",
    name="module-alarm",
    severity=Severity.WARNING,
    question="Is the module in every training port content?",
    reads="alarms, temperature and state in the module's memory; needs CAP_NET_ADMIN",
    passes="no alarm, the temperature below the module's own warning limit",
    why="a hot or badly fed module corrects more and more bits until it cannot",
    remedy="air flow and dust first; then another module of the same class",
    source="SFF-8636 and CMIS",
    caution="limits are those the module states; where it states none, 70 degrees Celsius",
    playbook="rdma-bad-cable",
)
LIGHT = Rule(
    id="N18",
    name="module-light",
    severity=Severity.WARNING,
    question="Does enough light arrive on every lane?",
    reads="received power and loss-of-signal flags of every lane; needs CAP_NET_ADMIN",
    passes="no lane lost its signal, and each is above the module's own low warning",
    why="a dirty connector dims one lane first, and one lane of errors is enough to slow a port",
    remedy="clean both ends of the fibre, reseat, exchange the cable; compare with the lane beside it",
    source="SFF-8636 and CMIS",
    caution="copper cables have no light and are not judged",
    playbook="rdma-bad-cable",
)


def check(snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge the module of every training port."""
    if not context.ports:
        yield no_ports(ALARM, snapshot)
        yield no_ports(LIGHT, snapshot)
        return
    hot = context.thresholds.hot_module_celsius
    for port in context.ports:
        name = port.port.netdev
        link = snapshot.ethernet_link(name) if isinstance(name, str) else None
        if link is None or isinstance(link.module, Missing):
            unread = snapshot.ethernet_links if link is None else link.module
            why = unread if isinstance(unread, Missing) else "its interface was not asked"
            yield from (rule.incomplete(port.name, why) for rule in (ALARM, LIGHT))
        else:
            yield from _module(port.name, link.module, hot)


def _module(subject: str, module: OpticalModule, hot: float) -> Iterator[Result]:
    yield _alarm(subject, module, hot)
    yield _light(subject, module)


def _alarm(subject: str, module: OpticalModule, hot: float) -> Result:
    who = f"{module.vendor} {module.part_number}".strip() or NODE
    if module.alarms:
        return ALARM.finding(subject, ", ".join(alarm.value for alarm in module.alarms), who)
    if module.state == "fault":
        return ALARM.finding(subject, "the module is in its fault state", who)
    warm = module.temperature_celsius
    if isinstance(warm, Missing):
        return ALARM.ok(subject, "no alarm") if module.copper else ALARM.incomplete(subject, warm)
    limits = module.temperature_limits_celsius
    limit = hot if isinstance(limits, Missing) else limits.high_warning
    said = f"{warm:.0f} of {limit:.0f} degrees Celsius"
    return ALARM.finding(subject, said, who) if warm >= limit else ALARM.ok(subject, said)


def _light(subject: str, module: OpticalModule) -> Result:
    if module.copper:
        return LIGHT.not_applicable("copper", subject)
    limits = module.received_limits_watts
    floor = 0.0 if isinstance(limits, Missing) else limits.low_warning
    dark = [lane.number for lane in module.lanes if lane.receive_signal_lost is True]
    dim = [lane for lane in module.lanes if isinstance(lane.received_watts, float) and lane.received_watts < floor]
    if dark:
        return LIGHT.finding(subject, f"no signal on lane {', '.join(map(str, dark))}")
    if dim:
        shown = [f"lane {lane.number}: {lane.received_watts:.6f} W, warning below {floor:.6f} W" for lane in dim]
        return LIGHT.finding(subject, f"little light on {len(dim)} of {len(module.lanes)} lanes", *shown)
    unread = next((lane.received_watts for lane in module.lanes if isinstance(lane.received_watts, Missing)), None)
    return LIGHT.incomplete(subject, unread) if unread is not None else LIGHT.ok(subject, f"{len(module.lanes)} lanes")


CHECK = NodeCheck(id="optics", rules=(ALARM, LIGHT), check=check)
