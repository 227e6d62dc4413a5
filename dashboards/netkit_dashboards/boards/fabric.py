"""Is the fabric healthy, and if not, who suffers?"""

from netkit.catalogue.metric_rows import ethtool, nccl, rdma
from netkit.catalogue.neighbours import UP
from netkit.catalogue.rules import BUSBW, CONGESTED_5M, FIRING, OCCUPANCY, PORT_DOWN
from netkit_dashboards.asking import Ask, largest
from netkit_dashboards.board import Board, Choice, Kind, Panel, Query, Row, Step, Tone, Unit, Word
from netkit_dashboards.variables import chosen

_CHOICES = (Choice.CLUSTER, Choice.JOB, Choice.INSTANCE, Choice.NODE_POOL)
_ASK = Ask(_CHOICES)
_ONE_IS_BAD = (Step(at=None, tone=Tone.GOOD), Step(at=1, tone=Tone.BAD))
_RECEIVED = rdma.COUNTERS["port_data_received_bytes"]
_SENT = rdma.COUNTERS["port_data_transmitted_bytes"]
_CNPS = rdma.COUNTERS["rp_cnp_packets_handled"]
_ERRORS = _ASK.rate(ethtool.COUNTERS["phy_rx_pcs_symbol_errors"])
_FIRES = _ASK.value(FIRING)
_CRITICAL = chosen(FIRING, severity="critical")
_DOWN = _ASK.value(PORT_DOWN)

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
        Panel(
            kind=Kind.STAT,
            title="Nodes that page",
            description="Nodes with an alert of severity critical. Playbook: that of the alert.",
            queries=(Query(expr=f"count(count by (node) ({_CRITICAL})) or 0 * count({_FIRES})", instant=True),),
            unit=Unit.COUNT,
            steps=_ONE_IS_BAD,
            width=4,
            height=4,
            drill="netkit-node",
        ),
        Panel(
            kind=Kind.STAT,
            title="Congestion budget left",
            description="Of the 1 % of port-minutes that may be congested in 30 days. Playbook: fabric-congestion.",
            queries=(Query(expr=f"1 - avg_over_time({chosen(CONGESTED_5M)}[30d]) / 0.01", instant=True),),
            unit=Unit.RATIO,
            steps=(Step(at=None, tone=Tone.BAD), Step(at=0.1, tone=Tone.WATCH), Step(at=0.5, tone=Tone.GOOD)),
            width=4,
            height=4,
            drill="netkit-pfc",
        ),
        Panel(
            kind=Kind.STAT,
            title="Worst bus bandwidth",
            description="Lowest share of expected bus bandwidth in the last runs. Playbook: nccl-slow.",
            queries=(Query(expr=f"min({_ASK.value(BUSBW)})", instant=True),),
            unit=Unit.RATIO,
            steps=(Step(at=None, tone=Tone.BAD), Step(at=0.5, tone=Tone.WATCH), Step(at=0.9, tone=Tone.GOOD)),
            width=4,
            height=4,
            drill="netkit-nccl",
        ),
        Panel(
            kind=Kind.STAT,
            title="Oldest probe",
            description="Since the last good run of the probe that waits longest. Playbook: nccl-probe-failing.",
            queries=(Query(expr=f"time() - min({_ASK.value(nccl.LAST_SUCCESS)})", instant=True),),
            unit=Unit.SECONDS,
            steps=(Step(at=None, tone=Tone.GOOD), Step(at=43_260, tone=Tone.BAD)),
            decimals=0,
            width=4,
            height=4,
            drill="netkit-nccl",
        ),
    ),
)
_RUNS = Row(
    title="What do collectives get?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Bus bandwidth by node pool",
            description="Lowest share of expected bus bandwidth in each pool. Playbook: nccl-slow.",
            queries=(Query(expr=f"min by (node_pool) ({_ASK.value(BUSBW)})", legend="{{node_pool}}"),),
            unit=Unit.RATIO,
            least=0,
            most=1.2,
            width=12,
            drill="netkit-nccl",
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Probes that failed",
            description="Runs without a result, or with wrong data. Playbook: nccl-probe-failing.",
            queries=(
                Query(expr=f"sum({_ASK.increase(nccl.RUNS, result='incomplete')})", legend="incomplete"),
                Query(expr=f"sum({_ASK.increase(nccl.RUNS, result='corrupt')})", legend="corrupt"),
            ),
            unit=Unit.COUNT,
            least=0,
            interval="1h",
            width=12,
            drill="netkit-nccl",
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
        Panel(
            kind=Kind.TIME_SERIES,
            title="Pause occupancy by rail",
            description="Share of time paused by the fabric, 95th percentile. Playbook: fabric-congestion.",
            queries=(
                Query(
                    expr=f"quantile by (rail) (0.95, {_ASK.value(OCCUPANCY, direction='received')})",
                    legend="rail {{rail}}",
                ),
            ),
            unit=Unit.RATIO,
            least=0,
            most=1,
            width=12,
            drill="netkit-pfc",
        ),
        Panel(
            kind=Kind.BAR_GAUGE,
            title="Most errors on the wire",
            description="Uncorrectable symbols a second, the worst ten links. Playbook: rdma-bad-cable.",
            queries=(
                Query(
                    expr=largest(f"{_ERRORS} > 0", "cluster, node, rail, device", 10),
                    legend="{{node}} {{device}} rail {{rail}}",
                    instant=True,
                ),
            ),
            unit=Unit.PER_SECOND,
            steps=(Step(at=None, tone=Tone.BAD),),
            width=12,
            drill="netkit-links",
            healthy_empty=True,
        ),
    ),
)
BOARD = Board(
    id="fabric",
    title="netkit / Fabric",
    question="Is the fabric healthy, and if not, who suffers?",
    choices=_CHOICES,
    rows=(_ANSWER, _STATE, _RUNS, _USE),
)
