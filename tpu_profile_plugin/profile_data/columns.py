"""The events of a line as arrays: exact picoseconds, and nanoseconds as JAX rounds them."""

from __future__ import annotations

import functools

import numpy as np

from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import F64, I64, U32
from tpu_profile_plugin.errors import OutOfRange
from tpu_profile_plugin.tables.coded import Coded
from tpu_profile_plugin.units import PS_PER_NS

_LARGEST_NS = (2**63 - 1) // PS_PER_NS
"""Lines that begin later (106 days) have no time in int64 picoseconds; their events count from the `origin_ns`."""


class LineColumns:
    """The events of one line in the order of the file, one array per attribute of an event.

    Attributes:
      timestamp_ns: when the line begins, ns since 1970 in profiles of JAX and TensorFlow.
      base_ps: what the plane's `begin_ps` of its events counts from, wrapped around to 64 bits.
      rows: where its events are in the plane's table.
    """

    def __init__(self, space: XSpace, plane: Plane, line: int) -> None:
        self.timestamp_ns = int(plane.lines.timestamp_ns[line])
        self.rows = plane.lines.events_of(line)
        self._plane = plane
        far = abs(self.timestamp_ns) > _LARGEST_NS
        self._far = far
        self.base_ps = _wrapped((self.timestamp_ns - (space.origin_ns if far else 0)) * PS_PER_NS)

    def __len__(self) -> int:
        return len(self.metadata)

    @functools.cached_property
    def name(self) -> Coded:
        """The names; `codes` are int32, `tolist()` gives the texts."""
        return Coded(self.metadata.astype(np.int32), self._plane.event_metadata.names)

    @property
    def metadata(self) -> U32:
        """uint32: row of each event in the plane's event metadata."""
        return self._plane.events.metadata[self.rows]

    @property
    def offset_ps(self) -> I64:
        """int64, picoseconds from `timestamp_ns` to the begin; 0 for events that count occurrences."""
        # Exact even where the begin wrapped around: the difference wraps back.
        offset: I64 = self._plane.events.begin_ps[self.rows] - np.int64(self.base_ps)
        return offset

    @property
    def start_ps(self) -> I64:
        """int64, exact picoseconds.

        Raises OutOfRange where times do not fit, as those of a clock that counts from 1970; `offset_ps` always fits.
        """
        begin = self._plane.events.begin_ps[self.rows]
        if self._far or (len(begin) and not _fit(self.timestamp_ns * PS_PER_NS, self.offset_ps)):
            raise OutOfRange(
                "The clock of this line counts more picoseconds than 64 bits hold: use timestamp_ns and offset_ps.",
                timestamp_ns=self.timestamp_ns,
            )
        return begin

    @property
    def duration_ps(self) -> I64:
        """int64, exact picoseconds."""
        return self._plane.events.duration_ps[self.rows]

    @property
    def start_ns(self) -> F64:
        """float64, nanoseconds: truncated, then rounded to a double (steps of 256 ns for times since 1970)."""
        whole = nanoseconds(self.offset_ps)
        np.add(whole, np.int64(self.timestamp_ns), out=whole)  # wraps around, as in JAX
        return whole.astype(np.float64)

    @property
    def duration_ns(self) -> F64:
        """float64, nanoseconds: truncated to whole ones."""
        return nanoseconds(self.duration_ps).astype(np.float64)

    @property
    def end_ns(self) -> F64:
        """float64, nanoseconds: the sum of `start_ns` and `duration_ns`."""
        return self.start_ns + self.duration_ns


def nanoseconds(ps: I64) -> I64:
    """Whole nanoseconds, truncated towards zero as integer division in C++ does."""
    whole: I64 = ps // PS_PER_NS
    if len(ps) and ps.min() < 0:
        whole += (ps < 0) & (whole * PS_PER_NS != ps)
    return whole


def _wrapped(value: int) -> int:
    """The low 64 bits as a signed number."""
    return (value + 2**63) % 2**64 - 2**63


def _fit(base_ps: int, offset_ps: I64) -> bool:
    """Whether all sums fit int64."""
    least, most = base_ps + int(offset_ps.min()), base_ps + int(offset_ps.max())
    return least >= -(2**63) and most < 2**63
