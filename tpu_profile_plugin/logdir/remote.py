"""Remote filesystems through fsspec: gs://, s3://, memory:// and others that are installed.

Local copies of files are kept by address and version, so that each version is fetched from the store once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin

from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.errors import NotAvailable, ProfileError, StorageFailed
from tpu_profile_plugin.logdir.files import Contents, Files, FileStat, Listing, file_changed, file_vanished, mapped
from tpu_profile_plugin.logdir.model import STORAGE_DENIED
from tpu_profile_plugin.logdir.names import is_relevant, is_xplane
from tpu_profile_plugin.logdir.remote_calls import (
    SilentThreads,
    fetch,
    hide_in_logs,
    redacted_url,
    silent_threads,
    storage_error,
    with_timeout,
)
from tpu_profile_plugin.system.files import reserve
from tpu_profile_plugin.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_SEAL = "s"
"""Ends the key of the file with the size and checksum of a copy."""

Put = Callable[[int, bytes], None]
"""Called with an offset in the file and the bytes at that offset."""


def version_key(address: str, size: int, mtime_ns: int, tag: str) -> str | None:
    """The cache key of one version of a remote file; None if the store reports neither tag nor modification time."""
    if not tag and not mtime_ns:
        return None
    facts = "\0".join((address, str(size), str(mtime_ns), tag))
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


class ContentCache:
    """Copies in a private directory, bounded in bytes; may be shared by processes and deleted at any time.

    `location` is the directory and the bound, for opening the same cache in another process; None without a directory.
    Files that cannot be cached (no directory, disk full, no permission) are read into memory, each time anew.
    """

    def __init__(self, directory: Path | None, limit_bytes: int) -> None:
        """Does no I/O. Without a directory or with a limit of 0 bytes, nothing is cached."""
        self._files = FileCache(directory, limit_bytes) if directory is not None and limit_bytes > 0 else None
        self.location = None if self._files is None else (str(directory), limit_bytes)
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def get(self, key: str | None, size: int, fetch: Callable[[Put], None]) -> Bytes:
        """The file's bytes, read-only, from the cache; on a miss, `fetch` is called with a function that stores bytes.

        Threads that request the same file wait for the one that fetches it. `fetch` raises ProfileError, never OSError.
        """
        store = self._files
        if store is None or key is None or size == 0 or size * 2 > store.limit:
            return _in_memory(size, fetch)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            cached = self._lookup(store, key, size)
            if cached is None and self._store(store, key, size, fetch):
                cached = self._lookup(store, key, size)
        with self._lock:
            self._locks.pop(key, None)
        return cached if cached is not None else _in_memory(size, fetch)

    def _lookup(self, store: FileCache, key: str, size: int) -> Bytes | None:
        try:
            seal = store.read(key + _SEAL).decode("ascii", "replace")
            whole = store.seal(key) == seal
            with store.open(key) as file:
                data = mapped(file, size) if whole else None
        except OSError:
            return None
        for name in (key, key + _SEAL):
            if data is None:
                store.delete(name)
            else:
                store.touch(name)
        return data

    def _store(self, store: FileCache, key: str, size: int, fetch: Callable[[Put], None]) -> bool:
        """Writes the file into the cache; returns False on OSError, which `fetch` itself does not raise."""

        def put(offset: int, data: bytes) -> None:
            file.seek(offset)
            file.write(data)

        try:
            with store.writing(key) as file:
                reserve(file.fileno(), size)  # so that a full disk is noticed before anything is fetched
                fetch(put)
            seal = store.seal(key)
            with store.writing(key + _SEAL) as file:
                file.write(seal.encode())
        except OSError as error:
            store.log_failure("Copies of remote files", error)
            return False
        return True


def _in_memory(size: int, fetch: Callable[[Put], None]) -> Bytes:
    import numpy as np

    data = np.empty(size, np.uint8)

    def put(offset: int, part: bytes) -> None:
        data[offset : offset + len(part)] = np.frombuffer(part, np.uint8)

    if size:
        fetch(put)
    data.flags.writeable = False
    return data


_TIMES = ("mtime", "LastModified", "updated", "last_modified", "modified", "timeModified", "created")
_TAGS = ("etag", "ETag", "generation", "md5Hash")

Info = Mapping[str, Any]


@dataclass(slots=True)
class Directory:
    """Names of the sub-directories, stats of the relevant files.

    `listed_at`: when this directory alone was last listed, or that failed; `seen_at`: when it was last listed.
    `denied`: why it could not be listed last.
    """

    directories: set[str] = field(default_factory=set)
    files: dict[str, FileStat] = field(default_factory=dict)
    listed_at: float = float("-inf")
    seen_at: float = float("-inf")
    denied: ProfileError | None = None


class Tree:
    """Directories by path, without leading and trailing slashes."""

    def __init__(self, root: str) -> None:
        self._root = root.strip("/")
        self._directories: dict[str, Directory] = {}
        self.objects = 0

    def copy(self) -> Tree:
        """A copy that can be modified while other threads read this tree."""
        other = Tree(self._root)
        other._directories = {
            path: replace(directory, directories=set(directory.directories))
            for path, directory in self._directories.items()
        }
        other.objects = self.objects
        return other

    def get(self, path: str) -> Directory | None:
        return self._directories.get(path.strip("/"))

    def replace_subtree(self, path: str, infos: Iterable[Info]) -> int:
        """Replaces everything at and below `path` by a recursive listing of it; returns the number of entries."""
        path = path.strip("/")
        below = path + "/" if path else ""
        for old in [each for each in self._directories if each == path or each.startswith(below)]:
            del self._directories[old]
        parent, _, name = path.rpartition("/")
        if path != self._root and parent in self._directories:
            self._directories[parent].directories.discard(name)
        count = 0
        for info in infos:
            count += 1
            full_name = str(info["name"])
            if not (full_name.strip("/") + "/").startswith(below):
                continue
            if info.get("type") == "directory" or full_name.endswith("/"):
                self._directory_at(full_name.strip("/"))
            else:
                parent, _, name = full_name.strip("/").rpartition("/")
                directory = self._directory_at(parent)
                if is_relevant(name):
                    directory.files[name] = file_stat(info)
        return count

    def profile_directories(self) -> list[str]:
        """The topmost directories that hold sessions, or profiles themselves."""
        topmost: list[str] = []
        for path in sorted(self._directories):
            inside = topmost and path.startswith(topmost[-1] + "/")
            if not inside and (
                f"/{path}".endswith("/plugins/profile") or any(map(is_xplane, self._directories[path].files))
            ):
                topmost.append(path)
        return topmost

    def _directory_at(self, path: str) -> Directory:
        """The directory at `path`, created with its parents if missing."""
        directory = existing = self._directories.get(path)
        if directory is None:
            directory = self._directories[path] = Directory()
        while existing is None and path != self._root and "/" in path:
            path, _, name = path.rpartition("/")
            existing = self._directories.get(path)
            self._directories.setdefault(path, Directory()).directories.add(name)
        return directory


def file_stat(info: Info) -> FileStat:
    """Size, modification time and content tag from an fsspec entry."""
    tag = next((str(info[key]) for key in _TAGS if info.get(key)), "")
    time = next((time_ns(info[key]) for key in _TIMES if info.get(key)), 0)
    return FileStat(int(info.get("size") or 0), time, tag)


def time_ns(value: Any) -> int:
    """A time in one of the forms that filesystems use as ns since 1970; 0 for any other form."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return 0
    if isinstance(value, datetime):
        return int(value.timestamp() * NS_PER_S)
    return int(value * NS_PER_S) if isinstance(value, (int, float)) else 0


