"""Python functions of a thread, from stacks that are sampled while a profiler records that has none of its own.

Times of functions are those of the samples around their begin and end. Within these, they begin and end where as few
events of the profiler as possible are under way, so that functions and events stay nested.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import NamedTuple

PERIOD_S = 0.001
"""Between samples: a function of a hundredth of a step of 100 ms is in one of them."""
_SWITCH_S = 0.0005
"""After this long the program lets the sampling thread run, even if it computes in Python alone."""
MOST = 100_000
"""Samples, of 100 seconds."""


class Sample(NamedTuple):
    """The calls of a thread at a time, the outermost first."""

    ns: int
    calls: tuple[CodeType, ...]


class Span(NamedTuple):
    """A function or an event of a thread, in nanoseconds."""

    name: str
    begin: int
    end: int


class Sampler:
    """Samples the stack of the thread that makes it, until it is stopped; times are of `time.perf_counter_ns`."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._thread = threading.get_ident()
        self._stopped = threading.Event()
        self._usual = sys.getswitchinterval()
        self._sampling = threading.Thread(target=self._run, name="tpu-profile-stacks", daemon=True)
        sys.setswitchinterval(min(_SWITCH_S, self._usual))
        self._sampling.start()

    def stop(self) -> None:
        """Ends sampling, with a last sample that has no calls."""
        self._stopped.set()
        self._sampling.join()
        sys.setswitchinterval(self._usual)
        self.samples.append(Sample(time.perf_counter_ns(), ()))

    def _run(self) -> None:
        while not self._stopped.wait(PERIOD_S) and len(self.samples) < MOST:
            frame = sys._current_frames().get(self._thread)
            now, calls = time.perf_counter_ns(), list[CodeType]()
            while frame is not None:
                calls.append(frame.f_code)
                frame = frame.f_back
            self.samples.append(Sample(now, tuple(reversed(calls))))
        if not self._stopped.is_set():
            self.samples.append(Sample(time.perf_counter_ns(), ()))  # what is called later is not known


class _Call(NamedTuple):
    """A function that has not returned: when it began, the first sample with it, and when events around it end."""

    code: CodeType
    begin: int
    first: int
    until: float


def functions(samples: Sequence[Sample], events: Sequence[Span]) -> list[Span]:
    """The functions of sampled stacks, named as profilers of JAX name them, nested with the thread's events.

    What is in one sample and in the next, while an event around it has ended, was called twice.
    """
    nested = _Nested(events)
    found, calls, previous = list[Span](), list[_Call](), None
    for row, sample in enumerate(samples):
        same = 0
        while same < min(len(calls), len(sample.calls)) and calls[same].code is sample.calls[same]:
            same += 1
        returned = next((i for i, call in enumerate(calls[:same]) if call.until <= sample.ns), same)
        if returned < max(len(calls), len(sample.calls)):
            if previous is None:
                edge = min([sample.ns, *nested.times[:1]])  # what is called then was called before
            elif row == len(samples) - 1:
                edge = max([sample.ns, *nested.times[-1:]])
            else:
                edge = nested.edge(previous, sample.ns)
            found += (nested.fitted(_name(call.code), call.begin, edge, call.first) for call in calls[returned:])
            event = nested.begun(edge, sample.ns) if returned < same else None
            begin, until = (edge, nested.until(edge)) if event is None else (event.begin, event.end)
            calls[returned:] = [_Call(code, begin, sample.ns, until) for code in sample.calls[returned:]]
        previous = sample.ns
    return [one for one in found if one.end > one.begin]


_PACKAGES = "site-packages", "dist-packages"


def _name(code: CodeType) -> str:
    """With the directories of packages, whose files have the names of many programs' files: `layer.py` of Keras.

    The files of TensorFlow and of Python itself are known by their names.
    """
    *parts, file = Path(code.co_filename).parts
    package = next((parts[i:] for i in reversed(range(len(parts))) if parts[i] in _PACKAGES), [])
    file = "/".join([*package, file]) if package[1:2] != ["tensorflow"] else file
    return f"${file}:{code.co_firstlineno} {code.co_name}"


class _Nested:
    """Events of a thread, which enclose each other or are apart."""

    def __init__(self, events: Sequence[Span]) -> None:
        self.events = sorted(events, key=lambda one: (one.begin, -one.end))
        self.begins = [one.begin for one in self.events]
        self.parent, around = list[int](), list[int]()
        edges = list[tuple[int, int]]()
        for row, one in enumerate(self.events):
            while around and self.events[around[-1]].end <= one.begin:
                edges.append((self.events[around.pop()].end, len(around)))
            self.parent.append(around[-1] if around else -1)
            around.append(row)
            edges.append((one.begin, len(around)))
        while around:
            edges.append((self.events[around.pop()].end, len(around)))
        self.times, self.depths = [time for time, _ in edges], [depth for _, depth in edges]

    def edge(self, since: int, until: int) -> int:
        """A time between two samples at which the fewest events are under way, close to the middle."""
        first, last = bisect_right(self.times, since), bisect_left(self.times, until)
        cuts = [since, *self.times[first:last], until]
        depths = [self.depths[first - 1] if first else 0, *self.depths[first:last]]
        middle, least = (since + until) // 2, min(depths)
        nearest = (
            min(max(middle, begin), end)
            for (begin, end), depth in zip(pairwise(cuts), depths, strict=True)
            if depth == least
        )
        return min(nearest, key=lambda time: abs(time - middle))

    def until(self, time: int) -> float:
        """When the first of the events ends that a time is inside of."""
        return min((event.end for event in self._around(time) if event.begin < time < event.end), default=math.inf)

    def begun(self, since: int, time: int) -> Span | None:
        """The outermost event around a time that did not begin before another."""
        around = [event for event in self._around(time) if since <= event.begin and time < event.end]
        return around[-1] if around else None

    def fitted(self, name: str, begin: int, end: int, first: int) -> Span:
        """A function that is in a sample first at a time, cut where it is neither inside nor outside of an event."""
        for event in self._around(begin):
            if event.begin < begin < event.end < end:
                end = event.end
        for event in self._around(end):
            if begin < event.begin < end < event.end:
                begin, end = (event.begin, end) if event.begin < first else (begin, event.begin)
        return Span(name, begin, end)

    def _around(self, time: int) -> Iterator[Span]:
        """Events around a time, the innermost first."""
        row = bisect_right(self.begins, time) - 1
        while row >= 0:
            yield self.events[row]
            row = self.parent[row]
