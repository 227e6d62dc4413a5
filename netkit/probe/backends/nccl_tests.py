"""nccl-tests and RCCL-tests: reading what they print, and the file they write with `-J`.

Sources: NVIDIA nccl-tests doc/PERFORMANCE.md and `src/util.cu`; ROCm rccl-tests prints the same table.
"""

from __future__ import annotations

from netkit.errors import ProbeError
from netkit.model.collective import CollectiveReport
from netkit.probe.framing import FrameReader
from netkit.probe.log_backend import LogBackend
from netkit.probe.nccl_jobs import NcclTests
from netkit.probe.nccl_log.json_file import read_json
from netkit.probe.nccl_log.text_log import read_text


def parse_text(text: str, *, nonce: str | None = None) -> tuple[CollectiveReport, ...]:
    """Return one report for each run in `text`, in order.

    With a `nonce` only what came in frames of that nonce counts, as the string `log` of each message: whatever else
    the process printed, a finished-looking table included, is somebody else's.

    Raises:
        InputError: the text is no log of nccl-tests, or its table has columns netkit does not know.
        ProbeError: a nonce was given and no frame carries it.
    """
    log = text if nonce is None else _framed(text, nonce)
    return (read_json(log),) if log.lstrip("\ufeff \t\r\n").startswith("{") else read_text(log)


def _framed(text: str, nonce: str) -> str:
    messages = FrameReader(nonce).feed(text.encode(errors="replace"))
    parts = [message["log"] for message in messages if isinstance(message.get("log"), str)]
    if not parts:
        remedy = "run the benchmark again; nothing outside a frame is believed"
        raise ProbeError("reading a framed log", "no whole frame with the nonce of this run", remedy)
    return "".join(parts)


BACKEND = LogBackend(id="nccl_tests", title="nccl-tests and RCCL-tests", parse=parse_text)
BENCHMARK = NcclTests(
    id="nccl_tests",
    title="nccl-tests",
    remedy="build NVIDIA nccl-tests there with MPI=1, or name its folder with --programs",
    visible_gpus="CUDA_VISIBLE_DEVICES",
)
