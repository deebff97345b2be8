"""The interface to local and remote filesystems (list a directory, stat its files, read one), and the local one."""

from __future__ import annotations

import errno
import gzip
import mmap
import os
import stat
import time
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tpu_profile_plugin.errors import FileChanged, Forbidden, NotFound, ProfileError
from tpu_profile_plugin.logdir.names import is_relevant
from tpu_profile_plugin.system import files as system
from tpu_profile_plugin.units import MIB, NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    from tpu_profile_plugin.logdir.model import HostFile

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_MIN_MAPPED_BYTES = MIB
_STABLE_AGE_S = 10.0


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in a directory, sorted: sub-directories, links to directories, relevant files (see `is_relevant`).

    `stamp` changes whenever the names change; None where the filesystem provides no such stamp.
    """

    directories: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    stamp: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class FileStat:
    """The stat of a file; `fault` is None or why it cannot be opened.

    "unreadable", "broken" (a link to nothing), "loop" (of links), "directory", "special" (a pipe, socket or device).
    """

    size: int = 0
    mtime_ns: int = 0
    tag: str = ""
    fault: str | None = None
    ctime_ns: int = field(default=0, compare=False)

    @property
    def usable(self) -> bool:
        """Whether the file can be opened and holds something."""
        return self.fault is None and self.size > 0


@dataclass(frozen=True, slots=True)
class Contents:
    """The stats of the relevant files of a session directory, by name."""

    files: dict[str, FileStat] = field(default_factory=dict)


class Files(Protocol):
    """A filesystem, as discovery uses it; paths are strings made with `join` from the root."""

    workers: int = 1

    @property
    def rescan_after_s(self) -> float:
        """How long a listing is reused, in seconds."""
        return 0.0

    def refresh(self, root: str, limit_s: float) -> None:
        """Called before a walk; may list everything below `root` at once where that is cheaper. Raises ProfileError."""
        return

    def invalidate(self) -> None:
        """Called when a file differs from its listing: cached listings are out of date."""
        return

    def entries(self, path: str) -> Listing:
        """Names in a directory; raises OSError."""

    def stamp(self, path: str) -> tuple[int, ...] | None:
        """The current stamp of a directory; None where it is not reliable. Raises OSError."""
        return None

    def stat_files(self, path: str) -> Contents:
        """The stats of the relevant files in a directory, not from a cache; raises OSError."""

    def outdated_s(self, path: str) -> float | None:
        """Age in seconds of what is known of a directory, while the store gives no newer listing; None if it does."""
        return None

    def fault_of(self, path: str) -> ProfileError | None:
        """Why the store denies what is known of a directory; None where it does not."""
        return None

    def read(self, path: str, size: int, mtime_ns: int, tag: str) -> Bytes:
        """The bytes, read-only; raises NotFound, Forbidden, or FileChanged when size, time or tag differ."""

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a file, which may be fewer; raises OSError, ProfileError."""

    def join(self, directory: str, name: str) -> str:
        """The path of an entry that a listing of `directory` named."""


def read_host(files: Files, file: HostFile) -> Bytes:
    """The bytes of a host's file, read-only, and of its captures.

    Each text must end where the next begins: gzip tells its end, a Zstandard file and plain texts go last. Raises what
    `Files.read` raises.
    """
    profile = files.read(file.path, file.size, file.mtime_ns, file.tag)
    if not file.captures:
        return profile
    captures = [
        (capture.name, files.read(capture.path, capture.size, capture.mtime_ns, capture.tag))
        for capture in file.captures
    ]
    packed = [data for name, data in captures if name.endswith(".gz")]
    plain = [data for name, data in captures if not name.endswith(".gz")]
    if file.name.endswith(".gz"):
        parts = [profile, *packed, *plain]
    elif file.name.endswith(".json"):
        parts = [*packed, profile, *plain]
    else:
        parts = [*packed, *map(_stored, plain), profile]
    import numpy as np

    return np.frombuffer(b"".join(part.data for part in parts), np.uint8)


def _stored(text: Bytes) -> Bytes:
    """A text as a gzip file, not compressed, which tells where it ends."""
    import numpy as np

    return np.frombuffer(gzip.compress(text.data, 0), np.uint8)


