"""What the `netkit probe` commands share: options checked before anything starts, live progress, results delivered."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import singledispatchmethod
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from netkit.cli.input_file import small_text
from netkit.cli.output import OutputForm, chosen_form, emit, is_folder, talk, write_atomically
from netkit.errors import ExitStatus, InputError
from netkit.model.finding import Severity
from netkit.model.probe import Answer, GangReading, PlacementFinding, ProbedPod, ProbeReport, Reading, Round
from netkit.model.text import visible
from netkit.model.units import parse_rate_bytes_per_second, show_duration, show_rate

if TYPE_CHECKING:
    from netkit.cli.probe_backend import BackendWishes
    from netkit.probe.launchers.session import Launcher
    from netkit.probe.rails import Network, RailChoice
    from netkit.probe.request import ProbeRequest

_SECONDS = (0.1, 60.0)
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@\\-]{0,63}")
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}")
_RENDERED = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.HTML, OutputForm.PROMETHEUS)


class FailOn(StrEnum):
    """The severity from which a finding makes the command end with status 1."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What every probe command is asked alike. `wire_rate` in bytes per second, `seconds` a direction."""

    seed: int
    wire_rate: float | None
    seconds: float
    fail_on: Severity
    form: OutputForm
    report: Path | None
    textfile: Path | None
    backend: BackendWishes | None = None


def require(holds: object, given: str, accepted: str) -> None:
    """Raise InputError unless `holds`."""
    if not holds:
        raise InputError(given, accepted)


def checked_python(python: str) -> None:
    """Raise InputError for what cannot be the path of an interpreter."""
    require(bool(python) and not python.startswith("-"), f"--python {visible(python)!r}", "the path of an interpreter")


def checked_wishes(
    *,
    seed: int | None,
    line_rate: str | None,
    seconds: float,
    fail_on: FailOn,
    output: OutputForm | None,
    report: Path | None,
    textfile: Path | None,
    backend: BackendWishes | None = None,
) -> Wishes:
    """Return the common options, or raise InputError before anything has started."""
    form = chosen_form(output)
    require(form in _RENDERED, f"--output {form}", ", ".join(_RENDERED))
    low, high = _SECONDS
    require(low <= seconds <= high, f"--seconds {seconds:g}", f"{low:g} to {high:g} seconds")
    for option, path in (("--report", report), ("--textfile", textfile)):
        # A probe takes a while: say beforehand that its result has nowhere to go.
        writable = path is None or (is_folder(path.parent) and not is_folder(path))
        require(writable, f"{option} {visible(str(path))}", "a file in a folder that exists")
    return Wishes(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        wire_rate=None if line_rate is None else parse_rate_bytes_per_second(line_rate),
        seconds=seconds,
        fail_on=Severity(fail_on),
        form=form,
        report=report,
        textfile=textfile,
        backend=backend,
    )


def ssh_options(user: str | None, port: int | None, identity: Path | None, config: Path | None) -> tuple[str, ...]:
    """Return ssh's own words for the connection options; nothing else is ever passed on to ssh."""
    require(user is None or _USER.fullmatch(user), f"--user {visible(user or '')!r}", "a login name")
    require(port is None or 1 <= port <= 65535, f"--ssh-port {port}", "1 to 65535")
    for option, path in (("--identity", identity), ("--ssh-config", config)):
        require(path is None or os.path.isfile(path), f"{option} {visible(str(path))}", "a file that exists")  # noqa: PTH113 - as is_folder
    given = (("-l", user), ("-p", port), ("-i", identity), ("-F", config))
    return tuple(word for option, value in given if value is not None for word in (option, str(value)))


def rail_choice(interfaces: str | None, subnets: str | None) -> RailChoice:
    """Return how rails map to addresses from `--interface` or `--subnet`, each a list in rail order."""
    from netkit.probe.rails import RailChoice

    require(interfaces is None or subnets is None, "--interface with --subnet", "one of the two")
    names = interfaces.split(",") if interfaces is not None else []
    for name in names:
        require(_INTERFACE.fullmatch(name), f"--interface {visible(name)!r}", "interface names such as eth2,eth3")
    networks = [_network(text) for text in subnets.split(",")] if subnets is not None else []
    for option, listed in (("--interface", names), ("--subnet", networks)):
        require(len(set(map(str, listed))) == len(listed), f"{option} with one named twice", "each rail once")
    return RailChoice(interfaces=tuple(names), subnets=tuple(networks))


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as fault:
        given = f"--subnet {visible(text)!r}"
        raise InputError(given, "subnets such as 10.0.0.0/16,10.1.0.0/16, no bits set below the prefix") from fault


def leaves(options: Sequence[str] | None, file: Path | None, names: Sequence[str]) -> Mapping[str, str]:
    """Return leaf by host from `--leaf` or `--leaf-file`; empty when neither is given."""
    from netkit.probe.hostfile import parse_leaf_file, parse_leaf_options

    require(not options or file is None, "--leaf with --leaf-file", "one of the two")
    if file is not None:
        return parse_leaf_file(small_text(file, "a file of leaves"), names, visible(str(file), 200))
    return parse_leaf_options(options or (), names)


