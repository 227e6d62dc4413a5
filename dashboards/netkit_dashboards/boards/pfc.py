"""Who pauses, who is paused, and on which priority?"""

from netkit.catalogue.metric_rows import ethtool, pfc
from netkit.catalogue.rules import CONGESTED_1H, CONGESTED_3D, CONGESTED_5M, CONGESTED_6H, OCCUPANCY
from netkit_dashboards.asking import Ask, largest
from netkit_dashboards.board import Board, Choice, Column, Kind, Panel, Query, Row, Step, Tone, Unit
from netkit_dashboards.variables import chosen

_CHOICES = (
    Choice.CLUSTER,
    Choice.JOB,
    Choice.INSTANCE,
    Choice.NODE_POOL,
    Choice.NODE,
    Choice.RAIL,
    Choice.DEVICE,
)
_ASK = Ask(_CHOICES)
_DEVICE = "cluster, node, rail, device"
_LEGEND = "{{node}} {{device}} rail {{rail}}"
_ON_PRIORITY = "on (cluster, node, device, netdev, priority)"
_RECEIVED = _ASK.value(OCCUPANCY, direction="received")
_SENT = _ASK.value(OCCUPANCY, direction="sent")
_LOSSLESS = f"{_ON_PRIORITY} {_ASK.value(pfc.LOSSLESS)} == 1"
_DROPS = " or ".join(
    f"{_ASK.rate(ethtool.COUNTERS[stem])} > 0"
    for stem in ("priority_discards", "priority_buffer_discards", "priority_congestion_discards")
)

_WHO = Row(
    title="Who suffers, and who causes it?",
    panels=(
        Panel(
            kind=Kind.HEATMAP,
            title="Paused by the fabric, by node",
            description="Share of time a node's worst port may not send; dark is bad. Playbook: fabric-congestion.",
            queries=(Query(expr=largest(_RECEIVED, "node", 40), legend="{{node}}"),),
            unit=Unit.RATIO,
            interval="2m",
            width=24,
            height=9,
            drill="netkit-node",
        ),
        Panel(
            kind=Kind.BAR_GAUGE,
            title="Most paused now (victims)",
            description="Ports the fabric stops most. Playbook: fabric-congestion.",
            queries=(Query(expr=largest(_RECEIVED, _DEVICE), legend=_LEGEND, instant=True),),
            unit=Unit.RATIO,
            steps=(Step(at=None, tone=Tone.NEUTRAL), Step(at=0.2, tone=Tone.WATCH), Step(at=0.8, tone=Tone.BAD)),
            least=0,
            most=1,
            width=12,
            height=9,
            drill="netkit-node",
        ),
        Panel(
            kind=Kind.BAR_GAUGE,
            title="Pausing most now (aggressors)",
            description="Ports that stop their switch most: slow receivers. Playbook: slow-receiver.",
            queries=(Query(expr=largest(_SENT, _DEVICE), legend=_LEGEND, instant=True),),
            unit=Unit.RATIO,
            steps=(Step(at=None, tone=Tone.NEUTRAL), Step(at=0.05, tone=Tone.WATCH)),
            least=0,
            most=1,
            width=12,
            height=9,
            drill="netkit-node",
        ),
    ),
)
_HOW = Row(
    title="Is it as it was planned?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Congested port-minutes",
            description="Share of port-minutes congested; at most 1 % of three days. Playbook: fabric-congestion.",
            queries=(
                Query(expr=f"max({chosen(CONGESTED_5M)})", legend="5 minutes"),
                Query(expr=f"max({chosen(CONGESTED_1H)})", legend="1 hour"),
                Query(expr=f"max({chosen(CONGESTED_6H)})", legend="6 hours"),
                Query(expr=f"max({chosen(CONGESTED_3D)})", legend="3 days"),
                Query(expr="vector(0.01)", legend="objective", dashed=True),
                Query(expr="vector(0.144)", legend="pages", dashed=True),
            ),
            unit=Unit.RATIO,
            least=0,
            most=1,
            width=12,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Pause frames by priority",
            description="Frames of all ports, by priority; only lossless ones may show. Playbook: qos-mismatch.",
            queries=(
                Query(
                    expr=f"sum by (priority) ({_ASK.rate(pfc.FRAMES, direction='received')})",
                    legend="received, priority {{priority}}",
                ),
                Query(
                    expr=f"sum by (priority) ({_ASK.rate(pfc.FRAMES, direction='sent')})",
                    legend="sent, priority {{priority}}",
                    mirrored=True,
                ),
            ),
            unit=Unit.PACKETS_PER_SECOND,
            width=12,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Pause storms",
            description="Pauses so long that the NIC warned or stopped pausing, all ports. Playbook: pfc-storm.",
            queries=(
                Query(expr=f"sum({_ASK.increase(pfc.STORMS, level='warning')})", legend="warnings"),
                Query(expr=f"sum({_ASK.increase(pfc.STORMS, level='error')})", legend="pausing turned off"),
            ),
            unit=Unit.COUNT,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Drops of lossless priorities",
            description="Packets dropped on priorities that must not drop. Playbook: lossless-drops.",
            queries=(Query(expr=largest(f"({_DROPS}) and {_LOSSLESS}", _DEVICE), legend=_LEGEND),),
            healthy_empty=True,
            unit=Unit.PACKETS_PER_SECOND,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Global pause",
            description="802.3x frames that pause a whole link, where PFC should be. Playbook: qos-mismatch.",
            queries=(
                Query(expr=largest(f"{_ASK.rate(pfc.GLOBAL_FRAMES)} > 0", f"{_DEVICE}, direction"), legend=_LEGEND),
            ),
            healthy_empty=True,
            unit=Unit.PACKETS_PER_SECOND,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TABLE,
            title="How ports keep from losing",
            description="Ports by flow control: a fleet has one answer, or two by plan. Playbook: qos-mismatch.",
            queries=(Query(expr=f"count by (cluster, node_pool, flow_control) ({_ASK.value(pfc.PROFILE)})"),),
            columns=(
                Column(field="cluster", heading="Cluster"),
                Column(field="node_pool", heading="Node pool"),
                Column(field="flow_control", heading="Flow control"),
                Column(field="Value", heading="Ports"),
            ),
            unit=Unit.COUNT,
            width=12,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Lossless priorities",
            description="Ports with PFC on, by priority. Playbook: qos-mismatch.",
            queries=(Query(expr=f"sum by (cluster, node_pool, priority) ({_ASK.value(pfc.LOSSLESS)}) > 0"),),
            columns=(
                Column(field="cluster", heading="Cluster"),
                Column(field="node_pool", heading="Node pool"),
                Column(field="priority", heading="Priority"),
                Column(field="Value", heading="Ports"),
            ),
            unit=Unit.COUNT,
            width=12,
        ),
    ),
)
BOARD = Board(
    id="pfc",
    title="netkit / PFC and congestion",
    question="Who pauses, who is paused, and on which priority?",
    choices=_CHOICES,
    rows=(_WHO, _HOW),
)
