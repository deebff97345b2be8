"""`ProfileData`: an XSpace with the classes and methods of `jax.profiler.ProfileData`, with exact times and as columns.

    data = tpu_profile_plugin.ProfileData.from_file("host.xplane.pb")
    for plane in data.planes:
        for line in plane.lines:
            for event in line.events:
                event.name, event.start_ns, event.duration_ns, event.duration_ps, dict(event.stats)
            line.columns.duration_ps.sum()          # the same events as arrays: much faster

Where JAX's class gives floats in nanoseconds, these give the same floats, bit for bit; `start_ps` and `duration_ps` are
exact. JAX is not needed.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Kind, Plane, Stats, XSpace, load_lazily
from tpu_profile_plugin.columns.arrays import F64, I64, U8, U32, Bytes, byte_array
from tpu_profile_plugin.errors import BadRequest, NotAvailable, NotFound, OutOfRange, in_file
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.logdir.files import LocalFiles
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.protos.wire import fields
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


Value: TypeAlias = int | float | str | bytes
Pair: TypeAlias = tuple[str, Value] | tuple[None, None]

_NOTHING = (None, None)
_BLOCK = 256
"""Events per block: enough that NumPy's calls cost little per event, few enough that one event alone is quick."""


class _StatReader:
    """Stats of a plane's events as (name, value) pairs, decoded for a block of neighbouring events at a time."""

    def __init__(self, space: XSpace, plane: Plane) -> None:
        self._space, self._plane = space, plane
        self._block: tuple[int, list[int], list[Pair]] = (-1, [], [])

    def of_plane(self) -> Iterator[Pair]:
        """The plane's own stats."""
        return iter(self._pairs(self._plane.stats, 0, len(self._plane.stats.key)))

    def of_event(self, row: int) -> Iterator[Pair]:
        """The stats of the event in this row of the plane's table, without those of its metadata."""
        block_number, offset = divmod(row, _BLOCK)
        block = self._block
        if block[0] != block_number:
            stats = self._plane.events.stats
            bounds = stats.start[block_number * _BLOCK : (block_number + 1) * _BLOCK + 1].astype(np.int64)
            starts = (bounds - bounds[0]).tolist()
            # Replaced as a whole, so that threads may race.
            block = self._block = (block_number, starts, self._pairs(stats, int(bounds[0]), int(bounds[-1])))
        return iter(block[2][block[1][offset] : block[1][offset + 1]])

    def _pairs(self, stats: Stats, first: int, last: int) -> list[Pair]:
        """A pair per stat; JAX gives nothing where the metadata is missing or no value is set."""
        kind, bits = stats.kind[first:last], stats.value[first:last]
        values = np.empty(last - first, object)
        for value_kind in np.unique(kind).tolist():
            where = np.flatnonzero(kind == value_kind)
            values[where] = self._values(value_kind, bits[where])
        keys = stats.key[first:last].tolist()
        names = self._plane.stat_metadata.names
        pairs: list[Pair] = list(zip(map(names.__getitem__, keys), values.tolist(), strict=True))
        for i in np.flatnonzero((kind == Kind.UNSET) | (kind == Kind.COMPRESSED_STR)).tolist():
            pairs[i] = _NOTHING
        if not all(names):
            for i, key in enumerate(keys):
                if not names[key] and int(self._plane.stat_metadata.id[key]) not in self._declared:
                    pairs[i] = _NOTHING
        return pairs

    def _values(self, kind: int, bits: np.ndarray[Any, np.dtype[np.uint64]]) -> list[Any]:
        match kind:
            case Kind.DOUBLE:
                return list(bits.view(np.float64).tolist())
            case Kind.UINT64:
                return list(bits.tolist())
            case Kind.INT64:
                return list(bits.view(np.int64).tolist())
            case Kind.REF:
                names = self._plane.stat_metadata.names
                return [names[row] for row in bits.tolist()]
            case Kind.STR:
                return self._space.texts(bits)
            case Kind.BYTES:
                return [_text(self._space.blob(value)) for value in bits.tolist()]
            case _:
                return [None] * len(bits)

    @functools.cached_property
    def _declared(self) -> frozenset[int]:
        """The ids of the plane's stat metadata. Columns have rows without a name for the others that are used."""
        space, plane = (message(f"tensorflow.profiler.{name}").DESCRIPTOR for name in ("XSpace", "XPlane"))
        metadata = plane.fields_by_name["stat_metadata"]
        view = self._space.data.data
        planes = [field for field in fields(view) if field[0] == space.fields_by_name["planes"].number]
        _, _, _, begin, end = planes[self._plane.index]
        entry = message(metadata.message_type.full_name)
        entries = (field for field in fields(view, begin, end) if field[0] == metadata.number)
        ids = (entry.FromString(bytes(view[start:stop])).key for _, _, _, start, stop in entries)
        return frozenset(ids)


