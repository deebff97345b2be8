"""Opening a file below a directory part by part, so that no link is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

CAN_OPEN_BELOW = os.open in os.supports_dir_fd
"""Whether this system can; Windows cannot."""


@contextmanager
def opened_below(root: str, parts: Sequence[str]) -> Iterator[int]:
    """The descriptor of a file below the root; raises OSError if a part is a link, or missing.

    Each part is opened in the directory of the one before.
    """
    held = [os.open(root, os.O_RDONLY | os.O_DIRECTORY)]
    try:
        for part in parts[:-1]:
            held.append(os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=held[-1]))
        # Without O_NONBLOCK, opening a pipe would wait for its writer.
        held.append(os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=held[-1]))
        yield held[-1]
    finally:
        for descriptor in held:
            with suppress(OSError):
                os.close(descriptor)
