"""Does netkit see everything, or is silence blindness?"""

from netkit.catalogue.metric_rows import exporter, process
from netkit.catalogue.neighbours import GPU_CAPACITY, RULE_FAILURES, SCRAPE_SAMPLES, SCRAPE_SECONDS, UP
from netkit.catalogue.rules import FIRING
from netkit_dashboards.asking import Ask
from netkit_dashboards.board import Board, Choice, Column, Kind, Panel, Query, Row, Tone, Unit, Word

_CHOICES = (Choice.CLUSTER, Choice.JOB, Choice.INSTANCE, Choice.NODE_POOL, Choice.NODE)
_ASK = Ask(_CHOICES)
_NODE = "cluster, node"

_SEEING = Row(
    title="Who is blind?",
    panels=(
        Panel(
            kind=Kind.STATE_TIMELINE,
            title="Exporters that answer",
            description="Whether scrapes work; twelve nodes, silent ones first. Playbook: netkit-exporter-down.",
            queries=(Query(expr=f"bottomk(12, min by ({_NODE}) ({_ASK.value(UP, job='netkit')}))", legend="{{node}}"),),
            words=(
                Word(value=0, text="silent", tone=Tone.BAD),
                Word(value=1, text="answers", tone=Tone.GOOD),
            ),
            width=12,
            height=9,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Collectors that fail",
            description="What could not be read, by collector. Playbook: netkit-exporter-down.",
            queries=(Query(expr=f"{_ASK.value(exporter.COLLECTOR_SUCCESS)} == 0"),),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="collector", heading="Collector"),
                Column(
                    field="Value",
                    heading="State",
                    words=(Word(value=0, text="fails", tone=Tone.BAD),),
                ),
            ),
            width=6,
            height=9,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Missing values",
            description="What drivers and firmware do not give, by reason, a second. Playbook: netkit-exporter-down.",
            queries=(Query(expr=f"sum by (node, collector, reason) ({_ASK.rate(exporter.READ_FAULTS)}) > 0"),),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="collector", heading="Collector"),
                Column(field="reason", heading="Reason"),
                Column(field="Value", heading="Faults", unit=Unit.PER_SECOND),
            ),
            unit=Unit.PER_SECOND,
            width=6,
            height=9,
            healthy_empty=True,
        ),
    ),
)
_COST = Row(
    title="What does watching cost?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Scrape duration",
            description="How long scrapes take: median and slowest. Playbook: netkit-exporter-down.",
            queries=(
                Query(expr=f"quantile(0.5, {_ASK.value(SCRAPE_SECONDS, job='netkit')})", legend="median"),
                Query(expr=f"max({_ASK.value(SCRAPE_SECONDS, job='netkit')})", legend="slowest"),
            ),
            unit=Unit.SECONDS,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Series served",
            description="Samples of a scrape: all together, and of the largest target. Playbook: netkit-exporter-down.",
            queries=(
                Query(expr=f"sum({_ASK.value(SCRAPE_SAMPLES, job='netkit')})", legend="all"),
                Query(expr=f"max({_ASK.value(SCRAPE_SAMPLES, job='netkit')})", legend="largest target"),
            ),
            unit=Unit.COUNT,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Time of collectors",
            description="How long a collector's slowest round takes. Playbook: netkit-exporter-down.",
            queries=(
                Query(
                    expr=f"topk(12, max by (collector) ({_ASK.value(exporter.COLLECTOR_DURATION)}))",
                    legend="{{collector}}",
                ),
            ),
            unit=Unit.SECONDS,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Alerts firing by severity",
            description="How much fires; the watchdog, of severity none, always does. Playbook: watchdog.",
            queries=(Query(expr=f"sum by (severity) ({_ASK.value(FIRING)})", legend="{{severity}}"),),
            unit=Unit.COUNT,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Rule evaluations that fail",
            description="Rules Prometheus could not evaluate, of all jobs. Playbook: watchdog.",
            queries=(Query(expr=f"sum({_ASK.rate(RULE_FAILURES)})", legend="failures"),),
            unit=Unit.PER_SECOND,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TABLE,
            title="GPU nodes without an exporter",
            description="Nodes with GPUs that netkit does not see. Playbook: netkit-exporter-down.",
            queries=(
                Query(
                    expr=(
                        f"max by ({_NODE}) ({_ASK.value(GPU_CAPACITY, resource='nvidia_com_gpu')}) > 0"
                        f" unless on ({_NODE}) {_ASK.value(exporter.BUILD_INFO)}"
                    ),
                ),
            ),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="Value", heading="GPUs"),
            ),
            unit=Unit.COUNT,
            width=8,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Given up by exporters",
            description="Samples not served, requests refused, rounds left out. Playbook: netkit-exporter-down.",
            queries=(
                Query(expr=f"sum({_ASK.rate(exporter.SERIES_DROPPED)})", legend="samples"),
                Query(expr=f"sum({_ASK.rate(exporter.HTTP_SHED)})", legend="requests"),
                Query(expr=f"sum({_ASK.rate(exporter.SKIPPED)})", legend="rounds"),
            ),
            unit=Unit.PER_SECOND,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Memory of exporters",
            description="Resident memory: median and largest. Playbook: netkit-exporter-down.",
            queries=(
                Query(
                    expr=f"quantile(0.5, {_ASK.value(process.RESIDENT_BYTES, job='netkit')})",
                    legend="median",
                ),
                Query(expr=f"max({_ASK.value(process.RESIDENT_BYTES, job='netkit')})", legend="largest"),
            ),
            unit=Unit.BYTES,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Processor time of exporters",
            description="Processor seconds a second: median and largest. Playbook: netkit-exporter-down.",
            queries=(
                Query(
                    expr=f"quantile(0.5, {_ASK.rate(process.CPU_SECONDS, job='netkit')})",
                    legend="median",
                ),
                Query(expr=f"max({_ASK.rate(process.CPU_SECONDS, job='netkit')})", legend="largest"),
            ),
            unit=Unit.SECONDS,
            least=0,
            width=8,
        ),
    ),
)
BOARD = Board(
    id="meta",
    title="netkit / Exporter health",
    question="Does netkit see everything, or is silence blindness?",
    choices=_CHOICES,
    rows=(_SEEING, _COST),
)
