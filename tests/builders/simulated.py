"""A discrete-event simulation of data-parallel training on GPUs, and its recording in the text notation.

Each rank is a host with one GPU. In each step its main thread loads a batch, or takes one from a loader thread through
a queue with room for one, works, launches kernels on a compute queue and an all-reduce on a queue of its own, then
waits for the GPU. What depends on what is known here: an edit is simulated exactly by simulating other durations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from builders.planes import gpu, host

CALL, LATENCY, RETURN = 2, 6, 3
"""us: how long a launch lasts, from its begin at least to that of the kernel, and from the last one to a wait's end."""


@dataclass(frozen=True)
class Program:
    """What each rank does in each step; times in us.

    Attributes:
      load: of the batch on the main thread; prepare: of the function `prepare`; nap: of the function `nap`.
      decode: of a batch on the loader thread, 0 without one.
      forward, backward, update: of kernels, per rank (the last value is that of further ranks).
      transfer: of the all-reduce after the last rank takes part; None without one.
      waits: the main thread waits for the GPU at the end of each step.
      overlap: the all-reduce runs while half of the backward pass still does.
    """

    ranks: int = 1
    steps: int = 8
    load: int = 40
    decode: int = 0
    prepare: int = 50
    nap: int = 0
    forward: tuple[int, ...] = (100,)
    backward: tuple[int, ...] = (200,)
    update: tuple[int, ...] = (60,)
    transfer: int | None = None
    waits: bool = True
    overlap: bool = False


@dataclass
class _Rank:
    """State and events of a rank: `now` of its main thread, ends of its queues, when batches were put and taken."""

    now: int = 0
    compute: int = 0
    communication: int = 0
    calls: int = 0
    put: int = 0
    taken: int = 0
    main: list[str] = field(default_factory=list)
    loader: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    collectives: list[str] = field(default_factory=list)

    def work(self, name: str, length: int) -> None:
        if length:
            self.main.append(f'{self.now} {length} "{name}"')
            self.now += length

    def take(self, decode: int) -> None:
        """Takes the next batch; the loader thread puts it as soon as there is room, then makes the one after."""
        made = self.put + decode
        self.loader.append(f'{self.put} {decode} "$load.py:3 decode"')
        put = max(made + 1, self.taken)
        self.loader.append(f'{made} {put - made} "$queue.py:122 put"')
        self.put = put
        self.work("$queue.py:154 get", max(put, self.now + 1) - self.now)
        self.taken = self.now

    def launch(self) -> tuple[int, int]:
        """Launches a kernel; returns its number and when it can begin."""
        self.calls += 1
        self.main.append(f"{self.now} {CALL} cudaLaunchKernel {{correlation_id={self.calls}}}")
        ready = self.now + LATENCY
        self.now += CALL + 1
        return self.calls, ready

    def kernel(self, name: str, length: int, after: int = 0) -> None:
        number, ready = self.launch()
        begin = max(ready, self.compute, after)
        if length:
            self.kernels.append(f"{begin} {length} {name} {{correlation_id={number}}}")
        self.compute = begin + length


def simulated(program: Program) -> tuple[str, ...]:
    """Runs a program; returns the text of each host."""
    ranks = [_Rank() for _ in range(program.ranks)]
    begins: list[list[int]] = [[] for _ in ranks]
    for _ in range(program.steps):
        for rank, begun in zip(ranks, begins, strict=True):
            begun.append(rank.now)
        _step(program, ranks)
    ends = [rank.now for rank in ranks]
    for i, (rank, begun) in enumerate(zip(ranks, begins, strict=True)):
        until = [*begun[1:], ends[i]]
        rank.main[:0] = [
            f"{begin} {end - begin} train {{_r=1, step_num={step}}}"
            for step, (begin, end) in enumerate(zip(begun, until, strict=True))
        ]
    return tuple(
        f"{gpu(*(queue for queue in (_text(rank.kernels), _text(rank.collectives)) if queue))}\n"
        f"{host(*filter(None, (_text(rank.main), _text(rank.loader))), name=f'h{i}')}"
        for i, rank in enumerate(ranks)
    )


def _text(events: Sequence[str]) -> str:
    return "\n".join(events)


def _of(times: Sequence[int], rank: int) -> int:
    return times[min(rank, len(times) - 1)]


def _step(program: Program, ranks: Sequence[_Rank]) -> None:
    arrivals = []
    for i, rank in enumerate(ranks):
        if program.decode:
            rank.take(program.decode)
        rank.work("$data.py:7 __next__", program.load)
        rank.work("$train.py:20 prepare", program.prepare)
        rank.work("$train.py:30 nap", program.nap)
        rank.kernel("forward", _of(program.forward, i))
        length = _of(program.backward, i)
        rank.kernel("backward", length // 2 if program.overlap else length)
        if program.transfer is not None:
            number, ready = rank.launch()
            arrivals.append((number, max(ready, rank.communication, rank.compute)))
        if program.overlap:
            rank.kernel("backward", length - length // 2)
    done = max((arrival for _, arrival in arrivals), default=0) + (program.transfer or 0)
    for i, rank in enumerate(ranks):
        if arrivals:
            number, begin = arrivals[i]
            name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
            if done > begin:
                rank.collectives.append(f"{begin} {done - begin} {name} {{correlation_id={number}}}")
            rank.communication = done
        rank.kernel("update", _of(program.update, i), done)
        if program.waits:
            until = max(rank.now + 1, rank.compute + RETURN)
            rank.work("cudaStreamSynchronize", until - rank.now)
        rank.now += 1
