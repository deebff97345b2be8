"""Texts in UTF-16 as UTF-8, which the readers of traces expect."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

from tpu_profile_plugin.columns.arrays import U8, byte_array

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_utf16(content: U8) -> bool:
    """Whether the content begins with the byte order mark of UTF-16; no profile of another format does."""
    return content[:2].tobytes() in _MARKS


def as_utf8(pieces: Iterable[U8]) -> Iterator[U8]:
    """The pieces of a content, in UTF-8 if they are text in UTF-16; what is none is replaced."""
    rest = iter(pieces)
    first = next(rest, None)
    if first is None:
        return
    if not is_utf16(first):
        yield from chain([first], rest)
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for piece in chain([first], rest):
        if text := decoder.decode(piece.tobytes()):
            yield byte_array(text.encode("utf-8", "replace"))
    if text := decoder.decode(b"", final=True):
        yield byte_array(text.encode())
