"""Reads what a host did for several analyses: each part when it is first needed, and once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from tpu_profile_plugin.analysis.budget.host_time import HostTime, MainThread, host_time, main_thread, telling_events
from tpu_profile_plugin.analysis.budget.library_files import SourceFiles, source_files
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, hlo_programs, source_paths
from tpu_profile_plugin.analysis.steps.inferred import Evidence
from tpu_profile_plugin.columns import Plane, XSpace

Keep: TypeAlias = Callable[[Hashable, Callable[[], Any]], Any]
"""(key, make) -> what `make` returns, made once per key."""
EVENTS, TIME, MAIN = "telling_events", "host_time", "main_thread"
"""Keys of the parts; that of a main thread is a tuple which begins with `MAIN`."""


class HostReader:
    """What one host did.

    `keep` stores the parts, by default in this object; `programs` are the profile's, which tell files of the user's.
    """

    def __init__(
        self, space: XSpace, keep: Keep | None = None, programs: Callable[[], HloPrograms] | None = None
    ) -> None:
        self.space = space
        self._programs = programs or (lambda: hlo_programs(space))
        self._keep = _memory() if keep is None else keep

    @property
    def events(self) -> Plane | None:
        """The host plane with at least the events that tell what the host does, and all that launch work."""
        plane = host_plane(self.space)
        if plane is None or plane.decoded:
            return plane
        read: Plane | None = self._keep(EVENTS, lambda: telling_events(self.space))
        return read

    @property
    def time(self) -> HostTime:
        """What the host did when."""
        time: HostTime = self._keep(TIME, lambda: host_time(self.space, self.events))
        return time

    def main(self, since: int, until: int, evidence: Evidence | None = None) -> MainThread:
        """The main thread; arguments as those of `main_thread`."""
        main: MainThread = self._keep(
            (MAIN, since, until, evidence),
            lambda: main_thread(self.space, self.time, since, until, evidence, self._files),
        )
        return main

    def _files(self) -> SourceFiles:
        return source_files(source_paths(self._programs()))


def _memory() -> Keep:
    kept: dict[Hashable, Any] = {}

    def keep(key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in kept:
            kept[key] = make()
        return kept[key]

    return keep
