"""What an importer declares, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tpu_profile_plugin.columns.arrays import U8


@dataclass(frozen=True, slots=True)
class Skipped:
    """A damaged or unsupported part of a file: byte offset and size in the file, and why it was left out."""

    offset: int
    bytes: int
    reason: str


class Unpacked(NamedTuple):
    """A file as the bytes of one XSpace, and the parts of the file that were left out."""

    space: U8
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    The result of `read` is the bytes of an XSpace rather than columns: `columns` decodes its planes on demand and with
    filters, so that every format is read lazily without code of its own.

    Attributes:
      name: the format in prose.
      suffixes: endings of its file names.
      sniff: whether a file's content is of this format; quick, whatever the size. Content is decompressed.
      read: converts the content; raises CorruptProfile.
      read_pieces: converts content that arrives in pieces, so that a compressed file is never held as text; None for
        formats that need all of it.
    """

    name: str
    suffixes: tuple[str, ...]
    sniff: Callable[[U8], bool]
    read: Callable[[U8], Unpacked]
    read_pieces: Callable[[Iterable[U8]], Unpacked] | None = None
