"""XSpace: the protobuf message that XLA's profilers write."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.formats.format import Format, Skipped, Unpacked
from tpu_profile_plugin.suffixes import XPLANE

_OTHER_HOST = "other_host"


def read(content: U8) -> Unpacked:
    """The content itself; of files that hold the profiles of several hosts, one behind the other, the first.

    Protobuf takes them for one profile of all planes, which would put the clocks of different hosts on one axis.
    """
    found = _native.second_profile(content)
    if found is None:
        return Unpacked(content)
    begin, *values = found
    first, behind = (_native.texts(content, np.array(hosts, np.uint64)) for hosts in values)
    others = [host for host in dict.fromkeys(behind) if host not in first]
    if not others:
        return Unpacked(content)
    reason = f"they are the profile of {', '.join(others)}, behind that of {first[0]}; put each into a file of its own"
    return Unpacked(content[:begin], (Skipped(begin, len(content) - begin, reason, _OTHER_HOST),))


FORMAT = Format(name="XSpace", suffixes=(XPLANE,), sniff=lambda content: True, read=read)
