"""Unpacks Riegeli record files, in which profilers save a long capture part by part, into one XSpace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.errors import CorruptProfile

MAX_BYTES = 64 << 30
"""Parts of a file beyond this many decompressed bytes are left out."""

BASE_BYTES, MAX_RATIO = 16 << 20, 100
"""So are parts beyond BASE_BYTES + MAX_RATIO * the size of the file; profiles compress 5 to 20 times."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A damaged or unsupported part of a record file: byte offset and size in the file, and why it was left out."""

    offset: int
    bytes: int
    reason: str


def is_records(data: NDArray[np.uint8]) -> bool:
    """Whether the bytes are a record file; its begin may be damaged."""
    return _native.is_records(data)


def space_of_records(data: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], tuple[Skipped, ...]]:
    """The bytes of one XSpace with the contents of all records, and what was left out.

    Raises:
      CorruptProfile: parts were left out and no record remains; `details["offset"]` is the first one's.
    """
    space, count, parts = _native.space_of_records(data, MAX_BYTES, BASE_BYTES, MAX_RATIO)
    skipped = tuple(Skipped(*part) for part in parts)
    if skipped and not count:
        raise CorruptProfile(f"the record file has no readable record: {skipped[0].reason}", offset=skipped[0].offset)
    return space, skipped