_MOST_DECODED = 8
_SEPARATORS = re.compile(r"[/\\\\\uff0f\uff3c\u2044\u2215]")
"""Slashes and backslashes, and characters that become one."""
_ENDS_PATH = re.compile(r"[?#\x00-\x1f\x7f]")

_EXTRAS = {"gs": "gcs", "gcs": "gcs", "s3": "s3", "s3a": "s3"}
_OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "r2", "memory"})
"""Stores without directories: a recursive listing costs one request per thousand objects below a prefix."""

_PAGE = 1000  # objects per request
_OPEN_S = 30.0  # time limit of opening a filesystem
_ANSWER_S = 10.0  # time limit of one request
_PAUSE_S = 5.0  # how long a listing is reused
_WHOLE_S = 60.0  # how long only the directories with profiles are listed again
_WALK_S = 600.0  # how long directories are walked after a recursive listing has timed out
_STALE_S = 60.0  # how old stats may be while they are refreshed in the background
_PATIENCE_S = 2.0  # how long a request waits for newer stats where there are known ones
_REST_S = 10.0  # how long nothing is waited for after a store gave no answer
_MOST_REFRESHED = 8  # directories refreshed at a time
_MOST_REMEMBERED = 4096  # directories of a walked tree


def is_remote(path: str) -> bool:
    """Whether a path is a URL of a filesystem other than the local one."""
    return "://" in path and not path.startswith("file://")


