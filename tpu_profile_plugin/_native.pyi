"""Typed surface of the native core; checked against the built module by stubtest."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_U8: TypeAlias = NDArray[np.uint8]
_U32: TypeAlias = NDArray[np.uint32]
_U64: TypeAlias = NDArray[np.uint64]
_I32: TypeAlias = NDArray[np.int32]
_I64: TypeAlias = NDArray[np.int64]
_F64: TypeAlias = NDArray[np.float64]

class DecodeError(ValueError):
    """The bytes of a profile do not decode; args are (message, byte offset)."""

class CoreFailed(RuntimeError):
    """A mistake in the native core, or bytes that changed while it read them; only this call failed."""

# ---- system.rs

def checksum(data: _U8, before: int) -> int:
    """CRC-32 of what has the CRC-32 `before` (0: nothing) and of these bytes behind it."""

@final
class MappedFile:
    """Owner of the arrays of `map_file`."""

    def release_pages(self) -> None:
        """Gives the pages back to the system; those that are read again come from its cache."""

def map_file(descriptor: int, size: int) -> _U8 | None:
    """The first bytes of an open file, read-only and mapped; None where that is not possible.

    A file that shrinks reads as zeros from then on, and `torn_mappings` grows.
    """

def torn_mappings() -> int:
    """How often a mapped file had lost pages, since the process began."""

def give_back_memory() -> None:
    """Gives freed memory back to the system."""

# ---- events.rs

@final
class ProfileEvent:
    """An event as an object; for loops over millions of them."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def start_ns(self) -> float:
        """When it begins, ns: truncated to whole ones, then rounded to a double."""
    @property
    def duration_ns(self) -> float:
        """How long it takes, ns, truncated to whole ones."""
    @property
    def end_ns(self) -> float:
        """The sum of `start_ns` and `duration_ns`."""
    @property
    def start_ps(self) -> int:
        """When it begins, ps, exact."""
    @property
    def duration_ps(self) -> int:
        """How long it takes, ps, exact."""
    @property
    def end_ps(self) -> int:
        """When it ends, ps, exact."""
    @property
    def row(self) -> int:
        """Its row in the table of all events of its plane."""
    @property
    def stats(self) -> Any:
        """An iterator of (name, value) of its own stats, not of its metadata; (None, None) for one without metadata.

        The first request decodes the stats of the plane.
        """

@final
class ProfileEvents:
    """Iterates over the events of a line."""

    def __iter__(self) -> ProfileEvents: ...
    def __next__(self) -> ProfileEvent: ...

def profile_events(
    columns: tuple[_I64, _I64, _U32],
    base_ps: int,
    timestamp_ns: int,
    first_row: int,
    names: list[str],
    stats: Callable[[int], Any],
) -> ProfileEvents:
    """The events of a line, made as they are asked for.

    Columns (begin_ps, duration_ps, row of the metadata), what begins count from, the line's time, row of the first
    event, names by row of the metadata, and a function from an event's row to its stats.
    """

# ---- patterns.rs

@final
class Pattern:
    """A regular expression; ValueError says why it is none."""

    def __new__(cls, pattern: str, ignore_case: bool) -> Pattern: ...
    def search(self, text: str) -> bool:
        """Whether the text contains a match."""

# ---- protos.rs

STAT_KINDS: dict[str, int]
"""Field of XStat -> what `StatArrays.kind` holds for it."""

def descriptor_set() -> bytes:
    """The messages and services of protos/: a FileDescriptorSet, imported files before those that import."""

# ---- decode.rs

MOST_LINES: int

@final
class PlaneSummary:
    id: int
    name: int
    lines: int
    bytes: int

@final
class SpaceColumns:
    planes: list[PlaneArrays]
    errors: _U64
    warnings: _U64
    hostnames: _U64
    origin_ns: int

