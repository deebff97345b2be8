"""The content of an answer: its bytes, plain and compressed, with their media type."""

from __future__ import annotations

import gzip
import threading

from tpu_profile_plugin.cache.compress import compress

_SMALLEST = 1024
_COMPRESSIBLE = ("text/", "application/json", "application/javascript", "image/svg+xml")


class Body:
    """Bytes and their gzip form; the missing form is made on first use and kept.

    Attributes:
      stable: False when files changed while the answer was computed; the answer must not be cached.
      complete: False when a missing host may come back; the answer must not be cached.
      kept: False when it is not worth its room in memory.
      content_type: media type.
      headers: names and texts sent with the bytes; never kept on disk.
    """

    def __init__(
        self,
        plain: bytes | None,
        content_type: str,
        headers: tuple[tuple[str, str], ...] = (),
        packed: bytes | None = None,
    ) -> None:
        """Takes the plain form, or None with the gzip form as `packed`."""
        self.stable = True
        self.complete = True
        self.kept = True
        self.content_type = content_type
        self.headers = headers
        self._plain = plain
        self._packed = packed
        self._lock = threading.Lock()

    @property
    def plain(self) -> bytes:
        """The bytes as they are."""
        with self._lock:
            if self._plain is None:
                self._plain = gzip.decompress(self._packed or b"")
            return self._plain

    @property
    def size(self) -> int:
        """Memory held, in bytes."""
        forms = {id(form): len(form) for form in (self._plain, self._packed) if form is not None}
        return sum(forms.values())

    def packed(self) -> bytes | None:
        """The gzip form; None where compression is not worth it."""
        with self._lock:
            plain = self._plain
            if plain is None:
                return self._packed
            if self._packed is None:
                if len(plain) < _SMALLEST or not self.content_type.startswith(_COMPRESSIBLE):
                    return None
                packed = compress(plain)
                self._packed = packed if len(packed) < len(plain) else plain
            return None if self._packed is plain else self._packed
