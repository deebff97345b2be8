"""The threads of a plane on one axis, and profiles for which there is none."""

from __future__ import annotations

import numpy as np
from builders.kineto import BACKWARD, op, trace
from builders.spaces import loaded, plane

from tpu_profile_plugin.analysis.devices.cpu_torch import pytorch_devices
from tpu_profile_plugin.analysis.devices.thread_axis import ThreadAxis, fits_one_axis

YEARS = 1e12 * 6
"""Two months in microseconds, which fill half of an axis of int64 picoseconds."""


def test_events_are_within_those_of_their_own_thread() -> None:
    host = plane(loaded(trace(op("a", 0, 10), op("b", 2, 3), op("c", 2, 3, BACKWARD))), "/host:CPU")
    axis = ThreadAxis(host)
    everything = np.arange(3)
    assert axis.inside(everything, np.array([0])).tolist() == [True, True, False]


def test_times_that_are_too_far_apart_have_no_axis_and_no_device() -> None:
    space = loaded(trace(op("aten::add", 0, 1)))
    near = plane(space, "/host:CPU")
    assert fits_one_axis(near)
    assert len(pytorch_devices(space, near)) == 1
    many = [op("aten::add", at + 2 * i, 1) for at in (0, YEARS) for i in range(8)]
    space = loaded(trace(*many, op("b", 1, 1, BACKWARD)))
    far = plane(space, "/host:CPU")
    assert not fits_one_axis(far)
    assert pytorch_devices(space, far) == []
