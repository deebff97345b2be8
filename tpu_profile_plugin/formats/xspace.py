"""XSpace: the protobuf message that XLA's profilers write."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.formats.format import Format, Skipped, Unpacked
from tpu_profile_plugin.suffixes import XPLANE

_PLANES, _HOSTNAMES = 1, 4
_BYTES = 2
"""Wire type of a field that has a length."""
_MOST_NAME = 200
OTHER_HOST = "other_host"
"""The code of what a file holds behind the profile of its first host."""


def read(content: U8) -> Unpacked:
    """The content itself; of files that hold the profiles of several hosts, one behind the other, the first.

    A reader of protobuf takes them for one profile of all planes, with the clocks of different hosts on one axis.
    """
    cut, hosts = None, []
    for number, begin, value, end in _fields(content):
        if number == _HOSTNAMES:
            hosts.append(bytes(content[value : min(end, value + _MOST_NAME)]).decode("utf-8", "replace"))
        elif number == _PLANES and hosts and cut is None:
            cut = begin, len(hosts)
    if cut is None or set(hosts[cut[1] :]) <= set(hosts[: cut[1]]):
        return Unpacked(content)
    begin, first = cut
    others = ", ".join(dict.fromkeys(hosts[first:]))
    reason = f"they are the profile of {others}, behind that of {hosts[0]}; put each into a file of its own"
    return Unpacked(content[:begin], (Skipped(begin, len(content) - begin, reason, OTHER_HOST),))


def _fields(content: U8) -> Iterator[tuple[int, int, int, int]]:
    """Number, begin, begin of the value, and end of each field with a length, up to what is no such field."""
    at, size = 0, len(content)
    while at < size:
        begin = at
        tag, at = _varint(content, at)
        length, at = _varint(content, at)
        if tag & 7 != _BYTES or length > size - at:
            return
        yield tag >> 3, begin, at, at + length
        at += length


def _varint(content: U8, at: int) -> tuple[int, int]:
    """A number and where it ends; the number is too large for any length if it does not end."""
    value = 0
    for shift, byte in enumerate(content[at : at + 10].tolist()):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value, at + shift + 1
    return 1 << 70, at


FORMAT = Format(name="XSpace", suffixes=(XPLANE,), sniff=lambda content: True, read=read)
