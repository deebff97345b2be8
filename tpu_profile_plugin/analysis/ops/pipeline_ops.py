"""What the threads of tf.data pipelines compute, and how often the data is begun."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import events_of_lines, recorded_lines, spans_at
from tpu_profile_plugin.analysis.common.spans import Times, union
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_US

_THREADS = "tf_data_"
"""Names of threads that only pipelines use begin with it."""
_POOL = "tf_data_private_threadpool"
"""Those that compute; others mostly wait for them."""
_NEXT_PS = 20 * PS_PER_US
"""A thread of the pool that takes the next element within this time has worked on what is not recorded meanwhile."""
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


def work_times(plane: Plane) -> Times:
    """When a host's pipelines compute, on any thread of their pool."""
    begin, end = spans_at(plane, _rows(plane, _POOL))
    return union(begin, end + _NEXT_PS)


def pipeline_ops(plane: Plane) -> PipelineOps | None:
    """The ops of a host's pipelines; None if they ran on threads that others use as well."""
    rows = _rows(plane, _THREADS)
    is_op = np.array([_OP.match(name) is not None for name in plane.event_metadata.names], np.bool_)
    rows = rows[is_op[plane.events.metadata[rows]]]
    time = np.zeros(len(plane.event_metadata), np.int64)
    np.add.at(time, plane.events.metadata[rows], plane.events.duration_ps[rows])
    types = Counter[str]()
    for row in np.flatnonzero(time).tolist():
        types[plane.event_metadata.names[row].rpartition(":")[2]] += int(time[row])
    if not types:
        return None
    (most, most_ps), *_ = types.most_common(1)
    return PipelineOps(types.total(), most, most_ps, sum(ps for name, ps in types.items() if _PYTHON.match(name)))


def passes(plane: Plane) -> int:
    """How often a repetition has begun its data when the recording ends: 0 without a repetition."""
    numbers = (_PASS.match(name) for name in plane.declared.event_metadata.names)
    return max((int(number[1]) + 1 for number in numbers if number), default=0)


def _rows(plane: Plane, threads: str) -> I64:
    """Events of threads whose names begin so."""
    named = np.array([name.startswith(threads) for name in plane.lines.name], np.bool_) & recorded_lines(plane)
    return events_of_lines(plane, np.flatnonzero(named).tolist())
