"""Whole command lines, as a person would type them: command, files, standard output, standard error, exit status.

Each file in `transcripts/` holds cases. A case opens with `=== sentence`; then `--- file NAME` gives an input file,
`--- run ARGUMENTS` the command, `--- stdin`, `--- stdout`, `--- stderr` what goes in and what came out, `--- status N`
the exit status. `make golden` rewrites what came out; review the difference.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TRANSCRIPTS = Path(__file__).parent / "transcripts"


@dataclass
class Case:
    """One command and everything around it."""

    title: str
    files: dict[str, str] = field(default_factory=dict)
    command: str = ""
    stdin: str = ""
    stdout: str = ""
    stderr: str = ""
    status: int = 0

    def __str__(self) -> str:
        """Return the case as it stands in a transcript."""
        parts = [f"=== {self.title}\n"]
        parts += [f"--- file {name}\n{text}" for name, text in self.files.items()]
        parts += [f"--- run {self.command}\n"]
        parts += [f"--- {name}\n{text}" for name in ("stdin", "stdout", "stderr") if (text := getattr(self, name))]
        return "".join(parts) + f"--- status {self.status}\n"


def parse(text: str) -> list[Case]:
    cases: list[Case] = []
    for block in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        title, _, body = block.partition("\n")
        case = Case(title=title)
        for part in re.split(r"^--- ", body, flags=re.MULTILINE)[1:]:
            head, _, content = part.partition("\n")
            word, _, argument = head.partition(" ")
            if word == "file":
                case.files[argument] = content
            elif word == "run":
                case.command = argument
            elif word == "status":
                case.status = int(argument)
            else:
                setattr(case, word, content)
        cases.append(case)
    return cases


def run(case: Case, folder: Path) -> Case:
    for name, text in case.files.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "netkit", *shlex.split(case.command)],
        check=False,
        input=case.stdin,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "HOME": str(folder),
            "COLUMNS": "80",
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(folder),
        },
    )
    shown = {name: getattr(done, name).replace(str(folder), "$FOLDER") for name in ("stdout", "stderr")}
    return Case(
        title=case.title,
        files=case.files,
        command=case.command,
        stdin=case.stdin,
        status=done.returncode,
        **{name: text if not text or text.endswith("\n") else text + "\n" for name, text in shown.items()},
    )


@pytest.mark.parametrize("transcript", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_answer_as_recorded(transcript: Path, tmp_path: Path) -> None:
    """Every case of a transcript ends with the same words and the same status."""
    recorded = parse(transcript.read_text())
    assert recorded, f"{transcript.name} holds no case"
    ran = []
    for number, case in enumerate(recorded):
        folder = tmp_path / str(number)
        folder.mkdir()
        ran.append(run(case, folder))
        assert "Traceback" not in ran[-1].stderr
    if os.environ.get("NETKIT_REWRITE_GOLDEN"):
        transcript.write_text("\n".join(map(str, ran)))
    assert "\n".join(map(str, ran)) == "\n".join(map(str, recorded))