def _text(value: bytes) -> str | bytes:
    """Bytes as JAX gives them: as a text; bytes that are none, on which JAX raises an error, as they are."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


ProfileEvent = _native.ProfileEvent
"""An event; in native code, because there are millions of them."""


class ProfilePlane:
    """A plane: a device, the host, or a part of them.

    Attributes:
      name: its name, such as "/device:TPU:0".
      id: its id in the file.
    """

    def __init__(self, space: XSpace, plane: Plane) -> None:
        self.name, self.id = plane.name, plane.id
        self._space, self._plane = space, plane

    @property
    def lines(self) -> Iterator[ProfileLine]:
        """The lines in the order of the file; the first request decodes the plane. Raises CorruptProfile."""
        return iter(self._lines)

    @property
    def stats(self) -> Iterator[Pair]:
        """(name, value) of the plane's own stats; (None, None) for one without metadata."""
        return _StatReader(self._space, self._plane.declared).of_plane()  # needs no lines

    @functools.cached_property
    def _lines(self) -> tuple[ProfileLine, ...]:
        # Stats take as long as all the rest, and are decoded when they are asked for.
        self._space.decode_with_some_stats([self._plane], (), ())
        return tuple(ProfileLine(self, i) for i in range(len(self._plane.lines)))

    @functools.cached_property
    def _stat_reader(self) -> _StatReader:
        return _StatReader(self._space, self._plane)

    def _stats_of(self, row: int) -> Iterator[Pair]:
        """The stats of an event; the first request decodes those of the plane."""
        return self._stat_reader.of_event(row)

    def __repr__(self) -> str:
        return f"<ProfilePlane {self.name!r}>"


class ProfileLine:
    """A line of a plane, such as a stream of a device or a thread of the host.

    Attributes:
      name: its name.
      id: its id in the file.
    """

    def __init__(self, plane: ProfilePlane, line: int) -> None:
        lines = plane._plane.lines
        self.name, self.id = lines.name[line], int(lines.id[line])
        self._plane, self._line = plane, line

    @functools.cached_property
    def columns(self) -> LineColumns:
        """The events as arrays, without an object per event."""
        return LineColumns(self._plane._space, self._plane._plane, self._line)

    @property
    def timestamp_ns(self) -> int:
        """When the line begins: what offsets of its events count from, ns."""
        return self.columns.timestamp_ns

    @property
    def events(self) -> Iterator[ProfileEvent]:
        """The events in the order of the file."""
        columns, plane = self.columns, self._plane._plane
        rows, events = columns.rows, plane.events
        return _native.profile_events(
            (events.begin_ps[rows], events.duration_ps[rows], events.metadata[rows]),
            columns.base_ps,
            columns.timestamp_ns,
            rows.start,
            plane.event_metadata.names,
            self._plane._stats_of,
        )

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"<ProfileLine {self.name!r}>"


