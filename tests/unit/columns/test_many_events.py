"""The made-up profile of the benchmarks decodes to what it says."""

from __future__ import annotations

import numpy as np
from builders.profiles.many_events import LINES, NAMES, many_events

from tpu_profile_plugin.columns import load


def test_many_events_decode() -> None:
    space = load(np.frombuffer(many_events(8 * 300), np.uint8))
    (plane,) = space.planes
    assert (plane.name, len(plane.lines), len(plane.events)) == ("/device:TPU:0", LINES, 2400)
    assert plane.events.begin_ps[:4].tolist() == [0, 1_000_000, 2_000_000, 3_000_000]
    assert plane.events.duration_ps[:3].tolist() == [110_000_000, 10_000_000, 606_000]
    names = plane.event_metadata.names
    assert [names[row] for row in plane.events.metadata[:3]] == ["fusion.1", "fusion.2", "fusion.17"]
    assert len(names) == NAMES
    assert plane.events.begin_ps[299] == 299_000_000
