"""Which links are bad, slow, or come and go?"""

from netkit.catalogue.metric_rows import ethtool, link, optics, rdma
from netkit.catalogue.rules import CORRECTED_BITS
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
_UNCORRECTED = _ASK.rate(ethtool.COUNTERS["phy_rx_pcs_symbol_errors"])


def _line(stem: str, what: str) -> Query:
    """Return the worst three ports that count any; nothing to draw is the good case."""
    return Query(expr=largest(f"{_ASK.rate(_C[stem])} > 0", _PORT, 3), legend=f"{what}, {_LEGEND}")


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
            queries=(
                Query(expr=f"{_ASK.value(rdma.RATE)} < {ON_PORT} group_left () {_ASK.value(rdma.EXPECTED_RATE)}"),
            ),
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
            width=12,
            healthy_empty=True,
            height=10,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Uncorrectable symbols",
            description="Symbols FEC could not correct: traffic lost. Playbook: rdma-bad-cable.",
            queries=(Query(expr=largest(f"{_UNCORRECTED} > 0", _PORT), legend=_LEGEND),),
            unit=Unit.PER_SECOND,
            least=0,
            width=12,
            healthy_empty=True,
            height=10,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Corrected bit error ratio",
            description="The worst twelve, and the fleet's median. Playbook: rdma-bad-cable.",
            queries=(
                Query(expr=largest(_ASK.value(CORRECTED_BITS), _PORT), legend=_LEGEND),
                Query(expr=f"quantile(0.5, {_ASK.value(CORRECTED_BITS)})", legend="median of all", dashed=True),
            ),
            unit=Unit.SCIENTIFIC,
            logarithmic=True,
            width=12,
            height=9,
        ),
        Panel(
            kind=Kind.BAR_GAUGE,
            title="Worst links by corrected bits",
            description="Share of received bits that needed correction, now. Playbook: rdma-bad-cable.",
            queries=(Query(expr=largest(_ASK.value(CORRECTED_BITS), _PORT, 20), legend=_LEGEND, instant=True),),
            unit=Unit.SCIENTIFIC,
            width=12,
            height=9,
        ),
    ),
)
_PARTS = Row(
    title="What are they made of?",
    collapsed=True,
    panels=(
        Panel(
            kind=Kind.TABLE,
            title="Firmware of devices",
            description="Devices by board and firmware: one fleet has one. Playbook: rdma-port-speed.",
            queries=(
                Query(expr=f"count by (cluster, hca_type, board_id, firmware_version) ({_ASK.value(rdma.INFO)})"),
            ),
            columns=(
                Column(field="cluster", heading="Cluster"),
                Column(field="hca_type", heading="Type"),
                Column(field="board_id", heading="Board"),
                Column(field="firmware_version", heading="Firmware"),
                Column(field="Value", heading="Devices"),
            ),
            unit=Unit.COUNT,
            width=12,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Why links are down",
            description="The reason the driver gives for each link that is down. Playbook: rdma-port-down.",
            queries=(Query(expr=_ASK.value(link.REASON)),),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="device", heading="Device"),
                Column(field="netdev", heading="Interface"),
                Column(field="reason", heading="Reason"),
            ),
            width=12,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Temperature of modules",
            description="The hottest twelve; modules above 70 degrees lose light. Playbook: rdma-bad-cable.",
            queries=(Query(expr=largest(_ASK.value(optics.TEMPERATURE), _PORT), legend=_LEGEND),),
            unit=Unit.CELSIUS,
            width=12,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Modules that warn",
            description="Alarms modules raise by themselves. Playbook: rdma-bad-cable.",
            queries=(Query(expr=_ASK.value(optics.ALARM)),),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="device", heading="Device"),
                Column(field="alarm", heading="Alarm"),
            ),
            width=12,
            healthy_empty=True,
        ),
    ),
)
BOARD = Board(
    id="links",
    title="netkit / Links and optics",
    question="Which links are bad, slow, or come and go?",
    choices=_CHOICES,
    rows=(_NOW, _PARTS),
    span="now-24h",
)
