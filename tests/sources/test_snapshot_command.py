"""`netkit snapshot`: a file that is whole, that nobody else's run can touch, and that reads back as this node."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from netkit.cli.snapshot import node_tree, snapshot
from netkit.errors import InputError, OutputError
from netkit.model.missing import Missing
from netkit.sources.recording_file import load
from netkit.sources.snapshot import read_node
from tests.sources.made_up import Machine, roce_two_rails

app = typer.Typer()
app.command()(snapshot)


def run(*words: str) -> tuple[str, str]:
    """Run the command; returns both streams, raises what the error boundary would translate."""
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def laid_out(machine: Machine, folder: Path) -> Path:
    """Write a made-up machine as real files and links."""
    for path, data in machine.files.items():
        if isinstance(data, bytes):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
    for path, target in machine.links.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(target)
    return folder


def test_this_machine_in_two_seconds(tmp_path: Path) -> None:
    """Two seconds of processor time, the driver's child included; the recording loads, as a node taken now."""
    before = os.times()
    output, talk = run("-o", str(tmp_path / "node.jsonl"))
    spent = [after - earlier for after, earlier in zip(os.times()[:4], before[:4], strict=True)]
    assert sum(spent) < 2
    assert output == ""
    assert "--redact" in talk
    recording = load(tmp_path / "node.jsonl")
    assert abs(recording.taken_at - time.time()) < 60
    assert "not in this recording" not in str(read_node(recording.tree, recording.taken_at))


def test_standard_output_is_the_recording(tmp_path: Path) -> None:
    """Without -o the recording is data for the next program."""
    output, talk = run()
    assert talk == ""
    (tmp_path / "r").write_text(output)
    assert not load(tmp_path / "r").redacted


def test_a_redacted_recording_does_not_know_this_host(tmp_path: Path) -> None:
    """The name of this machine and its hardware addresses are nowhere in the file."""
    run("--redact", "-o", str(tmp_path / "r"))
    text = (tmp_path / "r").read_text()
    addresses = [path.read_text().strip() for path in Path("/sys/class/net").glob("*/address")]
    known = [address for address in addresses if address.replace(":", "").strip("0")]
    assert [address for address in known if address in text] == []
    assert load(tmp_path / "r").redacted


def test_files_on_disk_read_like_the_machine_in_memory(tmp_path: Path) -> None:
    """--sysfs and --procfs name a copy of another machine: every value is that machine's."""
    machine = roce_two_rails()
    folder = laid_out(machine, tmp_path / "copy")
    output, _ = run("--sysfs", str(folder / "sys"), "--procfs", str(folder / "proc"))
    (tmp_path / "r").write_text(output)
    tree, now = node_tree(tmp_path / "r")
    expected = read_node(machine.tree(), now)
    found = read_node(tree, now)
    assert found.pci_devices == expected.pci_devices
    assert found.pci_capabilities == expected.pci_capabilities
    assert found.host == expected.host
    assert isinstance(found.kernel_events, Missing)


def test_a_kernel_log_of_another_machine_is_read_when_named(tmp_path: Path) -> None:
    """The log of this machine is not mixed into another machine's files; its own can be given."""
    folder = laid_out(roce_two_rails(), tmp_path / "copy")
    output, _ = run("--sysfs", str(folder / "sys"), "--kernel-log", str(folder / "kmsg"))
    rows = [json.loads(line) for line in output.splitlines()]
    (log,) = [row for row in rows if row.get("path") == "kmsg"]
    assert "Xid" in log["text"]
    assert "nobody's business" not in log["text"]


@pytest.mark.parametrize("option", ["--sysfs", "--procfs"])
def test_a_root_that_is_no_folder_is_bad_input(tmp_path: Path, option: str) -> None:
    """One line names the option and the folder."""
    with pytest.raises(InputError, match="folder that exists"):
        run(option, str(tmp_path / "none"))


def test_a_recording_and_a_live_root_exclude_each_other(tmp_path: Path) -> None:
    """Two machines at once are none."""
    with pytest.raises(InputError, match="one or the other"):
        node_tree(tmp_path / "r", sysfs=tmp_path)


@pytest.mark.fault("K05")
@pytest.mark.parametrize("place", ["none/file", "/dev/full/file"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    """Nothing half-written stays behind."""
    with pytest.raises(OutputError, match="not saved"):
        run("-o", str(tmp_path / place))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("K06")
def test_two_runs_into_one_folder_make_two_files(tmp_path: Path) -> None:
    """Runs of the same second get names of their own, and both are whole."""
    for _ in range(3):
        run("-o", str(tmp_path))
    found = sorted(tmp_path.iterdir())
    assert len(found) == 3
    assert all(load(path).answers for path in found)


@pytest.mark.fault("K06")
def test_a_run_over_an_existing_file_leaves_one_whole_recording(tmp_path: Path) -> None:
    """The rename is atomic: a reader sees the old recording or the new one."""
    path = tmp_path / "node.jsonl"
    run("-o", str(path))
    first = path.stat().st_ino
    run("-o", str(path))
    assert path.stat().st_ino != first
    assert load(path).answers
    assert os.listdir(tmp_path) == ["node.jsonl"]  # noqa: PTH208 - names


def test_virtual_functions_are_recorded_on_request(tmp_path: Path) -> None:
    """Three functions more when asked for."""
    machine = Machine()
    for function in range(4):
        at = machine.pci(f"pci0000:00/0000:01:00.{function}", "0x020000")
        if function:
            machine.link(f"{at}/physfn", "sys/devices/pci0000:00/0000:01:00.0")
    machine.texts("proc", {"cmdline": "quiet"})
    folder = laid_out(machine, tmp_path / "copy")
    counts = []
    for words in ((), ("--virtual-functions",)):
        output, _ = run("--sysfs", str(folder / "sys"), "--procfs", str(folder / "proc"), *words)
        (tmp_path / "r").write_text(output)
        recording = load(tmp_path / "r")
        node = read_node(recording.tree, 0.0, virtual_functions=bool(words))
        assert not isinstance(node.pci_devices, Missing)
        counts.append(len(node.pci_devices))
    assert counts == [1, 4]
