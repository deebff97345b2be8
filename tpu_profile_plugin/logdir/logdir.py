"""A logdir: its runs, the files of a run, and their bytes; and sessions outside of it that the operator allowed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import BadRequest, FileChanged, Forbidden, NotFound, ProfileError, StorageFailed
from tpu_profile_plugin.logdir.files import Files, LocalFiles, read_host
from tpu_profile_plugin.logdir.model import LOGDIR_IS_FILE, STORAGE_DENIED, UNREADABLE, HostFile, Problem, RunFiles
from tpu_profile_plugin.logdir.names import printable
from tpu_profile_plugin.logdir.remote import ContentCache, RemoteFiles, address_of, is_below, is_remote, open_remote
from tpu_profile_plugin.logdir.remote_calls import redacted_url
from tpu_profile_plugin.logdir.run_files import holds_run, open_run
from tpu_profile_plugin.logdir.scan import Scan, Scanner
from tpu_profile_plugin.system import paths

if TYPE_CHECKING:
    import numpy as np

FLAG = "--profile_allowed_roots"
LABELS = "labels.json"
"""The file of a session with labels by key, as a person, a job or a capture wrote them."""
_MOST_LABELS = 1 << 16
_SCAN_LIMIT_S = 10.0


class AllowedRoots:
    """Opens sessions by full path: local ones are resolved (links, `..`) before they are compared with the roots.

    A URL must lead below a root however its store reads it, and redirects of web servers must not leave the root.
    """

    def __init__(self, roots: Sequence[str] = (), cache: ContentCache | None = None) -> None:
        self._roots = tuple(roots)
        self._cache = cache

    def session(self, path: str) -> tuple[RunFiles, Files]:
        """The run in the directory `path`, named by its base name, and the filesystem to read it from."""
        files, inner = self._resolve(path, "session_path")
        name = paths.last_part(inner)
        try:
            return open_run(files, inner, printable(name), "."), files
        except (FileNotFoundError, NotADirectoryError):
            raise _absent("session_path") from None

    def below(self, path: str) -> dict[str, tuple[RunFiles, Files]]:
        """The runs below the directory `path`, by name: its sub-directories that hold a profile."""
        files, inner = self._resolve(path, "run_path")
        try:
            files.refresh(inner, _SCAN_LIMIT_S)
            listing = files.entries(inner)
        except (FileNotFoundError, NotADirectoryError):
            raise _absent("run_path") from None
        except PermissionError:
            raise Forbidden("The server may not read this run_path.", parameter="run_path") from None
        runs = {}
        for name in listing.directories:
            directory = files.join(inner, name)
            try:
                if holds_run(files, directory, files.entries(directory).files):
                    runs[printable(name)] = (open_run(files, directory, printable(name), printable(name)), files)
            except OSError:
                continue
        return runs

    def _resolve(self, path: str, parameter: str) -> tuple[Files, str]:
        if not self._roots:
            raise Forbidden(
                f"{parameter} is switched off. Start the server with {FLAG} to allow directories outside the logdir.",
                parameter=parameter,
            )
        if "\0" in path:
            raise BadRequest(f"Parameter {parameter!r} is not a path.", parameter=parameter)
        if is_remote(path):
            return self._resolve_remote(path, parameter)
        if not paths.is_absolute(paths.local(path)):
            raise BadRequest(f"Parameter {parameter!r} must be a full path.", parameter=parameter)
        real = paths.comparable(path)
        for root in self._roots:
            if not is_remote(root) and paths.is_inside(real, paths.comparable(root)):
                return LocalFiles(), real
        raise _refused(parameter)

    def _resolve_remote(self, path: str, parameter: str) -> tuple[Files, str]:
        clean = path.rstrip("/")
        for root in self._roots:
            if is_remote(root) and is_below(clean, root):
                return open_remote(clean, self._cache, root)
        raise _refused(parameter)


def _refused(parameter: str) -> Forbidden:
    return Forbidden(f"This {parameter} is not below a directory that {FLAG} allows.", parameter=parameter)


def _absent(parameter: str) -> NotFound:
    return NotFound(f"There is no such {parameter}.", code="run_not_found", parameter=parameter)


_RETRY_S = 5.0
"""Seconds between attempts to open a filesystem that could not be opened."""

_PATIENCE_S = 2.0
"""Seconds that a request for the runs waits for a remote listing where an older one is known."""

_UNKNOWN_S = 0.5
"""Maximum age in seconds of a remote listing that lacks a requested run, which may have just been captured."""


class Logdir:
    """A logdir. Thread-safe; the constructor does no I/O and never fails."""

    def __init__(
        self, path: str | None, fs: Any = None, *, limit_s: float = 10.0, cache: ContentCache | None = None
    ) -> None:
        """A logdir at a local path or URL; None or "" has no runs.

        Args:
          path: path or URL; with `fs`, a path within that filesystem.
          fs: an fsspec filesystem, for tests.
          limit_s: time limit of one scan.
          cache: local copies of remote files.
        """
        self._path = path or ""
        self._fs = fs
        self._limit_s = limit_s
        self._cache = cache
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._scanner: Scanner | None = None
        self._files: Files | None = None
        self._last: Scan | None = None
        self._seen_any = False
        self._background: threading.Thread | None = None
        self._walking: Future[Scan] | None = None

    @property
    def path(self) -> str:
        """The path as given; of a URL, the part without user, password and query."""
        return redacted_url(self._path)

    @property
    def absolute_path(self) -> str:
        """The path from the root, for programs that run elsewhere; of a URL the same as `path`."""
        if not self._path or self._fs is not None or is_remote(self._path):
            return self.path
        return paths.absolute(self._path)

    @property
    def address(self) -> str | None:
        """The address for opening this filesystem in another process: "" for local files, else a URL, or None."""
        if self._fs is not None:
            return None
        return address_of(self._path)

    def names(self) -> list[str]:
        """The names of the runs, descending, after a rescan."""
        return self.scan().names

    def runs(self) -> list[RunFiles]:
        """All runs with their files, in the order of `names`; no file is opened."""
        scan = self.scan()
        runs = []
        for name in scan.names:
            run = self._try(scan, name)
            if run is not None:  # None: removed since the scan
                runs.append(run)
        return runs

    def newest_first(self) -> list[RunFiles]:
        """All runs, the latest session first; see `RunFiles.time_ms`. Equal times: by name, descending.

        Earlier recordings of a directory come behind its latest one.
        """
        runs = self.runs()
        latest = {run.directory: run.time_ms for run in runs if not run.earlier}
        key = lambda run: (latest.get(run.directory, run.time_ms), not run.earlier, run.time_ms)  # noqa: E731
        return sorted(runs, key=key, reverse=True)

    def newest(self) -> RunFiles | None:
        """The run of the latest session; None without runs."""
        return next(iter(self.newest_first()), None)

    def run(self, name: str) -> RunFiles:
        """One run with its current files; raises NotFound. The name is looked up, never used as a path."""
        run = self._try(self._last, name)
        if run is None:
            scan = self.scan(_UNKNOWN_S, patience_s=None)
            run = self._try(scan, name)
            denied = next((problem for problem in scan.problems if problem.code == STORAGE_DENIED), None)
            if run is None and denied is not None:
                raise StorageFailed(denied.message, code=denied.code)
        if run is not None:
            return self._with_age(run)
        raise NotFound(f"There is no run {name[:200]!r} in this logdir.", code="run_not_found", run=name[:200])

    def read(self, file: HostFile) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The file's bytes, read-only; raises NotFound, Forbidden, or FileChanged when it differs from its listing."""
        if file.problem is not None and file.problem.code == UNREADABLE:
            raise Forbidden(file.problem.message, file=file.name)
        files = self._get_files()
        try:
            return read_host(files, file)
        except (NotFound, FileChanged):
            files.invalidate()
            raise

    def labels(self, run: RunFiles) -> bytes:
        """The beginning of the file labels.json beside the profiles of a run; b"" without one that can be read."""
        location = self._last.locations.get(run.name) if self._last is not None else None
        if location is None:
            return b""
        files = self._get_files()
        with contextlib.suppress(OSError, ProfileError):
            return files.head(files.join(location.path, LABELS), _MOST_LABELS)
        return b""

    def has_runs(self, wait_s: float = 1.0) -> bool:
        """Whether any run was ever found; if not, scans in the background and waits for at most `wait_s`."""
        if self._seen_any or not self._path:
            return self._seen_any
        with self._opening:
            thread = self._background
            if thread is None or not thread.is_alive():
                thread = self._background = threading.Thread(target=self._scan_once, name="logdir-scan", daemon=True)
                thread.start()
        thread.join(wait_s)
        return self._seen_any

    def scan(self, pause_s: float | None = None, *, patience_s: float | None = _PATIENCE_S) -> Scan:
        """Walks the tree, or returns the result of another thread's walk that began after this call.

        The last walk of a remote tree is reused for some seconds, at most `pause_s` if given. A walk that takes longer
        than `patience_s` goes on in the background, and the last one is returned, with a problem that says its age.
        """
        called = time.monotonic()
        with self._lock:
            last = self._last
            longest = self._files.rescan_after_s if self._files is not None else _RETRY_S
            pause_s = longest if pause_s is None else min(pause_s, longest)
            if last is not None and (last.began >= called or called - last.ended < pause_s):
                return last
            patient = patience_s is None or last is None or not last.locations
            if is_remote(self._path) or self._fs is not None:
                scan = self._walk_elsewhere(called, None if patient else patience_s)
            else:
                scan = self._walk(called)
            self._last = scan
            self._seen_any = self._seen_any or bool(scan.locations)
            return scan

    def _walk_elsewhere(self, called: float, patience_s: float | None) -> Scan:
        """The walk of a thread, which later calls wait for too; without its result in time, the last one and why."""
        joined = self._walking
        if joined is not None and patience_s is None:
            wait([joined])  # it began before this call, and may lack what is asked for
            joined = None
        walking = joined or Future()
        if joined is None:
            self._walking = walking
            threading.Thread(
                target=_fulfil, args=(walking, self._walk, called), name="logdir-walk", daemon=True
            ).start()
        last = self._last
        wait([walking], patience_s)
        if not walking.done() and last is not None:
            message = f"{self.path} has not answered for {patience_s:g} s."
            return self._older(last, called, Problem("storage_slow", message))
        self._walking = None
        return walking.result()

    def _older(self, last: Scan, called: float, problem: Problem) -> Scan:
        """The last known runs, which stay listed while a store does not answer, with the reason and their age."""
        now = time.monotonic()
        if last.locations:
            age = duration(now - last.listed_at)
            problem = Problem(problem.code, f"{problem.message} The sessions shown were listed {age} ago.")
        return Scan(last.locations, last.directories, called, now, (problem,), last.listed_at)

    def _with_age(self, run: RunFiles) -> RunFiles:
        """The run, with a problem if its files cannot be listed again at the moment."""
        location = self._last.locations.get(run.name) if self._last is not None else None
        age_s = self._get_files().outdated_s(location.path) if location is not None else None
        if age_s is None or location is None:
            return run
        denied = self._get_files().fault_of(location.path)
        fault = denied or StorageFailed(f"{self.path} does not answer.", code="storage_slow")
        message = (
            f"{fault.message} The files of this session were listed {duration(age_s)} ago. "
            "Files with a local copy can be opened."
        )
        return replace(run, problems=(*run.problems, Problem(fault.code, message)))

    def _scan_once(self) -> None:
        try:
            self.scan()
        except ProfileError:
            return  # /status reports it; a logdir that cannot be opened has no runs

    def _walk(self, called: float) -> Scan:
        if not self._path:
            problem = Problem(
                "no_logdir", "TensorBoard was started without --logdir (a --logdir_spec is not supported)."
            )
            return Scan({}, 0, called, time.monotonic(), (problem,))
        try:
            files = self._get_files()
            if isinstance(files, LocalFiles) and Path(self._root).is_file():
                return Scan({}, 0, called, time.monotonic(), (_is_file(Path(self._root).name),))
            if self._scanner is None:
                self._scanner = Scanner(files, self._root, self._limit_s)
            return self._scanner.scan()
        except ProfileError as error:
            last = self._last
            if last is None or error.code == "storage_missing":
                last = Scan({}, 0, called, called)
            return self._older(last, called, Problem(error.code, error.message))

    def _try(self, scan: Scan | None, name: str) -> RunFiles | None:
        location = scan.locations.get(name) if scan is not None else None
        try:
            if location is None:
                return None
            return open_run(self._get_files(), location.path, location.name, location.directory, location.recording)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _get_files(self) -> Files:
        if self._files is None:
            self._root = self._path
            if self._fs is not None:
                self._files = RemoteFiles(self._fs, self._path, f"memory://{self._path.lstrip('/')}", self._cache)
            elif is_remote(self._path):
                self._files, self._root = open_remote(self._path, self._cache)
            else:
                self._root = paths.absolute(self._path)
                self._files = LocalFiles()
        return self._files


def _is_file(name: str) -> Problem:
    """The problem of a logdir that is a profile, or another file."""
    remedy = (
        f"`tpu-profile serve {name}` shows a profile alone. Or put it into a directory, as "
        f"plugins/profile/<session>/{name}, and give that directory."
    )
    return Problem(LOGDIR_IS_FILE, f"The logdir is a file, {name}, not a directory.", name, remedy=remedy)


def _fulfil(future: Future[Scan], walk: Callable[[float], Scan], called: float) -> None:
    try:
        future.set_result(walk(called))
    except BaseException as error:
        future.set_exception(error)


def duration(seconds: float) -> str:
    """A time span in words, such as "3 minutes"."""
    for unit, size in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}s"
    return f"{max(1, round(seconds))} seconds"
