"""Do collectives reach what this fabric can give, and which link keeps them from it?"""

from netkit.catalogue.metric_rows import gpu, nccl, rdma
from netkit.catalogue.rules import BUSBW
from netkit_dashboards.asking import Ask, largest
from netkit_dashboards.board import Board, Choice, Column, Kind, Panel, Query, Row, Step, Tone, Unit, Word

_CHOICES = (Choice.CLUSTER, Choice.JOB, Choice.INSTANCE, Choice.NODE_POOL)
_ASK = Ask(_CHOICES)
_SIZE = "probe, collective, size"
_LEGEND = "{{probe}} {{collective}} {{size}}"
_AGE = f"time() - max by (probe) ({_ASK.value(nccl.LAST_SUCCESS)})"

_REACHED = Row(
    title="Do collectives reach what they should?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Bus bandwidth of expected",
            description="Lowest share of the platform's bus bandwidth, by size. Playbook: nccl-slow.",
            queries=(
                Query(expr=f"bottomk(12, min by ({_SIZE}) ({_ASK.value(BUSBW)}))", legend=_LEGEND),
                Query(expr="vector(0.9)", legend="ticket below", dashed=True),
                Query(expr="vector(0.5)", legend="page below", dashed=True),
            ),
            unit=Unit.RATIO,
            least=0,
            most=1.2,
            width=12,
            height=9,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Bus bandwidth by size",
            description="What the last run of each probe reached, and what the platform gives. Playbook: nccl-slow.",
            queries=(
                Query(expr=largest(_ASK.value(nccl.BUSBW), _SIZE, 8), legend=_LEGEND),
                Query(expr=f"max({_ASK.value(nccl.EXPECTED)})", legend="expected at most", dashed=True),
            ),
            unit=Unit.BYTES_PER_SECOND,
            least=0,
            width=12,
            height=9,
        ),
    ),
)
_WHICH = Row(
    title="Which link is slow?",
    panels=(
        Panel(
            kind=Kind.TABLE,
            title="Slow links",
            description="What probes blame, the worst first, against its peers. Playbook: nccl-slow-link.",
            queries=(Query(expr=f"sort_desc({_ASK.value(nccl.FINDINGS)})"),),
            columns=(
                Column(field="probe", heading="Probe"),
                Column(field="id", heading="Finding"),
                Column(field="node", heading="Node"),
                Column(field="rail", heading="Rail"),
                Column(field="peer", heading="Peer"),
                Column(
                    field="Value",
                    heading="Lost",
                    unit=Unit.RATIO,
                    steps=(Step(at=None, tone=Tone.WATCH), Step(at=0.2, tone=Tone.BAD)),
                ),
            ),
            unit=Unit.RATIO,
            width=12,
            height=9,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.STATUS_HISTORY,
            title="Verdict of probes",
            description="What the last netkit probe said, over time. Playbook: nccl-slow-link.",
            queries=(
                Query(
                    expr=(
                        f"2 * max by (probe) ({_ASK.value(nccl.VERDICT, verdict='slow')})"
                        f" + max by (probe) ({_ASK.value(nccl.VERDICT, verdict='inconclusive')})"
                    ),
                    legend="{{probe}}",
                ),
            ),
            words=(
                Word(value=0, text="healthy", tone=Tone.GOOD),
                Word(value=1, text="inconclusive", tone=Tone.NEUTRAL),
                Word(value=2, text="slow", tone=Tone.BAD),
            ),
            interval="10m",
            width=12,
            height=9,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Transport of the last run",
            description="How ranks talked between nodes; Socket means NCCL fell back. Playbook: nccl-socket-fallback.",
            queries=(Query(expr=f"max by (probe, transport) ({_ASK.value(nccl.TRANSPORT)})"),),
            columns=(
                Column(field="probe", heading="Probe"),
                Column(field="transport", heading="Transport"),
            ),
            width=8,
        ),
        Panel(
            kind=Kind.BAR_GAUGE,
            title="Smallest slowdown seen",
            description="The smallest loss the last probe could have seen. Playbook: nccl-slow-link.",
            queries=(
                Query(
                    expr=largest(_ASK.value(nccl.DETECTABLE), "probe"),
                    legend="{{probe}}",
                    instant=True,
                ),
            ),
            unit=Unit.RATIO,
            least=0,
            most=1,
            width=8,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Expected bandwidth",
            description="Where 'expected' comes from: the platform's table at this size. Playbook: nccl-slow.",
            queries=(Query(expr=f"max by ({_SIZE}, nodes, ranks) ({_ASK.value(nccl.EXPECTED)})"),),
            columns=(
                Column(field="collective", heading="Collective"),
                Column(field="size", heading="Size"),
                Column(field="nodes", heading="Nodes"),
                Column(field="ranks", heading="Ranks"),
                Column(field="Value", heading="Bus bandwidth", unit=Unit.BYTES_PER_SECOND),
            ),
            unit=Unit.BYTES_PER_SECOND,
            width=8,
        ),
    ),
)
_RUNNING = Row(
    title="Do probes and jobs run?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Probe runs",
            description="Runs ended, by result. Playbook: nccl-probe-failing.",
            queries=(
                Query(expr=f"sum({_ASK.increase(nccl.RUNS, result='success')})", legend="success"),
                Query(expr=f"sum({_ASK.increase(nccl.RUNS, result='incomplete')})", legend="incomplete"),
                Query(expr=f"sum({_ASK.increase(nccl.RUNS, result='corrupt')})", legend="corrupt"),
            ),
            unit=Unit.COUNT,
            least=0,
            interval="10m",
            width=8,
        ),
        Panel(
            kind=Kind.STAT,
            title="Probe age",
            description="Since the oldest good run of any probe. Playbook: nccl-probe-failing.",
            queries=(Query(expr=f"max({_AGE})", instant=True),),
            unit=Unit.SECONDS,
            steps=(Step(at=None, tone=Tone.GOOD), Step(at=43_260, tone=Tone.BAD)),
            decimals=0,
            width=4,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="NVLink and network",
            description="Bytes sent over NVLink and over RDMA ports, all together. Playbook: nccl-slow.",
            queries=(
                Query(expr=f"sum({_ASK.rate(gpu.NVLINK_BYTES, direction='sent')})", legend="NVLink"),
                Query(expr=f"sum({_ASK.rate(rdma.COUNTERS['port_data_transmitted_bytes'])})", legend="network"),
            ),
            unit=Unit.BYTES_PER_SECOND,
            least=0,
            width=6,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Collectives of running jobs",
            description="Slowest bus bandwidth NCCL Inspector saw, by collective. Playbook: nccl-slow.",
            queries=(
                Query(
                    expr=f"bottomk(12, min by (collective, size) ({_ASK.value(nccl.INSPECTED)}))",
                    legend="{{collective}} {{size}}",
                ),
            ),
            unit=Unit.BYTES_PER_SECOND,
            least=0,
            width=6,
        ),
    ),
)
BOARD = Board(
    id="nccl",
    title="netkit / NCCL",
    question="Do collectives reach what this fabric can give, and which link keeps them from it?",
    choices=_CHOICES,
    rows=(_REACHED, _WHICH, _RUNNING),
    span="now-24h",
)