class ProfileData:
    """A profile, with the methods of `jax.profiler.ProfileData`; planes are decoded when their lines are asked for."""

    def __init__(self, serialized_xspace: Bytes) -> None:
        """Takes the bytes of an XSpace, or of any other format that files have; raises CorruptProfile, BadRequest."""
        try:
            data = byte_array(serialized_xspace)
        except (TypeError, ValueError):
            kind = type(serialized_xspace).__name__
            raise BadRequest(f"A profile is given as bytes, not as {kind}; from_file() takes a path.") from None
        self._space: XSpace = load_lazily(unpack(data).space)

    @classmethod
    def from_file(cls, proto_file_path: str | os.PathLike[str]) -> ProfileData:
        """The profile in a file such as host.xplane.pb, also compressed; raises NotFound, Forbidden, CorruptProfile."""
        path = os.fspath(proto_file_path)
        try:
            status = Path(path).stat()
        except OSError:
            raise NotFound(f"There is no file {Path(path).name}.") from None
        with in_file(Path(path).name):
            return cls(LocalFiles().read(path, status.st_size, status.st_mtime_ns, ""))

    @classmethod
    def from_serialized_xspace(cls, serialized_xspace: Bytes) -> ProfileData:
        """The profile in these bytes; raises CorruptProfile, BadRequest for what is no bytes."""
        return cls(serialized_xspace)

    @classmethod
    def from_text_proto(cls, text: str) -> ProfileData:
        """The profile in protobuf's text form; raises BadRequest for text that is not of that form."""
        return cls(cls.text_proto_to_serialized_xspace(text))

    @classmethod
    def from_raw_cpp_ptr(cls, capsule: object) -> NoReturn:
        """Raises NotAvailable: pointers are for code that is linked with JAX's own XLA."""
        raise NotAvailable(
            "A pointer into JAX's memory can be read by JAX alone: pass the bytes of the XSpace to "
            "from_serialized_xspace(), or let jax.profiler write a file."
        )

    @staticmethod
    def text_proto_to_serialized_xspace(text: str) -> bytes:
        """The bytes of an XSpace given in protobuf's text form; raises BadRequest for text that is not of that form."""
        from google.protobuf import text_format

        try:
            parsed = text_format.Parse(text, message(_SPACE)())
        except (text_format.ParseError, TypeError, AttributeError) as error:
            raise BadRequest(f"This is not the text form of an XSpace: {error}") from None
        return bytes(parsed.SerializeToString())

    @property
    def planes(self) -> Iterator[ProfilePlane]:
        """The planes in the order of the file."""
        return iter(self._planes)

    def find_plane_with_name(self, name: str) -> ProfilePlane | None:
        """The first plane of this name; None if there is none."""
        return next((plane for plane in self._planes if plane.name == name), None)

    @property
    def serialized(self) -> U8:
        """The bytes of the XSpace as a read-only array; `bytes()` copies them."""
        return self._space.data

    @functools.cached_property
    def _planes(self) -> tuple[ProfilePlane, ...]:
        return tuple(ProfilePlane(self._space, plane) for plane in self._space.planes)

    def __repr__(self) -> str:
        return f"<ProfileData: {', '.join(plane.name for plane in self._planes) or 'no planes'}>"


_SPACE = "tensorflow.profiler.XSpace"


class Message(Protocol):
    """A message of any protobuf."""

    def SerializeToString(self) -> bytes:  # noqa: N802
        """Its bytes."""


Given: TypeAlias = str | os.PathLike[str] | Bytes | Message | ProfileData
"""What can be opened."""


def profile_bytes(given: object) -> U8:
    """The bytes of the XSpace in what is no path.

    Raises BadRequest for other things, CorruptProfile for a broken container, and NotAvailable for JAX's `ProfileData`:
    it gives names, stats and rounded times, but neither exact times nor metadata nor the bytes.
    """
    if isinstance(given, ProfileData):
        return given.serialized
    if hasattr(given, "SerializeToString"):
        kind = getattr(getattr(given, "DESCRIPTOR", None), "full_name", type(given).__name__)
        if kind != _SPACE:
            raise BadRequest(f"A profile is a message {_SPACE}, not {kind}.")
        return byte_array(given.SerializeToString())
    if hasattr(given, "find_plane_with_name"):
        raise NotAvailable(
            "JAX's ProfileData rounds times to doubles and lacks the metadata of events, so that no run can be made of "
            "it. Open the file that JAX wrote (jax.profiler.export_profile_data writes one where JAX has it), or the "
            "bytes of the XSpace."
        )
    try:
        data = byte_array(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        kind = type(given).__name__
        raise BadRequest(f"A logdir or a profile is a path, bytes or a message {_SPACE}, not {kind}.") from None
    return unpack(data).space


def recorded_host(space: U8) -> str:
    """The name of the host as the profiler recorded it, "" for none; raises CorruptProfile."""
    return next(iter(load_lazily(space).hostnames), "")
