"""A run as rules see it: its hosts' summaries merged, and the base of every share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, GROUP_OF
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.communication.run_collectives import RunCommunication
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.lost import Lost, average, located, lost_to, within
from tpu_profile_plugin.analysis.steps.inferred import KERAS
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.analysis.summary.outliers import StepOutliers, step_outliers
from tpu_profile_plugin.analysis.summary.recording import Coverage, coverage
from tpu_profile_plugin.analysis.summary.use import Use, use_of, use_while_busy
from tpu_profile_plugin.columns.arrays import I64

_KERAS_FUNCTION = re.compile(r"(?:one|multi)_step_on_(?:data|iterator)|(?:train|test|predict)_function\Z")
T = TypeVar("T")


@dataclass(frozen=True)
class RunView:
    """A run.

    Attributes:
      hosts: names of the hosts that were read, as in addresses of pages.
      summary, communication: as other tools have them; positions of hosts refer to `hosts`.
      budget: the decomposition of time that pages show: of the hosts alone if no device was recorded.
    """

    hosts: tuple[str, ...]
    summary: RunSummary
    budget: RunBudget
    communication: RunCommunication

    @property
    def has_devices(self) -> bool:
        """Whether a device was recorded."""
        return any(device.kind != "host" for device in self.budget.devices)

    @property
    def on_cpus(self) -> bool:
        """Whether all devices are CPUs, which share processors with the program and its input."""
        return self.has_devices and all(device.kind in ("cpu", "host") for device in self.budget.devices)

    @property
    def waiting(self) -> str:
        """Who waits, in sentences."""
        return "Devices wait" if self.has_devices else "The host waits"

    @property
    def base(self) -> str:
        """What every share is of, for sentences: "step", "time from step to step" or "recording"."""
        return self.budget.base

    @property
    def per(self) -> str:
        """What counts and times are per, for sentences: "step" or "recording"."""
        return "recording" if self.whole_recording else "step"

    @property
    def base_ps(self) -> float:
        """Its average length; 0 without steps."""
        return self.budget.base_ps

    @property
    def steps(self) -> int:
        """How many steps there are; 1 if the whole recording counts as one."""
        return len(self.budget)

    @property
    def cells(self) -> int:
        """Pairs of a step and a device that takes part in it, at least 1."""
        return max(self.budget.cells, 1)

    @property
    def whole_recording(self) -> bool:
        """There are no steps: what is called a step is the whole recording."""
        return "recording" in self.budget.sources

    @property
    def inferred(self) -> bool:
        """Whether steps are inferred from an event that does not mark them."""
        return self.budget.inferred

    @cached_property
    def outliers(self) -> StepOutliers:
        """The typical step and the exceptions."""
        return step_outliers(self.budget)

    @cached_property
    def use(self) -> Use | None:
        """Use of the devices' peak rates over all time; None if it is unknown."""
        return use_of(self.summary)

    @cached_property
    def use_while_busy(self) -> Use | None:
        """The same over the time in which they compute."""
        return use_while_busy(self.summary)

    @cached_property
    def coverage(self) -> Coverage | None:
        """What the steps cover of the recording, on the host where they cover least; None without marked steps."""
        return coverage(self.budget, self.summary.recordings)

    @property
    def covered(self) -> float:
        """Share of the recording that steps cover, on the host where they cover least; 1 if that is unknown."""
        return 1.0 if self.whole_recording or self.coverage is None else self.coverage.share

    def part_ps(self, name: str) -> float:
        """A part or a group of parts of the average step."""
        return self.budget.part_ps(name)

    def share(self, ps: float) -> float:
        """A time per step and device as a share of the base; 0 without steps."""
        return ps / self.base_ps if self.base_ps else 0.0

    def lost_to(self, *parts: str) -> Lost:
        """The time of these parts in steps, and between them if much of it is there."""
        return lost_to(self.budget, *parts)

    def lost_in(self, *parts: str, ps: float | None = None) -> Lost:
        """The time of these parts in steps, or the share `ps` of it."""
        named = [part for part in parts if self.part_ps(part)] or parts[:1]
        return within(self.budget, sum(map(self.part_ps, named)) if ps is None else ps, named)

    def located(self, by_part: Sequence[I64]) -> Lost:
        """Times of hosts by the parts that they lie in, summed over steps and devices; see `lost.located`."""
        nothing = np.zeros(len(CATEGORIES) + 1, np.int64)
        return located(self.budget, np.sum([nothing, *by_part], axis=0))

    def lost_within(self, group: str, by_part: Sequence[I64]) -> Lost:
        """The same of times that all lie in a group of parts."""
        ps = float(average(self.budget, np.sum(by_part, axis=0)).sum()) if by_part else 0.0
        return within(self.budget, ps, self.lost_to(group).segments)

    def present(self, gathered: Sequence[T | None]) -> list[tuple[T, str]]:
        """What hosts have gathered, with the host's name; hosts without a result are left out."""
        return [(part, host) for part, host in zip(gathered, self.hosts, strict=True) if part is not None]

    def devices_of(self, host: str) -> list[int]:
        """Positions of a host's devices among those of `communication`."""
        position = self.hosts.index(host)
        return [i for i, device in enumerate(self.communication.devices) if device.host == position]

    def parts(self) -> list[tuple[str, float]]:
        """Every part of the time budget, and the time between steps, with its share of the base, largest first."""
        shares = ((name, self.budget.share(name)) for name in (*CATEGORIES, BETWEEN))
        return sorted(shares, key=lambda part: -part[1])

    def group_shares(self) -> dict[str, float]:
        """The same by category of the user documents."""
        shares = dict.fromkeys((*GROUP_OF.values(), BETWEEN), 0.0)
        for name, share in self.parts():
            shares[GROUP_OF.get(name, name)] += share
        return shares

    @property
    def hardware(self) -> Hardware:
        """The kind of devices."""
        return self.summary.environment.hardware

    @cached_property
    def keras(self) -> bool:
        """Whether Keras runs the training loop: it marks batches, or its tf.functions are called."""
        evidence, functions = self.budget.evidence, self.summary.functions
        marked = any(label.startswith(KERAS) for label in self.budget.labels[:1])
        marked |= evidence is not None and evidence.event == KERAS
        return marked or any(_KERAS_FUNCTION.match(function.name) for function in functions)

    @property
    def frameworks(self) -> Sequence[str]:
        """Frameworks that wrote the profile, the most important first."""
        return self.summary.frameworks
