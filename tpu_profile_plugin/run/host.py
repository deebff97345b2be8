"""One host of a run: its columns, derived values, and per-host results."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.errors import EMPTY_FILE, Problem
from tpu_profile_plugin.system.process import threads_for

if TYPE_CHECKING:
    import numpy as np

    from tpu_profile_plugin.columns import XSpace
    from tpu_profile_plugin.formats import Unpacked
    from tpu_profile_plugin.logdir import HostFile

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Origin:
    """The location of a host's file, for any process.

    Attributes:
      address: the URL of the filesystem, "" for local files.
      file: the file within it, as it was when the run was listed.
      copies: directory and limit in bytes of the cache of remote files (`ContentCache.location`); None: no cache.
      recorded: the profile has events with impossible times, too.
    """

    address: str
    file: HostFile
    copies: tuple[str, int] | None = None
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Engine:
    """Where results of a host were computed.

    Attributes:
      name: "threads", "processes", "cluster", or "kept" for results from disk.
      reason: a sentence: why there.
      fallback: the one that was asked for failed.
    """

    name: str
    reason: str = ""
    fallback: bool = False


class HostProfile:
    """One host's profile; its columns are decoded on first use and shared by everything in the process.

    Events with impossible times are not in the columns; `recorded` has all events.

    Attributes:
      name: the host.
      index: its position among the chosen hosts.
      file: name of its file, for messages.
      size: of the file, in bytes; 0 if unknown.
      empty: whether the file has no bytes; False for what is no readable file.
      origin: locates the file for other processes; None if only this process can read it.
      kept: results per host that outlive the process; None if there are none.
      engines: where results of per-host steps were computed for this answer; empty if all were in memory.
    """

    def __init__(
        self,
        file: HostFile,
        index: int,
        read: Callable[[HostFile], np.ndarray[Any, np.dtype[np.uint8]]],
        cache: ProfileCache,
        *,
        origin: Origin | None = None,
        kept: KeptResults | None = None,
        recorded: bool = False,
    ) -> None:
        """`recorded`: with events that have impossible times."""
        self.name = file.host
        self.index = index
        self.file = file.name
        self.size = file.size
        self.empty = file.size == 0 and (file.problem is None or file.problem.code == EMPTY_FILE)
        self.origin = replace(origin, recorded=recorded) if origin else None
        self.kept = kept
        self.engines: dict[Engine, None] = {}
        self._identity = as_recorded(file.identity) if recorded else file.identity
        self._as_recorded = recorded
        self._file = file
        self._read_file = read
        self._cache = cache

    @property
    def data(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes of the file."""
        return self._read_file(self._file)

    @property
    def content(self) -> Unpacked:
        """The file as an XSpace, whatever its format, and what was left out. Raises CorruptProfile."""
        return self._cache.content(self._identity, lambda: self.data, self.file)

    @property
    def identity(self) -> Hashable:
        """Equal for equal content of the file."""
        return self._identity

    @property
    def space(self) -> XSpace:
        """The decoded columns. Raises CorruptProfile with the file's name when the bytes do not decode."""
        return self._cache.space(self._identity, lambda: self.data, self.file, as_recorded=self._as_recorded)

    @property
    def lazy(self) -> XSpace:
        """The columns, each plane decoded on first access."""
        return self._cache.lazy(self._identity, lambda: self.data, self.file, as_recorded=self._as_recorded)

    @property
    def mapper(self) -> Callable[[Callable[[Any], T], Iterable[Any]], Iterable[T]]:
        """Maps independent parts of the analysis: on threads if the profile is large, else `map`."""
        return threads_for(len(self.lazy.data))

    @property
    def recorded(self) -> HostProfile:
        """The profile with all events, also those with impossible times."""
        return HostProfile(
            *(self._file, self.index, self._read_file, self._cache), origin=self.origin, kept=self.kept, recorded=True
        )

    @property
    def metadata(self) -> XSpace:
        """The columns of the planes with HLO modules only; the cost does not depend on the number of events."""
        return self._cache.metadata(self._identity, lambda: self.data, self.file)

    def once(self, key: Hashable, make: Callable[[], T], *, alone: bool = False) -> T:
        """`make()`, computed once per process and cached with the columns under `key`; see `derived`."""
        value: T = self._cache.derived(self._identity, key, make, alone=alone)
        return value

    def holds(self, key: Hashable) -> bool:
        """Whether `once` has a value under `key`."""
        return self._cache.has(self._identity, key)

    def release(self, *results: Derived[..., Any], least: int | None = None) -> None:
        """Drops the columns, and these derived values, if the columns hold at least `least` bytes.

        By default if they take a large share of the cache. They are decoded again on the next use.
        """
        self._cache.release(self._identity, *(result.name for result in results), least=least)

    def drop(self) -> None:
        """Drops the columns and all that is derived from them; results of per-host steps stay."""
        self._cache.discard(self._identity)

    def withdraw(self) -> None:
        """Drops everything that was made of the file, because it changed while it was read."""
        for identity in (self._file.identity, as_recorded(self._file.identity)):
            self._cache.discard(identity)
            self._cache.discard(("per_host", identity))
            if self.kept is not None:
                self.kept.withdraw(identity)

    def forget(self, *names: str) -> None:
        """Drops the values derived under these keys, and under tuples that begin with one of them."""
        self._cache.forget(self._identity, *names)

    def forget_metadata(self) -> None:
        """Drops the columns of `metadata` and the values derived from them."""
        self._cache.forget(self._identity, _METADATA)

    def compute(self, step: PerHost[T], executor: HostExecutor | None = None, needs: Sequence[PerHost[Any]] = ()) -> T:
        """The result of a step, computed once per process and kept even when the columns are dropped.

        `executor` runs it; by default it runs on the calling thread. Neither happens if `kept` has the result. `needs`:
        see `HostExecutor.compute`.
        """

        def make() -> T:
            if self.kept is not None:
                with suppress(KeyError):
                    value: T = self.kept.get(self._identity, step)
                    self.engines[_KEPT] = None
                    return value
            return (executor or _INLINE).compute(self, step, needs)

        value: T = self._cache.derived(("per_host", self._identity), step, make, alone=True)
        return value

    @property
    def losses(self) -> tuple[Problem, ...]:
        """What was left out of the file or is damaged in it, by the attribute `losses` of results that are in memory.

        Reads nothing. Results of any per-host step may have this attribute: a tuple of problems.
        """
        return losses_in(self._cache.held(("per_host", self._identity)), self._file)

    def in_memory(self, step: PerHost[Any]) -> bool:
        """Whether the result of a step is in the cache."""
        return self._cache.has(("per_host", self._identity), step)

    def has(self, step: PerHost[Any]) -> bool:
        """Whether the result of a step is in the cache, or kept."""
        return self.in_memory(step) or (self.kept is not None and self.kept.has(self._identity, step))

    def store(self, step: PerHost[T], value: T, size: int) -> None:
        """Stores a result of another process in the cache; `size` is approximate, in bytes."""
        self._cache.store(("per_host", self._identity), step, value, size)
        self.keep(step, value)

    def visit(self) -> AbstractContextManager[Any]:
        """Held while another process reads the file, so that requests of one page share what it finds."""
        return self._cache.lock(("per_host", self._identity), "visit")

    def keep(self, step: PerHost[T], value: T) -> None:
        """Passes a result on to `kept`."""
        if self.kept is not None:
            self.kept.put(self._identity, step, value)

    def once_for(self, hosts: tuple[HostProfile, ...], key: Hashable, make: Callable[[], T]) -> T:
        """`make()`, cached under `key` for this set of hosts; see `RunHosts.once`."""
        identity = ("hosts", *(host._identity for host in hosts))
        value: T = self._cache.derived(identity, key, make)
        return value


