"""Trace-event JSON, which JAX saves beside a profile: an object with `traceEvents`, or the bare list."""

from __future__ import annotations

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8, byte_array
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats.format import Format, Unpacked
from tpu_profile_plugin.suffixes import TRACE_JSON


def _sniff(content: U8) -> bool:
    """Whether a JSON object or list begins, which no XSpace does: neither byte is the tag of a field.

    White space is not skipped. An XSpace may begin with a line break (the tag of a plane) and a brace (its length).
    """
    return content[:1].tobytes() in (b"{", b"[")


def _read(content: U8) -> Unpacked:
    """The events as an XSpace; the offset of an error counts in the decompressed text."""
    try:
        return Unpacked(byte_array(_native.space_of_trace_events(content)))
    except _native.DecodeError as error:
        message, offset = error.args
        raise CorruptProfile(message, offset=offset) from None


FORMAT = Format(name="trace-event JSON", suffixes=(TRACE_JSON,), sniff=_sniff, read=_read)
