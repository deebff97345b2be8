"""The list of formats, and detection of a file's format by its content, also of compressed files."""

from __future__ import annotations

from itertools import chain

from tpu_profile_plugin.columns.arrays import U8, Bytes, byte_array
from tpu_profile_plugin.formats import compressed, kineto, record_file, trace_events, xspace
from tpu_profile_plugin.formats.format import Format, Unpacked

FORMATS = (record_file.FORMAT, kineto.FORMAT, trace_events.FORMAT, xspace.FORMAT)
"""The first format whose `sniff` accepts the content reads it. XSpace is last: without magic bytes it accepts all."""


def format_of(content: U8) -> Format:
    """The format of a file's decompressed content."""
    return next(format_ for format_ in FORMATS if format_.sniff(content))


def unpack(data: Bytes) -> Unpacked:
    """The bytes of an XSpace, read-only, converted from whatever format `data` has; an XSpace is not copied.

    Raises:
      CorruptProfile: the file cannot be read. An XSpace is checked only when it is decoded.
    """
    content = byte_array(data)
    return _convert(content) if compressed.is_compressed(content) else format_of(content).read(content)


def is_converted(data: Bytes) -> bool:
    """Whether `unpack` makes other bytes of the data."""
    content = byte_array(data)
    return compressed.is_compressed(content) or format_of(content) is not xspace.FORMAT


def _convert(content: U8) -> Unpacked:
    parts = compressed.pieces(content)
    head = next(parts)
    if (read := format_of(head).read_pieces) is not None:
        return read(chain([head], parts))
    content = compressed.joined(chain([head], parts))
    return format_of(content).read(content)