def is_web(path: str) -> bool:
    """Whether a path is a URL of a web server, which may redirect to any other."""
    return path.startswith(("http://", "https://"))


def is_below(path: str, root: str) -> bool:
    """Whether a URL is that of a root, or leads below it however a store reads it.

    Stores and servers before them differ: they decode percent signs once or twice, take backslashes for slashes, or
    leave out what follows a semicolon. So no reading may have a step upwards, a query, or another URL in it.
    """
    root = root.rstrip("/")
    if path.rstrip("/") == root:
        return True
    return path.startswith(f"{root}/") and is_plain(path[len(root) :])


def is_plain(path: str) -> bool:
    """Whether a path of names has no step upwards and ends no URL early, however often it is decoded."""
    for _ in range(_MOST_DECODED):
        steps = _SEPARATORS.split(path)
        if "::" in path or _ENDS_PATH.search(path) or any(_is_step(step) for step in steps):
            return False
        try:
            decoded = unquote(path, errors="strict")
        except UnicodeDecodeError:
            return False
        if decoded == path:
            return True
        path = decoded
    return False


def _is_step(name: str) -> bool:
    """Whether a name is that of this directory or the one above, or may be read as one."""
    name = unicodedata.normalize("NFKC", name.partition(";")[0])
    return "." in name and not name.strip(". ")


def address_of(path: str) -> str | None:
    """The address at which another process opens the filesystem of a path: "" for local files, else the URL; None for
    memory://, which only this process has.
    """
    if path.startswith("memory://"):
        return None
    return path if is_remote(path) else ""


def open_remote(path: str, cache: ContentCache | None = None, within: str = "") -> tuple[RemoteFiles, str]:
    """The filesystem of a URL and the path within it; raises NotAvailable (what to install), StorageFailed.

    `within`: a URL that redirects of a web server must not leave.
    """
    protocol = path.split("://", 1)[0]
    hide_in_logs(path)
    try:
        fs, root = with_timeout(_OPEN_S, lambda: _url_to_fs(path, within), _silent_threads(path))
    except ImportError as error:
        extra = _EXTRAS.get(protocol)
        how = f"pip install 'tpu-profile-plugin[{extra}]'" if extra else str(error)
        raise NotAvailable(f"Reading {protocol}:// needs another package: {how}", protocol=protocol) from error
    except ValueError as error:
        raise NotAvailable(f"{protocol}:// cannot be opened: {type(error).__name__}", protocol=protocol) from error
    except Exception as error:  # a filesystem may raise anything, e.g. for missing credentials
        raise storage_error(error, path) from error
    return RemoteFiles(fs, root, path, cache), root


