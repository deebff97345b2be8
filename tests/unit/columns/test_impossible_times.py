"""Events with impossible times are not in the columns, unless these are wanted as recorded."""

import numpy as np
import pytest
from builders import answers
from builders.timeline import read_container
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.columns import ImpossibleTimes, XSpace, load_lazily
from tpu_profile_plugin.run.facts import host_facts

STEPS = "\n".join(f"{1000 * i}us +900us train {{step_num={i}}}" for i in range(20))
KERNELS = "\n".join(f'{1000 * i + 50}us +800us gemm {{correlation_id={i}, name="k{i}"}}' for i in range(20))


def profile(*more: str, on: str = "gpu", at: str = "1700000000s") -> bytes:
    """Twenty steps with a kernel each, with further events on the stream or the thread."""
    odd = "\n".join(more)
    return build(f"""
        plane 1 "/host:CPU"
        line 1 python @{at}
        {STEPS}
        {odd if on == "cpu" else ""}
        plane 2 "/device:GPU:0"
        line 7 "Stream #7(Compute)" @{at}
        {KERNELS}
        {odd if on == "gpu" else ""}
    """)


def opened(data: bytes, *, as_recorded: bool = False) -> XSpace:
    return load_lazily(np.frombuffer(data, np.uint8), reading="recorded" if as_recorded else "mended")


def columns(space: XSpace) -> list[list[object]]:
    """Per plane its events: relative begin, duration, name, stats."""
    first = min(int(plane.events.begin_ps.min()) for plane in space.planes)
    return [
        [
            (begin - first, duration, plane.event_metadata.names[row], stop - start)
            for begin, duration, row, start, stop in zip(
                plane.events.begin_ps.tolist(),
                plane.events.duration_ps.tolist(),
                plane.events.metadata.tolist(),
                plane.events.stats.start[:-1].tolist(),
                plane.events.stats.start[1:].tolist(),
                strict=True,
            )
        ]
        for plane in space.planes
    ]


@pytest.mark.parametrize("at", ["0s", "5s", "1700000000s"])
@pytest.mark.parametrize("on", ["gpu", "cpu"])
@pytest.mark.parametrize(
    "odd",
    [
        "-1700000s +5us odd {a=1}",
        f"{2**62}ps +5us odd {{a=1}}",
        "7000s +5us odd {a=1}",
        "2ms +-5us odd {a=1}",
        "1ms +7200s odd {a=1}",
        f"3ms +{2**63 - 1}ps odd {{a=1}}",
    ],
)
def test_an_odd_event_is_left_out_and_the_others_stay(odd: str, on: str, at: str) -> None:
    expected = columns(opened(profile(at=at), as_recorded=True))
    space = opened(profile(odd, on=on, at=at))
    where = ("/device:GPU:0", "Stream #7(Compute)") if on == "gpu" else ("/host:CPU", "python")
    lasts = (on == "gpu" and "+7200s" in odd) or (on == "gpu" and str(2**63 - 1) in odd)
    assert space.impossible == (ImpossibleTimes(*where, 0 if lasts else 1, 1 if lasts else 0),)
    found = columns(space)
    if lasts:  # it ends where the next kernel begins
        (event,) = (event for event in found[1] if event[2] == "odd")
        assert event[1] == 50_000_000
        found[1].remove(event)
    assert found == expected


def test_possible_events_are_all_there() -> None:
    odd = ["7000s +5us gemm"] * 20 + [f"{7000 + i}s +1us gemm" for i in range(20)]
    for data in (profile(), profile(*odd), profile("19900us +500ms train", on="cpu"), build("plane p"), b""):
        space = opened(data)
        assert space.impossible == ()
        assert not data or columns_or_none(space) == columns_or_none(opened(data, as_recorded=True))


def columns_or_none(space: XSpace) -> object:
    return columns(space) if all(len(plane.events) for plane in space.planes) else None


def test_a_line_far_from_all_others() -> None:
    data = profile() + build('plane 3 "/host:other"\nline 1 t @5s\n0us +5us early\n1us +5us earlier')
    space = opened(data)
    assert space.impossible == (ImpossibleTimes("/host:other", "t", 2, 0),)
    assert [len(plane.events) for plane in space.planes] == [20, 20, 0]
    assert columns(XSpace(space.planes[:2], (), (), (), 0, space.data)) == columns(opened(profile(), as_recorded=True))


def test_sums_have_no_times() -> None:
    data = profile("x5 +9000s gemm", on="gpu")
    space = opened(data)
    assert space.impossible == ()
    assert int(space.planes[1].events.duration_ps.max()) == 9000 * 10**12


def test_a_damaged_line_spoils_only_its_plane() -> None:
    data = profile("-1700000s +5us odd", at="0s") + b"\x0a\x04\x1a\x02\x22\x7f"
    space = opened(data)
    assert [one.left_out for one in space.impossible] == [1]
    assert len(space.planes[1].events) == 20


def test_readings_of_xprof_have_all_events() -> None:
    run = answers.run_of(profile("-1700000s +5us odd"))
    host = run.profiles[0]
    assert [len(plane.events) for plane in host.space.planes] == [20, 20]
    assert [len(plane.events) for plane in run.as_recorded().profiles[0].space.planes] == [20, 21]
    assert [(loss.code, loss.message) for loss in host_facts(host).losses] == [
        (
            "impossible_times",
            "1 event has an impossible time (0, negative, or far from all others) and is left out: "
            "1 on Stream #7(Compute) of /device:GPU:0.",
        )
    ]
    clean = answers.run_of(profile())
    assert clean.as_recorded() is clean


def test_answers_of_xprof_read_times_as_recorded_and_pages_leave_impossible_ones_out() -> None:
    opened_run = tpu_profile_plugin.open(profile("7000s +5us odd")).run()
    recorded = opened_run.answer("trace_viewer@")["traceEvents"]
    assert max(event["ts"] for event in recorded if "ts" in event) == 7e9
    _, columns = read_container(opened_run.document("trace_viewer@"))
    assert int(columns["begin_ps"].max()) == 19050 * 10**6
