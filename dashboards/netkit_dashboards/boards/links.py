"""Which links are bad, slow, or come and go?"""

from netkit.catalogue.metric_rows import link, rdma
from netkit_dashboards.asking import ON_PORT, Ask, largest
from netkit_dashboards.board import Board, Choice, Column, Kind, Panel, Query, Row, Tone, Unit, Word

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
_C = rdma.COUNTERS
_PORT = "cluster, node, rail, device"
_LEGEND = "{{node}} {{device}} rail {{rail}}"


def _line(stem: str, what: str) -> Query:
    return Query(expr=largest(_ASK.rate(_C[stem]), _PORT, 3), legend=f"{what}, {_LEGEND}")


_NOW = Row(
    title="Which links are bad?",
    panels=(
        Panel(
            kind=Kind.STATUS_HISTORY,
            title="Links that went down",
            description="How often a link went down in each hour; the worst twelve. Playbook: rdma-link-flapping.",
            queries=(Query(expr=largest(_ASK.increase(link.DOWNS), _PORT), legend=_LEGEND),),
            unit=Unit.COUNT,
            words=(
                Word(value=0, below=0.5, text="stayed up", tone=Tone.GOOD),
                Word(value=0.5, below=1.5, text="once", tone=Tone.WATCH),
                Word(value=1.5, below=1e9, text="flaps", tone=Tone.BAD),
            ),
            interval="1h",
            width=16,
            height=9,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Ports below their rate",
            description="Ports that came up slower than the platform's. Playbook: rdma-port-speed.",
            queries=(Query(expr=f"{_ASK.value(rdma.RATE)} < {ON_PORT} {_ASK.value(rdma.EXPECTED_RATE)}"),),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="device", heading="Device"),
                Column(field="rail", heading="Rail"),
                Column(field="Value", heading="Rate", unit=Unit.BYTES_PER_SECOND),
            ),
            unit=Unit.BYTES_PER_SECOND,
            width=8,
            height=9,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Port errors",
            description="Errors a port counts on the wire. Playbooks: rdma-bad-cable, rdma-link-flapping.",
            queries=(
                _line("symbol_error", "symbols"),
                _line("link_error_recovery", "recoveries"),
                _line("link_downed", "downed"),
                _line("port_errors_received", "packets with errors"),
                _line("local_link_integrity_errors", "integrity"),
                _line("excessive_buffer_overrun_errors", "overruns"),
            ),
            unit=Unit.PER_SECOND,
            least=0,
            width=24,
            height=10,
        ),
    ),
)
BOARD = Board(
    id="links",
    title="netkit / Links and optics",
    question="Which links are bad, slow, or come and go?",
    choices=_CHOICES,
    rows=(_NOW,),
    span="now-24h",
)
