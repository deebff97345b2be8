"""Planes that are decoded when somebody looks at them: all of a plane, its metadata only, or a few of its events."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.space import Pick, Plane, PlaneParts
from tpu_profile_plugin.errors import CorruptProfile

_ONE_BY_ONE = 32
"""So often planes are decoded alone."""

MakeParts: TypeAlias = Callable[[NDArray[np.uint8], _native.PlaneArrays], PlaneParts]


@contextmanager
def decoding(file: str = "") -> Iterator[None]:
    """Turns the native error into ours; `file` is named in it."""
    try:
        yield
    except _native.DecodeError as error:
        message, offset = error.args
        corrupt = CorruptProfile(message, offset=offset)
        if file:
            corrupt.details["file"] = file
        raise corrupt from None


@dataclass(frozen=True)
class Watch:
    """Who wants to know about a lazy profile: `file` is named in errors, `grown` called after more was decoded."""

    file: str = ""
    grown: Callable[[], None] = lambda: None


class Source:
    """The bytes behind a lazy profile. Threads may ask for the same plane; it is decoded once."""

    def __init__(self, data: NDArray[np.uint8], names: Sequence[str], threads: int, make: MakeParts, watch: Watch):
        self._data, self._names, self._threads, self._make, self._watch = data, names, threads, make, watch
        self._lock = threading.Lock()
        self._declared: dict[int, Plane] | None = None
        self._times = 0
        self._planes: tuple[weakref.ref[Plane], ...] = ()

    def serves(self, planes: Iterable[Plane]) -> None:
        """Takes note of all planes of the profile.

        Weakly, because they know their source: a cycle would keep hundreds of megabytes until Python looks for cycles.
        """
        self._planes = tuple(weakref.ref(plane) for plane in planes)

    def fill(self, planes: Iterable[Plane]) -> None:
        """Decodes those of the planes that are not decoded yet, together on all threads.

        Each time costs a walk over the whole file, so who asked for many one after another then gets all of them.
        """
        with self._lock:
            missing = [plane for plane in planes if not plane.decoded]
            if not missing:
                return
            self._times += 1
            if self._times > _ONE_BY_ONE:
                living = (one() for one in self._planes)
                missing = [plane for plane in living if plane is not None and not plane.decoded] or missing
            for plane, parts in zip(missing, self._decode([plane.index for plane in missing]), strict=True):
                plane.settle(parts)
        self._watch.grown()

    def declared(self, plane: Plane) -> Plane:
        """The plane without lines and events; of all planes at once, because that costs next to nothing."""
        with self._lock:
            if self._declared is None:
                keep = [True] * len(self._names)  # there may be more planes, which were cut
                with decoding(self._watch.file):
                    raw = _native.decode_space(self._data, 1, keep, False, [])
                self._declared = {
                    one.index: Plane(one.id, self._names[one.index], one.index, self._make(self._data, one))
                    for one in raw.planes
                }
            return self._declared[plane.index]

    def pick(self, picks: Sequence[Pick]) -> list[Plane]:
        """The planes with the events that the picks want and perhaps others; planes decoded before are given whole."""
        wanted = [pick for pick in picks if not pick.plane.decoded]
        arguments = [(pick.plane.index, pick.line_names(), self._ids(pick)) for pick in wanted]
        parts = self._decode([pick.plane.index for pick in wanted], arguments) if wanted else []
        found = {
            pick.plane.index: Plane(pick.plane.id, pick.plane.name, pick.plane.index, part)
            for pick, part in zip(wanted, parts, strict=True)
        }
        return [found.get(pick.plane.index, pick.plane) for pick in picks]

    def _ids(self, pick: Pick) -> tuple[list[int], list[int]] | None:
        if pick.event is None:
            return None
        declared = self.declared(pick.plane)
        table, stats = declared.event_metadata, declared.stat_metadata
        events = [i for i, name in zip(table.id.tolist(), table.names, strict=True) if pick.event(name)]
        return events, [i for i, name in zip(stats.id.tolist(), stats.names, strict=True) if name in pick.stats]

    def _decode(
        self,
        indices: Sequence[int],
        picks: list[tuple[int, list[str] | None, tuple[list[int], list[int]] | None]] | None = None,
    ) -> list[PlaneParts]:
        """In the order of `indices`, which may be any."""
        wanted = set(indices)
        keep = [index in wanted for index in range(len(self._names))]
        with decoding(self._watch.file):
            raw = _native.decode_space(self._data, self._threads, keep, True, picks or [])
        parts = {plane.index: self._make(self._data, plane) for plane in raw.planes}
        return [parts[index] for index in indices]
