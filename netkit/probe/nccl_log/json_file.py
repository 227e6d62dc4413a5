"""The file that nccl-tests writes with `-J`, since version 2.17.

`jsonOutputInit` and what follows it in NVIDIA nccl-tests `src/util.cu` define it: written piece by piece, so that a
run that dies leaves half a document; not-a-number is the text "nan", infinity a bare `inf` that is no JSON; truth
is the text "true". `env` holds the whole environment of the process: it is never looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netkit.errors import InputError
from netkit.model.collective import CollectiveReport, Placement
from netkit.model.text import visible
from netkit.probe.nccl_log.preamble import Connections, Preamble, version_of_code
from netkit.probe.nccl_log.rows import JudgedLine, Knowledge, Printed, bytes_counted, kind_of
from netkit.probe.nccl_log.tally import Tally
from netkit.probe.nccl_log.text_log import NOT_A_LOG, last_error

_BEGINNING = re.compile(r'\s*\{\s*"version"\s*:\s*[0-9]+\s*,\s*"start_time"\s*:')
_BARE = re.compile(r"(?<=[:\[,])(-?(?:inf|nan))(?=[,}\]])")
_WHOLE_NUMBER = re.compile(r"[0-9]{1,15}")


def read_json(text: str) -> CollectiveReport:
    """Return what the document says; one that breaks off says nothing but that.

    Raises:
        InputError: the text is not what nccl-tests writes.
    """
    document = _document(text)
    if document is None and _BEGINNING.match(text):
        cut = Tally(preamble=Preamble(), ranks=None, faults=["the JSON document breaks off"])
        return cut.report(Connections())
    if document is None or not isinstance(document.get("results"), list):
        raise InputError("JSON without the results of a collective benchmark", NOT_A_LOG)
    return _report(document)


def _document(text: str) -> dict[str, Any] | None:
    """Parse with every number kept as its text, which says how far it was rounded."""
    for attempt in (text, _BARE.sub(r'"\1"', text)):
        try:
            document = json.loads(attempt, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError):
            continue
        return document if isinstance(document, dict) else None
    return None


def _report(document: Mapping[str, Any]) -> CollectiveReport:
    preamble = _preamble(document)
    tally = Tally(preamble=preamble, ranks=preamble.group_ranks)
    for number, result in enumerate(document["results"], 1):
        judged = _judged(result, tally.knowledge)
        if judged is None:
            tally.faults.append(f"result {number} is malformed")
        else:
            tally.add(judged)
    _close(document, tally)
    return tally.report(Connections())


def _preamble(document: Mapping[str, Any]) -> Preamble:
    config, args, code = _mapping(document.get("config")), document.get("args"), document.get("nccl_version")
    preamble = Preamble(nccl_version=version_of_code(code) if _is_whole(code) else None)
    if isinstance(args, list) and args and isinstance(args[0], str):
        preamble.program = visible(args[0])
    devices = config.get("devices")
    # One entry per process, however many threads and GPUs it drives: only the first one's line is written.
    each = [int(config[key]) if _is_whole(config.get(key)) else 1 for key in ("nthreads", "ngpus")]
    for device in map(_mapping, devices if isinstance(devices, list) else ()):
        if not (_is_whole(device.get("rank")) and isinstance(device.get("hostname"), str)):
            continue
        for index in range(min(each[0] * each[1], 1024)):
            preamble.ranks.append((_group(device), int(device["rank"]) + index))
            name = (str(device.get("device")), f"{device.get('device_hex')} {index}")
            preamble.devices.append((visible(device["hostname"]), *name))
    return preamble


def _group(device: Mapping[str, Any]) -> int:
    return int(device["group"]) if _is_whole(device.get("group")) else 0


def _judged(result: object, knowledge: Knowledge) -> JudgedLine | None:
    row = _mapping(result)
    named = {key: str(row[key]) for key in ("size", "count", "type", "redop", "root") if row.get(key) is not None}
    if not (_is_whole(named.get("size")) and _is_whole(named.get("count"))):
        return None
    judged = JudgedLine(kind=kind_of(named))
    for printed in _halves(row, int(named["size"]), bytes_counted(named)):
        knowledge.judge(printed, judged)
    return judged


def _halves(row: Mapping[str, Any], size: int, counted: int | None) -> Iterator[Printed]:
    for placement in Placement:
        half = _mapping(row.get(placement))
        if half:
            yield Printed(
                placement=placement,
                size=size,
                counted=counted,
                time=str(half.get("time", "no time of the operation")),
                algbw=str(half.get("alg_bw")),
                busbw=str(half.get("bus_bw")),
                wrong=None if half.get("nwrong") is None else str(half["nwrong"]),
            )


def _close(document: Mapping[str, Any], tally: Tally) -> None:
    wrong, average = _mapping(document.get("out_of_bounds")), _mapping(document.get("average_bus_bandwidth"))
    if _is_whole(wrong.get("count")):
        tally.summarise(int(wrong["count"]), str(wrong.get("okay")).lower() == "false")
    if average.get("bandwidth") is not None:
        tally.average = str(average["bandwidth"])
    if str(average.get("okay")).lower() == "false":
        tally.notes.append("the average is below the NCCL_TESTS_MIN_BW this run was given")
    if "end_time" not in document:
        tally.faults.append("the document has no end time: the benchmark did not end by itself")
    errors = document.get("errors")
    tally.notes += [last_error(str(error)) for error in (errors if isinstance(errors, list) else ()) if error]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_whole(value: object) -> bool:
    return isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value) is not None
