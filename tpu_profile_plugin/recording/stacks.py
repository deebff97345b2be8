"""Python functions of a thread, from stacks that are sampled while a profiler records that has none of its own.

Times of functions are those of the samples around their begin and end. Within these, they begin and end where as few
events of the profiler as possible are under way, so that functions and events stay nested.
"""

from __future__ import annotations

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


def functions(samples: Sequence[Sample], events: Sequence[Span]) -> list[Span]:
    """The functions of sampled stacks, named as profilers of JAX name them, nested with the thread's events."""
    nested = _Nested(events)
    found, open_calls, previous = list[Span](), list[tuple[CodeType, int, int]](), None
    for row, sample in enumerate(samples):
        same = 0
        while same < min(len(open_calls), len(sample.calls)) and open_calls[same][0] is sample.calls[same]:
            same += 1
        if same < max(len(open_calls), len(sample.calls)):
            if previous is None:
                edge = min([sample.ns, *nested.times[:1]])  # what is called then was called before
            elif row == len(samples) - 1:
                edge = max([sample.ns, *nested.times[-1:]])
            else:
                edge = nested.edge(previous, sample.ns)
            found += (nested.fitted(_name(code), begin, edge, first) for code, begin, first in open_calls[same:])
            open_calls[same:] = [(code, edge, sample.ns) for code in sample.calls[same:]]
        previous = sample.ns
    return [one for one in found if one.end > one.begin]


def _name(code: CodeType) -> str:
    return f"${Path(code.co_filename).name}:{code.co_firstlineno} {code.co_name}"


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