class LocalFiles(Files):
    """Local files: listed with os.scandir, anew at every walk, and read with mmap."""

    def entries(self, path: str) -> Listing:
        stamp = self.stamp(path)  # before listing: a change in between outdates the stamp, never the listing
        directories, links, files = [], [], []
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not system.is_junction(entry):
                    directories.append(entry.name)
                elif is_relevant(entry.name):
                    files.append(entry.name)
                elif system.is_link_to_directory(entry):
                    links.append(entry.name)
        return Listing(tuple(sorted(directories)), tuple(sorted(links)), tuple(sorted(files)), stamp)

    def stamp(self, path: str) -> tuple[int, ...] | None:
        """Identity and times of the directory; None until 2 s after a change, as another may not alter the time."""
        status = os.stat(path)  # noqa: PTH116 - paths are strings here
        age_ns = time.time_ns() - status.st_mtime_ns
        if status.st_mtime_ns == 0 or age_ns < 2_000_000_000:
            return None
        return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)

    def stat_files(self, path: str) -> Contents:
        contents = Contents()
        with os.scandir(path) as entries:
            for entry in entries:
                if is_relevant(entry.name) and (status := _local_stat(entry)) is not None:
                    contents.files[entry.name] = status
        return contents

    def read(self, path: str, size: int, mtime_ns: int, tag: str) -> Bytes:
        """The bytes, memory-mapped if the file is large, has not changed recently, and stays free for writers.

        Recently written files are read into memory: a capture or a copy may still be in progress, and answers about the
        bytes so far are valid. A change of a mapped file shows in `mapping_faults` and in the file's identity.
        """
        try:
            handle = os.open(path, system.READ_FLAGS)
        except FileNotFoundError:
            raise file_vanished(Path(path).name) from None
        except PermissionError:
            raise file_unreadable(Path(path).name) from None
        with os.fdopen(handle, "rb", buffering=0) as file:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise file_unreadable(Path(path).name)
            if (before.st_size, before.st_mtime_ns) != (size, mtime_ns):
                raise file_changed(Path(path).name)
            data = _bytes_of(file, size, may_map=may_be_mapped(size, mtime_ns))
            after = os.fstat(handle)
        if data is None or (after.st_size, after.st_mtime_ns) != (size, mtime_ns):
            raise file_changed(Path(path).name)
        return data

    def head(self, path: str, size: int) -> bytes:
        with os.fdopen(os.open(path, system.READ_FLAGS), "rb", buffering=0) as file:
            return file.read(size) or b""

    def join(self, directory: str, name: str) -> str:
        return os.path.join(directory, name)  # noqa: PTH118 - paths are strings here, a scan makes many


def mapped(file: FileIO, size: int) -> Bytes | None:
    """The bytes of a file of our cache, read-only; None when its size differs. Raises OSError."""
    return _bytes_of(file, size, may_map=True) if os.fstat(file.fileno()).st_size == size else None


def _bytes_of(file: FileIO, size: int, *, may_map: bool) -> Bytes | None:
    """The bytes of an open file, mapped if allowed and large; None when the file has another size."""
    import numpy as np

    from tpu_profile_plugin._native import map_file

    if may_map and size >= _MIN_MAPPED_BYTES:
        if system.maps_hinder_writers():  # and so cannot shrink
            return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), dtype=np.uint8)
        array = map_file(file.fileno(), size)
        if array is not None:
            return array
    data = file.readall() or b""
    return np.frombuffer(data, dtype=np.uint8) if len(data) == size else None


def may_be_mapped(size: int, mtime_ns: int) -> bool:
    """Whether `LocalFiles.read` maps such a file, so that later changes to it may show in the bytes."""
    stable = abs(time.time_ns() - mtime_ns) > _STABLE_AGE_S * NS_PER_S
    return size >= _MIN_MAPPED_BYTES and stable and not system.maps_hinder_writers()


def mapping_faults() -> int:
    """How many mapped files were truncated while mapped; results computed while this grows must be discarded."""
    from tpu_profile_plugin._native import torn_mappings

    return torn_mappings()


def _local_stat(entry: os.DirEntry[str]) -> FileStat | None:
    """None for an entry that was deleted after its directory was listed."""
    try:
        status = system.status_of(entry)
    except PermissionError:
        return FileStat(fault="unreadable")
    except OSError as error:
        if error.errno == errno.ENOENT and not entry.is_symlink():
            return None
        return FileStat(fault="loop" if error.errno == errno.ELOOP else "broken")
    if stat.S_ISDIR(status.st_mode):
        return FileStat(fault="directory")
    if not stat.S_ISREG(status.st_mode):
        return FileStat(fault="special")
    fault = None if os.access(entry.path, os.R_OK) else "unreadable"
    if fault and not os.path.exists(entry.path):  # noqa: PTH110 - paths are strings here
        return None
    return FileStat(status.st_size, status.st_mtime_ns, fault=fault, ctime_ns=status.st_ctime_ns)


def file_vanished(name: str) -> NotFound:
    """The error for a file that was deleted after the run was listed."""
    return NotFound(f"The file {name} is no longer there.", code="host_not_found", file=name)


def file_unreadable(name: str) -> Forbidden:
    return Forbidden(f"The server may not read {name}.", file=name)


def file_changed(name: str) -> FileChanged:
    """The error for a file that changed while it was read."""
    return FileChanged(f"{name} changed while it was read; it may still be written. Try again in a moment.", file=name)
