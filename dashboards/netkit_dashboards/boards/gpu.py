"""Do the GPUs work, and does each use the NIC beside it?"""

from netkit.catalogue.metric_rows import gpu, pcie, topology
from netkit.catalogue.neighbours import GPU_CAPACITY
from netkit_dashboards.asking import Ask, largest
from netkit_dashboards.board import Board, Choice, Column, Kind, Panel, Query, Row, Tone, Unit, Word

_CHOICES = (Choice.CLUSTER, Choice.JOB, Choice.INSTANCE, Choice.NODE_POOL, Choice.NODE)
_ASK = Ask(_CHOICES)
_GPU = "cluster, node, gpu"
_LEGEND = "{{node}} GPU {{gpu}}"
_CAPACITY = _ASK.value(GPU_CAPACITY, resource="nvidia_com_gpu")

_WORK = Row(
    title="Do they work?",
    panels=(
        Panel(
            kind=Kind.TIME_SERIES,
            title="GPUs seen",
            description="GPUs the driver shows, and those Kubernetes has. Playbook: gpu-missing.",
            queries=(
                Query(expr=f"count({_ASK.value(gpu.INFO)})", legend="seen"),
                Query(expr=f"sum({_CAPACITY})", legend="in Kubernetes", dashed=True),
            ),
            unit=Unit.COUNT,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Utilisation",
            description="Share of time any kernel ran. High here and low in power: ranks wait. Playbook: nccl-slow.",
            queries=(
                Query(expr=f"quantile(0.5, {_ASK.value(gpu.UTILISATION)})", legend="median"),
                Query(expr=f"min({_ASK.value(gpu.UTILISATION)})", legend="least"),
            ),
            unit=Unit.RATIO,
            least=0,
            most=1,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Power",
            description="Drawn by a GPU: a stalled job is busy and cool. Playbook: nccl-slow.",
            queries=(
                Query(expr=f"quantile(0.5, {_ASK.value(gpu.POWER)})", legend="median"),
                Query(expr=f"min({_ASK.value(gpu.POWER)})", legend="least"),
                Query(expr=f"max({_ASK.value(gpu.POWER_LIMIT)})", legend="limit", dashed=True),
            ),
            unit=Unit.WATTS,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="Time throttled",
            description="Share of time clocks are held back by heat; the worst twelve. Playbook: gpu-throttle.",
            queries=(
                Query(expr=largest(f"{_ASK.rate(gpu.THROTTLE_TIME, reason='thermal')} > 0", _GPU), legend=_LEGEND),
            ),
            healthy_empty=True,
            unit=Unit.RATIO,
            least=0,
            most=1,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="XIDs by class",
            description="Faults the driver reports; those of class application are the user's code. Playbook: gpu-xid.",
            queries=(
                Query(expr=f"sum({_ASK.increase(gpu.XIDS, **{'class': 'hardware'})})", legend="hardware"),
                Query(expr=f"sum({_ASK.increase(gpu.XIDS, **{'class': 'driver'})})", legend="driver"),
                Query(expr=f"sum({_ASK.increase(gpu.XIDS, **{'class': 'application'})})", legend="application"),
            ),
            unit=Unit.COUNT,
            least=0,
            width=8,
        ),
        Panel(
            kind=Kind.TIME_SERIES,
            title="NVLink errors",
            description="Errors on all links of a GPU; the worst twelve. Playbook: nvlink.",
            queries=(Query(expr=largest(f"{_ASK.rate(gpu.NVLINK_ERRORS)} > 0", _GPU), legend=_LEGEND),),
            healthy_empty=True,
            unit=Unit.PER_SECOND,
            least=0,
            width=8,
        ),
    ),
)
_PLACE = Row(
    title="Does each use the NIC beside it?",
    panels=(
        Panel(
            kind=Kind.TABLE,
            title="GPU-NIC pairing",
            description="Each GPU with its nearest NICs and the way between. Playbook: gpu-nic-pairing.",
            queries=(
                Query(
                    expr=(
                        f"max by (cluster, node, gpu, device, path) ({_ASK.value(topology.PATH)})"
                        f" * on (cluster, node, gpu) group_left () max by ({_GPU}) ({_ASK.value(topology.OK)})"
                    )
                ),
            ),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="gpu", heading="GPU"),
                Column(field="device", heading="NIC"),
                Column(field="path", heading="Way"),
                Column(
                    field="Value",
                    heading="Pairing",
                    words=(
                        Word(value=0, text="a nearer NIC is free", tone=Tone.BAD),
                        Word(value=1, text="as near as can be", tone=Tone.GOOD),
                    ),
                ),
            ),
            width=12,
            height=10,
        ),
        Panel(
            kind=Kind.TABLE,
            title="PCIe links below their width",
            description="Links with fewer lanes than both ends can do. Playbook: pcie-degraded.",
            queries=(Query(expr=f"{_ASK.value(pcie.WIDTH)} < {_ASK.value(pcie.MAX_WIDTH)}"),),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="pci_bus_id", heading="Address"),
                Column(field="kind", heading="Kind"),
                Column(field="Value", heading="Lanes"),
            ),
            unit=Unit.COUNT,
            width=6,
            height=10,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Row remaps",
            description="GPUs that replaced rows of memory, and those that cannot any more. Playbook: gpu-xid.",
            queries=(
                Query(
                    expr=(
                        f'label_replace({_ASK.value(gpu.REMAP_FAILED)} == 1, "remap", "failed", "", "")'
                        f' or label_replace({_ASK.value(gpu.REMAP_PENDING)} == 1, "remap", "pending", "", "")'
                    ),
                ),
            ),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="gpu", heading="GPU"),
                Column(field="remap", heading="Remap"),
                Column(
                    field="Value",
                    heading="Stands",
                    words=(Word(value=1, text="yes", tone=Tone.BAD),),
                ),
            ),
            width=6,
            height=10,
            healthy_empty=True,
        ),
        Panel(
            kind=Kind.TABLE,
            title="Advanced errors of PCIe",
            description="Errors a second by severity and end of the link. Playbook: pcie-degraded.",
            queries=(Query(expr=f"{_ASK.rate(pcie.ERRORS)} > 0"),),
            columns=(
                Column(field="node", heading="Node"),
                Column(field="pci_bus_id", heading="Address"),
                Column(field="kind", heading="Kind"),
                Column(field="severity", heading="Severity"),
                Column(field="role", heading="End"),
                Column(field="Value", heading="Errors", unit=Unit.PER_SECOND),
            ),
            unit=Unit.PER_SECOND,
            width=24,
            height=7,
            healthy_empty=True,
        ),
    ),
)
BOARD = Board(
    id="gpu",
    title="netkit / GPU and topology",
    question="Do the GPUs work, and does each use the NIC beside it?",
    choices=_CHOICES,
    rows=(_WORK, _PLACE),
)
