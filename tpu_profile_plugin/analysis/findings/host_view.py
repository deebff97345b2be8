"""One host as rules see it: its columns and what other rooms derive from them, each computed when a rule needs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.budget.host_reader import HostReader, Keep
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.devices.cpu_tf import NAME as CPU_TENSORFLOW
from tpu_profile_plugin.analysis.findings.on_device.op_work import OpWork, op_work
from tpu_profile_plugin.analysis.findings.on_device.programs_run import layout_of
from tpu_profile_plugin.analysis.findings.on_host.host_code import host_code, until_next
from tpu_profile_plugin.analysis.findings.on_host.host_only import code_on_host
from tpu_profile_plugin.analysis.findings.on_host.spans import HostCode
from tpu_profile_plugin.analysis.memory.allocations import MemoryUse
from tpu_profile_plugin.analysis.memory.capacity import ALLOCATORS, device_allocators
from tpu_profile_plugin.analysis.ops.table import OpTable
from tpu_profile_plugin.analysis.summary.cpu_ops import cpu_op_table
from tpu_profile_plugin.columns.arrays import I64

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.budget.budget import HostBudget
    from tpu_profile_plugin.analysis.common.preprocessed import Preprocessed
    from tpu_profile_plugin.analysis.communication.host import HostCommunication
    from tpu_profile_plugin.analysis.devices.model import Device
    from tpu_profile_plugin.analysis.devices.windows import StepWindows
    from tpu_profile_plugin.analysis.hlo.ops import HloOps
    from tpu_profile_plugin.analysis.memory.layout import MemoryLayout
    from tpu_profile_plugin.analysis.summary.host import HostSummary
    from tpu_profile_plugin.columns import Plane, XSpace


class HostView:
    """One host.

    Attributes:
      name: of the host, as in addresses of pages.
      space: its columns, each plane decoded on first access.
      pre: groups and steps; None if the profile cannot have any.
      hlo: its HLO programs.
      summary, budget, communication: as other tools have them.
      devices: its devices (see `devices.model`); empty without any.
      reader: reads what the host did.
    """

    def __init__(
        self,
        name: str,
        space: XSpace,
        pre: Preprocessed | None,
        hlo: HloOps,
        shared: tuple[HostSummary, HostBudget, HostCommunication],
        devices: Callable[[], tuple[Device, ...]],
        keep: Keep,
    ) -> None:
        self.name = name
        self.space = space
        self.pre = pre
        self.hlo = hlo
        self.summary, self.budget, self.communication = shared
        self._devices = devices
        self.reader = HostReader(space, keep)
        self._keep = keep
        self._layouts: dict[int, MemoryLayout | None] = {}

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """TensorCores, GPUs or devices of the CPU backend."""
        return self._devices()

    @cached_property
    def code(self) -> HostCode | None:
        """What the main thread's code costs the devices; None if they are hardly idle, or there are none."""
        if not self.budget.devices:
            return code_on_host(self)
        found = host_code(self)
        if found is None or self.budget.devices[0][0] != CPU_TENSORFLOW:
            return found
        # Calls into TensorFlow return when its ops have run, so that only the main thread tells what they wait for.
        own = code_on_host(self)
        return None if own is None else replace(own, compile_ps=found.compile_ps)

    @cached_property
    def marks(self) -> tuple[I64, I64]:
        """Begin and end of each step, on the first device, else on the host."""
        steps = self.steps
        if steps is not None:
            return steps.begin_ps[:, 0], steps.end_ps[:, 0]
        table = self.summary.merged_steps or self.summary.steps
        if not len(table.cores):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        order = np.argsort(table.begin_ps[:, 0], kind="stable")
        begin = table.begin_ps[order, 0]
        return begin, begin + table.duration_ps[order, 0]

    @property
    def windows(self) -> tuple[I64, I64]:
        """The same until the next step begins."""
        begin, end = self.marks
        return begin, until_next(begin, end)

    @property
    def allocators(self) -> dict[str, MemoryUse]:
        """Memory that allocators of devices have in use, by the allocator's name; empty if that was not recorded."""
        used: dict[str, MemoryUse] = self._keep(ALLOCATORS, lambda: device_allocators(self.space))
        return used

    @property
    def steps(self) -> StepWindows | None:
        """Windows of the steps per device; None without devices."""
        return self.budget.steps

    @cached_property
    def plane(self) -> Plane | None:
        """The host's own plane, decoded or not."""
        return host_plane(self.space)

    @cached_property
    def ops(self) -> OpTable:
        """The ops of the accelerators, else of the CPU backend."""
        if self.summary.has_device or not self.summary.cpu_ops:
            return self.summary.device
        return cpu_op_table(self.space, self.hlo)[0]

    @cached_property
    def work(self) -> OpWork:
        """What the time of these ops goes into."""
        return op_work(self.ops, self.hlo)

    def memory(self, program_id: int) -> MemoryLayout | None:
        """The main memory of a program that there is; None if it cannot be read. Each is read once."""
        if program_id not in self._layouts:
            program = self.hlo.programs.program(program_id)
            self._layouts[program_id] = None if program is None else layout_of(program)
        return self._layouts[program_id]
