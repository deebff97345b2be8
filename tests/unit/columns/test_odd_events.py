"""One event of an XSpace with an odd value costs at most itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
from builders.answers import run_of
from builders.rings import many
from builders.xspace_text import build_message
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_profile_plugin.columns import XSpace, load_lazily

NUMBERS = (
    0, 1, -1, 2, 7, 255, 65_535, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 10**12, -(10**12), 10**15, -(10**15),
    10**18, 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63), 1_700_000_000_000_000_000, 86_400 * 10**12,
)  # fmt: skip
DOUBLES = (float("nan"), float("inf"), float("-inf"), 1e308, -0.0, 5e-324)
FIELDS = ("offset_ps", "duration_ps", "num_occurrences", "metadata_id")
STATS = ("correlation_id", "group_id", "step_num", "_r", "hlo_op", "program_id", "occupancy_pct", "unknown")
STEPS = 8
TEXT = "\n".join([
    'plane 1 "/host:CPU"', "line 1 python @1700000000s",
    *(f"{1000 * i}us +990us train {{step_num={i}, _r=1}}" for i in range(STEPS)),
    *(f"{1000 * i + 20}us +5us cudaLaunchKernel {{correlation_id={i + 1}}}" for i in range(STEPS)),
    "2500us +3us odd_call {correlation_id=99}",
    'plane 2 "/device:GPU:0"', 'line 7 "Stream#7(Compute)" @1700000000s',
    *(f"{1000 * i + 30}us +600us gemm {{correlation_id={i + 1}}}" for i in range(STEPS)),
    "2700us +9us odd_kernel {correlation_id=99}",
])  # fmt: skip


def others(space: XSpace) -> Counter[tuple[str, str, int, int]]:
    """Plane, name, begin since the first step, and duration of the events that are not odd."""
    host = space.planes[0]
    steps = [name == "train" for name in (host.event_metadata.names[row] for row in host.events.metadata.tolist())]
    first = int(host.events.begin_ps[steps].min())
    return Counter(
        (plane.name, name, begin - first, duration)
        for plane in space.planes
        for name, begin, duration in zip(
            (plane.event_metadata.names[row] for row in plane.events.metadata.tolist()),
            plane.events.begin_ps.tolist(),
            plane.events.duration_ps.tolist(),
            strict=True,
        )
        if not name.startswith("odd")
    )


def with_odd(plane: int, field: str, value: float | int | str) -> bytes:
    """The profile with a value in a field, or in a stat, of the odd event of a plane."""
    space = build_message(TEXT)
    event = space.planes[plane].lines[0].events[-1]
    if field in FIELDS:
        setattr(event, field, value)
        return bytes(space.SerializeToString())
    ids = {metadata.name: key for key, metadata in space.planes[plane].stat_metadata.items()}
    if field not in ids:
        ids[field] = 1000
        space.planes[plane].stat_metadata[1000].id = 1000
        space.planes[plane].stat_metadata[1000].name = field
    del event.stats[:]
    stat = event.stats.add(metadata_id=ids[field])
    if isinstance(value, str):
        stat.str_value = value
    elif isinstance(value, float):
        stat.double_value = value
    elif value >= 2**63 - 1:
        stat.uint64_value = value
    else:
        stat.int64_value = value
    return bytes(space.SerializeToString())


WHOLE = others(load_lazily(np.frombuffer(build_message(TEXT).SerializeToString(), np.uint8), reading="mended"))


@settings(max_examples=many(50, 200), deadline=None)
@given(st.integers(0, 1), st.sampled_from(FIELDS), st.sampled_from(NUMBERS))
def test_other_events_stay_as_they_are(plane: int, field: str, value: int) -> None:
    data = with_odd(plane, field, value)
    space = load_lazily(np.frombuffer(data, np.uint8), reading="mended")
    # An odd id of the metadata may be that of another event's name.
    assert not WHOLE - others(space)
    assert run_of(data).decomposition().step_ps > 0


@settings(max_examples=many(15, 60), deadline=None)
@given(st.integers(0, 1), st.sampled_from(STATS), st.sampled_from((*NUMBERS, *DOUBLES, "", "text", "7")))
def test_stats_change_no_other_step(plane: int, stat: str, value: float | int | str) -> None:
    data = with_odd(plane, stat, value)
    assert not WHOLE - others(load_lazily(np.frombuffer(data, np.uint8), reading="mended"))
    found = run_of(data).decomposition()
    assert len(found) >= STEPS - 3
    # The odd event may lengthen the first or the last.
    assert sorted(found.duration_ps[:, 0].tolist())[1:-1] == [990 * 10**6] * (len(found) - 2)
