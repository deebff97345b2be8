"""Snapshots of PyTorch's allocator for CUDA, pickles of plain values: read without running what a pickle may ask for.

`torch.cuda.memory._dump_snapshot` writes them: the segments of each device with their blocks, and the latest history.
"""

from __future__ import annotations

from typing import NoReturn

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats.format import Format, Skipped, Unpacked

_PROTOCOLS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
"""How pickles begin, as no XSpace does."""
_OTHER, _NOT_PLAIN = "no list of events", "only plain values"


def _is_pickle(content: U8) -> bool:
    return content[:2].tobytes() in _PROTOCOLS


def _read(content: U8) -> Unpacked:
    """The allocations of all devices as an XSpace. Raises CorruptProfile for any other pickle."""
    try:
        space, entries, untimed, cut = _native.snapshot_space(content)
    except _native.DecodeError as error:
        _refuse(*error.args)
    space.flags.writeable = False
    skipped = []
    if untimed:
        text = (
            f"{untimed:,} of {entries:,} entries of the history have no time: all are shown 1 µs apart, in their order."
        )
        skipped.append(Skipped(0, 0, text, "untimed_entries"))
    if cut:
        text = f"{cut:,} call stacks were left out: all together take more than the file and 64 MiB."
        skipped.append(Skipped(0, 0, text, "long_stacks"))
    return Unpacked(space, tuple(skipped))


def _refuse(message: str, offset: int) -> NoReturn:
    if message.startswith(_OTHER):
        text = "The file is a Python pickle, but no memory snapshot of PyTorch: it has neither segments nor a history."
        raise CorruptProfile(text, offset=offset) from None
    if message.startswith(_NOT_PLAIN):
        what = message.removeprefix(f"{_NOT_PLAIN} are read, not ")
        text = f"The file is a Python pickle with {what}, which may run code: {_NOT_PLAIN} are read."
        raise CorruptProfile(text, offset=offset) from None
    raise CorruptProfile(f"The snapshot cannot be read: {message}.", offset=offset) from None


SNAPSHOT = Format(name="memory snapshot of PyTorch", sniff=_is_pickle, read=_read)
