"""Remote filesystems through fsspec: gs://, s3://, memory:// and whatever else is installed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import NotAvailable
from tpu_profile_plugin.logdir.files import Contents, FileFacts, Listing, changed, unreadable, vanished
from tpu_profile_plugin.logdir.names import of_interest

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_EXTRAS = {"gs": "gcs", "gcs": "gcs", "s3": "s3", "s3a": "s3"}
_TIMES = ("mtime", "LastModified", "updated", "last_modified", "modified", "timeModified", "created")
_TAGS = ("etag", "ETag", "generation", "md5Hash")


def is_remote(path: str) -> bool:
    """Whether a path names another filesystem than the local one."""
    return "://" in path and not path.startswith("file://")


def address_of(path: str) -> str | None:
    """What another process opens the filesystem of a path with: "" for local files, else the URL; None when only this
    process has it.
    """
    if path.startswith("memory://"):
        return None
    return path if is_remote(path) else ""


def open_remote(path: str) -> tuple[RemoteFiles, str]:
    """The filesystem of a URL and the path within it; raises NotAvailable that says what to install."""
    import fsspec

    protocol = path.split("://", 1)[0]
    try:
        fs, root = fsspec.core.url_to_fs(path)
    except ImportError as error:
        extra = _EXTRAS.get(protocol)
        how = f"pip install 'tpu-profile-plugin[{extra}]'" if extra else str(error)
        raise NotAvailable(f"Reading {protocol}:// needs one more package: {how}", protocol=protocol) from error
    except Exception as error:  # a filesystem may raise anything, e.g. for missing credentials
        raise NotAvailable(f"{protocol}:// cannot be opened: {type(error).__name__}", protocol=protocol) from error
    return RemoteFiles(fs), root


class RemoteFiles:
    """An fsspec filesystem. Directories have no times to trust, so each rescan lists them again, a few at a time."""

    rescan_after_s = 5.0
    workers = 8

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def entries(self, path: str) -> Listing:
        """Names in a directory; raises OSError."""
        directories, files = set(), set()
        for name, info in self._infos(path):
            if info.get("type") == "directory":
                directories.add(name)
            elif of_interest(name):
                files.add(name)
        return Listing(tuple(sorted(directories)), (), tuple(sorted(files)), None)

    def stamp(self, path: str) -> tuple[int, ...] | None:
        """Always None: nothing here tells that a directory is unchanged."""
        return None

    def look(self, path: str) -> Contents:
        """Fresh facts of the files of interest in a directory; raises OSError."""
        found = Contents()
        for name, info in self._infos(path):
            if info.get("type") != "directory" and of_interest(name):
                found.files[name] = _facts(info)
        return found

    def read(self, path: str, size: int, mtime_ns: int, tag: str) -> Bytes:
        """The whole file."""
        import numpy as np

        name = path.rsplit("/", 1)[-1]
        try:
            data = self._fs.cat_file(path)
        except FileNotFoundError:
            raise vanished(name) from None
        except PermissionError:
            raise unreadable(name) from None
        if len(data) != size:
            raise changed(name)
        return np.frombuffer(data, dtype=np.uint8)

    def join(self, directory: str, name: str) -> str:
        """The path of an entry."""
        return f"{directory.rstrip('/')}/{name}"

    def _infos(self, path: str) -> list[tuple[str, dict[str, Any]]]:
        self._fs.invalidate_cache(path)
        entries = []
        for info in self._fs.ls(path, detail=True):
            name = str(info["name"]).rstrip("/").rsplit("/", 1)[-1]
            # Object stores list the directory's own marker among its content.
            if name and str(info["name"]).strip("/") != path.strip("/"):
                entries.append((name, info))
        return entries


def _facts(info: dict[str, Any]) -> FileFacts:
    tag = next((str(info[key]) for key in _TAGS if info.get(key)), "")
    time = next((_time_ns(info[key]) for key in _TIMES if info.get(key)), 0)
    return FileFacts(int(info.get("size") or 0), time, tag)


def _time_ns(value: Any) -> int:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    if isinstance(value, datetime):
        return int(value.timestamp() * 1e9)
    return int(value * 1e9) if isinstance(value, (int, float)) else 0
