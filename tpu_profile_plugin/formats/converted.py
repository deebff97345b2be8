"""What was converted lately: facts, metadata and columns of a file are asked for one after the other."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable

from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.formats.format import Skipped, Unpacked
from tpu_profile_plugin.units import MIB

KEPT_BYTES = 256 * MIB
"""So many bytes are kept for who asks next; who has asked a second time keeps them itself, as columns do."""


class Converted:
    """Converted files by the digest of their content."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Unpacked] = OrderedDict()
        self._used: dict[bytes, tuple[weakref.ref[U8], tuple[Skipped, ...]]] = {}

    def get(self, content: U8, convert: Callable[[], Unpacked]) -> Unpacked:
        """The converted content; `convert` makes it unless it is still there. Raises what `convert` does."""
        digest = hashlib.blake2b(content.data, digest_size=16).digest()
        with self._lock:
            known = self._kept.pop(digest, None) or self._held(digest)
        made = known or convert()
        with self._lock:
            if known is None:
                self._keep(digest, made)
            else:
                self._used = {key: held for key, held in self._used.items() if held[0]() is not None}
                self._used[digest] = (weakref.ref(made.space), made.skipped)
        return made

    def _keep(self, digest: bytes, made: Unpacked) -> None:
        self._kept[digest] = made
        while sum(len(one.space) for one in self._kept.values()) > self._limit:
            self._kept.popitem(last=False)

    def _held(self, digest: bytes) -> Unpacked | None:
        """What a user still holds."""
        reference, skipped = self._used.get(digest, (None, ()))
        space = reference() if reference is not None else None
        return None if space is None else Unpacked(space, skipped)
