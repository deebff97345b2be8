"""Riegeli record files, in which profilers save a long capture part by part: every record is an XSpace."""

from __future__ import annotations

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8, byte_array
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats.format import Format, Skipped, Unpacked
from tpu_profile_plugin.suffixes import RIEGELI

MAX_BYTES = 64 << 30
"""Parts of a file beyond this many decompressed bytes are left out."""

BASE_BYTES, MAX_RATIO = 16 << 20, 100
"""Parts beyond BASE_BYTES + MAX_RATIO * the size of the file are left out; profiles compress 5 to 20 times."""


def _read(content: U8) -> Unpacked:
    """One XSpace with the contents of all records; fails if parts were left out and no record remains."""
    space, count, parts = _native.space_of_records(content, MAX_BYTES, BASE_BYTES, MAX_RATIO)
    skipped = tuple(Skipped(*part) for part in parts)
    if skipped and not count:
        raise CorruptProfile(f"the record file has no readable record: {skipped[0].reason}", offset=skipped[0].offset)
    return Unpacked(byte_array(space), skipped)


# The native core looks at several headers: the first one may be damaged.
FORMAT = Format(name="record file", suffixes=(RIEGELI,), sniff=_native.is_records, read=_read)
