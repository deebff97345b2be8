"""XSpace, the protobuf message that XLA's profilers write, and Riegeli record files of them.

Profilers save a long capture part by part in a record file; every record is an XSpace.
"""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8, byte_array
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats.format import Format, Skipped, Unpacked

_OTHER_HOST = "other_host"


def _read_space(content: U8) -> Unpacked:
    """The content itself; of files that hold the profiles of several hosts, one behind the other, the first.

    Protobuf takes them for one profile of all planes, which would put the clocks of different hosts on one axis.
    """
    second = _native.second_profile(content)
    if second is None:
        return Unpacked(content)
    begin, *values = second
    first, behind = (_native.texts(content, np.array(hosts, np.uint64)) for hosts in values)
    others = [host for host in dict.fromkeys(behind) if host not in first]
    if not others:
        return Unpacked(content)
    reason = f"they are the profile of {', '.join(others)}, behind that of {first[0]}; put each into a file of its own"
    return Unpacked(content[:begin], (Skipped(begin, len(content) - begin, reason, _OTHER_HOST),))


XSPACE = Format(name="XSpace", sniff=lambda content: True, read=_read_space)


MAX_BYTES = 64 << 30
"""Parts of a file beyond this many decompressed bytes are left out."""

BASE_BYTES, MAX_RATIO = 16 << 20, 100
"""Parts beyond BASE_BYTES + MAX_RATIO * the size of the file are left out; profiles compress 5 to 20 times."""


def _read_records(content: U8) -> Unpacked:
    """One XSpace with the contents of all records; fails if parts were left out and no record remains."""
    space, count, parts = _native.space_of_records(content, MAX_BYTES, BASE_BYTES, MAX_RATIO)
    skipped = tuple(Skipped(*part) for part in parts)
    if skipped and not count:
        raise CorruptProfile(f"the record file has no readable record: {skipped[0].reason}", offset=skipped[0].offset)
    return Unpacked(byte_array(space), skipped)


# The native core looks at several headers: the first one may be damaged.
RECORD_FILE = Format(name="record file", sniff=_native.is_records, read=_read_records)
