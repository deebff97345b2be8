"""Trace-event JSON, which JAX saves beside a profile: an object with `traceEvents`, or the bare list."""

from __future__ import annotations

from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.formats.format import Format, Unpacked
from tpu_profile_plugin.formats.trace_text import pieces_of, reader, sniffed
from tpu_profile_plugin.suffixes import TRACE_JSON

_read_pieces = reader(pytorch=False)


def _sniff(content: U8) -> bool:
    """Whether a JSON object or list begins, which no XSpace does: neither byte is the tag of a field.

    Behind white space only a trace is one. An XSpace may begin with a line break (the tag of a plane) and a brace (its
    length).
    """
    return content[:1].tobytes() in (b"{", b"[") or sniffed(content)[0]


def _read(content: U8) -> Unpacked:
    return _read_pieces(pieces_of(content))


FORMAT = Format(name="trace-event JSON", suffixes=(TRACE_JSON,), sniff=_sniff, read=_read, read_pieces=_read_pieces)