def start_seconds(hosts: int) -> float:
    """Return how long ssh may take to bring up agents on this many hosts, started some at a time."""
    from netkit.probe.launchers import ssh

    waves = -(-hosts // ssh.FAN_OUT)
    return waves * (ssh.CONNECT_SECONDS + 5.0)


def probe(
    request: ProbeRequest,
    launcher: Launcher,
    wishes: Wishes,
    placement: Iterable[PlacementFinding] = (),
    pods: Callable[[], tuple[ProbedPod, ...]] = tuple,
    rebooted: Callable[[], tuple[str, ...]] = tuple,
) -> ProbeReport:
    """Run the probe with live progress, deliver its report in every form asked for, and return it.

    `placement` is what is known of the nodes' GPU-NIC pairing; it stands in the report beside what was measured;
    `pods` tells, once it has run, where the members ran in Kubernetes, and `rebooted` which nodes are not the same any
    more.
    """
    from netkit.probe.doubts import after_reboots
    from netkit.probe.gang_targets import naming_pods
    from netkit.probe.run import run_probe

    request = request if wishes.backend is None else wishes.backend.applied_to(request)
    report = run_probe(request, launcher, _Follower(live=sys.stderr.isatty()).tell)
    report = naming_pods(replace(report, placement=tuple(placement)), pods())
    report = after_reboots(report, rebooted())
    for warning in report.warnings:
        talk(f"warning: {warning}")
    _deliver(report, wishes)
    return report


def end(report: ProbeReport, wishes: Wishes) -> NoReturn:
    """End the command with the status of the verdict."""
    raise typer.Exit(_status(report, wishes.fail_on))


def _status(report: ProbeReport, fail_on: Severity) -> int:
    answer, found = report.verdict.answer, report.verdict.findings
    if answer is Answer.INCONCLUSIVE:
        return int(ExitStatus.NOT_MEASURED)
    severities = [finding.severity for finding in found] + [finding.severity for finding in report.placement]
    blamed = any(severity.at_least(fail_on) for severity in severities)
    return int(ExitStatus.FINDINGS if blamed else ExitStatus.OK)


def _deliver(report: ProbeReport, wishes: Wishes) -> None:
    try:
        _print(report, wishes.form)
    finally:
        # A reader that left its pipe does not cost the files.
        for form, path in ((OutputForm.HTML, wishes.report), (OutputForm.PROMETHEUS, wishes.textfile)):
            if path is not None:
                write_atomically(path, _renderer(form)(report))
                talk(f"written: {visible(str(path))}")


def _print(report: ProbeReport, form: OutputForm) -> None:
    if form is not OutputForm.TABLE:
        emit(_renderer(form)(report))
        return
    from netkit.cli.tables import show
    from netkit.report.probe_table import blocks

    show(blocks(report))
    sys.stdout.flush()


def _renderer(form: OutputForm) -> Callable[[ProbeReport], str]:
    from netkit.report import probe_html, probe_json, probe_plain, probe_prometheus

    return {
        OutputForm.PLAIN: probe_plain.render,
        OutputForm.JSON: probe_json.render,
        OutputForm.HTML: probe_html.render,
        OutputForm.PROMETHEUS: probe_prometheus.render,
    }[form]


class _Follower:
    """Says on standard error how the probe goes: a counter that moves on a terminal, one line a round elsewhere."""

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self.expected = 0
        self.taken: list[Reading] = []

    @singledispatchmethod
    def tell(self, event: object) -> None:
        """Take one event of `run_probe`."""
        from netkit.probe.request import RoundDone, Started

        if isinstance(event, Started):
            rails = f"{event.rails} rail{'s' * (event.rails != 1)}"
            talk(f"{event.members} agents with {rails} answered in {show_duration(event.seconds)}")
        elif isinstance(event, RoundDone):
            self._end(event.round, event.seconds)

    @tell.register
    def _(self, event: Round) -> None:
        self.taken = []
        self.expected = sum(len(group.rails) for group in event.groups)
        self._count()

    @tell.register
    def _(self, event: Reading) -> None:
        self.taken.append(event)
        if event.missing is not None:
            self._line(f"  not measured: {event.missing}")
        self._count()

    @tell.register
    def _(self, event: GangReading) -> None:
        said = f"busbw {show_rate(event.busbw)}" if event.busbw is not None else f"not measured: {event.missing}"
        self._line(f"  all-reduce over {event.ranks} ranks, rail {event.rail}: {said}")

    def _end(self, ended: Round, seconds: float) -> None:
        rates = sorted(reading.rate for reading in self.taken if reading.rate is not None)
        spread = f", {show_rate(rates[0])} to {show_rate(rates[-1])}" if rates else ""
        counted = f"{len(rates)} of {self.expected} readings{spread}"
        self._line(f"round {ended.number} ({ended.kind}): {counted}, {show_duration(seconds)}")

    def _line(self, text: str) -> None:
        talk(f"\r\x1b[K{text}" if self.live else text)

    def _count(self) -> None:
        if self.live:
            print(f"\r\x1b[K  {len(self.taken)} of {self.expected} readings", end="", file=sys.stderr, flush=True)
