"""Traces of events as JSON, read piece by piece: PyTorch's (Kineto, a file per rank), and those of other writers.

JAX saves a trace beside a profile. A trace is an object with `traceEvents`, or the bare list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.columns.space import ImpossibleTimes
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import foreign
from tpu_profile_plugin.formats.format import CUT, Format, Skipped, Unpacked
from tpu_profile_plugin.units import MIB

_HEAD = 256 << 10
_PIECE = 4 * MIB
_NO_EVENTS = "no list of events"


def _is_pytorch(content: U8) -> bool:
    """Whether the text has keys, categories or names that no other writer of trace events has."""
    return _native.sniff_trace(content[:_HEAD])[1]


def _is_trace(content: U8) -> bool:
    """Whether a JSON object or list begins, which no XSpace does: neither byte is the tag of a field.

    Behind white space only a trace is one. An XSpace may begin with a line break (the tag of a plane) and a brace (its
    length).
    """
    return content[:1].tobytes() in (b"{", b"[") or _native.sniff_trace(content[:_HEAD])[0]


def pieces_of(content: U8) -> Iterator[U8]:
    return (content[begin : begin + _PIECE] for begin in range(0, len(content), _PIECE))


def _read_pieces(pytorch: bool, pieces: Iterable[U8]) -> Unpacked:
    """The trace as an XSpace; offsets count bytes of the text."""
    reader, length, head = _native.TraceReader(pytorch), 0, np.zeros(0, np.uint8)
    try:
        for piece in pieces:
            if not length:
                head = piece[:_HEAD].copy()
            length += len(piece)
            reader.feed(piece)
        space, losses, times = reader.finish()
    except _native.DecodeError as error:
        message, offset = error.args
        if message.startswith(_NO_EVENTS):
            foreign.refuse_json(head.tobytes(), offset)
        raise CorruptProfile(message, offset=offset) from None
    _native.give_back_memory()  # the reader has freed more than the result takes
    space.flags.writeable = False
    skipped = tuple(_skipped(*loss, length) for loss in losses)
    return Unpacked(space, skipped, tuple(ImpossibleTimes(*line) for line in times))


def _skipped(kind: str, begin: int, place: int, what: str, count: int, size: int, length: int) -> Skipped:
    more = ("", ", nor is a later one")[count - 1] if count < 3 else f", nor are {count - 1} later ones"
    several = count > 1
    match kind:
        case "damaged":
            return Skipped(begin, size, f"an event is no JSON: {what} at byte {place:,}{more}", "damaged_events")
        case "mended":
            text = f"{count:,} events that are no JSON were repaired, the first" if several else "An event was repaired"
            return Skipped(begin, 0, f"{text} at byte {place:,}: {what}.", "repaired_events")
        case "stray":
            reason = "text between events, as two processes leave it that write one file"
            return Skipped(begin, size, reason, "stray_text")
        case "key":
            reason = f"the value of {what!r} is no JSON{more}" if what else f"a key is no JSON{more}"
            return Skipped(begin, size, reason, "damaged_header")
        case "cut":
            return Skipped(begin, length - begin, "the text ends in the middle: the trace was cut off", CUT)
        case _:
            return Skipped(0, 0, _unread(what, count), "unread_events")


def _unread(what: str, count: int) -> str:
    """What events are not read: of a `category NAME`, of `no category`, or of a `phase P`."""
    kind, _, name = what.partition(" ")
    events = f"{count:,} events" if count > 1 else "1 event"
    if kind == "phase":
        return f"{events} of phase {name} not read: the profiler writes whole events, of phase X."
    of = f"of category {name}" if kind == "category" else "without a category"
    return f"{events} {of} not read: neither on a thread of the host nor on a known device."


def _format(name: str, sniff: Callable[[U8], bool], pytorch: bool) -> Format:
    read_pieces = partial(_read_pieces, pytorch)
    return Format(name, sniff, lambda content: read_pieces(pieces_of(content)), read_pieces)


PYTORCH_TRACE = _format("PyTorch trace", _is_pytorch, pytorch=True)
TRACE_EVENTS = _format("trace-event JSON", _is_trace, pytorch=False)
