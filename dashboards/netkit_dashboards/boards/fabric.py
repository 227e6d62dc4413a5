"""Is the fabric healthy, and if not, who suffers?"""

from netkit.catalogue.metric_rows import rdma
from netkit.catalogue.neighbours import UP
from netkit_dashboards.asking import Ask
from netkit_dashboards.board import Board, Choice, Kind, Panel, Query, Row, Step, Tone, Unit, Word

_CHOICES = (Choice.CLUSTER, Choice.JOB, Choice.INSTANCE, Choice.NODE_POOL)
_ASK = Ask(_CHOICES)
_ONE_IS_BAD = (Step(at=None, tone=Tone.GOOD), Step(at=1, tone=Tone.BAD))
_RECEIVED = rdma.COUNTERS["port_data_received_bytes"]
_SENT = rdma.COUNTERS["port_data_transmitted_bytes"]
_CNPS = rdma.COUNTERS["rp_cnp_packets_handled"]
_DOWN = _ASK.bad_ports(rdma.STATE, rdma.EXPECTED, 4)

_ANSWER = Row(
    title="Is the fabric healthy?",
    panels=(
        Panel(
            kind=Kind.STAT,
            title="Ports down",
            description="Expected RDMA ports that are not active now. Playbook: rdma-port-down.",
            queries=(Query(expr=f"sum({_DOWN})", instant=True),),
            unit=Unit.COUNT,
            steps=_ONE_IS_BAD,
            width=4,
            height=4,
            drill="netkit-links",
        ),
        Panel(
            kind=Kind.STAT,
            title="Nodes covered",
            description="Share of scrape targets of netkit-exporter that answer. Playbook: netkit-exporter-down.",
            queries=(Query(expr=f"avg({_ASK.value(UP, job='netkit')})", instant=True),),
            unit=Unit.RATIO,
            steps=(Step(at=None, tone=Tone.BAD), Step(at=0.95, tone=Tone.WATCH), Step(at=1, tone=Tone.GOOD)),
            width=4,
            height=4,
            drill="netkit-meta",
        ),
    ),
)
_STATE = Row(
    title="Where?",
    panels=(
        Panel(
            kind=Kind.ALERT_LIST,
            title="Alerts that fire",
            description="What fires now, the most important first; each leads to its playbook.",
            width=8,
            height=10,
        ),
        Panel(
            kind=Kind.STATUS_HISTORY,
            title="Rails with ports down",
            description="Ports down on each rail, over time. Playbook: rdma-port-down.",
            queries=(Query(expr=f"sum by (rail) ({_DOWN})", legend="rail {{rail}}"),),
            unit=Unit.COUNT,
            words=(Word(value=0, text="up", tone=Tone.GOOD),),
            steps=_ONE_IS_BAD,
            interval="5m",
            width=16,
            height=10,
            drill="netkit-links",
        ),
    ),
)
_USE = Row(
    title="How much moves?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Received by ports",
            description="What a port receives: median, 95th percentile and busiest of all.",
            queries=(
                Query(expr=f"quantile(0.5, {_ASK.rate(_RECEIVED)})", legend="median"),
                Query(expr=f"quantile(0.95, {_ASK.rate(_RECEIVED)})", legend="95th percentile"),
                Query(expr=f"max({_ASK.rate(_RECEIVED)})", legend="busiest"),
            ),
            unit=Unit.BYTES_PER_SECOND,
            least=0,
            width=8,
            drill="netkit-node",
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Sent by ports",
            description="What a port sends: median, 95th percentile and busiest of all.",
            queries=(
                Query(expr=f"quantile(0.5, {_ASK.rate(_SENT)})", legend="median"),
                Query(expr=f"quantile(0.95, {_ASK.rate(_SENT)})", legend="95th percentile"),
                Query(expr=f"max({_ASK.rate(_SENT)})", legend="busiest"),
            ),
            unit=Unit.BYTES_PER_SECOND,
            least=0,
            width=8,
            drill="netkit-node",
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Congestion notifications by rail",
            description="CNPs that slowed senders down, all ports of a rail together.",
            queries=(Query(expr=f"sum by (rail) ({_ASK.rate(_CNPS)})", legend="rail {{rail}}"),),
            unit=Unit.PACKETS_PER_SECOND,
            least=0,
            width=8,
            drill="netkit-node",
        ),
    ),
)
BOARD = Board(
    id="fabric",
    title="netkit / Fabric",
    question="Is the fabric healthy, and if not, who suffers?",
    choices=_CHOICES,
    rows=(_ANSWER, _STATE, _USE),
)
