"""Clocks of devices that disagree with their host's: proven by launches and waits, and times are moved."""

from __future__ import annotations

import numpy as np
import pytest
from builders.answers import run_of
from builders.timeline import streaming
from builders.xspace_text import build

from tpu_profile_plugin.analysis.summary.missing_events import mended_times
from tpu_profile_plugin.columns import DeviceClock, XSpace, load_lazily
from tpu_profile_plugin.run.facts import host_facts

US = 10**6


def gpu(
    skew: float = 0,
    *,
    steps: int = 5,
    latency: float = 20,
    odd: tuple[int, ...] = (),
    wait: str = "",
    device: str = "0",
) -> str:
    """Steps of 1 ms: a launch, its kernel of 500 us, whose clock is `skew` us off; `odd` kernels begin 300 us early.

    `wait`: name of a call that waits for the kernel.
    """
    launch = [f"{1000 * i + 100}us +5us cudaLaunchKernel {{correlation_id={i + 1}}}" for i in range(steps)]
    waits = [f"{1000 * i + 200}us +{430 + latency}us {wait}" for i in range(steps)] if wait else []
    kernels = [
        f"{5000 + 1000 * i + 100 + latency + skew - 300 * (i in odd)}us +500us k {{correlation_id={i + 1}}}"
        for i in range(steps)
    ]
    return "\n".join(
        [
            'plane 1 "/host:CPU"',
            "line 1 python @5ms",
            *launch,
            *waits,
            f'plane 2 "/device:GPU:{device}"',
            "line 1 s",
            *kernels,
        ]
    )


def opened(text: str) -> XSpace:
    return load_lazily(np.frombuffer(build(text), np.uint8), reading="mended")


def begins(space: XSpace, plane: int = 1) -> list[float]:
    return (space.planes[plane].events.begin_ps / US).tolist()


def test_a_device_that_begins_before_its_launches_is_behind() -> None:
    space = opened(gpu(-3000))
    assert space.clocks == (DeviceClock("/device:GPU:0", 2980 * US, 5, 5),)
    # The first kernels begin with their launches: how long a launch takes is not known.
    assert begins(space) == [5100 + 1000 * i for i in range(5)]
    assert begins(space, 0) == [5100 + 1000 * i for i in range(5)]


def test_what_waits_for_the_device_tells_how_late_it_may_be_at_most() -> None:
    for skew in (-3000, 3000):
        space = opened(gpu(skew, wait="cudaDeviceSynchronize"))
        (clock,) = space.clocks
        # A launch takes 20 us, and the wait ends 30 us after the kernel.
        assert clock.offset_ps == (-skew + 5) * US
        assert (clock.pairs, clock.impossible) == (10, 5)


@pytest.mark.parametrize("skew", [0, 40, -25])
def test_what_launches_and_waits_allow_stays(skew: float) -> None:
    """A launch takes at least no time, within 10 us; after the kernel at most 30 us pass, within 10 us."""
    assert opened(gpu(skew, wait="hipDeviceSynchronize")).clocks == ()


def test_single_exceptions_prove_nothing() -> None:
    assert opened(gpu(steps=9, odd=(3,))).clocks == ()
    assert opened(gpu(steps=9, odd=(3, 5))).clocks != ()
    assert opened(gpu(-3000, steps=2)).clocks == ()


def test_what_no_offset_explains_is_said_and_stays() -> None:
    # Half of the launches say that the device is behind, half of the waits that it is ahead.
    text = gpu(0, steps=8, odd=(0, 1, 2, 3), wait="cudaDeviceSynchronize")
    text = text.replace("+450us cudaDevice", "+20us cudaDevice")
    space = opened(text)
    (clock,) = space.clocks
    assert clock.offset_ps == 0
    assert begins(space) == [4820, 5820, 6820, 7820, 9120, 10120, 11120, 12120]
    (told,) = mended_times((), space.clocks)
    assert told.code == "clock_skew"
    assert told.message.endswith("launches and waits cannot have been as recorded, and no offset makes them agree.")


def test_programs_of_a_tpu_have_the_ids_of_their_runs() -> None:
    runs = range(4)
    calls = "\n".join(f"{1000 * i}us +9us TfrtTpuExecutable::Execute {{run_id={i + 5}}}" for i in runs)
    programs = "\n".join(f"{5000 + 1000 * i - 200}us +500us jit_f {{run_id={i + 5}}}" for i in runs)
    ops = "\n".join(f"{5000 + 1000 * i - 190}us +400us op {{run_id=5}}" for i in runs)
    space = opened(
        f'plane 1 "/host:CPU"\nline 1 python @5ms\n{calls}\nplane 2 "/device:TPU:0"\nline 3 "XLA Modules"\n{programs}\n'
        f'line 4 "XLA Ops"\n{ops}\nplane 3 "/device:TPU:0 SparseCore 1"\nline 1 "Sparse Core Ops"\n6ms +1us x\n'
        f'plane 4 "/device:TPU:10"\nline 3 "XLA Modules"\n6ms +1us y'
    )
    assert space.clocks == (DeviceClock("/device:TPU:0", 200 * US, 4, 4),)
    assert begins(space)[:4] == [5000, 6000, 7000, 8000]
    assert begins(space)[4] == 5010
    assert (begins(space, 2), begins(space, 3)) == ([6200], [6000])


@pytest.mark.parametrize(
    "text",
    [
        'plane 1 "/host:CPU"\nline 1 a\n0us +1us x',
        'plane 2 "/device:GPU:0"\nline 1 a\n0us +1us k {correlation_id=1}',
        'plane 1 "/host:CPU"\nline 1 a\n0us +1us x {correlation_id=1}\nplane 2 "/device:GPU:0"\nline 1 a\n0us +1us k',
        gpu(-3000).replace("correlation_id", "id"),
        gpu(-3000).replace("correlation_id=", "correlation_id=1", 5),
    ],
)
def test_without_launches_nothing_is_known(text: str) -> None:
    assert opened(text).clocks == ()


def test_xprof_reads_times_as_recorded_and_the_trace_viewer_shows_both() -> None:
    run = run_of(gpu(-3000))
    assert begins(run.profiles[0].lazy)[0] == 5100
    assert begins(run.as_recorded().profiles[0].lazy)[0] == 2120
    for clocks, first in (("", 5100), ("recorded", 2120), ("recorded,h0:1000000", 2121)):
        events = [one for one in streaming(gpu(-3000), clocks=clocks)["traceEvents"] if one.get("name") == "k"]
        assert min(one["ts"] for one in events) == first
    assert [one.code for one in host_facts(run.profiles[0]).losses] == ["clock_skew"]


def test_sentences() -> None:
    clocks = (DeviceClock("/device:GPU:1", -(15 * US) // 10, 2000, 40), DeviceClock("/device:TPU:0", 3000 * US, 7, 7))
    assert [one.message for one in mended_times((), clocks)] == [
        "The clock of GPU 1 is 1.5 us ahead of its host's: 40 of 2,000 launches and waits cannot have been as recorded."
        " Its times are moved.",
        "The clock of TPU 0 is 3 ms behind its host's: all 7 launches and waits cannot have been as recorded."
        " Its times are moved.",
    ]
