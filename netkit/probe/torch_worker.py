"""One rail of one host in torch.distributed: a process that answers questions about what it moves.

One JSON object a line on standard input, one back on what was standard output; it ends at end of input. It runs under
any interpreter (3.7 or newer) that has PyTorch 1.11 or newer, alone: nothing of netkit is imported. Which rail it is
comes from its environment: GLOO_SOCKET_IFNAME, or NCCL_IB_HCA, NCCL_SOCKET_IFNAME and CUDA_VISIBLE_DEVICES. NCCL is
used where PyTorch has it and sees a GPU, Gloo elsewhere (https://pytorch.org/docs/stable/distributed.html).
"""

# ruff: noqa: D102, D103, B905, RUF007 - as in the agent: one question's own steps, on Python 3.7

from __future__ import annotations

import json
import os
import queue
import re
import sys
import threading
import time
from datetime import timedelta

MYPY = False
if MYPY:
    from typing import Any, Dict

    Fields = Dict[str, Any]

FIRST_BYTES = 256 * 1024
FIRST_MESSAGES = 8
WARMUP_SECONDS = 0.25
MESSAGES_PER_SECOND = 25
UNDER_WAY = 2
"""Messages that are posted before the oldest is waited for: the link never waits for a rendezvous."""
BLOCK = 8 * 1024
MOST_BYTES = 256 * 1024 * 1024


