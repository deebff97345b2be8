"""Walks a logdir for runs, in bounded time; later walks list only directories that changed."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tpu_profile_plugin.logdir.files import Files, Listing
from tpu_profile_plugin.logdir.model import UNREADABLE_DIRECTORY, Problem, unreadable_directory
from tpu_profile_plugin.logdir.names import CAPTURES, printable, unique_name
from tpu_profile_plugin.logdir.run_files import earlier_recordings, holds_run, recording_name
from tpu_profile_plugin.logdir.sniff import Tries
from tpu_profile_plugin.system.paths import last_part

_TRUST_S = 30.0
"""How long an unchanged stamp is trusted, in seconds: some mounts never update the time of a directory."""

_MOST_TRIES, _MOST_REMOTE_TRIES = 4096, 64
"""Files that a walk looks into to find runs; the others are left for the next walk."""


@dataclass(frozen=True, slots=True)
class RunLocation:
    """A run's name, its directory relative to the logdir, the path to open, and which recording there it is."""

    name: str
    directory: str
    path: str
    recording: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one walk; `began` and `ended` are readings of time.monotonic().

    `listed`: when the locations were listed, if that is longer ago because the store does not answer.
    """

    locations: dict[str, RunLocation]
    directories: int
    began: float
    ended: float
    problems: tuple[Problem, ...] = ()
    listed: float | None = None

    @property
    def listed_at(self) -> float:
        return self.began if self.listed is None else self.listed

    @property
    def names(self) -> list[str]:
        """The runs' names in descending order, as clients expect them."""
        return sorted(self.locations, reverse=True)


@dataclass(slots=True)
class _Cached:
    """A listing, whether its files are a run, and the names of the earlier recordings among them.

    `untold`: names do not tell whether it is a run, and the files were not looked into.
    """

    listing: Listing
    read_at: float
    is_run: bool = False
    recordings: tuple[str, ...] = ()
    untold: bool = False


@dataclass(slots=True)
class _Walk:
    """The findings of a walk: (name, directory, path, recording) of sessions and of bare directories."""

    sessions: list[tuple[str, str, str, str]] = field(default_factory=list)
    bare: list[tuple[str, str, str, str]] = field(default_factory=list)
    earlier: list[tuple[str, str, str, str]] = field(default_factory=list)
    seen: dict[str, _Cached] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    skipped: int = 0


