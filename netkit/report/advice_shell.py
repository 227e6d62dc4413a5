"""Advice about the host as a POSIX shell script that shows, applies and undoes, and changes nothing unless told to.

The present value of every setting is kept in a file before the new one is written, and a value once kept is never
overwritten: whatever happens between, `rollback` gives back what was there before the first `apply`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from shlex import join, quote

from netkit.model.advice import Advice, AdviceReport, ByHand, KernelFile, PodPatch, Program, Target, Variable
from netkit.model.text import visible

_HEAD = """\
#!/bin/sh
# netkit tune advise, settings of {node}.
#   sh FILE           shows each setting and what it would become; nothing changes
#   sh FILE apply     keeps the present values, then sets the new ones (as root)
#   sh FILE rollback  sets the values that were kept (as root)
# None of these settings survives a reboot by itself.
set -eu
verb=${{1:-show}}
kept=${{NETKIT_KEPT:-/var/lib/netkit-tune/{digest}}}
case $verb in show | apply | rollback) ;; *) echo "usage: sh FILE [apply | rollback]" >&2; exit 2 ;; esac
[ "$verb" != apply ] || (umask 077 && mkdir -p "$kept")

keep() {{ # NUMBER COMMAND...: keep what the command prints, once
    place=$kept/$1
    shift
    [ -e "$place" ] || {{ "$@" > "$place.part" && mv "$place.part" "$place"; }}
}}
set_file() {{ # NUMBER PATH VALUE
    case $verb in
    show) printf '%s: %s -> %s\\n' "$2" "$(cat "$2" || echo unreadable)" "$3" ;;
    apply) keep "$1" cat "$2" && printf '%s\\n' "$3" > "$2" ;;
    rollback) [ ! -e "$kept/$1" ] || {{ cat "$kept/$1" > "$2" && rm "$kept/$1"; }} ;;
    esac
}}
"""


def script(report: AdviceReport) -> str:
    """Return the script for the one node of the report."""
    advice = report.about(Target.HOST)
    steps = [(one, change) for one in advice for change in one.changes if isinstance(change, KernelFile | Program)]
    bodies = [line for number, (one, change) in enumerate(steps, 1) for line in _step(number, one, change)]
    digest = hashlib.sha256("\n".join(bodies).encode()).hexdigest()[:12]
    numbers = [str(number) for number in range(1, len(steps) + 1)]
    return "\n".join(
        (
            _HEAD.format(node=visible(report.nodes[0]), digest=digest),
            *bodies,
            f"steps={quote(' '.join(numbers))}",
            f'[ "$verb" != rollback ] || steps={quote(" ".join(reversed(numbers)))}',
            'for number in $steps; do "step_$number"; done',
            *_by_hand(report),
            "",
        )
    )


def _step(number: int, advice: Advice, change: KernelFile | Program) -> Iterator[str]:
    yield f"# {visible(advice.setting)}: {visible(advice.reason)}"
    if isinstance(change, KernelFile):
        yield f"step_{number}() {{ set_file {number} {quote(change.path)} {quote(change.proposed)}; }}"
        return
    yield f"step_{number}() {{"
    yield "    case $verb in"
    yield f"    show) {join(change.shows)} || true; printf 'would run: %s\\n' {quote(join(change.changes))} ;;"
    yield f"    apply) keep {number} {join(change.shows)} && {join(change.changes)} ;;"
    yield f'    rollback) [ ! -e "$kept/{number}" ] || {{ {join(change.restores)} && rm "$kept/{number}"; }} ;;'
    yield "    esac"
    yield "}"


def _by_hand(report: AdviceReport) -> Iterator[str]:
    """What a script on this host cannot do stands below it as comments."""
    for advice in report.advice:
        for change in advice.changes:
            if isinstance(change, Variable | PodPatch):
                yield f"# not of the host: {visible(advice.setting)} (see --format env or podpatch)"
            elif isinstance(change, ByHand):
                yield f"# by hand: {visible(change.apply)}; way back: {visible(change.rollback)}"
