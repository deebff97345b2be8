"""Memory where no device was recorded: Python and the command tell the same, in the same sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.asking import asked
from builders.kineto import kernel, launch, op, trace
from builders.logdirs import write

import tpu_profile_plugin as tp
from tpu_profile_plugin.errors import NoData

DEMO = Path(__file__).parents[3] / "demo"
NO_CAPACITY = "The capacity is not recorded: programs on CPUs share the memory of the host."
POOL = (
    'plane 1 "/host:CPU"\nline 5 pool\n'
    '1us +0us MemoryAllocation {allocator_name="cpu", bytes_reserved=0, bytes_allocated=60, bytes_available=40, '
    "peak_bytes_in_use=60, allocation_bytes=60, requested_bytes=60, addr=7}"
)


@pytest.mark.parametrize("name", ["jax_mlp", "jax_scan", "train_prefetched"])
def test_the_largest_program_that_ran(name: str) -> None:
    logdir = tp.open(DEMO / name)
    run, told = logdir.run(), asked(logdir, "memory")
    memory, peak = run.memory(), run.program_peak("")
    assert memory.largest_program == peak.program == told["answer"]["program"]
    assert memory.programs[peak.program] == peak.peak_bytes == told["answer"]["peak_bytes"]
    assert memory.caution == peak.caution == told["cannot_answer"]["reason"] == NO_CAPACITY


def test_the_allocators_of_the_host(tmp_path: Path) -> None:
    for logdir in (tp.open(DEMO / "tf_input"), tp.open(write(tmp_path, {"plugins/profile/s/h.xplane.pb": POOL}))):
        told = asked(logdir, "memory")
        ((place, peak),) = logdir.run().memory().allocators.items()
        assert told["answer"]["of"] == f"allocator {place[1]} of host {place[0]}"
        assert (told["answer"]["in_use_bytes"], told["answer"]["capacity_bytes"]) == (
            peak.in_use_bytes,
            peak.managed_bytes,
        )
        assert logdir.run().memory().caution == ""
        assert told["cannot_answer"] is None


def test_nothing_recorded_is_one_sentence(tmp_path: Path) -> None:
    text = 'plane 1 "/host:CPU"\nline 1 a\n0us +1us x'
    logdir = tp.open(write(tmp_path, {"plugins/profile/s/h.xplane.pb": text}))
    told = asked(logdir, "memory")["cannot_answer"]["reason"]
    for question in (logdir.run().memory, lambda: logdir.run().program_peak("")):
        with pytest.raises(NoData) as caught:
            question()
        assert caught.value.message == told


def test_a_device_without_allocations_and_programs(tmp_path: Path) -> None:
    text = trace(op("aten::mm", 0, 5), launch(1, 1), kernel("gemm", 10, 1000, 1))
    logdir = tp.open(write(tmp_path, {"run/rank0.pt.trace.json": text}))
    assert asked(logdir, "memory")["cannot_answer"] == {
        "reason": "The profile has neither allocations nor programs with buffers.",
        "how_to_record": "Record with profile_memory=True of torch.profiler.profile, which has allocations.",
    }
