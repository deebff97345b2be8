"""Events that steps are inferred from: in which order they are compared."""

from __future__ import annotations

import numpy as np
from builders.shown import profile

from tpu_profile_plugin.analysis.steps.inferred import _work


def test_events_that_begin_together_are_the_longest_first() -> None:
    lines = 'line 1 "a" @0ns\n    0us +2us "inner"\n    0us +9us "outer"\n    20us +1us "last"'
    plane = profile(f'plane 1 "/host:CPU"\n  {lines}').planes[0]
    work = _work("host event", plane, np.arange(3))
    assert work is not None
    assert [(end - begin) // 10**6 for begin, end in zip(work.track.begin_ps, work.track.end_ps, strict=True)] == [
        9,
        2,
        1,
    ]
    assert work.events.tolist() == [1, 0, 2]
