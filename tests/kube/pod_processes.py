"""What an exec server of the tests does as a kubelet would: run the command here, its streams on the connection."""

from __future__ import annotations

import asyncio

from tests.kube.exec_server import SUCCESS, Asked, exit_status


async def run_here(asked: Asked) -> None:
    """Run the asked command as a process of this machine; it ends with its connection."""
    await asked.accept()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*asked.words, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    hearing = asyncio.create_task(_feed(asked, process.stdin))
    try:
        await asyncio.gather(_tell(asked, 1, process.stdout), _tell(asked, 2, process.stderr))
        code = await process.wait()
        await asked.end(exit_status(code if code > 0 else 128 - code) if code else SUCCESS)
    finally:
        hearing.cancel()
        if process.returncode is None:
            process.kill()


async def _feed(asked: Asked, stdin: asyncio.StreamWriter) -> None:
    while data := await asked.hear():
        stdin.write(data)
        await stdin.drain()
    stdin.close()


async def _tell(asked: Asked, channel: int, stream: asyncio.StreamReader) -> None:
    while data := await stream.read(65536):
        await asked.say(channel, data)
