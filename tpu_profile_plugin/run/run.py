"""`Run`: the figures of one recording, for pages, commands, scripts and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.logdir import HostFile
from tpu_profile_plugin.run.facts import RunFacts, combine_facts, host_facts
from tpu_profile_plugin.run.host import HostExecutor, HostProfile, KeptResults, Origin, PerHost
from tpu_profile_plugin.run.hosts import OnProgress, RunHosts, ignore_progress, local_threads
from tpu_profile_plugin.tables.stream import TableStream

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
    from tpu_profile_plugin.analysis.communication.run_collectives import RunCommunication
    from tpu_profile_plugin.analysis.replay.what_if import WhatIf
    from tpu_profile_plugin.run.figures.annotations import Annotations
    from tpu_profile_plugin.run.figures.budget import Gaps
    from tpu_profile_plugin.run.figures.comparison import Comparison
    from tpu_profile_plugin.run.figures.findings import Findings
    from tpu_profile_plugin.run.figures.memory import AllocatorUse, Memory, ProgramPeak
    from tpu_profile_plugin.run.figures.op import HloAround, Op
    from tpu_profile_plugin.run.figures.ops import Backend, Kernels, OpRates, Ops, ProgramTimes
    from tpu_profile_plugin.run.figures.overview import Overview
    from tpu_profile_plugin.run.figures.programs import Programs
    from tpu_profile_plugin.run.figures.source import HostStacks, SourceLines, SourceProfile
    from tpu_profile_plugin.run.figures.steps import Steps
    from tpu_profile_plugin.run.figures.timeline import Timeline
    from tpu_profile_plugin.run.relations.event_choice import Names, Window

R = TypeVar("R", bound="Run")


@dataclass(frozen=True)
class Source:
    """The place that runs are read from, with the shared caches and executor.

    Attributes:
      read: the bytes of a file.
      cache: decoded columns and values derived from them.
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

    needs: tuple[PerHost[Any], ...] = field(default=(host_facts,), repr=False)

    @classmethod
    def of(
        cls: type[R],
        name: str,
        files: Sequence[HostFile],
        source: Source,
        on_progress: OnProgress = ignore_progress,
        listed: tuple[Problem, ...] = (),
    ) -> R:
        """The run whose hosts have these files, with the problems of its listing; nothing is read yet."""
        return cls(name, source.profiles(files), source.executor, on_progress, listed)

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""
        return [host.name for host in self.profiles]

    @cached_property
    def facts(self) -> RunFacts:
        """Planes, modules and device types of all readable hosts. Raises CorruptProfile if there is none."""
        return combine_facts(self.map_hosts(host_facts))

    @property
    def losses(self) -> tuple[Problem, ...]:
        """What was left out, cut or damaged, with its remedy; the rest is shown. Raises nothing about a profile.

        Reads the facts of every host, but no events: reading more may find more. Of one host: `run.on(host).losses`.
        """
        from tpu_profile_plugin.run.losses import known_losses

        return known_losses(self, self._unreadable)

    @cached_property
    def _unreadable(self) -> tuple[Problem, ...]:
        from tpu_profile_plugin.run.losses import unreadable_hosts

        return unreadable_hosts(self)

    def steps(self) -> Steps:
        """The steps. Raises NoData without any."""
        from tpu_profile_plugin.run.figures.steps import run_steps

        return run_steps(self)

    def ops(self, backend: Backend = "auto") -> Ops:
        """The ops of the devices, or of the CPU without devices, most self time first. Raises NoData without any."""
        from tpu_profile_plugin.run.figures.ops import run_ops

        return run_ops(self, backend)

    def op_rates(self) -> OpRates:
        """The ops with rates, limits and sources, as their pages show them. Raises NoData without any."""
        from tpu_profile_plugin.run.figures.ops import run_op_rates

        return run_op_rates(self)

    def op(self, name: str) -> Op:
        """One op by its id in `op_rates`, or by name. Raises NoData, NotFound, BadRequest for several with the name."""
        from tpu_profile_plugin.run.figures.op import run_op

        return run_op(self, name)

    def source_lines(self, place: str = "") -> SourceLines:
        """The source lines of a place, `FILE` or `FILE:LINE`, by the time of their ops. Raises NoData, NotFound."""
        from tpu_profile_plugin.run.figures.source import run_source

        return run_source(self, place)

    def source_profile(self, program: str = "") -> SourceProfile:
        """Time and work of all ops, and memory at the peak of a program, by file, function and line of the source.

        Args:
          program: by name with id or id; "": the one with the largest peak.

        Raises NoData without ops, NotFound.
        """
        from tpu_profile_plugin.run.figures.source import run_source_profile

        return run_source_profile(self, program)

    def annotations(self) -> Annotations:
        """Time, memory and findings of each source line. Raises NoData if nothing has a line."""
        from tpu_profile_plugin.run.figures.annotations import run_annotations

        return run_annotations(self)

    def python_stacks(self) -> HostStacks:
        """Time of the host threads that run Python, by call stack. Raises NoData without Python frames."""
        from tpu_profile_plugin.run.figures.source import run_python_stacks

        return run_python_stacks(self)

    def hlo(self, op: str, hops: int = 2) -> HloAround:
        """The HLO text of an instruction and of what is within so many hops. Raises NoData, NotFound, BadRequest."""
        from tpu_profile_plugin.run.figures.op import run_hlo

        return run_hlo(self, op, hops)

    def kernels(self) -> Kernels:
        """The GPU kernels, most time first. Raises NoData without any."""
        from tpu_profile_plugin.run.figures.ops import run_kernels

        return run_kernels(self)

    def budget(self) -> RunBudget:
        """The parts of each step, by device. Raises NoData without devices."""
        from tpu_profile_plugin.run.figures.budget import run_budget

        budget = run_budget(self)
        if not budget.devices:
            raise NO_DEVICES.error()
        return budget

    def decomposition(self) -> RunBudget:
        """The parts of each step as pages show them: of the hosts alone without devices. Raises NoData without both."""
        from tpu_profile_plugin.run.figures.budget import run_decomposition

        found = run_decomposition(self)
        if not len(found) or not found.devices:
            raise NO_DEVICES.error()
        return found

    def overview(self) -> Overview:
        """What the run is, what its average step is spent on, and what limits it."""
        from tpu_profile_plugin.run.figures.overview import run_overview

        return run_overview(self)

    def gaps(self) -> Gaps:
        """The longest times in which devices run no op, and the host call under each. Raises NoData without devices."""
        from tpu_profile_plugin.run.figures.budget import run_gaps

        return run_gaps(self)

    def timeline(self, begin_ps: int | None = None, end_ps: int | None = None, find: str = "") -> Timeline:
        """What ran in a window, by line and name; None for the begin or end of the recording.

        Args:
          begin_ps, end_ps: on the axis of the trace viewer.
          find: a text that the names of events have, in any case.

        Raises NoData without events, BadRequest for an empty window.
        """
        from tpu_profile_plugin.run.figures.timeline import run_timeline

        return run_timeline(self, begin_ps, end_ps, find)

    def communication(self) -> RunCommunication:
        """Collectives, and devices that others wait for. Raises NoData without devices."""
        from tpu_profile_plugin.run.figures.budget import run_communication

        communication = run_communication(self)
        if not communication.devices:
            raise NO_DEVICES.error()
        return communication

    def memory(self) -> Memory:
        """Memory of devices, allocators and programs. Raises NoData if nothing about memory was recorded."""
        from tpu_profile_plugin.run.figures.memory import run_memory

        return run_memory(self)

    def program_peak(self, program: str) -> ProgramPeak:
        """The memory of a program, by name with id or id, at its peak; "" for the largest. Raises NoData, NotFound."""
        from tpu_profile_plugin.run.figures.memory import run_program_peak

        return run_program_peak(self, program)

    def allocator_uses(self) -> tuple[AllocatorUse, ...]:
        """The peaks of the allocators, the fullest first, with the allocations there. Raises NoData without any."""
        from tpu_profile_plugin.run.figures.memory import run_allocator_uses

        return run_allocator_uses(self)

    def programs(self) -> Programs:
        """The HLO programs. Raises NoData without any."""
        from tpu_profile_plugin.run.figures.programs import run_programs

        return run_programs(self)

    def program_times(self) -> ProgramTimes:
        """The HLO programs by the time of their ops. Raises NoData without any."""
        from tpu_profile_plugin.run.figures.ops import run_program_times

        return run_program_times(self)

    def findings(self) -> Findings:
        """What slows the run down, the largest saving first, and what was looked for and not found."""
        from tpu_profile_plugin.run.figures.findings import run_findings

        return run_findings(self)

    def what_if(
        self,
        without: str | Sequence[str] = (),
        scale: Mapping[str, float] | None = None,
        hide_collectives: bool = False,
        ranks_equal: bool = False,
        input_free: bool = False,
    ) -> WhatIf:
        """How long the average step would take without some of what it does, replayed from recorded dependencies.

        Args:
          without: places that take no time: a Python function `file.py:line name`, its line or its name, another event
            of the main thread, an op, a kind of op, a program, or a line of source. What a place of the host launches
            goes with it.
          scale: places and the factor of their time.
          hide_collectives: collectives take no time beyond waits for late devices.
          ranks_equal: what devices do is spread evenly over them: each op takes the mean of all devices.
          input_free: waits for input, and copies to devices, take no time.

        Raises NoData without devices or steps, NotFound with names that are near if a place names nothing, BadRequest.
        """
        from tpu_profile_plugin.run.figures.replay import edit_of, run_what_if

        places = (without,) if isinstance(without, str) else tuple(without)
        return run_what_if(self, edit_of(places, scale or {}, hide_collectives, ranks_equal, input_free))

    def relation(self, name: str) -> TableStream:
        """One of the tables for programs (`run.relations`), read while it is used. Raises NotFound."""
        from tpu_profile_plugin.run.relations import find

        return find(name).of(self)

    def events(
        self,
        hosts: str | Sequence[str] | None = None,
        planes: Names = None,
        lines: Names = None,
        window: Window | None = None,
        stats: str | Sequence[str] = (),
    ) -> TableStream:
        """The recorded events as columns, read while they are used: a part per plane of each host.

        Args:
          hosts: names of hosts.
          planes, lines: a regular expression that is searched for in the name, or a list of names; lines are also found
            by their display name.
          window: the first and last ps, on the axis of the trace viewer, of the time that events overlap; None: open.
          stats: names of stats, each of which becomes a column: of the event, else of its metadata.

        Raises NotFound for a host that does not exist or a stat that no event has, BadRequest for a wrong expression or
        window, or a stat that is called as a column. Types of stats are found by reading all chosen hosts.
        """
        from tpu_profile_plugin.run.relations.event_choice import chosen_events, chosen_hosts
        from tpu_profile_plugin.run.relations.events import EVENTS, event_batches
        from tpu_profile_plugin.run.relations.relation import StepNumbers

        chosen = chosen_hosts(self, hosts)
        choice = chosen_events(chosen, {column.id for column in EVENTS.columns}, planes, lines, window, stats)
        return TableStream(
            (*EVENTS.columns, *choice.stats), lambda: event_batches(chosen, choice, StepNumbers(self)), EVENTS.name
        )

    def compare(self, base: Run) -> Comparison:
        """What changed from `base`, a run of any logdir, to this run."""
        from tpu_profile_plugin.run.figures.comparison import compare_runs

        return compare_runs(base, self)
