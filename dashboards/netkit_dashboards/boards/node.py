"""What does this node's NIC do, and what is done to it?"""

from netkit.catalogue.metric_rows import ethtool, link, rdma
from netkit.catalogue.rules import CORRECTED_BITS, OCCUPANCY
from netkit_dashboards.asking import Ask, largest
from netkit_dashboards.board import Board, Choice, Kind, Panel, Query, Row, Tone, Unit, Word

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
_STATES = (
    Word(value=1, text="down", tone=Tone.BAD),
    Word(value=2, text="init", tone=Tone.WATCH),
    Word(value=3, text="armed", tone=Tone.WATCH),
    Word(value=4, text="active", tone=Tone.GOOD),
    Word(value=5, text="active defer", tone=Tone.WATCH),
)


def _line(stem: str, what: str) -> Query:
    """Return the worst three ports that count any; nothing to draw is the good case."""
    return Query(expr=largest(f"{_ASK.rate(_C[stem])} > 0", _PORT, 3), legend=f"{what}, {_LEGEND}")


_STATE = Row(
    title="Is it up?",
    panels=(
        Panel(
            kind=Kind.STATE_TIMELINE,
            title="Port state",
            description="State of each port, over time. Playbook: rdma-port-down.",
            queries=(Query(expr=largest(_ASK.value(rdma.STATE), _PORT), legend=_LEGEND),),
            words=_STATES,
            width=16,
            height=9,
            drill="netkit-links",
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="RDMA devices",
            description="Devices that are here, and those the platform has. Playbook: rdma-device-missing.",
            queries=(
                Query(expr=f"sum({_ASK.value(rdma.DEVICES)})", legend="here"),
                Query(expr=f"sum({_ASK.value(rdma.DEVICES_EXPECTED)})", legend="expected", dashed=True),
            ),
            unit=Unit.COUNT,
            least=0,
            width=8,
            height=9,
        ),
    ),
)
_TRAFFIC = Row(
    title="What goes wrong on the way?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Throughput of line rate",
            description="What a port receives, as a share of the rate it came up at.",
            queries=(
                Query(
                    expr=largest(
                        f"{_ASK.rate(_C['port_data_received_bytes'])} / on (cluster, node, device, port)"
                        f" group_left () {_ASK.value(rdma.RATE)}",
                        _PORT,
                    ),
                    legend=_LEGEND,
                ),
            ),
            unit=Unit.RATIO,
            least=0,
            most=1,
            width=12,
            drill="netkit-fabric",
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Loss and retransmission",
            description="Packets out of order, timeouts, restarts. Playbooks: rdma-out-of-sequence, rdma-retransmits.",
            queries=(
                _line("out_of_sequence_packets_received", "out of sequence"),
                _line("local_ack_timeout_errors", "acknowledgement timeouts"),
                _line("roce_slow_restart", "slow restarts"),
                _line("packet_sequence_errors", "sequence errors"),
            ),
            unit=Unit.PER_SECOND,
            least=0,
            width=12,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Queue pair errors",
            description="Retries that ran out: each ends a queue pair. Playbook: rdma-qp-error.",
            queries=(
                _line("rnr_nak_retry_packets_received", "receiver not ready"),
                _line("req_transport_retries_exceeded", "transport retries"),
            ),
            unit=Unit.PER_SECOND,
            least=0,
            width=12,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Discards",
            description="Packets dropped by port or for want of a buffer. Playbooks: fabric-congestion, slow-receiver.",
            queries=(
                _line("port_discards_transmitted", "before the wire"),
                _line("out_of_buffer_drops", "no receive buffer"),
            ),
            unit=Unit.PACKETS_PER_SECOND,
            least=0,
            width=12,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="ECN marks and notifications",
            description="Marked packets received, notifications sent for them and obeyed. Playbook: ecn-cnp.",
            queries=(
                _line("np_ecn_marked_roce_packets_received", "marked"),
                _line("np_cnp_packets_sent", "notifications sent"),
                _line("rp_cnp_packets_handled", "obeyed"),
                _line("rp_cnp_ignored_packets_received", "ignored"),
            ),
            unit=Unit.PACKETS_PER_SECOND,
            least=0,
            width=12,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Pause occupancy",
            description="Above: the fabric stops it. Below: it stops the fabric. Playbooks: pfc-storm, slow-receiver.",
            queries=(
                Query(
                    expr=largest(_ASK.value(OCCUPANCY, direction="received"), _PORT, 6),
                    legend=f"paused, {_LEGEND}",
                ),
                Query(
                    expr=largest(_ASK.value(OCCUPANCY, direction="sent"), _PORT, 6),
                    legend=f"pauses, {_LEGEND}",
                    mirrored=True,
                ),
            ),
            unit=Unit.RATIO,
            width=12,
            drill="netkit-pfc",
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="PCIe stalls",
            description="Share of seconds with more than 30 % of stalls on PCIe. Playbook: slow-receiver.",
            queries=(
                Query(
                    expr=largest(
                        f"{_ASK.rate(ethtool.COUNTERS['pcie_outbound_stalled_seconds'])} > 0", f"{_PORT}, operation"
                    ),
                    legend=f"{{{{operation}}}}, {_LEGEND}",
                ),
            ),
            unit=Unit.RATIO,
            least=0,
            most=1,
            healthy_empty=True,
            width=12,
        ),
    ),
)
_WIRE = Row(
    title="Is the wire clean?",
    collapsed=True,
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="Corrected bits",
            description="Share of received bits that FEC corrected; never 0 on PAM4. Playbook: rdma-bad-cable.",
            queries=(Query(expr=largest(_ASK.value(CORRECTED_BITS), _PORT), legend=_LEGEND),),
            unit=Unit.SCIENTIFIC,
            logarithmic=True,
            width=8,
            drill="netkit-links",
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Discards by priority",
            description="Packets received and dropped for want of a buffer. Playbook: lossless-drops.",
            queries=(
                Query(
                    expr=f"sum by (priority) ({_ASK.rate(ethtool.COUNTERS['priority_buffer_discards'])})",
                    legend="priority {{priority}}",
                ),
            ),
            unit=Unit.PACKETS_PER_SECOND,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Carrier changes",
            description="How often a link came and went between two points. Playbook: rdma-link-flapping.",
            queries=(
                Query(expr=largest(_ASK.increase(link.UPS), _PORT, 6), legend=f"came, {_LEGEND}"),
                Query(expr=largest(_ASK.increase(link.DOWNS), _PORT, 6), legend=f"went, {_LEGEND}", mirrored=True),
            ),
            unit=Unit.COUNT,
            width=8,
        ),
    ),
)
BOARD = Board(
    id="node",
    title="netkit / Node and NIC",
    question="What does this node's NIC do, and what is done to it?",
    choices=_CHOICES,
    rows=(_STATE, _TRAFFIC, _WIRE),
)
