"""Files as the operating system treats them: locks, renames of open files, mapped files, private directories."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

WINDOWS = os.name == "nt"

READ_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Opens a file for reading as bytes; a named pipe does not block."""

_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Seconds between attempts to rename a file that a virus scanner or indexer has open for a moment."""
_MAKE_TRIES = 4


def maps_hinder_writers() -> bool:
    """Whether a mapped file can be neither deleted, replaced nor shortened by other programs.

    True on Windows, so only files of our own cache are mapped there. Elsewhere the lost part of a mapped file reads as
    zeros, which the native core counts (`torn_mappings`).
    """
    return WINDOWS


def lock(handle: int) -> None:
    """Locks a file until it is closed or its process ends, on systems where others could delete it."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def may_delete(path: Path) -> bool:
    """Whether no process is writing a file that was locked by `lock`; raises OSError.

    True on Windows, which has no such locks, and where the deletion of an open file fails.
    """
    if fcntl is None:
        return True
    with path.open("rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def publish(file: IO[bytes], temporary: Path, target: Path) -> None:
    """Renames a complete file that is still open (and locked) over `target`; raises OSError.

    Windows renames closed files only, and replaces no file that is open or mapped. Such a target was published by
    another thread or process under the same key, so it is kept and `temporary` deleted.
    """
    if not WINDOWS:
        temporary.replace(target)
        return
    file.close()
    try:
        _retried(lambda: temporary.replace(target))
    except PermissionError:
        if not target.exists():
            raise
        temporary.unlink()


def rename(source: Path, target: Path) -> None:
    """Renames a file or directory that this process has closed; raises OSError."""
    _retried(lambda: source.rename(target))


def move_exclusively(source: Path, target: Path) -> bool:
    """Moves a file, by a hard link, unless the target exists; returns whether it was moved. Raises OSError."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError:  # filesystems without hard links
        if target.exists():
            return False
        rename(source, target)
    return True


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory survive a power cut; Windows, where no directory can be opened, does so itself."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def reserve(handle: int, size: int) -> None:
    """Allocates the space of a file on disk where that is possible, so that a full disk raises OSError at once."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)


def _retried(action: Callable[[], object]) -> None:
    """On Windows, repeats an action that is refused because the file is open elsewhere for a moment."""
    for pause in _PAUSES_S if WINDOWS else ():
        try:
            action()
        except PermissionError:
            time.sleep(pause)
        else:
            return
    action()


def make_private(directory: Path) -> None:
    """Creates a directory with access for this user only; raises OSError when another user owns it.

    Windows has neither owners by number nor modes; directories below the user's own are private there.
    """
    make_directory(directory, parents=True)
    if WINDOWS:
        return
    _check_owner(directory.lstat())  # of the link, where it is one
    facts = directory.stat()
    _check_owner(facts)
    if stat.S_IMODE(facts.st_mode) & 0o077:
        directory.chmod(0o700)


def make_directory(directory: Path, *, parents: bool = False) -> None:
    """Creates a directory for this user unless it exists.

    `Path.mkdir` raises FileExistsError also if the directory is deleted between its two looks at it; so it looks again.
    """
    for _ in range(_MAKE_TRIES - 1):
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700, parents=parents, exist_ok=True)
            return
    directory.mkdir(mode=0o700, parents=parents, exist_ok=True)


def check_private(directory: Path) -> None:
    """Raises OSError unless the directory belongs to this user and no other user may write to it."""
    if WINDOWS:
        return
    _check_owner(directory.lstat())
    _check_ours(directory.stat())


def open_private(path: Path) -> FileIO:
    """Opens a regular file for reading; raises OSError if it is a link, of another user, or others may write to it."""
    handle = os.open(path, READ_FLAGS | getattr(os, "O_NOFOLLOW", 0))
    file = os.fdopen(handle, "rb", buffering=0)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise PermissionError(errno.EPERM, "it is not a regular file")
        if not WINDOWS:
            _check_ours(facts)
    except OSError:
        file.close()
        raise
    return file


def _check_ours(facts: os.stat_result) -> None:
    _check_owner(facts)
    if stat.S_IMODE(facts.st_mode) & 0o022:
        raise PermissionError(errno.EPERM, "other users may write to it")


def _check_owner(facts: os.stat_result) -> None:
    if facts.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")


def status_of(entry: os.DirEntry[str]) -> os.stat_result:
    """The status of a directory entry; raises OSError.

    Windows stores size and time in the directory as well, and updates that copy late: there the file itself is asked,
    so that the result is equal to what the file has once it is open.
    """
    return os.stat(entry.path) if WINDOWS else entry.stat()  # noqa: PTH116 - a scan makes many


def is_junction(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a link of Windows to a directory, other than a symbolic link; Python 3.12 and newer tell.

    It may lead in a circle, so it is not walked through.
    """
    return bool(WINDOWS and getattr(entry, "is_junction", bool)())


def is_link_to_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return (entry.is_symlink() or is_junction(entry)) and entry.is_dir()
    except OSError:
        return False


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