def as_recorded(identity: Hashable) -> Hashable:
    """The identity of a file read with all events, also those with impossible times."""
    return identity, "recorded"


def losses_in(results: Iterable[Any], file: HostFile) -> tuple[Problem, ...]:
    """The losses that results of per-host steps tell of a file, each once."""
    found = (problem for result in results for problem in getattr(result, "losses", ()))
    return tuple(dict.fromkeys(replace(one, host=file.host, file=one.file or file.name) for one in found))


class Derived(Generic[P, T]):
    """A function of a host, and of hashable arguments, whose results are cached with the host's columns."""

    def __init__(self, make: Callable[Concatenate[HostProfile, P], T], alone: bool, metadata: bool) -> None:
        functools.update_wrapper(self, make)
        self.name = f"{make.__module__}.{make.__qualname__}"
        self._make = make
        self._signature = inspect.signature(make)
        self._alone = alone
        self._prefix = (_METADATA,) if metadata else ()

    def __call__(self, host: HostProfile, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result, computed on first use; shared, so it must not be modified."""
        key = self._key(host, *args, **kwargs)
        return host.once(key, lambda: self._make(host, *args, **kwargs), alone=self._alone)

    def is_known(self, host: HostProfile, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Whether the result is in memory."""
        return host.holds(self._key(host, *args, **kwargs))

    def _key(self, host: HostProfile, *args: P.args, **kwargs: P.kwargs) -> Hashable:
        given = self._signature.bind(host, *args, **kwargs)
        given.apply_defaults()  # equal calls get equal keys, whatever mix of positional and keyword arguments
        return (*self._prefix, self.name, *given.args[1:])


def derived(
    *, alone: bool = False, metadata: bool = False
) -> Callable[[Callable[Concatenate[HostProfile, P], T]], Derived[P, T]]:
    """Decorates a pure function of a host: its result is computed once per process and dropped with the columns.

    Args:
      alone: the result does not refer to the columns.
      metadata: it refers to the columns of `HostProfile.metadata` only.
    """
    return lambda make: Derived(make, alone, metadata)


@dataclass(frozen=True)
class PerHost(Generic[T_co]):
    """A function of one host with a small result, for maps over many hosts; declared by `per_host`.

    Attributes:
      make: (host, *args) -> T. The result must be picklable and immutable, consist of dataclasses of `analysis` and
        `run`, plain data and arrays, and grow with distinct names and steps rather than with events.
      args: further arguments, part of the identity.
      first: steps that are computed before it, because others wait for their results.
      beside: (host) -> None, reads what `make` needs later; runs on another core meanwhile if the profile is large.
      drops: names of derived values that nothing needs afterwards.

    Only `make` and `args` are part of the identity.
    """

    make: Callable[..., T_co]
    args: tuple[Hashable, ...] = ()
    first: tuple[PerHost[Any], ...] = field(default=(), compare=False)
    beside: Callable[[HostProfile], object] | None = field(default=None, compare=False)
    drops: tuple[str, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """`module:function`, which identifies the step in other processes and on disk."""
        return f"{self.make.__module__}:{self.make.__qualname__}"

    def __call__(self, host: HostProfile, *args: Hashable) -> T_co:
        """The result for one host, cached."""
        return host.compute(self.given(*args) if args else self)

    def given(self, *args: Hashable) -> PerHost[T_co]:
        """The step with these arguments."""
        return replace(self, args=args)

    def __reduce__(self) -> tuple[Any, ...]:
        # By name, because the module's attribute is the step, not the undecorated function.
        return _named_step, (self.name, self.args)


def _named_step(name: str, args: tuple[Hashable, ...]) -> PerHost[Any]:
    module, _, function = name.partition(":")
    step = getattr(importlib.import_module(module), function)
    assert isinstance(step, PerHost)
    return step.given(*args)


def per_host(
    *,
    first: tuple[PerHost[Any], ...] = (),
    beside: Callable[[HostProfile], object] | None = None,
    drops: tuple[str, ...] = (),
) -> Callable[[Callable[..., T]], PerHost[T]]:
    """Decorates a module-level function of a host, and hashable arguments: see `PerHost`."""
    return lambda make: PerHost(make, first=first, beside=beside, drops=drops)


class KeptResults(Protocol):
    """Results of per-host steps that outlive the process, by the identity of the file."""

    def has(self, identity: Hashable, step: PerHost[Any]) -> bool:
        """Whether there is a result, which may turn out to be unreadable."""

    def get(self, identity: Hashable, step: PerHost[Any]) -> Any:
        """The result; raises KeyError."""

    def put(self, identity: Hashable, step: PerHost[Any], value: Any) -> None:
        """Keeps a result if possible; called from several threads."""

    def withdraw(self, identity: Hashable) -> None:
        """Deletes all results of a file."""


class HostExecutor(Protocol):
    """Computes per-host steps: on threads of this process, in worker processes or on a cluster."""

    def width(self, hosts: Sequence[HostProfile]) -> int:
        """How many of these hosts to work on at once; called before each round."""

    def compute(self, host: HostProfile, step: PerHost[T], needs: Sequence[PerHost[Any]] = ()) -> T:
        """The result for one host; called from several threads. Raises ProfileError.

        `needs`: steps that are asked for next. Where reading the file again costs time, they are computed now.
        """


class LocalThreads:
    """Threads of this process, which worker processes have too: decoding and most analysis run without the GIL."""

    def __init__(self, threads: int, reason: str = "") -> None:
        self._threads = threads
        self._engine = Engine("threads", reason)

    def width(self, hosts: Sequence[HostProfile]) -> int:
        """As many hosts as there are threads."""
        return min(self._threads, len(hosts))

    def compute(self, host: HostProfile, step: PerHost[T], needs: Sequence[PerHost[Any]] = ()) -> T:
        """Computes it from the cached columns, which stay: the other needs can wait until they are asked for."""
        host.engines[self._engine] = None
        for earlier in step.first:
            host.compute(earlier)
        value: T
        if step.beside is None or host.mapper is map:
            value = step.make(host, *step.args)
        else:
            works = partial(step.make, host, *step.args), partial(step.beside, host)
            value, _ = host.mapper(lambda work: work(), works)
        if step.drops:
            host.forget(*step.drops)
        host.keep(step, value)
        return value


_INLINE = LocalThreads(1)
_KEPT = Engine("kept", "Its summaries were on disk.")