@final
class PlaneArrays:
    index: int
    id: int
    name: int
    lines: LineArrays
    events: EventArrays
    event_metadata: EventMetadataArrays
    stat_metadata: StatMetadataArrays
    stats: StatArrays
    partial: bool

@final
class LineArrays:
    id: _I64
    display_id: _I64
    name: _U64
    display_name: _U64
    timestamp_ns: _I64
    duration_ps: _I64
    filled: NDArray[np.bool_]
    event_start: _I64

@final
class EventArrays:
    metadata: _U32
    begin_ps: _I64
    duration_ps: _I64
    occurrences: _I64 | None
    stats: StatArrays

@final
class EventMetadataArrays:
    id: _I64
    name: _U64
    display_name: _U64
    bytes: _U64
    child_start: _U32
    child_id: _I64
    stats: StatArrays

@final
class StatMetadataArrays:
    id: _I64
    name: _U64
    description: _U64

@final
class StatArrays:
    start: _U32
    key: _U32
    kind: _U8
    value: _U64

@final
class PossibleTimes:
    losses: list[tuple[int, int, int, int]]

def decode_space(
    data: _U8,
    threads: int,
    keep: list[bool] | None,
    events: bool,
    filters: list[tuple[int, list[str] | None, tuple[list[int], list[int]] | None, tuple[list[str], list[str]] | None]],
    times: PossibleTimes | None = None,
) -> SpaceColumns: ...
def possible_times(data: _U8, threads: int) -> PossibleTimes | None: ...
def second_profile(data: _U8) -> tuple[int, list[int], list[int]] | None:
    """Where the profile of another host begins behind that of the first, and the text values of the hosts of both."""

def has_far_line(data: _U8) -> bool: ...
def outline_space(data: _U8) -> list[PlaneSummary]: ...
def texts(data: _U8, values: _U64) -> list[str]: ...
def blob(data: _U8, value: int) -> bytes: ...
def hlo_module_name(data: _U8, proto: int) -> int: ...
def text_codes(data: _U8, values: _U64) -> tuple[_I32, _U64]: ...
def first_stats(start: _U32, key: _U32, row: int) -> _I64: ...
def stat_owners(start: _U32, key: _U32, row: int) -> tuple[_I64, _I64]: ...
def stat_values(
    start: _U32, key: _U32, kind: _U8, value: _U64, row: int, kinds: int
) -> tuple[_U64, NDArray[np.bool_]]: ...

# ---- tf_data.rs

@final
class IteratorCalls:
    """The calls of tf.data iterators: who called whom, on one thread by nesting, across threads by element."""

    nbytes: int
    def __new__(
        cls,
        line_start: _I64,
        begin: _I64,
        duration: _I64,
        metadata: _U32,
        role: _U8,
        id: tuple[_I64, _I64],
        parent: tuple[_I64, _I64],
        element: tuple[_I64, _I64],
        skip: NDArray[np.bool_] | None = None,
    ) -> IteratorCalls:
        """From columns of all events, and sparse ones (events ascending, values) of their stats.

        `role` per row of the metadata: 1 an iterator, 2 one that the program calls, 4 + 2k a producer, 5 + 2k a
        consumer of an element, 0 anything else. Events marked in `skip` neither enclose nor are enclosed.
        """

    def iterators(self) -> tuple[_U64, _U64, _U32]:
        """Per iterator, in the order of the file: id, id of the parent (0: none), first event."""

    def roots(self) -> tuple[_U32, _U32, _I64, _I64]:
        """Per call of the program, in the order of the file: call number, iterator, begin, duration."""

    def sum(
        self, runs: _U32, least: int, rows: int, most: int
    ) -> tuple[_I64, _U32, _I64, _I64, _I64, _I64, NDArray[np.bool_], _I64, _U32]:
        """Adds up runs (calls) per iterator, until `least` are done and there are `rows` rows, or many more.

        Gives the first row of each run that was done and the end; per row (ascending by iterator id within a run) the
        iterator, first begin, duration, own time, number of calls and whether it held the program up; per run how many
        iterators it has beyond the `most` that are kept; and the runs that were not followed to their end.
        """

    def calls(self, root: int) -> tuple[_U32, _U32, NDArray[np.bool_], bool]:
        """The calls of one run, callers first: event, iterator, whether it held the program up; True at last: cut."""

