"""Random profiles that are semantically plausible: known planes, lines, events and stats, with absent or odd values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from builders.damage import profiles
from builders.damage.ask import RUN
from builders.damage.parameters import random_request
from builders.damage.wire import Case
from builders.fuzzing.typed_stats import (
    HOST_LINES,
    KERNELS,
    METRICS,
    MODULES,
    ODD_DOUBLES,
    ODD_INTEGERS,
    ODD_NUMBERS,
    ODD_TEXTS,
    PLANE_STATS,
    XLA_OPS,
    LineKind,
    Stat,
)
from builders.messages import XSpace
from builders.xspace_text import build

_ODDNESS = (0.0, 0.02, 0.02, 0.1, 0.5)
"""How often values are odd; most profiles are only a little wrong, so that they reach deep into the tools."""
_RANDOM_REQUESTS = 12
_DURATIONS = (0, 1, 10**6, 10**8, 3 * 10**9)
_STARTS_NS = (0, 0, 1000, 1_700_000_000_000_000_000)


def typed_case(seed: int) -> Case:
    """A run of one to three hosts, and odd parameters of requests about it."""
    rng = random.Random(seed)
    data, *others = (typed_profile(rng) for _ in range(rng.choice((1, 1, 1, 1, 2, 3))))
    return Case(f"typed {seed}", data, others=tuple(others), requests=tuple(_requests(rng)))


def typed_profile(rng: random.Random) -> bytes:
    """Up to six planes of any kind in any order, a few dozen events with known names and stats."""
    space = XSpace()
    writer = _Writer(space, rng, rng.choice(_ODDNESS), saved=rng.random() < 0.1)
    for write in rng.choices(_PLANES, k=rng.randrange(0, 7)):
        write(writer)
    if rng.random() < 0.2:
        space.hostnames.append(rng.choice(("h", "", "other")))
    if rng.random() < 0.1:
        space.errors.append("no device")
    programs = _programs() if rng.random() < 0.6 else b""
    data = bytes(space.SerializeToString())
    return programs + data if rng.random() < 0.2 else data + programs


@cache
def _programs() -> bytes:
    return build(profiles.program())


def _requests(rng: random.Random) -> list[tuple[str, dict[str, str]]]:
    """Requests with absurd numbers, and any others."""
    numbers = {name: rng.choice(ODD_NUMBERS) for name in ("start_time_ms", "end_time_ms", "resolution", "duration_ms")}
    some = {name: value for name, value in numbers.items() if rng.random() < 0.5}
    event = {"event_name": rng.choice(XLA_OPS.events), "unique_id": rng.choice(("0", "-1", "255", "1e9"))}
    asked: list[tuple[str, dict[str, str]]] = [
        ("trace_viewer@", {**some, "format": rng.choice(("json", "columns"))}),
        ("trace_viewer@", {**some, **event}),
        ("memory_viewer", {"memory_space": rng.choice(("0", "1", "5", "99", "-1", "9999999999"))}),
        ("graph_viewer", {"node_name": "fusion.1", "graph_width": rng.choice(ODD_NUMBERS)}),
    ]
    named: list[tuple[str, dict[str, str]]] = [
        (route, {"tag": tool, **query}) for tool, query in asked for route in ("page", "data")
    ]
    return named + [random_request(rng, RUN) for _ in range(_RANDOM_REQUESTS)]


@dataclass
class _Writer:
    """Adds planes to a space.

    Attributes:
      oddness: share of the values that are of another type or odd, or have no value.
      saved: whether everything has a group, as in a file that was saved after grouping.
    """

    space: Any
    rng: random.Random
    oddness: float
    saved: bool

    def host(self) -> None:
        plane = self._plane("/host:CPU")
        for name in self.rng.sample(sorted(HOST_LINES), self.rng.randrange(0, 4)):
            self._line(plane, name, HOST_LINES[name])

    def tensor_core(self) -> None:
        self._tpu(self._plane(f"/device:TPU:{self.rng.randrange(0, 3)}"), "")

    def sparse_core(self) -> None:
        self._tpu(self._plane(f"/device:TPU:0 SparseCore {self.rng.randrange(0, 2)}"), "Sparse Core ")

    def gpu(self) -> None:
        plane = self._plane(f"/device:GPU:{self.rng.randrange(0, 2)}")
        for _ in range(self.rng.randrange(0, 4)):
            streams = ("Stream #1(Compute)", "Stream #2(MemcpyH2D)", "Stream #3", "XLA Ops", "Steps")
            self._line(plane, self.rng.choice(streams), KERNELS)

    def metrics(self) -> None:
        self._line(self._plane("/host:tfstreamz"), "metrics", METRICS)

    def other(self) -> None:
        names = ("/device:CUSTOM:x", "Task Environment", "#Chip 0", "/host:metadata", "", "/device:TPU:", "/host:CPU2")
        plane = self._plane(self.rng.choice(names))
        if self.rng.random() < 0.5:
            self._line(plane, self.rng.choice(("counters", "_counters_", "")), XLA_OPS)

    def _tpu(self, plane: Any, prefix: str) -> None:
        lines: list[Callable[[], None]] = []
        if self.rng.random() < 0.8:
            lines.append(lambda: self._steps(plane, f"{prefix}Steps"))
        if self.rng.random() < 0.8:
            lines.append(lambda: self._line(plane, f"{prefix or 'XLA '}Modules", MODULES))
        if self.rng.random() < 0.9:
            lines.append(lambda: self._line(plane, f"{prefix or 'XLA '}Ops", XLA_OPS))
        if self.rng.random() < 0.3:
            names = ("Async XLA Ops", "XLA TraceMe", "_counters_", "Framework Ops", "XLA Ops", "Source code")
            lines.append(lambda: self._line(plane, self.rng.choice(names), XLA_OPS))
        if self.rng.random() < 0.2:
            self.rng.shuffle(lines)
        for write in lines:
            write()

    def _plane(self, name: str) -> Any:
        plane = self.space.planes.add(id=self._odd(self.rng.randrange(0, 4)), name=name)
        for stat in self.rng.sample(sorted(PLANE_STATS), self.rng.randrange(0, 12)):
            self._put(plane, plane.stats, stat, PLANE_STATS[stat])
        return plane

    def _steps(self, plane: Any, name: str) -> None:
        """Steps in any order; some overlap, repeat a number or lack one."""
        line = plane.lines.add(id=len(plane.lines), name=name)
        numbers = list(range(self.rng.randrange(0, 6)))
        if self.rng.random() < 0.2:
            self.rng.shuffle(numbers)
        if numbers and self.rng.random() < 0.1:
            numbers.append(numbers[0])
        for at, number in enumerate(numbers):
            place = number if self.rng.random() < 0.8 else at
            event = line.events.add(metadata_id=self._metadata(plane, str(number), {}, ()))
            event.offset_ps = self._odd(place * 10**9)
            event.duration_ps = self._odd(self.rng.choice((10**9, 10**9, 10**9, 2 * 10**9, 0)))
            for stat, share in (("step_num", 0.9), ("group_id", 1.0 if self.saved else 0.3)):
                if self.rng.random() < share:
                    self._put(plane, event.stats, stat, Stat("int64_value", lambda _, number=number: number))

    def _line(self, plane: Any, name: str, kind: LineKind) -> None:
        """Events one after the other or nested, each with most of the usual and a few other stats."""
        line = plane.lines.add(id=self._odd(len(plane.lines)), name=name)
        line.timestamp_ns = self._odd(self.rng.choice(_STARTS_NS))
        begin = 0
        for _ in range(self.rng.randrange(0, 16)):
            duration = self.rng.choice(_DURATIONS)
            name = self.rng.choice(kind.events)
            event = line.events.add(metadata_id=self._metadata(plane, name, kind.stats, kind.known))
            event.offset_ps, event.duration_ps = self._odd(begin), self._odd(duration)
            begin += self.rng.choice((0, duration // 2, duration, duration + 10**7))
            usual = [stat for stat in kind.usual if self.rng.random() < 0.7]
            others = self.rng.sample(sorted(kind.stats), min(len(kind.stats), self.rng.randrange(0, 5)))
            for stat in (*usual, *others):
                self._put(plane, event.stats, stat, kind.stats[stat])
            if self.saved:
                self._put(plane, event.stats, "group_id", Stat("int64_value", lambda rng: rng.randrange(0, 6)))

    def _metadata(self, plane: Any, name: str, stats: Mapping[str, Stat], known: Sequence[str]) -> int:
        """The id of an event's metadata, which is made for the first event of that name."""
        for key, found in plane.event_metadata.items():
            if found.name == name:
                return int(key)
        key = max(plane.event_metadata, default=0) + 1
        metadata = plane.event_metadata[key]
        metadata.id, metadata.name = key, name
        if self.rng.random() < 0.3:
            metadata.display_name = self.rng.choice(("fusion.1", "n1", name))
        usual = [stat for stat in known if self.rng.random() < 0.8]
        for stat in (*usual, *self.rng.sample(sorted(stats), min(len(stats), self.rng.randrange(0, 6)))):
            self._put(plane, metadata.stats, stat, stats[stat])
        return key

    def _put(self, plane: Any, stats: Any, name: str, value: Stat) -> None:
        """Adds a stat; now and then of another type, with an odd value, or without any."""
        key = next((key for key, known in plane.stat_metadata.items() if known.name == name), None)
        if key is None:
            key = max(plane.stat_metadata, default=0) + 1
            plane.stat_metadata[key].id, plane.stat_metadata[key].name = key, name
        stat, rng = stats.add(metadata_id=key), self.rng
        if rng.random() >= self.oddness:
            made = value.make(rng)
            unsigned = value.kind == "int64_value" and isinstance(made, int) and made >= 0 and rng.random() < 0.3
            setattr(stat, "uint64_value" if unsigned else value.kind, made)
            return
        match rng.randrange(7):
            case 0:
                stat.int64_value = rng.choice(ODD_INTEGERS)
            case 1:
                stat.uint64_value = rng.choice(ODD_INTEGERS) % 2**64
            case 2:
                stat.double_value = rng.choice(ODD_DOUBLES)
            case 3:
                stat.str_value = rng.choice(ODD_TEXTS)
            case 4:
                stat.ref_value = rng.choice((0, 1, key, 2**63))
            case 5:
                stat.bytes_value = rng.choice((b"", b"\xff", b"\x0a\x02\x08\x01"))

    def _odd(self, value: int) -> int:
        return self.rng.choice(ODD_INTEGERS) if self.rng.random() < self.oddness / 4 else value


_PLANES: Sequence[Callable[[_Writer], None]] = (
    *(_Writer.host, _Writer.tensor_core, _Writer.tensor_core, _Writer.sparse_core),
    *(_Writer.gpu, _Writer.gpu, _Writer.metrics, _Writer.other),
)