def _url_to_fs(path: str, within: str) -> tuple[Any, str]:
    import fsspec

    if within and is_web(path):
        options = {"client_kwargs": {"trace_configs": [_redirects_within(within)]}}
        return fsspec.core.url_to_fs(path, **options)  # type: ignore[no-any-return]

    # RemoteFiles caches listings for seconds; the cache of fsspec never expires.
    with contextlib.suppress(TypeError):  # a filesystem without this option
        return fsspec.core.url_to_fs(path, use_listings_cache=False)  # type: ignore[no-any-return]
    return fsspec.core.url_to_fs(path)  # type: ignore[no-any-return]


@functools.cache
def _redirects_within(root: str) -> Any:
    """Makes a session of aiohttp refuse redirects to addresses that are not below a URL."""
    from aiohttp import TraceConfig
    from yarl import URL

    async def check(_: Any, __: Any, redirect: Any) -> None:
        place = URL(urljoin(str(redirect.url), redirect.response.headers.get("Location", "")))
        if not is_below(str(place), str(URL(root))):
            raise PermissionError(f"{redacted_url(root)} leads elsewhere")

    config = TraceConfig()
    config.on_request_redirect.append(check)
    return config


class RemoteFiles(Files):
    """An fsspec filesystem below one root.

    An object store is listed recursively, one request per thousand objects. If it is large, only the directories with
    profiles are listed again, and everything once a minute. Other filesystems are walked, a few directories at a time.
    Files are read in ranges and cached by a `ContentCache`.
    """

    workers = 8

    def __init__(self, fs: Any, root: str, address: str, cache: ContentCache | None = None) -> None:
        """`root` is a path within the filesystem, `address` its URL for messages."""
        self._fs = fs
        self._root = root
        self._address = address
        self._protocol = address.split("://", 1)[0]
        self._is_web = is_web(address)
        self._cache = cache or ContentCache(None, 0)
        self._silent = _silent_threads(address)
        self._tree: Tree | None = None
        self._listed_at = self._whole_at = self._walk_until = self._trusted_from = float("-inf")
        self._refreshing: dict[str, Future[None]] = {}
        self._remembered: OrderedDict[str, Directory] = OrderedDict()
        self._failed_at: float | None = None
        self._fault: ProfileError | None = None
        self._cost_s = 0.0

    @property
    def rescan_after_s(self) -> float:
        """At least 5 s, and ten times as long as a recursive listing takes."""
        return max(_PAUSE_S, 10 * self._cost_s)

    def refresh(self, root: str, limit_s: float) -> None:
        """Lists everything below the root, or only the directories with profiles; raises StorageFailed."""
        began = time.monotonic()
        if self._protocol not in _OBJECT_STORES or began < self._walk_until:
            self._tree = None
            return
        tree, directories = self._tree, [root]
        if tree is not None and began - self._whole_at < _WHOLE_S:
            profiled = tree.profile_directories()
            if profiled and len(profiled) < tree.objects / _PAGE:
                directories = profiled
        tree = tree.copy() if tree is not None and directories != [root] else Tree(root)
        try:
            for path in directories:
                infos = with_timeout(limit_s, functools.partial(self._below, path), self._silent)
                count = tree.replace_subtree(path, infos)
                if path == root:
                    tree.objects, self._whole_at = count, began
        except TimeoutError:
            # Too many objects, or a store that hangs: walking directory by directory works, or fails with the reason.
            if self._tree is not None:
                self._list(root)  # raises if the store hangs, and what is known stays
            self._tree, self._walk_until = None, began + _WALK_S
            return
        except Exception as error:
            self._fault, self._failed_at = storage_error(error, self._address), time.monotonic()
            raise self._fault from error
        self._tree, self._listed_at, self._failed_at = tree, time.monotonic(), None
        self._cost_s = self._listed_at - began

    def invalidate(self) -> None:
        self._trusted_from = time.monotonic()

    def entries(self, path: str) -> Listing:
        """Names in a directory; raises OSError, for the root StorageFailed."""
        cached = self._cached(path)
        directories, files = self._list(path) if cached is None else cached
        return Listing(tuple(sorted(directories)), (), tuple(sorted(files)), None)

    def stat_files(self, path: str) -> Contents:
        """The stats of the relevant files in a directory; raises OSError, StorageFailed.

        Known stats are returned while a thread refreshes them: at once up to a minute of age, later after a short wait,
        so that requests need not wait for the network. While the store does not answer, the known ones are returned
        whatever their age: files with a local copy can still be opened.
        """
        cached = self._cached(path)
        if cached is not None:
            return Contents(dict(cached[1]))
        directory = self._directory(path)
        if directory is None:
            directory = Directory()
            try:
                self._stat_now(path, directory)
            except PermissionError as error:
                raise storage_error(error, self._url(path)) from error
            if self._tree is None:
                self._remembered[path] = directory
                while len(self._remembered) > _MOST_REMEMBERED:
                    self._remembered.popitem(last=False)
        elif self._failed_at is None or time.monotonic() - self._failed_at > _REST_S:
            refresh = self._refresh_later(path, directory)
            if refresh is not None and self._age(directory) >= _STALE_S:
                try:
                    refresh.result(_PATIENCE_S)
                except FutureTimeout:
                    self._fault, self._failed_at = None, time.monotonic()
        return Contents(dict(directory.files))

    def outdated_s(self, path: str) -> float | None:
        """Age of what is known of a directory, while the store gives no answers, or denies it."""
        directory = self._directory(path)
        if directory is None or (self._failed_at is None and directory.denied is None):
            return None
        return time.monotonic() - max(directory.seen_at, self._listed_at if self._tree is not None else float("-inf"))

    def fault_of(self, path: str) -> ProfileError | None:
        directory = self._directory(path)
        if directory is not None and directory.denied is not None:
            return directory.denied
        fault = self._fault if self._failed_at is not None else None
        return fault if fault is not None and fault.code == STORAGE_DENIED else None

    def read(self, path: str, size: int, mtime_ns: int, tag: str) -> Bytes:
        """The bytes, from the local copy if there is one; raises NotFound, FileChanged, StorageFailed."""
        seen = FileStat(size, mtime_ns, tag)
        endpoint = getattr(self._fs, "endpoint_url", None) or ""
        key = version_key(f"{self._protocol}:{endpoint}:{path}", size, mtime_ns, tag)
        return self._cache.get(key, size, lambda put: self._fetch(path, seen, put))

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a file; raises StorageFailed."""
        try:
            return bytes(with_timeout(_ANSWER_S, lambda: self._fs.cat_file(path, start=0, end=size), self._silent))
        except Exception as error:
            raise storage_error(error, self._url(path)) from error

    def join(self, directory: str, name: str) -> str:
        return f"{directory.rstrip('/')}/{name}"

    def _fetch(self, path: str, seen: FileStat, put: Put) -> None:
        name = path.rsplit("/", 1)[-1]
        try:
            fetch(self._fs, path, seen.size, put, self._silent)
        except ValueError:
            raise file_changed(name) from None
        except FileNotFoundError:
            raise file_vanished(name) from None
        except Exception as error:
            reason = storage_error(error, self._url(path))
            if reason.code == StorageFailed.code:
                self._check_unchanged(path, name, seen)  # raises a more specific error if the file changed
            raise reason from error
        self._check_unchanged(path, name, seen)  # the ranges may stem from two versions

    def _check_unchanged(self, path: str, name: str, seen: FileStat) -> None:
        try:
            now = file_stat(with_timeout(_ANSWER_S, lambda: self._fs.info(path), self._silent))
        except FileNotFoundError:
            raise file_vanished(name) from None
        except Exception as error:
            raise storage_error(error, self._url(path)) from error
        # Listings and stats of one object may round times differently, so tags are compared first.
        same = now.tag == seen.tag if now.tag and seen.tag else now.mtime_ns == seen.mtime_ns
        if now.size != seen.size or not same:
            raise file_changed(name)

    def _directory(self, path: str) -> Directory | None:
        """What is known of a directory, of whatever age."""
        return self._tree.get(path) if self._tree is not None else self._remembered.get(path)

    def _stat_now(self, path: str, directory: Directory) -> None:
        """Stores the stats from the store in `directory`; raises OSError, StorageFailed."""
        began = time.monotonic()
        directory.files = self._list(path)[1]
        directory.listed_at = directory.seen_at = began
        directory.denied = None

    def _refresh_later(self, path: str, directory: Directory) -> Future[None] | None:
        """Refreshes a directory in the background, on one of a few threads; None if all are taken.

        The result is an OSError if the directory is gone; what the store does not answer or denies stays as it is.
        """
        running = self._refreshing.get(path)
        if running is not None or len(self._refreshing) >= _MOST_REFRESHED:
            return running
        done: Future[None] = Future()
        self._refreshing[path] = done

        def work() -> None:
            try:
                self._stat_now(path, directory)
                done.set_result(None)
            except (ProfileError, PermissionError) as error:
                if isinstance(error, PermissionError) or error.code == STORAGE_DENIED:
                    directory.denied = storage_error(error, self._url(path))
                directory.listed_at = time.monotonic()  # do not try again at once
                done.set_result(None)
            except Exception as error:
                self.invalidate()
                done.set_exception(error)
            finally:
                self._refreshing.pop(path, None)

        threading.Thread(target=work, name="profile-list", daemon=True).start()
        return done

    def _age(self, directory: Directory) -> float:
        """Seconds since a directory was listed; infinite if that was before the last `invalidate`."""
        last = max(self._listed_at, directory.listed_at)
        return time.monotonic() - last if last >= self._trusted_from else float("inf")

    def _cached(self, path: str) -> tuple[set[str], dict[str, FileStat]] | None:
        """Sub-directories and files of a directory from a listing younger than `rescan_after_s`; None without one."""
        if self._tree is None:
            return None
        directory = self._tree.get(path)
        if directory is not None:
            fresh = self._age(directory) <= self.rescan_after_s
            return (directory.directories, directory.files) if fresh else None
        if self._age(Directory()) > self.rescan_after_s:
            return None
        missing = FileNotFoundError(path)
        raise storage_error(missing, self._address) if path == self._root else missing

    def _list(self, path: str) -> tuple[set[str], dict[str, FileStat]]:
        """Sub-directories and files of one directory, from the store."""
        directories: set[str] = set()
        files: dict[str, FileStat] = {}
        try:
            infos = with_timeout(_ANSWER_S, lambda: self._fs.ls(path, detail=True), self._silent)
            self._failed_at = None
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            if path == self._root:
                raise storage_error(error, self._address) from error
            raise
        except Exception as error:
            failed = storage_error(error, self._url(path))
            if failed.code == STORAGE_DENIED and path != self._root:  # other directories may be allowed
                raise PermissionError(failed.message) from error
            self._fault, self._failed_at = failed, time.monotonic()
            raise failed from error
        for info in infos:
            name = str(info["name"]).rstrip("/").rsplit("/", 1)[-1]
            # Object stores list the directory's own marker object among its content, web servers any links.
            if not name or str(info["name"]).strip("/") == path.strip("/") or (self._is_web and not is_plain(name)):
                continue
            if info.get("type") == "directory":
                directories.add(name)
            elif is_relevant(name):
                files[name] = file_stat(info)
        return directories, files

    def _below(self, path: str) -> list[Any]:
        with contextlib.suppress(FileNotFoundError):
            return list(self._fs.find(path, detail=True, withdirs=True).values())
        if path == self._root and not self._fs.exists(path):
            raise FileNotFoundError(path)
        return []

    def _url(self, path: str) -> str:
        return redacted_url(path if "://" in path else f"{self._protocol}://{path.lstrip('/')}")


def _silent_threads(address: str) -> SilentThreads:
    """Shared by everything that reads from the same host or bucket."""
    return silent_threads("/".join(address.split("/", 3)[:3]))
