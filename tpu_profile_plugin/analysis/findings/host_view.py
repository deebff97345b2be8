"""One host as rules see it: its columns, summaries and steps, and room for what several rules derive from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, wraps
from typing import TypeVar

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import HostBlame
from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.budget import HostBudget, SpentTime
from tpu_profile_plugin.analysis.budget.host_time import HostReader, Keep
from tpu_profile_plugin.analysis.budget.processors import processors
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget, merge_budgets
from tpu_profile_plugin.analysis.common.planes import Preprocessed, host_plane
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, times_of
from tpu_profile_plugin.analysis.communication.host_collectives import HostCommunication
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.memory.allocations import ALLOCATORS, MemoryUse, device_allocators
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.summary.host_summary import HostSummary
from tpu_profile_plugin.analysis.summary.op_summary import cpu_op_table
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64

T = TypeVar("T")
IDLE = (
    *(part.IDLE_INPUT, part.IDLE_COMPILE, part.IDLE_HOST, part.IDLE_TRANSFER, part.IDLE_LAUNCH),
    *(part.IDLE_GAP, part.IDLE_OTHER),
)
"""Parts of the time budget in which a device has nothing to do."""
_SLOWED = part.COMPUTE, part.DATA_MOVEMENT, part.IDLE_HOST, part.IDLE_LAUNCH, part.IDLE_OTHER
"""What takes longer where another thread has the processor."""


class HostView:
    """One host.

    Attributes:
      name: of the host, as in addresses of pages.
      space: its columns, each plane decoded on first access.
      pre: groups and steps; None if the profile cannot have any.
      hlo: its HLO programs.
      summary, communication: as other tools have them.
      budget: of its devices, empty without any; shown: as pages show it, of the host alone without devices.
      reader: reads what the host did.
      derived: what functions with `@once` have computed of it.
    """

    def __init__(
        self,
        name: str,
        space: XSpace,
        pre: Preprocessed | None,
        hlo: HloOps,
        shared: tuple[HostSummary, HostBudget, HostBudget, HostCommunication],
        devices: Callable[[], tuple[Device, ...]],
        spent: Callable[[], SpentTime | None],
        blame: Callable[[], HostBlame],
        keep: Keep,
    ) -> None:
        self.name = name
        self.space = space
        self.pre = pre
        self.hlo = hlo
        self.summary, self.budget, self.shown, self.communication = shared
        self._devices, self._spent, self._blame = devices, spent, blame
        self.reader = HostReader(space, keep, lambda: hlo.programs)
        self._keep = keep
        self.derived: dict[object, object] = {}

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """TensorCores, GPUs or devices of the CPU backend (see `devices.model`); empty without any."""
        return self._devices()

    @property
    def on_cpus(self) -> bool:
        """Whether its devices are CPUs or the host itself: its threads, input and others share their processors."""
        return all(device.kind in ("cpu", "host") for device in self.devices)

    @cached_property
    def spent(self) -> SpentTime | None:
        """How the devices spend the steps of `shown`, span by span; None without steps."""
        return self._spent()

    @cached_property
    def blame(self) -> HostBlame:
        """The wall time of the steps by op, line and function; empty without steps."""
        return self._blame()

    def by_part(self, spans: Sequence[Times], parts: Collection[int] = IDLE) -> I64:
        """A set of time per device by part of the time budget, int64[c + 1], the last between steps; summed."""
        found = np.zeros(len(part.CATEGORIES) + 1, np.int64)
        of_devices = self.spent.devices if self.spent is not None else ()
        for i, (device, times) in enumerate(zip(of_devices, spans, strict=False)):
            begin, end = device.windows
            used = self.time.takes_part[:, i]
            inside = times_of(begin[used], end[used])
            for category, spent in device.spent:
                if category in parts:
                    mine = intersect(spent, times)
                    found[category] += covered_within(*mine, *inside).sum()
                    found[-1] += covered_within(*mine, *device.between).sum()
        return found

    def beside(self, times: Times, *, unknown: bool = False) -> I64:
        """What other threads take of the computation of CPUs and its launches, as of `by_part`.

        Half of it at the `times` that they work, where all share one processor, else nothing; `unknown`: also where
        nothing tells how many there are.
        """
        alone = self.on_cpus and self.plane is not None and (processors(self.plane) or (1 if unknown else 0)) == 1
        slowed = self.by_part([times] * len(self.devices), _SLOWED if alone else ())
        half: I64 = slowed // 2
        return half

    @cached_property
    def marks(self) -> tuple[I64, I64]:
        """Begin and end of each step, on the first device, else on the host; empty without steps."""
        steps = self.shown.steps
        if steps is None or (self.steps is None and steps.source == "recording"):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return steps.begin_ps[:, 0], steps.end_ps[:, 0]

    @property
    def base(self) -> str:
        """What shares of its time are of, as in `RunView`."""
        return self.time.base

    @property
    def per(self) -> str:
        """What counts are per, as in `RunView`."""
        return "recording" if "recording" in self.time.sources else "step"

    @cached_property
    def time(self) -> RunBudget:
        """Its budget averaged over steps and the devices that take part in them."""
        return merge_budgets([self.shown])

    @property
    def windows(self) -> tuple[I64, I64]:
        """Begin of each step, and the begin of the next step or a later end."""
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


def once(make: Callable[[HostView], T]) -> Callable[[HostView], T]:
    """A function of a host that computes its result at the first call: rules share what it costs."""

    @wraps(make)
    def kept(host: HostView) -> T:
        if make not in host.derived:
            host.derived[make] = make(host)
        return host.derived[make]  # type: ignore[return-value]

    return kept


def until_next(begin_ps: I64, end_ps: I64) -> I64:
    """Per step the begin of the next, or its own end if that is later; of the last step its end."""
    ends: I64 = np.maximum(end_ps, np.concatenate([begin_ps[1:], end_ps[-1:]]))
    return ends
