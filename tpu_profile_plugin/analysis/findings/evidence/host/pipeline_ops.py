"""What pipelines of tf.data compute: their ops by type, and whether they go through their data again."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import events_of_lines, recorded_lines
from tpu_profile_plugin.columns import Plane

_THREADS = "tf_data_"
"""Names of threads that only pipelines use begin with it."""
_OP = re.compile(r"[^:]+:(?P<type>[A-Z]\w*)\Z")
_PYTHON = re.compile(r"(?:Eager)?PyFunc(?:Stateless)?\Z")
"""Op types of `tf.numpy_function`, `tf.py_function` and generators."""
_PASS = re.compile(r"Iterator::.*Repeat\[(\d+)\]")
"""A repetition numbers its passes from 0."""


@dataclass(frozen=True, slots=True)
class PipelineOps:
    """Ops on the threads of pipelines.

    Attributes:
      total_ps: time of all of them, summed over threads.
      most: the type with most time; most_ps: its time.
      python_ps: time in Python functions.
    """

    total_ps: int
    most: str
    most_ps: int
    python_ps: int

    @property
    def python_share(self) -> float:
        """Share of the time in Python functions, 0 to 1."""
        return self.python_ps / self.total_ps

    @property
    def most_share(self) -> float:
        """Share of the type with most time, 0 to 1."""
        return self.most_ps / self.total_ps


def pipeline_ops(plane: Plane) -> PipelineOps | None:
    """The ops of a host's pipelines; None if they ran on threads that others use as well."""
    named = np.array([name.startswith(_THREADS) for name in plane.lines.name], np.bool_) & recorded_lines(plane)
    rows = events_of_lines(plane, np.flatnonzero(named).tolist())
    time = np.zeros(len(plane.event_metadata), np.int64)
    np.add.at(time, plane.events.metadata[rows], plane.events.duration_ps[rows])
    types: dict[str, int] = {}
    for row in np.flatnonzero(time).tolist():
        if op := _OP.match(plane.event_metadata.names[row]):
            types[op["type"]] = types.get(op["type"], 0) + int(time[row])
    if not types:
        return None
    most = max(types, key=lambda name: types[name])
    python_ps = sum(ps for name, ps in types.items() if _PYTHON.match(name))
    return PipelineOps(sum(types.values()), most, types[most], python_ps)


def passes(plane: Plane) -> int:
    """How often a repetition has begun its data when the recording ends: 0 without a repetition."""
    numbers = (_PASS.match(name) for name in plane.declared.event_metadata.names)
    return max((int(number[1]) + 1 for number in numbers if number), default=0)
