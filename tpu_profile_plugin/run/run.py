"""`Run`: what one recording says, for pages, commands, scripts and reports alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.logdir import HostFile
from tpu_profile_plugin.run.host import HostExecutor, HostProfile, KeptResults, Origin
from tpu_profile_plugin.run.hosts import RunHosts, ignore_progress, local_threads

R = TypeVar("R", bound="Run")


@dataclass(frozen=True)
class Source:
    """Where runs are read from, and what reading them shares.

    Attributes:
      read: the bytes of a file.
      cache: decoded columns and what is derived from them.
      executor: chooses where per-host steps of many hosts run.
      kept: results per host that outlive the process; None for none.
      address: the URL of the filesystem, "" for local files; None if only this process can read the files.
      copies: directory and limit in bytes of the cache of remote files; None without one.
    """

    read: Callable[[HostFile], np.ndarray[Any, np.dtype[np.uint8]]]
    cache: ProfileCache
    executor: Callable[[Sequence[HostProfile]], HostExecutor] = local_threads
    kept: KeptResults | None = None
    address: str | None = None
    copies: tuple[str, int] | None = None

    def profiles(self, files: Sequence[HostFile]) -> tuple[HostProfile, ...]:
        """The hosts of these files; results of a single host are quick to compute again and not kept."""
        kept = self.kept if len(files) > 1 else None
        address = self.address
        return tuple(
            HostProfile(
                *(file, i, self.read, self.cache),
                origin=None if address is None else Origin(address, file, self.copies),
                kept=kept,
            )
            for i, file in enumerate(files)
        )


@dataclass(frozen=True, eq=False)
class Run(RunHosts):
    """One recording."""

    @classmethod
    def of(
        cls: type[R],
        name: str,
        files: Sequence[HostFile],
        source: Source,
        on_progress: Callable[[int, int], None] = ignore_progress,
    ) -> R:
        """The run whose hosts have these files; nothing is read yet."""
        return cls(name, source.profiles(files), source.executor, on_progress)

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""
        return [host.name for host in self.profiles]
