"""Finding a lab by its state file, and what happens when that file is wrong."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netkit.errors import InputError, NetkitError, SourceError
from netkit.lab import lifecycle, store
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.lifecycle import Ended
from netkit.lab.shape import Transport, checked_shape
from netkit.lab.state import Keeper, LabState, as_json, from_json, load, save, start_time
from netkit.model.probe import Direction

SHAPE = checked_shape(nodes=4, rails=2, leaves=2, rate=25e6, uplink_rate=None)
FAULTS = (
    Fault(where=Where(place=Place.NODE, node="n3", rail=1), direction=Direction.TX, slowdown=0.2),
    Fault(where=Where(place=Place.PAIR, node="n1", peer="n2"), slowdown=0.5),
    Fault(where=Where(place=Place.UPLINK, leaf="r0l1"), loss=0.01, delay=0.005),
)


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "netkit"


def kept_by(pid: int, started: int) -> LabState:
    keeper = Keeper(pid=pid, started=started, fabric_fd=3, node_fds=(4, 5, 6, 7), inodes=(1, 2, 3, 4, 5))
    return LabState(name="a", id="0", shape=SHAPE, transport=Transport.NAMESPACES, faults=FAULTS, keeper=keeper)


def test_a_state_reads_back_as_it_was_written() -> None:
    """Shape, faults and keeper survive the file."""
    state = kept_by(1, 2)
    assert from_json("a", json.dumps(as_json(state))) == state


def test_a_state_of_before_there_were_several_uplinks_has_one() -> None:
    """A lab that is up outlives an upgrade."""
    data = as_json(kept_by(1, 2))
    del data["uplinks"]
    assert from_json("a", json.dumps(data)).shape.uplinks == 1


def test_a_state_cut_at_any_byte_is_called_damaged() -> None:
    """Never half a lab: one line that says how to clear it."""
    text = json.dumps(as_json(kept_by(1, 2)))
    for end in range(len(text)):
        with pytest.raises(SourceError, match="clear it: netkit lab down --name a"):
            from_json("a", text[:end])


@pytest.mark.parametrize("text", ["[]", "{}", "null", '{"nodes": "x"}', "\x00", "1e999", '{"nodes": [], "rails": 1}'])
def test_a_state_of_another_form_is_called_damaged(text: str) -> None:
    """Whatever else is in the file ends in the same line."""
    with pytest.raises(SourceError, match="is damaged"):
        from_json("a", text)


def test_another_process_with_the_keepers_pid_is_not_the_keeper() -> None:
    """The start time tells them apart."""
    started = start_time(os.getpid())
    assert started is not None
    assert kept_by(os.getpid(), started).alive
    assert not kept_by(os.getpid(), started - 1).alive


def test_a_lab_whose_keeper_is_gone_is_named_with_how_to_clear_it() -> None:
    """`load` refuses it, `listed` still shows it, `down` clears it."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    save(kept_by(gone.pid, 1))
    with pytest.raises(
        SourceError, match="lab 'a' ended without `netkit lab down`: clear it: netkit lab down --name a"
    ):
        load("a")
    assert [(lab.name, lab.alive) for lab in lifecycle.listed()] == [("a", False)]
    assert lifecycle.down("a") is Ended.LEFTOVER
    assert lifecycle.listed() == ()


def test_a_damaged_state_is_listed_and_cleared(state_directory: Path) -> None:
    """Damage does not hide the lab from `status` nor keep `down` from working."""
    store.write("a", "{")
    assert [(lab.name, lab.state) for lab in lifecycle.listed()] == [("a", None)]
    assert lifecycle.down("a") is Ended.LEFTOVER
    assert list(state_directory.iterdir()) == []


def test_the_second_down_finds_nothing_and_is_no_error(state_directory: Path) -> None:
    """Going down is idempotent and leaves no file."""
    lifecycle.up(SHAPE, "a", Transport.EMULATED)
    assert lifecycle.down("a") is Ended.RUNNING
    assert lifecycle.down("a") is Ended.NOTHING
    assert list(state_directory.iterdir()) == []


def test_without_a_name_the_only_lab_is_meant() -> None:
    """One lab needs no name, several do, unless one has the default name."""
    lifecycle.up(SHAPE, "one", Transport.EMULATED)
    assert load().name == "one"
    lifecycle.up(SHAPE, "two", Transport.EMULATED)
    with pytest.raises(InputError, match="--name with one of one, two"):
        load()
    lifecycle.up(SHAPE, "lab", Transport.EMULATED)
    assert load().name == "lab"


def test_an_unknown_lab_is_answered_with_the_known_ones() -> None:
    """The nearest name is offered; with none up, the command that makes one."""
    with pytest.raises(InputError, match="netkit lab up --nodes 8"):
        load("demo")
    lifecycle.up(SHAPE, "demo", Transport.EMULATED)
    with pytest.raises(InputError, match=r"lab 'dmo': .* demo \(did you mean 'demo'\?\)"):
        load("dmo")


def test_a_name_that_is_up_is_not_taken_twice() -> None:
    """The first lab is left alone."""
    first = lifecycle.up(SHAPE, "a", Transport.EMULATED)
    with pytest.raises(InputError, match="lab 'a', which is already up"):
        lifecycle.up(SHAPE, "a", Transport.EMULATED)
    assert load("a") == first


def test_an_emulated_lab_paces_itself_by_its_faults() -> None:
    """A fault changes the pace of its port and side only, and clearing brings the old pace back."""
    state = lifecycle.up(SHAPE, "a", Transport.EMULATED)
    healthy = state.pacing("n1", 1)
    assert state.fabric.line_rate == healthy[0] == healthy[1]
    where = Where(place=Place.NODE, node="n1", rail=1)
    cut = lifecycle.set_fault("a", Fault(where=where, direction=Direction.TX, slowdown=0.2))
    assert cut.pacing("n1", 1) == (pytest.approx(healthy[0] * 0.8) if healthy[0] else None, healthy[1])
    assert cut.pacing("n1", 0) == healthy
    assert load("a").faults == cut.faults
    assert lifecycle.clear_faults("a", where).pacing("n1", 1) == healthy
    assert state.enter("n1") == []


def test_emulated_addresses_are_this_machines_own() -> None:
    """Loopback addresses only, one for each port."""
    state = lifecycle.up(SHAPE, "a", Transport.EMULATED)
    rows = [address for row in state.addresses.values() for address in row]
    assert len(set(rows)) == SHAPE.nodes * SHAPE.rails
    assert all(address.startswith("127.") for address in rows)


def test_a_state_directory_others_can_write_is_refused(state_directory: Path) -> None:
    """State names processes to signal: nobody else may write it."""
    state_directory.mkdir()
    state_directory.chmod(0o777)
    with pytest.raises(SourceError, match="is not a directory only this user can write"):
        load("a")


def test_a_state_directory_that_cannot_be_made_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where the folder should be."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    with pytest.raises(NetkitError, match="cannot keep lab state"):
        lifecycle.listed()


def _count_up(times: int) -> None:
    for _ in range(times):
        with store.locked("a"):
            seen = int(store.read("a") or 0)
            store.write("a", str(seen + 1))
            if seen % 5 == 4:
                # What `down` does: the lock file goes while others wait for it.
                (store.directory() / "a.lock").unlink()


def test_state_changes_of_several_processes_never_overlap() -> None:
    """Every increment counts, although the lock file is removed under way."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_count_up, args=(40,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert store.read("a") == "120"
