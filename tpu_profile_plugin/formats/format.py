"""The declaration of an importer, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.columns.space import ImpossibleTimes

LEFT_OUT = "skipped_records"
"""The code of parts of a record file that were left out."""
CUT = "cut_off"
"""The code of a text that ends in the middle."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a file that was left out or repaired.

    Attributes:
      offset: its first byte in the file; of text that was compressed, in the text.
      bytes: its size there; 0 if the reason is a sentence that says everything.
      reason: why it was left out.
      code: stable identifier, lower_snake_case.
    """

    offset: int
    bytes: int
    reason: str
    code: str = LEFT_OUT

    @property
    def sentence(self) -> str:
        if not self.bytes:
            return self.reason
        return f"{self.bytes:,} bytes at offset {self.offset:,} were left out: {self.reason}. The rest is shown."


class Unpacked(NamedTuple):
    """A file as the bytes of one XSpace, the parts of the file that were left out, and events with impossible times."""

    space: U8
    skipped: tuple[Skipped, ...] = ()
    impossible: tuple[ImpossibleTimes, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One file format; the endings of its file names are in `suffixes.py`.

    The result of `read` is the bytes of an XSpace rather than columns: `columns` decodes its planes on demand and with
    filters, so that every format is read lazily without code of its own.

    Attributes:
      name: the format in prose.
      sniff: whether a file's content is of this format; quick, whatever the size. Content is decompressed.
      read: converts the content; raises CorruptProfile.
      read_pieces: converts content that arrives in pieces, so that a compressed file is never held as text; None for
        formats that need all of it.
    """

    name: str
    sniff: Callable[[U8], bool]
    read: Callable[[U8], Unpacked]
    read_pieces: Callable[[Iterable[U8]], Unpacked] | None = None
