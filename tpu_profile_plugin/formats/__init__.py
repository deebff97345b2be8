"""Files of any profile format as the bytes of one XSpace, which `columns` decodes; the content tells the format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from tpu_profile_plugin.columns.arrays import U8, Bytes, byte_array
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import foreign, packing
from tpu_profile_plugin.formats.format import CUT, LEFT_OUT, Format, Skipped, Unpacked
from tpu_profile_plugin.formats.snapshot import SNAPSHOT
from tpu_profile_plugin.formats.traces import PYTORCH_TRACE, TRACE_EVENTS, pieces_of
from tpu_profile_plugin.formats.xspace import RECORD_FILE, XSPACE

__all__ = ["CUT", "FORMATS", "LEFT_OUT", "Format", "Skipped", "Unpacked", "format_of", "is_converted", "unpack"]

FORMATS = (RECORD_FILE, SNAPSHOT, PYTORCH_TRACE, TRACE_EVENTS, XSPACE)
"""The first format whose `sniff` accepts the content reads it. XSpace is last: without magic bytes it accepts all."""


def format_of(content: U8) -> Format:
    return next(format_ for format_ in FORMATS if format_.sniff(content))


def unpack(data: Bytes) -> Unpacked:
    """The bytes of an XSpace, read-only, converted from whatever format `data` has; an XSpace is not copied.

    Raises:
      CorruptProfile: the file cannot be read. An XSpace is checked only when it is decoded.
    """
    content = byte_array(data)
    if packing.is_compressed(content):
        return _decompressed(packing.Pieces(content))
    if packing.is_utf16(content):
        return _convert(packing.as_utf8(pieces_of(content)))
    return _read(content)


def is_converted(data: Bytes) -> bool:
    """Whether `unpack` makes other bytes of the data."""
    content = byte_array(data)
    if packing.is_compressed(content) or packing.is_utf16(content):
        return True
    return format_of(content) is not XSPACE


def _decompressed(parts: packing.Pieces) -> Unpacked:
    """The content of a compressed file; of text that ends early, what can be read of it."""
    try:
        made = _convert(packing.as_utf8(parts), lambda: parts.damage)
    except CorruptProfile as error:
        raise parts.damage or error from None
    damage = parts.damage
    if damage is None:
        return made
    if not len(made.space):
        raise damage
    cut = [replace(part, reason=damage.message) if part.code == CUT else part for part in made.skipped]
    if not any(part.code == CUT for part in cut):
        end = damage.details["offset"]
        what = damage.message[:1].upper() + damage.message[1:]
        cut.append(Skipped(end, 0, f"{what}, behind byte {end:,} of its content.", CUT))
    return made._replace(skipped=tuple(cut))


def _convert(parts: Iterator[U8], damage: Callable[[], CorruptProfile | None] = lambda: None) -> Unpacked:
    """The content that arrives in pieces; `damage` tells why they end early, which only text may do."""
    head = next(parts, None)
    if head is None:
        raise damage() or CorruptProfile("the file is empty", offset=0)
    if (read := format_of(head).read_pieces) is not None:
        return read(chain([head], parts))
    content = packing.joined(chain([head], parts))
    if (broken := damage()) is not None:
        raise broken
    return _read(content)


def _read(content: U8) -> Unpacked:
    """The content as an XSpace; what no other importer claims, and is no XSpace, is refused by its name."""
    format_ = format_of(content)
    if format_ is XSPACE:
        foreign.refuse(content)
    return format_.read(content)