class Scanner:
    """Caches the listing of every directory between walks; not thread-safe, the caller holds a lock."""

    def __init__(self, files: Files, root: str, limit_s: float = 10.0) -> None:
        self._files = files
        self._root = root
        self._limit_s = limit_s
        self._known: dict[str, _Cached] = {}
        self._tries = Tries(0)

    def scan(self) -> Scan:
        """Walks the tree level by level; directories not reached in time keep their last known content."""
        began = time.monotonic()
        self._files.refresh(self._root, self._limit_s)
        deadline = time.monotonic() + self._limit_s
        walk = _Walk()
        self._tries = Tries(_MOST_TRIES if self._files.workers == 1 else _MOST_REMOTE_TRIES)
        level = [("", self._root)]
        with ThreadPoolExecutor(self._files.workers) if self._files.workers > 1 else _Inline() as pool:
            while level:
                listings = pool.map(lambda item: self._listing(item[1], deadline), level)
                level = [
                    child
                    for item, listing in zip(level, listings, strict=True)
                    for child in self._enter(walk, item, listing)
                ]
        self._known = walk.seen
        if walk.skipped:
            walk.problems.append(
                Problem(
                    "scan_incomplete",
                    f"The logdir is large: {walk.skipped} directories were not scanned within {self._limit_s:g} s. "
                    "Reload to continue, or point --logdir at a smaller tree.",
                )
            )
        if untold := [path for path, cached in walk.seen.items() if cached.untold]:
            message = f"{len(untold)} directories have files that may be traces and were not looked into yet: reload."
            walk.problems.append(Problem("scan_incomplete", message))
        return Scan(_locations(walk), len(walk.seen), began, time.monotonic(), tuple(walk.problems))

    def _listing(self, path: str, deadline: float) -> _Cached | OSError | None:
        """The directory's content, from the cache if unchanged; None when time is up and nothing is cached."""
        cached = self._known.get(path)
        now = time.monotonic()
        if now > deadline:
            return cached
        try:
            stamp = cached.listing.stamp if cached is not None and now - cached.read_at < _TRUST_S else None
            if stamp is not None and self._files.stamp(path) == stamp:
                return cached
            return self._looked_into(path, self._files.entries(path), now)
        except OSError as error:
            return error

    def _looked_into(self, path: str, listing: Listing, now: float) -> _Cached:
        """The content of a directory; a few files are read where names do not tell what it holds."""
        is_run = holds_run(self._files, path, listing.files, self._tries)
        if is_run is None:  # looked into next time
            return _Cached(replace(listing, stamp=None), now, untold=self._tries.left < 0)
        earlier = earlier_recordings(self._files, path, listing.files) if is_run else ()
        return _Cached(listing, now, is_run, earlier)

    def _enter(self, walk: _Walk, item: tuple[str, str], result: _Cached | OSError | None) -> Iterable[tuple[str, str]]:
        """Records the runs in a directory; yields the directories to visit next as (relative, path)."""
        relative, path = item
        if result is None:
            walk.skipped += 1
            return
        if isinstance(result, OSError):
            _record_error(walk, relative, result)
            return
        walk.seen[path] = result
        listing = result.listing
        holds_sessions = relative == "plugins/profile" or relative.endswith("/plugins/profile")
        if holds_sessions:
            owner = posixpath.dirname(posixpath.dirname(relative))
            for name in (*listing.directories, *listing.links):
                directory = f"{relative}/{name}"
                walk.sessions.append((posixpath.join(owner, name), directory, self._files.join(path, name), ""))
        elif result.is_run and not _is_session(relative) and not _is_captures(relative):
            walk.bare.append((relative or last_part(self._root), relative or ".", path, ""))
        if result.recordings and not _is_captures(relative):
            owner = posixpath.dirname(relative)
            run = relative or last_part(self._root)
            if _is_session(relative):
                run = posixpath.join(posixpath.dirname(posixpath.dirname(owner)), posixpath.basename(relative))
            for label in result.recordings:
                walk.earlier.append((recording_name(run, label), relative or ".", path, label))
        for name in listing.directories:
            yield (f"{relative}/{name}" if relative else name), self._files.join(path, name)


class _Inline:
    """Replaces the thread pool on local disks, where one thread is fastest."""

    map = staticmethod(map)

    def __enter__(self) -> _Inline:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _is_session(relative: str) -> bool:
    parent = posixpath.dirname(relative)
    return parent == "plugins/profile" or parent.endswith("/plugins/profile")


def _is_captures(relative: str) -> bool:
    """Whether the directory belongs to the run beside it."""
    return posixpath.basename(relative) == CAPTURES


def _record_error(walk: _Walk, relative: str, error: OSError) -> None:
    if relative == "":
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        walk.problems.append(Problem("logdir_unreadable", f"The logdir {reason} ({type(error).__name__})."))
    elif not isinstance(error, FileNotFoundError):
        message = unreadable_directory("a directory of the logdir", error)
        walk.problems.append(Problem(UNREADABLE_DIRECTORY, message, printable(relative)))


def _locations(walk: _Walk) -> dict[str, RunLocation]:
    """Runs by name. Of two with the same name, the one in a plugins/profile tree keeps it."""
    locations: dict[str, RunLocation] = {}
    for name, directory, path, recording in (*walk.sessions, *walk.bare, *walk.earlier):
        unique = unique_name(printable(name), locations)
        locations[unique] = RunLocation(unique, printable(directory), path, recording)
    return locations
