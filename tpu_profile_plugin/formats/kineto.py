"""Traces of PyTorch's own profiler: Kineto's Chrome trace JSON, one file per rank."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats.format import Format, Skipped, Unpacked
from tpu_profile_plugin.suffixes import PYTORCH
from tpu_profile_plugin.units import MIB

_HEAD = 256 << 10
_PIECE = 4 * MIB
_BEGIN = re.compile(rb'\s*\{\s*"')
# What no other writer of trace events has; keys of the header come before the events, as a rule.
_SIGN = re.compile(
    rb'"(?:schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds)"\s*:'
    rb'|"cat"\s*:\s*"(?:cpu_op|cuda_runtime|cuda_driver|python_function|gpu_memcpy|gpu_user_annotation)"'
)


def _sniff(content: U8) -> bool:
    head = content[:_HEAD].tobytes()
    return _BEGIN.match(head) is not None and _SIGN.search(head) is not None


def _read(content: U8) -> Unpacked:
    return _read_pieces(content[begin : begin + _PIECE] for begin in range(0, len(content), _PIECE))


def _read_pieces(pieces: Iterable[U8]) -> Unpacked:
    """The trace as an XSpace; offsets count bytes of the text."""
    reader, length = _native.KinetoReader(), 0
    try:
        for piece in pieces:
            length += len(piece)
            reader.feed(piece)
        space, cut, damaged = reader.finish()
    except _native.DecodeError as error:
        message, offset = error.args
        raise CorruptProfile(message, offset=offset) from None
    _native.give_back_memory()  # the reader has freed more than the result takes
    skipped = []
    if damaged is not None:
        first, at, what, count, size = damaged
        more = f", nor are {count - 1} later ones" if count > 1 else ""
        skipped.append(Skipped(first, size, f"an event is no JSON: {what} at byte {at:,}{more}"))
    if cut is not None:
        skipped.append(Skipped(cut, length - cut, "the text ends in the middle: the trace was cut off"))
    space.flags.writeable = False
    return Unpacked(space, tuple(skipped))


FORMAT = Format(name="PyTorch trace", suffixes=PYTORCH, sniff=_sniff, read=_read, read_pieces=_read_pieces)
