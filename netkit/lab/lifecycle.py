"""Bring labs up, change their faults, take them down, and find what was left behind.

What happens in namespaces happens in two other processes, the keeper and the applier; here is the side of whoever asks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from netkit.errors import InputError, ProbeError, SourceError
from netkit.lab import processes, store
from netkit.lab.faults import Fault, Where, checked_fault, checked_where, with_fault, without_faults
from netkit.lab.shape import Shape, Transport, checked_name
from netkit.lab.state import Keeper, LabState, as_json, from_json, load, save
from netkit.model.probe import Direction
from netkit.model.text import visible


class Ended(StrEnum):
    """What `down` found."""

    NOTHING = "nothing"
    """No lab of this name."""
    RUNNING = "running"
    """A lab that was up."""
    LEFTOVER = "leftover"
    """What remained of a lab that ended by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A lab that left word of itself; `state` is None when that word is damaged."""

    name: str
    state: LabState | None

    @property
    def alive(self) -> bool:
        """Tell whether the lab can carry traffic."""
        return self.state is not None and self.state.alive


def up(shape: Shape, name: str, transport: Transport = Transport.NAMESPACES, owner: int | None = None) -> LabState:
    """Bring a lab up and return its state. It ends by `down`, or by itself when process `owner` ends.

    Raises:
        InputError: a lab of this name is up.
        ProbeError: the machine allows no namespaces, or the kernel refused a link.
    """
    state = LabState(name=checked_name(name), id=os.urandom(6).hex(), shape=shape, transport=transport)
    with store.locked(name):
        if Listed(name=name, state=_state_of(name)).alive:
            raise InputError(
                f"lab {name!r}, which is already up", f"another --name, or first: netkit lab down --name {name}"
            )
        _clear(name)
        if transport is Transport.EMULATED:
            save(state)
            return state
        return _kept(state, owner)


def _kept(state: LabState, owner: int | None) -> LabState:
    """Start a keeper, wait for its lab, write the state down, and only then let it run on alone."""
    with _module("netkit.lab.keeper", str(store.path_of(state.name)), start_new_session=True) as keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        try:
            _tell(keeper, json.dumps({"lab": as_json(state), "owner": owner}))
            answer = _answered(keeper)
            kept = replace(state, keeper=_keeper(answer))
            save(kept)
            _tell(keeper, "keep")
        except BaseException:
            keeper.kill()
            store.remove(state.name)
            raise
        keeper.stdin.close()
        keeper.stdout.close()
        # Popen would wait for it on the way out, and warn when collected: from here on it lives on its own.
        keeper.returncode = 0
    return kept


def _module(module: str, *arguments: str, start_new_session: bool = False) -> subprocess.Popen[str]:
    home = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=start_new_session,
    )


def _tell(keeper: subprocess.Popen[str], line: str) -> None:
    assert keeper.stdin is not None
    try:
        keeper.stdin.write(line + "\n")
        keeper.stdin.flush()
    except BrokenPipeError:
        raise _died(keeper) from None


def _answered(keeper: subprocess.Popen[str]) -> Any:
    assert keeper.stdout is not None
    line = keeper.stdout.readline()
    if not line:
        raise _died(keeper)
    answer = json.loads(line)
    if "error" in answer:
        raise ProbeError(*answer["error"])
    return answer["keeper"]


def _died(process: subprocess.Popen[str]) -> ProbeError:
    _, said = process.communicate()
    last = said.strip().splitlines()[-1:] or [f"status {process.returncode}"]
    return ProbeError("lab", f"its process ended early: {visible(last[0], limit=300)}", "try again")


def _keeper(data: dict[str, Any]) -> Keeper:
    return Keeper(**{**data, "node_fds": tuple(data["node_fds"]), "inodes": tuple(data["inodes"])})


def down(name: str) -> Ended:
    """End a lab: the processes inside it, its keeper, its state. Finding none is not an error."""
    with store.locked(checked_name(name)):
        found = _clear(name)
        store.remove(name)
    return found


def _clear(name: str) -> Ended:
    """Remove whatever there is of a lab; the caller holds the lock."""
    state_file = store.path_of(name)
    state = _state_of(name)
    keeper = state.keeper if state is not None and state.alive else None
    if keeper is not None:
        processes.end(lambda: processes.members(keeper.inodes) - {keeper.pid})
    elif state is not None:
        processes.end(lambda: processes.marked(f"{state.name}:{state.id}"))
    processes.end(lambda: processes.keepers(state_file))
    if keeper is not None:
        processes.reap(keeper.pid)
    known = state_file.exists()
    state_file.unlink(missing_ok=True)
    if state is not None and (keeper is not None or state.transport is Transport.EMULATED):
        return Ended.RUNNING
    return Ended.LEFTOVER if known else Ended.NOTHING


def _state_of(name: str) -> LabState | None:
    text = store.read(name)
    try:
        return None if text is None else from_json(name, text)
    except SourceError:
        return None


def listed() -> tuple[Listed, ...]:
    """Return every lab of this user that left word of itself, alive or not."""
    return tuple(Listed(name=name, state=_state_of(name)) for name in store.names())


def set_fault(name: str | None, fault: Fault) -> LabState:
    """Put a fault on a running lab, in place of an older one on the same part and direction; return the new state.

    Raises:
        InputError: this lab cannot carry the fault.
        ProbeError: the kernel refused; nothing was changed.
    """
    lab = load(name)
    checked_fault(lab.shape, fault, lab.transport)
    return _with_faults(lab.name, lambda faults: with_fault(faults, fault))


def clear_faults(name: str | None, where: Where | None, direction: Direction | None = None) -> LabState:
    """Take the faults off one part (None: off all), in one direction (None: in any); return the new state."""
    lab = load(name)
    if where is not None:
        checked_where(lab.shape, where)
    return _with_faults(lab.name, lambda faults: without_faults(faults, where, direction))


def _with_faults(name: str, chosen: Callable[[tuple[Fault, ...]], tuple[Fault, ...]]) -> LabState:
    with store.locked(name):
        before = load(name)
        after = replace(before, faults=chosen(before.faults))
        if before.transport is Transport.NAMESPACES:
            _apply(before, after)
        save(after)
    return after


def _apply(before: LabState, after: LabState) -> None:
    with _module("netkit.lab.apply") as applier:
        lines: Sequence[str] = [json.dumps(as_json(state)) for state in (before, after)]
        said, trouble = applier.communicate("\n".join(lines) + "\n")
    if said.strip():
        raise ProbeError(*json.loads(said))
    if applier.returncode != 0:
        last = trouble.strip().splitlines()[-1:] or [f"status {applier.returncode}"]
        raise ProbeError("lab fault", visible(last[0], limit=300), "see whether the lab is up: netkit lab status")
