"""One host of a run as tools see it: its columns, values derived from them, and steps computed per host."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tpu_profile_plugin.cache.profiles import ProfileCache

if TYPE_CHECKING:
    import numpy as np

    from tpu_profile_plugin.columns import XSpace

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class HostProfile:
    """One host's profile; its columns are decoded on first use and shared by all tools of the process.

    Attributes:
      name: the host.
      index: its position among the chosen hosts.
      file: name of its file, for messages.
      origin: locates the file for other processes; None if only this process can read it.
      size: of the file, in bytes; 0 when it is not known.
      empty: whether the file is known to have no bytes.
      kept: results of per-host steps outside this process; None if there are none.
    """

    def __init__(
        self,
        name: str,
        index: int,
        file: str,
        identity: Hashable,
        read: Callable[[], np.ndarray[Any, np.dtype[np.uint8]]],
        cache: ProfileCache,
        *,
        origin: Any = None,
        size: int = 0,
        empty: bool = False,
        kept: KeptResults | None = None,
    ) -> None:
        self.name = name
        self.index = index
        self.file = file
        self._identity = identity
        self._read = read
        self._cache = cache
        self.origin = origin
        self.size = size
        self.empty = empty
        self.kept = kept

    @property
    def space(self) -> XSpace:
        """The decoded columns. Raises CorruptProfile with the file's name when the bytes do not decode."""
        return self._cache.space(self._identity, self._read, self.file)

    @property
    def lazy(self) -> XSpace:
        """The same columns, each plane decoded on first access, for tools that need few planes."""
        return self._cache.lazy(self._identity, self._read, self.file)

    @property
    def metadata(self) -> XSpace:
        """The columns of the planes with HLO modules only; the cost does not depend on the number of events."""
        return self._cache.metadata(self._identity, self._read, self.file)

    def derive(self, key: Hashable, fn: Callable[[XSpace], T]) -> T:
        """`fn(space)`, computed once per process and cached with the columns.

        Args:
          key: identifies the result, e.g. "step_events" or ("self_time", 3).
          fn: a pure function of the columns; its result is shared and must not be modified.
        """
        value: T = self._cache.derived(self._identity, key, lambda: fn(self.space))
        return value

    def release(self, *keys: Hashable, least: int | None = None) -> None:
        """Drops the columns, and the values derived under `keys`, if the columns hold at least `least` bytes.

        By default if they take a large share of the cache. They are decoded again on the next use.
        """
        self._cache.release(self._identity, *keys, least=least)

    def forget(self, *names: str) -> None:
        """Drops the values derived under these keys, and under tuples that begin with one of them."""
        self._cache.forget(self._identity, *names)

    def forget_metadata(self) -> None:
        """Drops the columns of `metadata` and the values derived from them."""
        self._cache.forget(self._identity, "metadata")

    def derive_lazily(self, key: Hashable, fn: Callable[[XSpace], T], *, alone: bool = False) -> T:
        """As `derive`, from the columns of `lazy`; `alone`: the result does not refer to these columns."""
        value: T = self._cache.derived(self._identity, key, lambda: fn(self.lazy), alone=alone)
        return value

    def derive_metadata(self, key: Hashable, fn: Callable[[XSpace], T]) -> T:
        """As `derive`, from the columns of `metadata`."""
        value: T = self._cache.derived(self._identity, ("metadata", key), lambda: fn(self.metadata))
        return value

    def compute(self, step: PerHost[T], executor: HostExecutor | None = None) -> T:
        """The result of a per-host step, computed once per process and kept even when the columns are dropped.

        `executor` runs it; by default it runs on the calling thread. Neither happens if `kept` has the result.
        """

        def make() -> T:
            if self.kept is not None:
                with suppress(KeyError):
                    value: T = self.kept.get(self._identity, step)
                    return value
            return (executor or _INLINE).compute(self, step)

        value: T = self._cache.derived(("per_host", self._identity), step, make, alone=True)
        return value

    def has(self, step: PerHost[Any]) -> bool:
        """Whether the result of a step is in the cache, or kept."""
        return self._cache.has(("per_host", self._identity), step) or (
            self.kept is not None and self.kept.has(self._identity, step)
        )

    def store(self, step: PerHost[T], value: T, size: int) -> None:
        """Puts a result that another process computed into the cache; `size` is in bytes, approximate."""
        self._cache.derived(("per_host", self._identity), step, lambda: value, size)
        self.keep(step, value)

    def keep(self, step: PerHost[T], value: T) -> None:
        """Passes a result on to `kept`."""
        if self.kept is not None:
            self.kept.put(self._identity, step, value)

    def derive_over(
        self, hosts: tuple[HostProfile, ...], key: Hashable, fn: Callable[[tuple[HostProfile, ...]], T]
    ) -> T:
        """`fn(hosts)`, cached for this set of hosts; use `Inputs.derive`."""
        identity = ("hosts", *(host._identity for host in hosts))
        value: T = self._cache.derived(identity, key, lambda: fn(hosts))
        return value


@dataclass(frozen=True, slots=True)
class PerHost(Generic[T_co]):
    """The map step of a tool over several hosts: a function of one host with a small result.

    Attributes:
      make: (host, *args) -> T, a module-level function, so that another process can import it. The result must be
        picklable and immutable, and grow with distinct names and steps rather than with events.
      args: further arguments, part of the identity of the step.
      prefetch: steps likely to be needed next, computed on the same visit to a file that another process decodes.
        Not part of the identity.
    """

    make: Callable[..., T_co]
    args: tuple[Hashable, ...] = ()
    prefetch: tuple[PerHost[Any], ...] = field(default=(), compare=False)

    def of(self, host: HostProfile) -> T_co:
        """Computes it on the calling thread; `HostProfile.compute` also caches it."""
        return self.make(host, *self.args)


class KeptResults(Protocol):
    """Results of per-host steps that outlive the process, by the identity of the file."""

    def has(self, identity: Hashable, step: PerHost[Any]) -> bool:
        """Whether there is a result, which may turn out to be unreadable."""

    def get(self, identity: Hashable, step: PerHost[Any]) -> Any:
        """The result; raises KeyError."""

    def put(self, identity: Hashable, step: PerHost[Any], value: Any) -> None:
        """Keeps a result if possible; called from several threads."""


class HostExecutor(Protocol):
    """Computes per-host steps: on threads of this process, in worker processes or on a cluster."""

    def width(self, hosts: Sequence[HostProfile]) -> int:
        """How many of these hosts to work on at once; called before each round."""

    def compute(self, host: HostProfile, step: PerHost[T]) -> T:
        """The result for one host; called from several threads. Raises ProfileError."""


class LocalThreads:
    """Threads of this process: decoding and most of the analysis run without the GIL."""

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def width(self, hosts: Sequence[HostProfile]) -> int:
        """As many hosts as there are threads."""
        return min(self._threads, len(hosts))

    def compute(self, host: HostProfile, step: PerHost[T]) -> T:
        """Computes it from the cached columns."""
        value = step.of(host)
        host.keep(step, value)
        return value


_INLINE = LocalThreads(1)
