"""Looks into the begin of files whose names do not tell what they are: traces of events, memory snapshots."""

from __future__ import annotations

import contextlib
import re
import threading
import weakref
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from tpu_profile_plugin.errors import ProfileError

if TYPE_CHECKING:
    from tpu_profile_plugin.logdir.files import Files, FileStat

HEAD = 64 << 10
"""Bytes of a file that are read."""
_TEXT = 256 << 10
"""Bytes of its text that are looked at."""
_MOST_KNOWN = 1 << 16
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SNAPSHOT = re.compile(rb"\x80[\x02-\x05].{0,256}(?:segments|device_traces)", re.DOTALL)
"""A pickle of a dict whose first key is one of a memory snapshot."""


class Sniffed(NamedTuple):
    """What the begin of a file tells.

    Attributes:
      is_trace: it is a trace of events.
      is_pytorch: PyTorch's profiler wrote it.
      rank: of the process that wrote it; None if unknown.
      is_snapshot: it is a memory snapshot of PyTorch.
    """

    is_trace: bool = False
    is_pytorch: bool = False
    rank: int | None = None
    is_snapshot: bool = False

    @property
    def is_profile(self) -> bool:
        return self.is_trace or self.is_snapshot


class Tries:
    """How many files may still be looked into; those that are known already do not count."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self) -> bool:
        """Whether there is one left, which is taken."""
        self.left -= 1
        return self.left >= 0


_NOTHING = Sniffed()
_known: weakref.WeakKeyDictionary[Files, dict[tuple[str, FileStat], Sniffed]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def sniff(files: Files, path: str, status: FileStat) -> Sniffed:
    """What the begin of a file tells, read once per version; nothing if it cannot be read."""
    if not status.usable:
        return _NOTHING
    with _lock:
        versions = _known.setdefault(files, {})
        if (sniffed := versions.get((path, status))) is not None:
            return sniffed
    try:
        sniffed = _sniffed(_text(files.head(path, min(HEAD, status.size))))
    except (OSError, ProfileError):
        return _NOTHING
    with _lock:
        if len(versions) >= _MOST_KNOWN:
            versions.clear()
        versions[path, status] = sniffed
    return sniffed


def sniff_all(files: Files, paths: Mapping[str, FileStat]) -> dict[str, Sniffed]:
    """What the begins of several files tell, by path; a few remote ones at a time."""
    if files.workers < 2 or len(paths) < 2:
        return {path: sniff(files, path, status) for path, status in paths.items()}
    with ThreadPoolExecutor(files.workers, "profile-sniff") as pool:
        sniffed = pool.map(lambda item: sniff(files, *item), paths.items())
        return dict(zip(paths, sniffed, strict=True))


def is_known(files: Files, path: str, status: FileStat) -> bool:
    """Whether `sniff` needs no read."""
    with _lock:
        return not status.usable or (path, status) in _known.get(files, {})


def _sniffed(text: bytes) -> Sniffed:
    if _SNAPSHOT.match(text):
        return Sniffed(is_snapshot=True)
    import numpy as np

    from tpu_profile_plugin._native import sniff_trace

    return Sniffed(*sniff_trace(np.frombuffer(text, np.uint8)))


def _text(head: bytes) -> bytes:
    """The begin of the text in a file that begins with `head`."""
    if head.startswith(_GZIP):
        text = b""
        with contextlib.suppress(zlib.error):
            text = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(head, _TEXT)
    elif head.startswith(_ZSTD):
        text = _unpacked(head)
    else:
        text = head
    return text.decode("utf-16", "replace").encode() if text.startswith(_UTF16) else text


def _unpacked(head: bytes) -> bytes:
    import numpy as np

    from tpu_profile_plugin._native import DecodeError, ZstdReader

    with contextlib.suppress(DecodeError):
        return ZstdReader(np.frombuffer(head, np.uint8)).read(_TEXT).tobytes()
    return b""
