"""`netkit-exporter`, and what `netkit exporter …` passes on: options in, one line and a status for what goes wrong.

argparse and not typer, so that the exporter starts without the command line's libraries and stays small.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from netkit import __version__
from netkit.errors import ExitStatus, InputError, NetkitError
from netkit.model.text import visible
from netkit_exporters.options import DEFAULT_LISTEN, Options, address, refresh

_WIDTH = 100
_FOR_COLLECTORS = (
    ("--platform", "ID", "Machine type whose expected ports and rates are exported, such as hgx-h100."),
    ("--pod-labels", "info|all", "Pod names as one info family (info), or on every series (all)."),
    ("--pod-resources", "SOCKET", "The kubelet's pod-resources socket, where it is not in the usual place."),
    ("--dcb", "digest|all", "Quality of service as one digest a port (digest), or every setting (all)."),
    ("--nccl-results", "DIR", "Folder with results of netkit probe, nccl-tests logs and NCCL Inspector files."),
)
_SWITCHES = (
    ("--virtual-functions", "Read SR-IOV virtual functions too."),
    ("--widths", "Say how wide counters narrower than 64 bits are."),
    ("--unwrap", "Count on where a counter of 32 bits or fewer wrapped."),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say it in one line, as every other fault."""
        raise InputError(message, f"what `{self.prog} --help` lists")


def _parser(command: str, question: str, example: str) -> _Parser:
    parser = _Parser(
        prog=f"netkit exporter {command}" if command else "netkit-exporter",
        description=question,
        epilog=f"Example: {example}",
        allow_abbrev=False,
        formatter_class=partial(argparse.HelpFormatter, width=_WIDTH),
    )
    parser.add_argument("--version", action="version", version=f"netkit {__version__}")
    return parser


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--collectors", metavar="A,B", help="Collectors to run; default: those that run by default.")
    parser.add_argument("--sysfs", metavar="DIR", type=Path, help="Where sysfs is; default /sys.")
    parser.add_argument("--procfs", metavar="DIR", type=Path, help="Where procfs is; default /proc.")
    parser.add_argument("--snapshot", metavar="FILE", type=Path, help="Read a recorded node instead of this one.")
    parser.add_argument(
        "--compat", metavar="A,B", default="", help="Export under these names too: node_exporter, dcgm."
    )
    for flag, metavar, text in _FOR_COLLECTORS:
        choices = tuple(metavar.split("|")) if "|" in metavar else None
        parser.add_argument(flag, metavar=metavar, choices=choices, help=text)
    for flag, text in _SWITCHES:
        parser.add_argument(flag, action="store_const", const="1", help=text)


def _add_serving(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", metavar="HOST:PORT", action="append", help=f"Where to listen; repeatable; default {DEFAULT_LISTEN}."
    )
    parser.add_argument("--refresh", metavar="TIME", default="5s", help="How often to read: 500ms, 5s, 1m; default 5s.")
    parser.add_argument(
        "--web.config.file",
        dest="web_config",
        metavar="FILE",
        type=Path,
        help="TLS, client certificates, passwords: the file every Prometheus exporter takes.",
    )
    parser.add_argument(
        "--no-landlock", action="store_true", help="Do not give up writing files (Landlock) at the start."
    )


def _serve_parser(command: str = "serve") -> _Parser:
    question = "Which RDMA, PFC, PCIe, GPU and NCCL signals does this node give, for Prometheus?"
    example = "netkit-exporter --listen 0.0.0.0:9879 --collectors rdma,pfc --refresh 10s"
    parser = _parser(command, question, example)
    _add_serving(parser)
    _add_reading(parser)
    return parser


def _once_parser() -> _Parser:
    parser = _parser("once", "What would a scrape of this node get?", "netkit exporter once --collectors rdma")
    _add_reading(parser)
    return parser


def _metrics_parser() -> _Parser:
    parser = _parser("metrics", "Which series can be exported, and what do they mean?", "netkit exporter metrics")
    parser.add_argument("--output", choices=("plain", "json", "jsonl"), default="plain", help="Form of the list.")
    parser.add_argument("--collectors", metavar="A,B", help="Only the series of these collectors.")
    return parser


def serve(arguments: Sequence[str], command: str = "serve") -> int:
    """Serve the metrics of this node until a signal ends it."""
    options = _options(_serve_parser(command).parse_args(arguments))
    from netkit_exporters.exporter import serve as run

    run(options)


def once(arguments: Sequence[str]) -> int:
    """Read once and print what a scrape would get."""
    options = _options(_once_parser().parse_args(arguments))
    from netkit_exporters.exposition import Format
    from netkit_exporters.once import read_once

    page = read_once(options)
    return _print(page.body(Format.TEXT).decode())


def metrics(arguments: Sequence[str]) -> int:
    """List every series that can be exported."""
    parsed = _metrics_parser().parse_args(arguments)
    from netkit_exporters.metric_list import metric_list

    return _print(metric_list(parsed.output, _names(parsed.collectors)))


def help_of(command: str) -> str:
    """Return the help of one of `COMMANDS`."""
    return {"serve": _serve_parser, "once": _once_parser, "metrics": _metrics_parser}[command]().format_help()


COMMANDS = MappingProxyType({"serve": serve, "once": once, "metrics": metrics})


def _options(parsed: argparse.Namespace) -> Options:
    told = {flag.removeprefix("--").replace("-", "_") for flag, *_ in (*_FOR_COLLECTORS, *_SWITCHES)}
    given = vars(parsed)
    if parsed.platform is not None:
        from netkit.catalogue.platforms import platform

        platform(parsed.platform)
    return Options(
        listen=tuple(map(address, given.get("listen") or (DEFAULT_LISTEN,))),
        sysfs=parsed.sysfs,
        procfs=parsed.procfs,
        snapshot=parsed.snapshot,
        collectors=_names(parsed.collectors),
        refresh_seconds=refresh(given.get("refresh", "5s")),
        web_config=given.get("web_config"),
        landlock=not given.get("no_landlock", False),
        compat=_names(parsed.compat or None) or (),
        for_collectors=MappingProxyType({name: given[name] for name in told if given[name] is not None}),
    )


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(text.split(","))


def main() -> NoReturn:
    """Run `netkit-exporter [serve|once|metrics] …` and end the process with one of `ExitStatus`."""
    command, *rest = sys.argv[1:] or [""]
    if command in COMMANDS:
        sys.exit(run(lambda: COMMANDS[command](rest)))
    sys.exit(run(lambda: serve(sys.argv[1:], "")))


def run(act: Callable[[], int]) -> int:
    """Do it, and turn what goes wrong into one line and a status."""
    try:
        return act()
    except NetkitError as fault:
        return _say(str(fault), fault.exit_status)
    except KeyboardInterrupt:
        return _say("interrupted", ExitStatus.INTERRUPTED)
    except Exception as bug:  # noqa: BLE001 - the error boundary of this program: a bug ends in one line too
        if os.environ.get("NETKIT_DEBUG"):
            traceback.print_exc()
        return _say(
            f"internal error: {type(bug).__name__}: {bug}; this is a bug in netkit: "
            "please report it with the output of the same command under NETKIT_DEBUG=1",
            ExitStatus.BUG,
        )


def _say(text: str, status: ExitStatus) -> int:
    with suppress(OSError):
        print(f"netkit-exporter: {visible(text, 2000)}", file=sys.stderr)
    return int(status)


def _print(text: str) -> int:
    """Print a result; a reader who went away is no fault of anybody."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Point the descriptor elsewhere so that the interpreter's own flush at exit does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitStatus.BROKEN_PIPE)
    return int(ExitStatus.OK)
