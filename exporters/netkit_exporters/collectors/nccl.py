"""Results of collectives, from files others write: netkit's probe, nccl-tests logs, NCCL's Inspector and RAS.

The folder is what `--nccl-results` names. A series never carries what changes from run to run: sizes are powers of two,
times are values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from netkit.catalogue.metric_rows import nccl as rows
from netkit.catalogue.platforms import Platform
from netkit.errors import InputError
from netkit.model.collective import Collective, CollectiveReport, Placement
from netkit.model.missing import Missing, Reason
from netkit.probe.backends.nccl_tests import parse_text
from netkit.sources.nccl_inspector import Measured, parse_prometheus, parse_records, power_of_two
from netkit.sources.nccl_ras import RasStatus, parse_status
from netkit.sources.result_folder import ResultFile, newest
from netkit.topology.expect import expect, shape_of_platform
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, State, Target
from netkit_exporters.expectation import named_platform
from netkit_exporters.probe_document import parse_probe, probe_samples
from netkit_exporters.readout import label

_SMALLEST = 1 << 20
"""Bytes; smaller messages measure latency, and would be twenty series a run."""
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_RESULTS = ("success", "corrupt", "incomplete")


def size_label(size: int) -> str:
    """Return a power of two as `512MiB`."""
    step = (size.bit_length() - 1) // 10
    return f"{size >> 10 * step}{_UNITS[step]}"


class _Folder:
    """All files of one folder."""

    key = "results"

    def __init__(self, folder: Path, platform: Platform | None) -> None:
        self._folder = folder
        self._platform = platform
        self._seen: dict[tuple[str, str], float] = {}
        self._runs: Counter[tuple[str, str]] = Counter()
        self._looked = False
        self._kept: dict[Path, tuple[ResultFile, list[Sample] | Missing]] = {}

    def read(self) -> Reading:
        """Read every file once; one that is nothing known costs itself alone."""
        files = newest(self._folder)
        if isinstance(files, Missing):
            return Reading(faults=(files,), state=State.ERROR)
        samples: dict[tuple[str, tuple[str, ...]], Sample] = {}
        faults: list[Missing] = []
        self._kept = {file.path: self._again(file) for file in files}
        for _, found in self._kept.values():
            if isinstance(found, Missing):
                faults.append(found)
                continue
            for sample in found:
                # Files come newest first: an older one does not overwrite what a newer one said.
                samples.setdefault((sample.metric.name, sample.labels), sample)
        self._looked = True
        counted = [Sample(rows.RUNS, key, float(count)) for key, count in self._runs.items()]
        return Reading(samples=(*samples.values(), *counted), faults=faults)

    def _again(self, file: ResultFile) -> tuple[ResultFile, list[Sample] | Missing]:
        """Read a file that is new or was written again."""
        before = self._kept.get(file.path)
        return before if before and before[0] == file else (file, self._of(file))

    def _of(self, file: ResultFile) -> list[Sample] | Missing:
        text = file.text()
        if isinstance(text, Missing):
            return text
        for read in (self._probe, self._ras, self._inspector, self._benchmark):
            try:
                return list(read(file, text))
            except InputError:
                continue
        return Missing(reason=Reason.MALFORMED, where=file.name, detail="no result netkit knows")

    def _probe(self, file: ResultFile, text: str) -> Iterator[Sample]:
        document = parse_probe(text)
        return probe_samples(document, label(file.path.stem))

    def _ras(self, file: ResultFile, text: str) -> Iterator[Sample]:
        return _ras_samples(parse_status(text), file.written)

    def _inspector(self, file: ResultFile, text: str) -> Iterator[Sample]:
        read = parse_prometheus if file.path.suffix == ".prom" else parse_records
        return (sample for measured in read(text) for sample in _inspected(measured))

    def _benchmark(self, file: ResultFile, text: str) -> Iterator[Sample]:
        probe = label(file.path.stem)
        reports = parse_text(text)
        for report in reports:
            self._note(probe, report, file.written)
        return (sample for report in reports for sample in self._measured(probe, report, file.written))

    def _note(self, probe: str, report: CollectiveReport, written: float) -> None:
        """Count a run when its file is newer than what was seen; those of before the start count as seen."""
        for result in _RESULTS:
            self._runs.setdefault((probe, result), 0)
        key = (probe, str(report.collective))
        if self._looked and self._seen.get(key, 0.0) < written:
            self._runs[probe, _result(report)] += 1
        self._seen[key] = written

    def _measured(self, probe: str, report: CollectiveReport, written: float) -> Iterator[Sample]:
        if report.transport:
            yield Sample(rows.TRANSPORT, (probe, label(report.transport)), 1.0)
        if _result(report) != "success":
            return
        yield Sample(rows.LAST_SUCCESS, (probe,), written)
        for row in report.rows:
            if row.placement is Placement.OUT_OF_PLACE and row.bytes >= _SMALLEST:
                at = (probe, str(report.collective or ""), size_label(power_of_two(row.bytes)), *_scale(report))
                yield Sample(rows.BUSBW, at, row.busbw_bytes_per_second)
                yield from self._expected(at, report, row.bytes)

    def _expected(self, at: tuple[str, ...], report: CollectiveReport, size: int) -> Iterator[Sample]:
        """Say what the platform reaches; only all-reduce over whole nodes is known."""
        if self._platform is None or report.collective is not Collective.ALL_REDUCE or not report.nodes:
            return
        if report.ranks == report.nodes * self._platform.gpus:
            wanted = expect(shape_of_platform(self._platform), report.nodes, size)
            yield Sample(rows.EXPECTED, at, wanted.busbw)

    def close(self) -> None:
        """Nothing stays open."""


def _result(report: CollectiveReport) -> str:
    return "corrupt" if report.corrupt else "success" if report.complete and report.rows else "incomplete"


def _scale(report: CollectiveReport) -> tuple[str, str]:
    return str(report.nodes or ""), str(report.ranks or "")


def _inspected(measured: Measured) -> Iterator[Sample]:
    place = measured.place
    at = (label(place.collective), size_label(place.size_bytes), place.nodes, place.ranks, label(place.gpu))
    if measured.busbw_bytes_per_second is not None:
        yield Sample(rows.INSPECTED, at, measured.busbw_bytes_per_second)
    if measured.seconds is not None:
        yield Sample(rows.INSPECTED_SECONDS, at, measured.seconds)


def _ras_samples(status: RasStatus, written: float) -> Iterator[Sample]:
    yield Sample(rows.RAS_COMMUNICATORS, (), float(status.communicators))
    states = {
        "present": status.ranks,
        "missing": status.missing_ranks,
        "unresponsive": status.unresponsive_ranks,
        "dead": status.dead_ranks,
        "error": status.ranks_with_errors,
    }
    for state, count in states.items():
        yield Sample(rows.RAS_RANKS, (state,), float(count))
    yield Sample(rows.RAS_TIMEOUTS, (), float(status.timeouts))
    yield Sample(rows.RAS_WRITTEN, (), written)


class _Nccl:
    """The folder that was named, nothing where none was."""

    def __init__(self, machine: Machine) -> None:
        named = machine.options.get("nccl_results", "")
        self._folder = _Folder(Path(named), named_platform(machine.options)) if named else None

    def targets(self) -> Sequence[Target] | Missing:
        """Return the folder."""
        if self._folder is None:
            return Missing(reason=Reason.ABSENT, where="--nccl-results", detail="no folder of results was named")
        return (self._folder,)

    def close(self) -> None:
        """Nothing stays open."""


COLLECTOR = Collector(
    id="nccl",
    question="How fast were collectives, in probes and in jobs?",
    open=_Nccl,
    metrics=rows.ROWS,
    interval_seconds=15.0,
    deadline_seconds=10.0,
)
