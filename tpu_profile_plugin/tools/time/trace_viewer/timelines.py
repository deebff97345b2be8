"""The timelines of the chosen hosts, and what is derived from them, kept with each host's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tpu_profile_plugin.analysis.common.planes import Preprocessed
from tpu_profile_plugin.analysis.timeline.host import HostTrace, Titles, host_trace, older_trace, titles
from tpu_profile_plugin.analysis.timeline.tracks import HOST_STRIDE, broken
from tpu_profile_plugin.analysis.timeline.window import Preview, TraceArgs, preview, trace_args
from tpu_profile_plugin.run.figures.summary import preprocess, preprocessed
from tpu_profile_plugin.run.host import HostProfile, derived
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.time.trace_viewer import canvas
from tpu_profile_plugin.units import MIB

LARGE_BYTES = 100 * MIB
"""The timeline of a host of this size takes about half a second to make."""


@derived()
def timeline_of(host: HostProfile, shift_ps: int) -> HostTrace:
    """The host's timeline, with its clock moved by `shift_ps`; the numbers of events are the same."""
    if not shift_ps:
        return host_trace(host.space, preprocessed(host))
    moved = host.space.shifted(shift_ps)
    return host_trace(moved, preprocess(moved))


@derived()
def divided(host: HostProfile) -> Preprocessed:
    """The timeline with derived rows broken where their device is idle, as our page shows them."""
    return broken(host.space, preprocessed(host))


@derived()
def page_timeline_of(host: HostProfile, shift_ps: int) -> HostTrace:
    """The timeline of our page, with its clock moved by `shift_ps`; the numbers of events are the same."""
    if divided(host) is preprocessed(host):
        return timeline_of(host, shift_ps)
    if not shift_ps:
        return host_trace(host.space, divided(host))
    moved = host.space.shifted(shift_ps)
    return host_trace(moved, broken(moved, preprocess(moved)))


@derived()
def older_timeline_of(host: HostProfile) -> HostTrace | None:
    """The timeline of the older form where it differs."""
    return older_trace(host.space, preprocessed(host))


@derived()
def args_of(host: HostProfile, folded: bool) -> TraceArgs:
    """The arguments of the host's events."""
    return trace_args(host.space, timeline_of(host, 0), folded=folded)


@derived()
def page_args_of(host: HostProfile, folded: bool) -> TraceArgs:
    """The arguments of the events of our page's timeline."""
    if divided(host) is preprocessed(host):
        return args_of(host, folded)
    return trace_args(host.space, page_timeline_of(host, 0), folded=folded)


@derived()
def page_titles(host: HostProfile, own: bool) -> Titles:
    """The names of sections and tracks; `own`: see `Timelines`."""
    return titles(host.space, page_timeline_of(host, 0)) if own else Titles()


@derived()
def page_header(host: HostProfile, pid_offset: int, own: bool) -> bytes:
    """The unchanging part of the page's forms; `own`: see `Timelines`."""
    trace = page_timeline_of(host, 0) if own else timeline_of(host, 0)
    return canvas.fixed_header(host.name, trace, page_titles(host, own), pid_offset)


@derived(alone=True)
def preview_of(host: HostProfile) -> Preview | None:
    """The first picture of the host, shown while its timeline is made."""
    return preview(host.lazy)


def pid_offset(position: int) -> int:
    """The number that is added to the process ids of the host at this position of several."""
    return HOST_STRIDE * (position + 1)


@dataclass(frozen=True)
class Timelines:
    """The timelines of the chosen hosts, each with its clock moved by `shifts` picoseconds.

    `own`: as our page shows them, with broken rows and the user documents' names; else as XProf does.
    """

    run: Run
    shifts: Sequence[int]
    own: bool = False

    @cached_property
    def _read(self) -> list[tuple[HostProfile, int, HostTrace]]:
        """The hosts that can be read, with their positions among all and their timelines."""
        timeline = page_timeline_of if self.own else timeline_of
        position = {id(host): i for i, host in enumerate(self.run.profiles)}
        found = self.run.iterate_hosts(lambda host: timeline(host, self.shifts[position[id(host)]]))
        return [(host, position[id(host)], trace) for host, trace in found]

    @property
    def profiles(self) -> list[HostProfile]:
        """The hosts that can be read."""
        return [host for host, _, _ in self._read]

    @property
    def positions(self) -> list[int]:
        """Their positions among the chosen hosts, which number their processes."""
        return [position for _, position, _ in self._read]

    @cached_property
    def hosts(self) -> list[tuple[str, HostTrace]]:
        """Names and timelines of the hosts that can be read."""
        return [(host.name, trace) for host, _, trace in self._read]

    @cached_property
    def traces(self) -> list[HostTrace]:
        """The timelines."""
        return [trace for _, trace in self.hosts]

    def args(self, *, folded: bool) -> list[TraceArgs]:
        """The arguments of the events of each host."""
        args = page_args_of if self.own else args_of
        return [args(host, folded) for host in self.profiles]

    @property
    def pid_offsets(self) -> list[int]:
        """The numbers that the page's forms add to the process ids of each host: 0 if there is only one."""
        several = len(self.run.profiles) > 1
        return [pid_offset(i) if several else 0 for _, i, _ in self._read]

    @property
    def page_headers(self) -> list[bytes]:
        """The unchanging part of the page's forms, per host."""
        return [
            page_header(host, offset, self.own) for host, offset in zip(self.profiles, self.pid_offsets, strict=True)
        ]

    @property
    def titles(self) -> list[Titles]:
        """The names of each host's sections and tracks."""
        return [page_titles(host, self.own) for host in self.profiles]

    def previews(self) -> list[tuple[Preview, bytes]]:
        """First pictures of large hosts, shown while their timelines are made, with the unchanging part of the header.

        Nothing if that would not be sooner: hosts are small, or in memory, or have corrected clocks.
        """
        timeline = page_timeline_of if self.own else timeline_of
        hosts = self.run.profiles
        if any(self.shifts) or sum(host.size for host in hosts) < LARGE_BYTES:
            return []
        if all(timeline.is_known(host, 0) for host in hosts):
            return []
        several, early = len(hosts) > 1, []
        position = {id(host): i for i, host in enumerate(hosts)}
        for host, found in self.run.iterate_hosts(preview_of):
            if found is None:
                return []
            offset = pid_offset(position[id(host)]) if several else 0
            titled = Titles(found.titles if self.own else {})
            early.append((found, canvas.fixed_header(host.name, found, titled, offset)))
        return early

    def release_columns(self, least: int | None = None) -> None:
        """Drops large columns: pictures need the timelines only."""
        for host in self.profiles:
            host.release(args_of, page_args_of, least=least)
