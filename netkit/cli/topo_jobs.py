"""`netkit topo jobs`: which NIC does each GPU's process really use, right now?"""

from __future__ import annotations

import typer

from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.probing import FailOn
from netkit.cli.snapshot import SnapshotOption, node_of
from netkit.cli.topo import FailOnOption, app, show, topology_form
from netkit.errors import ExitStatus, SourceError
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.text import visible


@app.command()
def jobs(snapshot: SnapshotOption = None, fail_on: FailOnOption = FailOn.WARNING, output: OutputOption = None) -> None:
    """Which NIC does each GPU's process of a running job really use? Nothing of the job is touched.

    Joins the processes the GPU driver names with the queue pairs the kernel names, by process number. Ends with 1
    when a GPU is seen to use a wrong NIC.

    Example: netkit topo jobs --snapshot node.jsonl
    """
    from netkit.report import jobs_json, jobs_table
    from netkit.topology.node import topology_of_node
    from netkit.topology.paths import matrix_of
    from netkit.topology.running import running_jobs
    from netkit.topology.view import view_of_topology

    form = topology_form(output)
    node = node_of(snapshot)
    if isinstance(node.pci_devices, Missing):
        raise SourceError("no PCI devices", str(node.pci_devices))
    source = visible(str(snapshot)) if snapshot is not None else "this node"
    topology = topology_of_node(node.pci_devices, node.rdma_devices, source)
    found = running_jobs(node, matrix_of(topology))
    view = view_of_topology(topology, used=found.used)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(jobs_json.render(found, view, one_line=form is OutputForm.JSONL))
    else:
        show(jobs_table.blocks(found, view), form)
    blamed = any(finding.severity.at_least(Severity(fail_on.value)) for finding in view.pairing.findings)
    raise typer.Exit(int(ExitStatus.FINDINGS if blamed else ExitStatus.OK))
