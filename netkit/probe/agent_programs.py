"""What the agent learns when other programs are to measure: find them, run them, keep a worker and talk to it.

Sent to a running agent and executed among its own names, so it imports nothing of netkit either. A program runs in a
folder of its own under the temporary folder, which is removed when it ends; it gets SIGTERM when the agent dies
(prctl(2) PR_SET_PDEATHSIG), and SIGTERM, then SIGKILL, with everything in its session at its deadline.
"""

# ruff: noqa: D102, D103 - as in the agent: one command's own steps

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MYPY = False
if MYPY:
    from typing import Any

    from netkit.probe.agent import LEAVING, TASKS, Agent, Failure, Fields, Task, clock

MOST_OUTPUT = 4 * 1024 * 1024
"""Bytes of one program's output that are sent back; of more than that nothing is."""
LAST_WORDS = 2000
POLL_SECONDS = 0.05
GRACE_SECONDS = 2.0
AGAIN_SECONDS = 0.2
# Dies with the agent, then becomes the program.
UNDERTAKER = """
import os, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, 15, 0, 0, 0)
except (ImportError, OSError, AttributeError):
    pass
os.execvp(sys.argv[1], sys.argv[1:])
"""


FOLDERS = set()  # type: set[str]
"""Of programs that run now."""


def find_programs(_agent: Agent, _task: Task, command: Fields) -> Fields:
    """Say where each program is, None where it is not; a name with a slash is looked for there and nowhere else."""
    path = command.get("env", {}).get("PATH")
    return {"found": {name: shutil.which(name, path=path) for name in command["names"]}}


def run_program(_agent: Agent, task: Task, command: Fields) -> Fields:
    """Run a program to its end, again for `again_s` while it fails at once: its peer may not listen yet."""
    task.stage = "running " + os.path.basename(command["words"][0])
    again_until = clock() + float(command.get("again_s", 0.0))
    while True:
        folder = tempfile.mkdtemp(prefix="netkit-")
        FOLDERS.add(folder)
        try:
            done = run_in(folder, task, command)
        finally:
            remove(folder)
        if done["status"] == 0 or clock() > again_until:
            return done
        time.sleep(AGAIN_SECONDS)


def remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    FOLDERS.discard(folder)


def remove_all() -> None:
    for folder in list(FOLDERS):
        remove(folder)


def run_in(folder: str, task: Task, command: Fields) -> Fields:
    for name, text in command.get("files", {}).items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    output = os.path.join(folder, "output")
    with open(output, "wb") as sink:
        words = [sys.executable, "-I", "-S", "-c", UNDERTAKER, *command["words"]]
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(os.environ, **command.get("env", {})),
            start_new_session=True,
        )
    try:
        wait_for(process, output, task)
    finally:
        end(process)
    kept = command.get("keep", "")
    return {
        "status": process.returncode,
        "output": whole_text(output),
        "file": whole_text(os.path.join(folder, kept)) if kept else "",
    }


def wait_for(process: subprocess.Popen[Any], output: str, task: Task) -> None:
    while process.poll() is None:
        if clock() > task.deadline:
            with open(output, "rb") as said:
                raise Failure("timeout", "the deadline passed while %s: %s" % (task.stage, last_words(said)))
        if os.path.getsize(output) > MOST_OUTPUT:
            raise Failure("malformed", "more than %d bytes of output while %s" % (MOST_OUTPUT, task.stage))
        time.sleep(POLL_SECONDS)


def end(process: subprocess.Popen[Any]) -> None:
    """Leave nothing of the program's session behind."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            continue


def whole_text(path: str) -> str:
    """Return a file's text; nothing of one that is missing or too large."""
    try:
        if os.path.getsize(path) <= MOST_OUTPUT:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
    except OSError:
        pass
    return ""


def last_words(file: Any) -> str:
    file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_WORDS))
    lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "it printed nothing")


class Worker:
    """A process of this interpreter, with site-packages, that answers one line of JSON with another."""

    def __init__(self, source: str, environment: dict[str, str]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - without a name, and gone with the worker
        self.asked = 0
        self.buffer = b""
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=dict(os.environ, **environment),
        )

    def ask(self, task: Task, question: Fields) -> Fields:
        self.asked += 1
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(dict(question, number=self.asked)).encode("ascii") + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failure("absent", "the worker ended: " + last_words(self.errors)) from None
        while True:
            answer = self.line(task)
            # An answer that came too late belongs to an earlier question.
            if isinstance(answer, dict) and answer.get("number") == self.asked:
                break
        if not answer.pop("ok", False):
            raise Failure(str(answer.get("reason")), str(answer.get("detail")))
        return answer

    def line(self, task: Task) -> Any:
        assert self.process.stdout is not None
        while b"\n" not in self.buffer:
            task.check()
            if select.select([self.process.stdout], [], [], 0.25)[0]:
                data = os.read(self.process.stdout.fileno(), 65536)
                if not data:
                    raise Failure("absent", "the worker ended: " + last_words(self.errors))
                self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        try:
            return json.loads(line.decode("utf-8", "replace"))
        except ValueError:
            return None  # a library that prints to standard output


WORKERS = {}  # type: dict[str, Worker]


def ask_worker(_agent: Agent, task: Task, command: Fields) -> Fields:
    """Hand a question to the named worker, which is started by the first one; it carries the worker's source."""
    name = command["worker"]
    task.stage = command["question"]["do"]
    if "source" in command:
        WORKERS[name] = Worker(command["source"], command.get("env", {}))
    if name not in WORKERS:
        raise Failure("absent", "no worker %s was started" % name)
    return WORKERS[name].ask(task, command["question"])


LEAVING.append(remove_all)
TASKS.update({"programs": find_programs, "run": run_program, "ask": ask_worker})
