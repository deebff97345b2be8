"""Replays of a pipeline: ranks that send activations to the next one, each with a clock of its own."""

from __future__ import annotations

from typing import Any

import pytest
from builders.answers import run_of
from builders.kineto import Event, event, kernel, op, step, trace

from tpu_profile_plugin.analysis.devices.across_hosts import clock_offsets
from tpu_profile_plugin.run.figures.replay import run_replay

US = 10**6
STEPS, BATCHES, TRANSFER, PAUSE, BEFORE = 6, 4, 5, 30, 10
SENDRECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


class Rank:
    """Collects the events of a rank; its times count from its first event, `clock` microseconds before the others'."""

    def __init__(self, clock: int) -> None:
        self.begun = self.last = 1000
        self.events: list[Event] = [op("aten::empty", self.begun - clock, 1)]
        self.launched = 0

    def run(self, name: str, begin: int, end: int, stream: int, **args: Any) -> None:
        self.launched += 1
        call = self.begun + 1 + 0.1 * (self.launched % 50)
        self.events.append(event("cuda_runtime", "cudaLaunchKernel", call, 0.1, correlation=self.launched))
        self.events.append(kernel(name, begin, end - begin, self.launched, stream, **args))
        self.last = max(self.last, end)

    def finish(self, number: int) -> None:
        begin, end = self.begun, self.last
        self.events += [
            step(number, begin, end + 5 - begin),
            event("cuda_runtime", "cudaDeviceSynchronize", begin + 8, end - begin - 7),
        ]
        self.begun = self.last + PAUSE


def pipeline(stages: tuple[tuple[int, ...], ...], clock: int = 0) -> list[bytes]:
    """The trace of each stage: the times of the kernels that it runs per microbatch, and what it sends."""
    ranks = [Rank(number * clock) for number in range(len(stages))]
    for number in range(STEPS):
        ready = [0] * BATCHES
        for index, (rank, kernels) in enumerate(zip(ranks, stages, strict=True)):
            at = received = sent = rank.begun + BEFORE
            for batch in range(BATCHES):
                if index:
                    sender, since = ranks[index - 1], max(ready[batch], sent if batch else 0)
                    done = max(received, since) + TRANSFER
                    group = {"In msg nelems": 8, "Group size": len(stages), "dtype": "Float"}
                    sender.run(SENDRECV, since, done, 20, **group, **{"Collective name": "send", "Dst Rank": index})
                    rank.run(
                        SENDRECV, received, done, 21, **group, **{"Collective name": "recv", "Src Rank": index - 1}
                    )
                    at, received = max(at, done), done
                    sent = done
                for name, took in enumerate(kernels):
                    rank.run(f"stage_{name}", at, at + took, 7)
                    at += took
                ready[batch] = at
        for rank in ranks:
            rank.finish(number)
    info = {"backend": "nccl", "world_size": len(stages)}
    return [trace(*rank.events, distributedInfo={**info, "rank": i}) for i, rank in enumerate(ranks)]


UNEVEN, EVEN = ((100,), (160,), (70,)), ((110,), (110,), (110,))


@pytest.mark.parametrize("clock", [0, 400])
def test_stages_that_take_as_long_as_each_other(clock: int) -> None:
    found = run_of(*pipeline(UNEVEN, clock)).what_if(ranks_equal=True)
    assert found.drift_ps == 0
    assert found.after_median_ps == pytest.approx(
        run_of(*pipeline(EVEN, clock)).what_if(scale={"stage_0": 1}).median_ps, rel=0.01
    )


@pytest.mark.parametrize("share", [0.5, 0.9, 2])
def test_a_stage_is_awaited_by_the_next_one(share: float) -> None:
    found = run_of(*pipeline(((100,), (100, 60), (70,)))).what_if(scale={"stage_1": share})
    expected = run_of(*pipeline(((100,), (100, round(60 * share)), (70,))))
    assert found.after_median_ps == pytest.approx(expected.what_if(scale={"stage_0": 1}).median_ps, rel=0.01)


def test_kernels_that_other_stages_lack_are_spread_over_all() -> None:
    found = run_of(*pipeline(((100,), (100, 60), (70,)))).what_if(ranks_equal=True)
    assert found.after_median_ps == pytest.approx(
        run_of(*pipeline(EVEN)).what_if(scale={"stage_0": 1}).median_ps, rel=0.01
    )


def test_a_send_and_its_receive_are_one_collective_of_two() -> None:
    graph = run_replay(run_of(*pipeline(UNEVEN))).graph
    names = [graph.meetings.names[name] for name in graph.meetings.name.tolist()]
    assert {name: names.count(name) for name in names} == {
        "send/recv 0 to 1": STEPS * BATCHES, "send/recv 1 to 2": STEPS * BATCHES
    }  # fmt: skip


def test_clocks_are_known_through_the_neighbours() -> None:
    graph = run_replay(run_of(*pipeline(UNEVEN, 400))).graph
    offsets = clock_offsets([host.runs for host in graph.hosts])
    assert offsets[0] is None
    assert [offset.offset_ps for offset in offsets[1:] if offset] == [-400 * US, -800 * US]


@pytest.mark.parametrize("call", ["cudaLaunchKernel", "cudaDeviceSynchronize"])
def test_calls_are_left_out_on_every_clock(call: str) -> None:
    first, later = (run_of(*pipeline(UNEVEN, clock)).what_if(call) for clock in (0, 400))
    assert first.after_ps == pytest.approx(later.after_ps)
    assert first.after_ps < first.step_ps - 30 * US


def test_a_slow_stage_is_late_though_its_neighbours_wait_for_each_other_too() -> None:
    traces = pipeline(((100,), (90,), (250,), (100,)))
    assert [late.index for late in run_of(*traces).communication().stragglers] == [2]