class Rail:
    """What this process is to others: a store they can reach, and one process group at a time."""

    def __init__(self, question: Fields) -> None:
        import torch
        import torch.distributed as dist

        self.torch, self.dist = torch, dist
        self.timeout = timedelta(seconds=float(question["timeout_s"]))
        on_gpu = torch.cuda.is_available() and dist.is_nccl_available()
        self.library = "nccl" if on_gpu else "gloo"
        self.device = torch.device("cuda:0" if on_gpu else "cpu")
        torch.set_num_threads(1)
        self.store = self.open_store(question["address"], 0, is_master=True)
        self.port = self.store.port

    def open_store(self, address: str, port: int, is_master: bool) -> Any:
        return self.dist.TCPStore(address, port, None, is_master, self.timeout, wait_for_workers=False)

    def join(self, question: Fields) -> Any:
        """Become a rank of a group of its own; return the store its members share."""
        client = self.open_store(question["store"][0], int(question["store"][1]), is_master=False)
        shared = self.dist.PrefixStore(question["group"], client)
        self.dist.init_process_group(
            self.library,
            store=shared,
            rank=int(question["rank"]),
            world_size=int(question["ranks"]),
            timeout=self.timeout,
        )
        return shared

    def leave(self) -> None:
        if self.dist.is_initialized():
            self.dist.destroy_process_group()

    def wait(self, work: Any) -> None:
        work.wait()
        if self.library == "nccl":
            self.torch.cuda.synchronize()

    def pattern(self, size: int) -> Any:
        """The same bytes on both sides: what arrived can be compared."""
        ramp = self.torch.arange(size // 4, dtype=self.torch.int32, device=self.device)
        return ramp * 1103515245 + 12345

    def send(self, size: int, count: int) -> None:
        data, under_way = self.pattern(size), []
        for _ in range(count):
            under_way.append(self.dist.isend(data, self.peer))
            if len(under_way) == UNDER_WAY:
                self.wait(under_way.pop(0))
        for work in under_way:
            self.wait(work)

    def receive(self, size: int, count: int) -> list[float]:
        """Return when each message was complete; raise ValueError when the last one is not what was sent."""
        buffers = [self.torch.zeros(size // 4, dtype=self.torch.int32, device=self.device) for _ in range(UNDER_WAY)]
        under_way, ends = [], []
        for number in range(count):
            under_way.append(self.dist.irecv(buffers[number % UNDER_WAY], self.peer))
            if len(under_way) == UNDER_WAY:
                self.wait(under_way.pop(0))
                ends.append(time.monotonic())
        for work in under_way:
            self.wait(work)
            ends.append(time.monotonic())
        if not self.torch.equal(buffers[(count - 1) % UNDER_WAY], self.pattern(size)):
            raise ValueError("the last message differs from what was sent")
        return ends

    def one_way(self, shared: Any, question: Fields, name: str, sends: bool) -> Fields:
        """Three stages, each sized by the one before: a glance, a warm-up, the measurement."""
        size, count = FIRST_BYTES, FIRST_MESSAGES
        moved = 0
        for stage, seconds in (("warm-up", WARMUP_SECONDS), ("measure", float(question["seconds"])), ("end", 0.0)):
            if sends:
                self.send(size, count)
            else:
                ends = self.receive(size, count)
            moved += size * count
            if stage == "end":
                break
            key = "%s %s" % (name, stage)
            if not sends:
                shared.set(key, json.dumps(sized(rate_of(ends, size), seconds)))
            size, count = json.loads(shared.get(key).decode("ascii"))
        return {"bytes": moved} if sends else dict(spread_of(ends, size), bytes=moved, rate=rate_of(ends, size))

    def pair(self, question: Fields) -> Fields:
        shared = self.join(question)
        first = int(question["rank"]) == 0
        self.peer = 1 if first else 0
        result = {}  # type: Fields
        for name, sends in (("forward", first), ("reverse", not first)):
            result["sent" if sends else "received"] = self.one_way(shared, question, name, sends)
        self.dist.barrier()
        return dict(result, networks=networks())

    def all_reduce(self, question: Fields) -> Fields:
        """Seconds of each iteration after the first; every element of the sum is compared."""
        self.join(question)
        rank, ranks = int(question["rank"]), int(question["ranks"])
        count = max(1, min(int(question["bytes"]), MOST_BYTES) // 4)
        seconds = []
        for _ in range(int(question["iterations"]) + 1):
            data = self.torch.full((count,), float(rank + 1), device=self.device)
            self.dist.barrier()
            begun = time.monotonic()
            self.wait(self.dist.all_reduce(data, async_op=True))
            seconds.append(time.monotonic() - begun)
            if not bool((data == ranks * (ranks + 1) / 2).all()):
                raise ValueError("the sum is not exact")
        self.dist.barrier()
        return {"seconds": seconds[1:], "bytes": 4 * count, "networks": networks()}


def rate_of(ends: list[float], size: int) -> float:
    """Bytes per second between the first completion and the last: median slope over half the messages or more."""
    half = max(1, (len(ends) - 1) // 2)
    slopes = [
        (later - earlier) * size / max(ends[later] - ends[earlier], 1e-9)
        for earlier in range(len(ends))
        for later in range(earlier + half, len(ends))
    ]
    return middle(slopes)


def spread_of(ends: list[float], size: int) -> Fields:
    rates = [size / max(later - earlier, 1e-9) for earlier, later in zip(ends, ends[1:])]
    center = middle(rates)
    return {"spread": middle([abs(rate - center) for rate in rates]) / center}


def middle(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def sized(rate: float, seconds: float) -> list[int]:
    """Message size and count that take about so long: messages of a fraction of a second, in whole blocks."""
    size = max(BLOCK, min(MOST_BYTES, int(rate / MESSAGES_PER_SECOND) // BLOCK * BLOCK))
    return [size, max(6, int(rate * seconds / size))]


def networks() -> list[str]:
    """What NCCL_DEBUG=INFO says of the networks used so far: standard error is a file that nobody else writes."""
    with open("/proc/self/fd/2", encoding="utf-8", errors="replace") as file:
        return sorted(set(re.findall(r"NCCL INFO Using network ([A-Za-z][\w .-]{0,40})", file.read())))


def answer(rails: list[Rail], question: Fields) -> Fields:
    what = question["do"]
    if what == "start":
        rails[:] = [Rail(question)]
        rail = rails[0]
        return {"library": rail.library, "port": rail.port, "version": str(rail.torch.__version__)}
    try:
        return rails[0].pair(question) if what == "pair" else rails[0].all_reduce(question)
    finally:
        rails[0].leave()


def failure(fault: Exception) -> Fields:
    timed_out = "timed out" in str(fault).lower() or "timeout" in str(fault).lower()
    reason = "corrupt" if isinstance(fault, ValueError) else "timeout" if timed_out else "absent"
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return {"ok": False, "reason": reason, "detail": lines[0][:300] if lines else type(fault).__name__}


def read_questions(questions: queue.Queue[Any]) -> None:
    for line in iter(sys.stdin.readline, ""):
        questions.put(json.loads(line))
    os._exit(0)


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    questions = queue.Queue()  # type: queue.Queue[Fields]
    threading.Thread(target=read_questions, args=(questions,), daemon=True).start()
    rails = []  # type: list[Rail]
    while True:
        question = questions.get()
        try:
            said = dict(answer(rails, question), ok=True)
        except (ImportError, OSError, RuntimeError, ValueError, IndexError) as fault:
            said = failure(fault)
        answers.write(json.dumps(dict(said, number=question["number"])) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
