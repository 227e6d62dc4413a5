"""Mount the command groups, and turn every fault into one line and an exit status.

Other packages add command groups through the entry-point group `netkit.commands`, and what they deploy through
`netkit.deploy`, so netkit never names the packages above it; they are looked for when no command of its own is
asked for.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from netkit import __version__
from netkit.cli.commands import COMMANDS, CommandGroup
from netkit.cli.output import ReaderLeftError, emit, talk
from netkit.errors import ExitStatus, NetkitError
from netkit.model.text import visible

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# typer exports only leaves of its exception tree: an unknown option is the parent of a bad parameter.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="netkit",
    cls=CommandGroup,
    help="Why is collective communication on this GPU fleet slow: which link, NIC, node, leaf or setting?",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_ALLOCATIONS_BEFORE_COLLECTING = 200_000
_debugging = False


def _print_version(wanted: bool) -> None:
    if wanted:
        emit(f"netkit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a bug.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    global _debugging  # noqa: PLW0603 - the error boundary sits outside every command and has no other way to know
    _debugging = debug


def main() -> NoReturn:
    """Run the command line and end the process with one of `ExitStatus`."""
    # Commands import and read some hundred thousand objects that all stay: looking through them again and again for
    # rubbish costs a fifth of a short command.
    gc.set_threshold(_ALLOCATIONS_BEFORE_COLLECTING)
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # An ASCII locale must not turn a host name into a crash.
            stream.reconfigure(errors="backslashreplace")
    status = _run()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = _reader_left()
    sys.exit(status)


def _run() -> int:
    try:
        if _first_word() not in COMMANDS or _first_word() == "deploy":
            mount_plugins()
        return int(app(standalone_mode=False, prog_name="netkit") or ExitStatus.OK)
    except NetkitError as fault:
        return _say(str(fault), fault.exit_status)
    except _UsageError as fault:
        return _misused(fault)
    except ReaderLeftError:
        return _reader_left()
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", ExitStatus.INTERRUPTED)
    except Exception as bug:  # noqa: BLE001 - the one broad catch of the program: a bug ends in one line too
        if _debugging or "--debug" in sys.argv[1:]:
            traceback.print_exc()
        return _say(
            f"internal error: {type(bug).__name__}: {visible(str(bug))}; this is a bug in netkit: "
            "please report it with the output of the same command under --debug",
            ExitStatus.BUG,
        )


def _first_word() -> str | None:
    """Return the command asked for: the options before it take no value."""
    return next((word for word in sys.argv[1:] if not word.startswith("-")), None)


@cache
def mount_plugins(declared: tuple[EntryPoint, ...] | None = None) -> None:
    """Add the commands of other packages, once: those that are installed, or those given."""
    from importlib.metadata import entry_points

    groups = ("netkit.commands", "netkit.deploy")
    installed = (plugin for group in groups for plugin in entry_points(group=group))
    for plugin in installed if declared is None else declared:
        try:
            loaded = plugin.load()
        except ImportError as fault:
            # A broken package beside netkit costs its own commands and no others.
            talk(f"netkit: {plugin.name} is left out: {visible(str(fault))}")
            continue
        if plugin.group == "netkit.commands":
            app.add_typer(loaded, name=plugin.name)
        elif plugin.group == "netkit.deploy":
            from netkit.cli import deploy

            deploy.app.command(plugin.name)(loaded)


def _misused(fault: Exception) -> int:
    if type(fault).__name__ == "NoArgsIsHelpError":  # not exported either; its message is the whole help
        talk(str(fault))
        return int(ExitStatus.BAD_INPUT)
    return _say(_usage_line(fault), ExitStatus.BAD_INPUT)


def _usage_line(fault: Exception) -> str:
    context = getattr(fault, "ctx", None)
    command = context.command_path if context else "netkit"
    message = fault.format_message() if hasattr(fault, "format_message") else str(fault)
    message = " ".join(message.split()).replace("Value error, ", "").rstrip(".")
    stop = "" if message.endswith("?") else "."
    return f"{message}{_given(fault)}{stop} Try '{command} --help'."


def _given(fault: Exception) -> str:
    """Say what stood after the option: the command-line library tells what it wanted, not what it got."""
    options = getattr(getattr(fault, "param", None), "opts", ())
    for option, value in zip(sys.argv[1:], sys.argv[2:], strict=False):
        if option in options and value not in str(fault):
            return f" (given: {value!r})"
    return ""


def _say(line: str, status: ExitStatus) -> int:
    try:
        print(f"netkit: {visible(line, limit=2000)}", file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return int(status)


def _reader_left() -> int:
    # Point the descriptor elsewhere so that the interpreter's own flush at exit does not complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(ExitStatus.BROKEN_PIPE)


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    # SystemExit unwinds through every `finally`, so labs and agents are cleaned up.
    raise SystemExit(int(ExitStatus.TERMINATED))