# ---- groups.rs

def gather_stats(
    start: NDArray[np.uint32],
    key: NDArray[np.uint32],
    kind: NDArray[np.uint8],
    value: NDArray[np.uint64],
    slot_of_key: NDArray[np.uint8],
    slots: int,
) -> list[tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint64]]]:
    """Per slot the owners with a stat of it, ascending, and kind and value of each owner's first; 255: not wanted."""

def event_contexts(
    start: NDArray[np.uint32],
    key: NDArray[np.uint32],
    kind: NDArray[np.uint8],
    value: NDArray[np.uint64],
    role_of_key: NDArray[np.uint8],
) -> tuple[
    tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
]:
    """The contexts that events produce, and the contexts that they consume: events ascending, types and ids.

    Roles of a stat's key: 0 type and 1 id of a produced context, 2 and 3 of a consumed one; 255: none.
    """

def threadpool_regions(
    line_start: NDArray[np.int64],
    metadata: NDArray[np.uint32],
    begin: NDArray[np.int64],
    edge_of_row: NDArray[np.uint8],
    start: NDArray[np.uint32],
    key: NDArray[np.uint32],
    role_of_key: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Line, begin and duration of the span from the last start event with an id of what it consumes to each stop event.

    `edge_of_row`: per row of the event metadata 1 for start, 2 for stop events. `start`, `key`: the events' stats.
    """

def lookup(rows: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of `wanted` stands in `rows`, -1 where it does not; both strictly ascending."""

def merge_rows(first: NDArray[np.int64], second: NDArray[np.int64], replace: bool) -> NDArray[np.int64]:
    """Merges ascending rows: positions in their concatenation, the first list's before the second's among equals.

    With `replace`, of equal rows only the second list's stays; both lists are then strictly ascending.
    """

def mix(columns: list[NDArray[np.int64]]) -> NDArray[np.uint64]:
    """A 64-bit number for each tuple of numbers, one to one in the last column; columns of length 1 are repeated."""

def overlapping(
    ref_begin: NDArray[np.int64], ref_duration: NDArray[np.int64], begin: NDArray[np.int64], duration: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """For each event the first of the other events that overlaps it (closed, forward only), 2**32-1 for none."""

def enclosing(
    ref_begin: NDArray[np.int64], ref_duration: NDArray[np.int64], begin: NDArray[np.int64], duration: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """For each event the one of the other events that includes it (closed, forward only), 2**32-1 for none."""

def expand_lines(
    begin: NDArray[np.int64],
    duration: NDArray[np.int64],
    group: NDArray[np.int64],
    scope: NDArray[np.int64],
    stream: bool,
    lines: list[tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.uint32], list[int]]],
) -> list[
    tuple[
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.uint32],
        NDArray[np.int64],
        NDArray[np.uint8],
        NDArray[np.uint32],
    ]
]:
    """Builds derived lines from ordered events.

    Each line is (row per event or -1, start of each row's levels, name code per level, lines it closes); the answer per
    line is (begin, duration, code, group, level, first source event).
    """

