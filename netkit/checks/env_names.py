"""Names and values of NCCL's variables: known, alive in this version, of the right type.

`netkit.catalogue.nccl_variables`; NCCL ignores a name it does not know without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from netkit.catalogue.nccl_variables import ALIASES, OTHER_NAMES, Kind, NcclVariable, nccl_variables, nearest_name
from netkit.doctor.context import Context
from netkit.doctor.contract import NodeCheck
from netkit.doctor.job import JOB, not_given
from netkit.model.check import Result, Rule
from netkit.model.environment import Variable, as_integer
from netkit.model.finding import Severity
from netkit.model.node import NodeSnapshot

UNKNOWN = Rule(
    id="E01",
    name="nccl-name-unknown",
    severity=Severity.WARNING,
    question="Does NCCL know every NCCL variable the job sets?",
    reads="names of the job's environment and of NCCL's configuration files",
    passes="every name is one NCCL, RCCL, HCCL or MCCL reads",
    why="a mistyped name is ignored without a word, so the setting people rely on is not there",
    remedy="correct the name",
    source="NCCL user guide and source; RCCL, HCCL and MCCL documents",
    caution="close to a known name it is a warning; otherwise only information, for plugins read names of their own",
    playbook="nccl-slow",
)
RETIRED = Rule(
    id="E17",
    name="nccl-name-retired",
    severity=Severity.INFO,
    question="Are all NCCL variables of the job still alive?",
    reads="names of the job's environment; the NCCL version given by --nccl, or the newest",
    passes="none was deprecated or removed",
    why="a removed variable does nothing; a deprecated one may go with the next update",
    remedy="remove it, or use what took its place",
    source="NCCL user guide; IBM's published settings still carry NCCL_CHECKS_DISABLE, deprecated since 2.2.12",
    caution="information: most of them merely do nothing",
)
EARLY = Rule(
    id="E21",
    name="nccl-name-too-new",
    severity=Severity.WARNING,
    question="Does the NCCL in use know the job's variables already?",
    reads="names of the job's environment; the NCCL version given by --nccl",
    passes="no variable is newer than the version",
    why="an older NCCL ignores it without a word",
    remedy="update NCCL, or do without",
    source="NCCL user guide (the `since` of each variable)",
    caution="asked only when a version is given",
    playbook="nccl-slow",
)
VALUE = Rule(
    id="E20",
    name="nccl-value",
    severity=Severity.WARNING,
    question="Can NCCL use every value the job sets?",
    reads="values of the job's NCCL variables",
    passes="numbers are numbers within their limits, choices are among those accepted",
    why="NCCL takes a value it cannot read for the default, or for 0, and says so only at INFO level",
    remedy="correct the value",
    source="NCCL user guide (`Values accepted`); NVIDIA NCCL, src/misc/param.cc",
    caution="sizes take no K, M or G: NCCL reads the digits and drops the letter",
    playbook="nccl-slow",
)
_PREFIX = "NCCL_"
_OTHERS = ("RCCL_", "HCCL_", "MCCL_")
_NUMBERS = frozenset({Kind.FLAG, Kind.INTEGER, Kind.BYTES})


def check(_snapshot: NodeSnapshot, context: Context) -> Iterable[Result]:
    """Judge every variable once; a rule without a finding says how many it looked at."""
    asked = [one for one in context.environment.all() if one.name.startswith((_PREFIX, *_OTHERS))]
    yield from _each(context, UNKNOWN, asked, _name)
    known = [one for one in asked if one.name in nccl_variables() or one.name in ALIASES]
    yield from _each(context, RETIRED, known, lambda one: _retired(context, one))
    yield from _each(context, VALUE, known, _value)
    if context.environment.version is None:
        yield EARLY.not_applicable("no NCCL version was given (--nccl)", JOB)
    else:
        yield from _each(context, EARLY, known, lambda one: _early(context, one))


def _each(
    context: Context, rule: Rule, variables: list[Variable], judge: Callable[[Variable], Result | None]
) -> Iterator[Result]:
    unasked = not_given(context, rule)
    if unasked is not None:
        yield unasked
        return
    found = [result for one in variables if (result := judge(one))]
    yield from found or [rule.ok(JOB, f"{len(variables)} variables")]


def _name(one: Variable) -> Result | None:
    if one.name in nccl_variables() or one.name in ALIASES or one.name in OTHER_NAMES:
        return None
    nearest = nearest_name(one.name)
    said = f"{one.name} is no variable of {one.name.partition('_')[0]}"
    where = f"set in {one.source}"
    if nearest is None:
        return UNKNOWN.finding(one.name, f"{said} that netkit knows", where, severity=Severity.INFO)
    return UNKNOWN.finding(one.name, f"{said}; did you mean {nearest}?", where, remedy=f"{nearest}={one.value}")


def _retired(context: Context, one: Variable) -> Result | None:
    if one.name in ALIASES:
        return RETIRED.finding(one.name, f"gave way to {ALIASES[one.name]}")
    row, version = nccl_variables()[one.name], context.environment.version
    instead = f"; {row.instead} took its place" if row.instead else ""
    if row.removed and (version is None or version >= row.removed):
        return RETIRED.finding(one.name, f"removed in {_shown(row.removed)}, it does nothing{instead}")
    if row.deprecated and (version is None or version >= row.deprecated):
        return RETIRED.finding(one.name, f"deprecated since {_shown(row.deprecated)}{instead}")
    return None


def _early(context: Context, one: Variable) -> Result | None:
    row = nccl_variables().get(one.name)
    if row is None or row.since is None or not context.environment.before(row.since):
        return None
    version = context.environment.version or row.since
    return EARLY.finding(one.name, f"known since {_shown(row.since)}, NCCL {_shown(version)} ignores it")


def _value(one: Variable) -> Result | None:
    row = nccl_variables().get(one.name)
    wrong = None if row is None else _wrong(row, one.value)
    return (
        None if wrong is None else VALUE.finding(one.name, f"{one.name}={one.value}: {wrong}", f"set in {one.source}")
    )


def _wrong(row: NcclVariable, value: str) -> str | None:
    if row.kind in _NUMBERS:
        return _wrong_number(row, value)
    if row.kind is Kind.REAL:
        return None if value.replace(".", "", 1).isdigit() else "accepted is a number"
    if row.choices and value.upper() not in row.choices and not value.strip().isdigit():
        return f"accepted is one of {', '.join(row.choices)}"
    return None


def _wrong_number(row: NcclVariable, value: str) -> str | None:
    number = as_integer(value)
    if number is None:
        return f"accepted is {row.kind.value if row.kind is not Kind.BYTES else 'a number of bytes, without a unit'}"
    if row.kind is Kind.FLAG and number not in {0, 1}:
        return "accepted is 0 or 1"
    if row.limits is None:
        return None
    lowest, highest = row.limits.lowest, row.limits.highest
    if lowest is not None and number < lowest:
        return f"accepted is {lowest} or more"
    return f"accepted is at most {highest}" if highest is not None and number > highest else None


def _shown(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version if version[2] else version[:2]))


CHECK = NodeCheck(id="env_names", rules=(UNKNOWN, RETIRED, VALUE, EARLY), check=check)