def walk_order(begin: NDArray[np.int64], duration: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ascending rows `wanted` by begin, shortest first; equal events in the order of XProf's walk over all.

    In planes of more than 131072 events equal ones stay in file order.
    """

def pair_offload(
    begin: NDArray[np.int64],
    duration: NDArray[np.int64],
    key: NDArray[np.uint32],
    is_start: NDArray[np.bool_],
    max_rows: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Pairs starts with dones per key, first in first out: (start event, done event, row)."""

def hlo_program(data: NDArray[np.uint8], proto: int) -> dict[str, Any]:
    """The columns of the HloProto at a text value; names of the columns as in analysis/hlo/programs.py."""

# ---- buffers.rs

def hlo_buffers(data: NDArray[np.uint8], proto: int) -> dict[str, Any]:
    """The buffer assignment of the HloProto at a text value; names of the columns as in analysis/memory/buffers.py."""

def heap_replay(
    buffers: int, kind: NDArray[np.uint8], buffer: NDArray[np.int64], canonical: NDArray[np.int64]
) -> tuple[_U32, NDArray[np.int8], list[_U32], list[_U32]]:
    """Replays heap events about buffers numbered from 0: (storage, change) per event, held storage, spans of buffers.

    `change` times the storage's size moves at an event. Held storage is (buffer shown, first event, event that frees
    it), in the order in which it came into use; a span is (buffer, first event, last event).
    """

# ---- forest.rs

@final
class Contexts:
    """Links from all producers of a key to all its consumers, unless both are 64 or more."""

    def __new__(
        cls,
        nodes: int,
        producer: NDArray[np.uint32],
        producer_key: NDArray[np.uint64],
        consumer: NDArray[np.uint32],
        consumer_key: NDArray[np.uint64],
    ) -> Contexts:
        """Of node numbers below `nodes`."""

@final
class Forest:
    """The event forest of one host; nodes are numbered in the order they are added."""

    def __init__(self) -> None: ...
    def add_lines(
        self,
        line_start: NDArray[np.int64],
        begin: NDArray[np.int64],
        duration: NDArray[np.int64],
        skip: NDArray[np.bool_] | None = None,
        regions: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> int:
        """Adds the nested events of some lines, then regions; returns the number of the first node.

        `regions`: line (ascending), begin and duration of spans that are inserted into the lines' events, which on
        these lines are sorted by begin, then longest first.
        """

    def add_points(self, count: int) -> int:
        """Adds nodes without nesting; returns the number of the first."""

    def link(self, parent: NDArray[np.uint32], child: NDArray[np.uint32]) -> None:
        """Links pairs of nodes, replacing earlier links."""

    def connect(self, contexts: Contexts) -> None:
        """Links producers to consumers, replacing earlier contexts; takes them over. They must be of as many nodes."""

    def group(
        self, roots: NDArray[np.uint32], levels: tuple[NDArray[np.uint32], NDArray[np.int64]] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        """Groups the roots' descendants in turn: (group per node, root per group, parent groups, child groups).

        With `levels` (nodes, their root levels) roots that are grouped or below a root of their level are passed over.
        """

    def count_cores(
        self, cores: list[tuple[int, int]], first: int, group: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        """Goes on from `group`: ungrouped nodes of each core (a range) open groups, numbered from `first` on each.

        The answer has the form of `group`; of roots that share a number, the last core's is returned.
        """

    def nearest(self, nodes: NDArray[np.uint32], marked: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """For each node the nearest marked node among itself and its ancestors, breadth first; 2**32-1 for none."""

# ---- timeline/

class _TableLike(Protocol):
    @property
    def begin_ps(self) -> _I64: ...
    @property
    def duration_ps(self) -> _I64: ...
    @property
    def metadata(self) -> _U32: ...
    @property
    def names(self) -> _U32: ...
    @property
    def removed(self) -> _U8 | None: ...
    @property
    def group_id(self) -> _I64 | None: ...
    @property
    def renamed_event(self) -> _U32: ...
    @property
    def renamed_name(self) -> _U32: ...
    @property
    def flow_event(self) -> _U32: ...
    @property
    def flow_value(self) -> _U64: ...
    @property
    def async_event(self) -> _U32: ...

class _StatsLike(Protocol):
    @property
    def start(self) -> _U32: ...
    @property
    def key(self) -> _U32: ...
    @property
    def kind(self) -> _U8: ...
    @property
    def value(self) -> _U64: ...

class _SheetLike(Protocol):
    @property
    def metadata(self) -> _U32: ...
    @property
    def long_name(self) -> _U32: ...
    @property
    def metadata_stats(self) -> _StatsLike: ...
    @property
    def metadata_row(self) -> _I64 | None: ...
    @property
    def event_stats(self) -> _StatsLike: ...
    @property
    def event_row(self) -> _I64 | None: ...
    @property
    def keys(self) -> _U32: ...
    @property
    def refs(self) -> _U32: ...
    @property
    def integers(self) -> Sequence[tuple[int, _U32, _I64]]: ...
    @property
    def texts(self) -> Sequence[tuple[int, _U32, _U32]]: ...

class _ArgsLike(Protocol):
    @property
    def data(self) -> _U8: ...
    @property
    def sheets(self) -> Sequence[_SheetLike]: ...
    @property
    def keys(self) -> TraceNames: ...
    @property
    def texts(self) -> TraceNames: ...
    @property
    def long_name(self) -> int: ...
    @property
    def group_id(self) -> int: ...
    @property
    def flow(self) -> int: ...

@final
class TraceNames:
    def __new__(cls, names: list[str]) -> TraceNames: ...
    def __len__(self) -> int: ...

@final
class TraceSelection:
    def __len__(self) -> int: ...

@final
class Trace:
    @property
    def span(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    def track_sizes(self) -> _U32: ...
    def track_rows(self) -> _U32: ...
    def is_async(self, track: int) -> bool: ...
    def event(self, track: int, index: int) -> tuple[int, int, int, int, int, int] | None: ...
    def ancestors(self, track: int, index: int) -> list[tuple[int, int]]: ...
    def flow(self, track: int, index: int) -> tuple[int, str, str] | None: ...
    def find(self, pid: _U32, begin: _I64, duration: _I64, name: _U32) -> tuple[_I64, _U32, _U32]: ...
    def flow_ends(self, id: int, limit: int, threads: int) -> list[tuple[int, int]]: ...
    def on_tracks(self, threads: int) -> int: ...
    def compute_levels(self, threads: int) -> None: ...
    def sums(
        self, areas: tuple[_U32, _U32, _U32], begin: int, end: int
    ) -> tuple[_U32, _I64, _I64, _I64, _I64, _I64]: ...
    def select(self, begin: int, end: int, resolution: int, middles: bool, threads: int) -> TraceSelection: ...
    def select_named(self, wanted: _U8, middles: bool, threads: int) -> TraceSelection: ...
    def select_older(self, cap: int, threads: int) -> TraceSelection: ...
    def select_one(self, name: int, begin: int, duration: int, serial: int, threads: int) -> TraceSelection: ...

@final
class TracePreview:
    """The recorded lines of a host's file as tracks, read again for each picture; see `trace_columns`."""

    def __new__(
        cls,
        data: _U8,
        tables: Sequence[tuple[int, _I64, _U32]],
        lines: tuple[_U32, _U32, _U32],
        tracks: tuple[_U32, _U32],
        names: list[str],
        threads: int,
    ) -> TracePreview: ...
    @property
    def span(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    def track_sizes(self) -> _U32: ...
    def track_rows(self) -> _U32: ...
    def is_async(self, track: int) -> bool: ...

def preview_columns(
    previews: Sequence[TracePreview], window: tuple[int, int], columns: int, limit: int, head: bytes, threads: int
) -> bytes: ...

@final
class PerfettoWriter:
    """Writes the packets of one host's timeline, one sequence of Perfetto.

    `window`: begin and end in ps of the events that are written, those that reach into it included.
    """

    def __new__(
        cls,
        trace: Trace,
        sequence: int,
        origin_ns: int,
        shift_ps: int,
        first_flow: int,
        categories: list[str],
        window: tuple[int, int] | None = None,
    ) -> PerfettoWriter: ...
    @property
    def next_flow(self) -> int:
        """The least number that no flow has so far."""

    def add(self, track: int, uuid: int) -> int:
        """Adds a track to those to be written; returns the number of its lanes, on each of which events nest.

        Its lanes are tracks from `uuid` on; 0 without events.
        """

    def events(self, args: _ArgsLike, most: int) -> bytes:
        """Packets of the next events of the added tracks, at most `most`; empty at their end."""

    def counter(self, uuid: int, begin: _I64, value: _F64) -> bytes:
        """Packets of the samples of a counter."""

def perfetto_events(
    sequence: int,
    origin_ns: int,
    events: tuple[_I64, _I64, _I64, _I64],
    arguments: tuple[_I64, _I64, _U8, _U64],
    flows: tuple[_I64, _U64, NDArray[np.bool_]],
) -> bytes:
    """Packets of events in columns, each followed by its end; those without a duration are instants.

    Args:
      events: track, begin and duration in ps, number of the name from 0.
      arguments: event, number of the name, kind, value (of a text its number), by event; a repeated name is a list.
      flows: event, number, and whether it leaves at the event's end, by event.
    """

def perfetto_samples(sequence: int, origin_ns: int, track: int, begin_ps: _I64, value: _F64) -> bytes:
    """Packets of the samples of a counter: of integers, if all values are."""

def build_trace(
    tables: Sequence[_TableLike],
    segments: tuple[_U32, _I64, _I64, _U32],
    tracks: tuple[_U32, _U32],
    names: list[str],
    tpus: list[int],
    samples: tuple[_I64, _I64, _U32, _U32],
    threads: int,
) -> Trace: ...
def trace_json(
    hosts: Sequence[tuple[Trace, TraceSelection, int]],
    head: Sequence[tuple[bytes, bytes]],
    tail: tuple[bytes, bytes],
    threads: int,
) -> bytes: ...
def trace_json_part(host: tuple[Trace, TraceSelection, int], threads: int) -> tuple[bytes, int, int]: ...
def gzip_of(parts: Sequence[tuple[bytes, int, int]]) -> bytes: ...
def trace_typed(
    trace: Trace, selection: TraceSelection, pid_offset: int, args: _ArgsLike, frames: _U32, threads: int
) -> bytes: ...
def trace_args(args: _ArgsLike, source: int) -> bytes: ...
def trace_legacy(
    trace: Trace,
    selection: TraceSelection,
    args: _ArgsLike,
    pid_offset: int,
    part: tuple[int, int],
    head: bytes,
    tail: bytes,
    threads: int,
) -> tuple[bytes, int]:
    """Selected events from chunk `part[0]` on, about `part[1]` of them; and the next chunk, 0 at the end."""

def trace_columns(
    traces: Sequence[Trace],
    window: tuple[int, int],
    columns: int,
    limit: int,
    head: bytes,
    further: tuple[Sequence[tuple[str, _F64]], Sequence[tuple[str, _U32]], Sequence[tuple[str, list[str]]]],
    threads: int,
) -> bytes: ...
def sniff_trace(head: _U8) -> tuple[bool, bool, int | None]: ...
def snapshot_space(data: _U8) -> tuple[_U8, int, int, int]:
    """A snapshot of PyTorch's allocator as an XSpace: the bytes, entries of the history, those of them without a time,
    and texts of call stacks that are left out. Raises DecodeError for what is no pickle of plain values.
    """

@final
class TraceReader:
    """Traces of events as JSON, of PyTorch's profiler or any other writer, read in pieces on a thread of its own."""

    def __new__(cls, pytorch: bool) -> TraceReader: ...
    def feed(self, piece: _U8) -> None:
        """Gives the next piece of the text to the reader; raises DecodeError, perhaps for an earlier piece."""
    def finish(
        self,
    ) -> tuple[_U8, list[tuple[str, int, int, str, int, int]], list[tuple[str, str, int, int]]]:
        """The XSpace, and what was left out or mended: the kind of part ("damaged", "mended", "stray", "key", "cut" or
        "unread"), where the first one begins, the byte at which it cannot be read and why, their number and size.

        Last the lines with events of impossible times: plane, line, how many are left out, how many end earlier.
        """

@final
class ZstdReader:
    """The content of a Zstandard file."""

    def __new__(cls, data: _U8) -> ZstdReader: ...
    def read(self, most: int) -> _U8:
        """The next bytes, at most so many, none at the end; raises DecodeError behind the last that can be read."""

def is_records(data: _U8) -> bool: ...
def space_of_records(data: _U8, most: int, base: int, ratio: int) -> tuple[_U8, int, list[tuple[int, int, str]]]: ...
def trace_counter(pid: int, name: str, series: str, begin: _I64, value: _F64, legacy: bool) -> bytes: ...
def trace_series(
    hosts: Sequence[tuple[Trace, TraceSelection, int]],
    counters: Sequence[tuple[int, str, str, _I64, _F64, bool]],
    threads: int,
) -> bytes: ...
def visible_samples(begin: _I64, window: tuple[int, int], step: int) -> _U32: ...
def trace_search(traces: Sequence[tuple[Trace, _U8, _U8]], limit: int, head: bytes) -> bytes: ...
def trace_args_matching(trace: Trace, args: _ArgsLike, text: str, fold: bool) -> _U8: ...

# ---- steps.rs

def self_times(begin: NDArray[np.int64], duration: NDArray[np.int64]) -> NDArray[np.int64]:
    """Time of each event without its direct children; an event includes later ones (closed) until one leaves it."""

def nested_times(
    start: NDArray[np.int64], begin: NDArray[np.int64], duration: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Self time (not below 0) and depth of each event, per line (start has one more), by begin, longest first."""

def activity_self_times(
    start: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per line (start has one more): own times (-2**63 where an activity is lost), first and last time of each line."""

def totals_by_key(
    key: NDArray[np.uint32], time: NDArray[np.int64], own: NDArray[np.int64], clock: NDArray[np.int64], keys: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per key: occurrences, sums of time and own, least clock (0 without events); keys beyond `keys` do not count."""

def core_ops(
    begin: NDArray[np.int64],
    duration: NDArray[np.int64],
    row: NDArray[np.uint32],
    rows: int,
    duty: NDArray[np.uint8],
    start: NDArray[np.uint32],
    key: NDArray[np.uint32],
    kind: NDArray[np.uint8],
    value: NDArray[np.uint64],
    clock_keys: tuple[int, int],
) -> tuple[
    tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    tuple[int, int] | None,
    tuple[int, int] | None,
    tuple[NDArray[np.int64], NDArray[np.int64]],
    tuple[NDArray[np.int64], NDArray[np.int64]],
]:
    """One op line: sums per row (occurrences, time, own, least), spans on both clocks, begins and ends of work.

    `duty` per event is 0 for work, 1 for custom calls, 2 for waiting. The first intervals are those in which the
    innermost op is no wait, the second those in which it is work. `rows` is one more than the greatest row.
    """

def line_contents(
    start: NDArray[np.int64], begin: NDArray[np.int64], duration: NDArray[np.int64], row: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per line (start has one more): first begin, last end, time covered, number of different rows; 0 if empty."""

def covered(begin: NDArray[np.int64], duration: NDArray[np.int64]) -> int:
    """Time covered by at least one interval."""

def priority_times(
    group: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    priority: NDArray[np.uint8],
    groups: NDArray[np.int64],
    window_begin: NDArray[np.int64],
    window_end: NDArray[np.int64],
    slots: int,
    instants: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Per one of `groups` (strictly ascending) `slots` values each: how long a priority was the highest.

    In all, and in the group's window; the last array tells whether it ever was, if only for an instant. Spans are in
    any order; spans of other groups do not count, nor instants unless `instants`.
    """

# ---- times.rs

def union_times(parts: Sequence[tuple[_I64, _I64, NDArray[np.bool_] | None]], instants: bool) -> tuple[_I64, _I64]:
    """Disjoint ascending spans of the union of spans: of all those in a part, or of those that its last column marks.

    Spans without length cover nothing; with `instants` they stay as spans of their own where nothing else is.
    """

def covered_after(parts: Sequence[tuple[_I64, _I64, NDArray[np.bool_] | None]], point: int) -> tuple[int, int]:
    """The time that the spans of all parts cover, and how much of it lies after a point in time."""

def intersect_times(one: tuple[_I64, _I64], other: tuple[_I64, _I64]) -> tuple[_I64, _I64]:
    """Time in both sets of disjoint ascending spans."""

def subtract_times(one: tuple[_I64, _I64], other: tuple[_I64, _I64]) -> tuple[_I64, _I64]:
    """Time in the first set of disjoint ascending spans and not in the second."""

def step_shift(one: tuple[_I64, _I64], other: tuple[_I64, _I64]) -> int:
    """The index offset (one - other) of two series of steps with the longest overlap; ties in the order 0, 1, -1 last.

    Steps are begins and ends, in any order. With ends out of order, whichever step ends first is left behind.
    """

def covered_within(begin: _I64, end: _I64, since: _I64, until: _I64) -> _I64:
    """Per window, the time that disjoint ascending spans cover."""

def thread_levels(begin: _I64, end: _I64, most: int) -> tuple[_I64, _I64]:
    """Events by depth, then by begin, longest first, and where each depth starts; without those at `most` or below."""

def time_shares(times: tuple[_I64, _I64], begin: _I64, end: _I64, most: int) -> _I64:
    """Time of a set that each span covers, shared evenly among the spans that run at once, at most `most` of them."""

def thread_stacks(begin: _I64, end: _I64, name: _I64, most: int) -> tuple[_I64, _I64, _I64, _I64, _I64]:
    """Stacks of a thread: (begin, end, node) of spans with one innermost call, and (parent, name) of each node.

    Calls of one name with the same stack are one node; calls deeper than `most` count as their callers.
    """

def overlaps(one: tuple[_I64, _I64], other: tuple[_I64, _I64]) -> tuple[_I64, _I64, _I64]:
    """Where spans of two disjoint ascending sets overlap: indices into both, and for how long."""

def pair_in_order(key: _I64, opens: NDArray[np.bool_]) -> tuple[_I64, _I64]:
    """Pairs openings with closings of the same small key, first in first out; negative keys take no part."""

def step_work(
    parts: list[tuple[_I64, _I64, _I32, _U8, _I64, tuple[_I64, _I64]]], kind: int, keys: int, few: int
) -> tuple[_I64, _F64, _I64]:
    """Per slot the time of runs in steps, that in each of the first `few` steps, and the number that begin in steps.

    A part has runs by begin (begin, end, op, kind of work), the slot of each op, and begins and ends of steps in time
    order. Runs of `kind` count; a moment counts for the run of its part that began first.
    """

def json_integers(values: _I64) -> bytes:
    """Integers of any shape, in C order, as nested lists."""

# ---- replay.rs

def replay(
    edges: tuple[_I64, _U32, _I64], delay: _I64, duration: _I64, cut: NDArray[np.bool_] | None = None
) -> tuple[_I64, _I64]:
    """When nodes end that begin `delay` after the latest of their edges, and the edge that binds each, -1 for none.

    `edges`: where the edges of each node start (one more), the node that each comes from, and the least time after
    that node's end. Sources come before their nodes. Edges marked in `cut` do not count.
    """

def binding_path(source: _U32, binding: _I64, node: int) -> _I64:
    """The nodes of the chain that determines when a node ends, last first; `source` as of `replay`."""
