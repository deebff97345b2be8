"""What the analyses compute of one host's profile in the text notation: devices, steps, time budget, communication."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from builders.shown import profile
from tpu_profile_plugin.analysis.blame.host_blame import HostBlame, host_blame
from tpu_profile_plugin.analysis.budget.budget import HostBudget, host_budget, spent_time
from tpu_profile_plugin.analysis.budget.host_time import HostReader
from tpu_profile_plugin.analysis.communication.host_collectives import HostCommunication, host_communication
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.model import Device, OpSpans, Work
from tpu_profile_plugin.analysis.devices.windows import StepWindows, step_windows
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, hlo_programs
from tpu_profile_plugin.analysis.summary.host_summary import may_have_groups
from tpu_profile_plugin.columns.space import XSpace

US = 10**6


class Decoded(NamedTuple):
    """Columns of a profile and what every analysis of devices begins with; no windows without devices."""

    space: XSpace
    devices: tuple[Device, ...]
    windows: StepWindows | None
    programs: HloPrograms


def decoded(text: str) -> Decoded:
    """The profile with its devices and steps."""
    space = profile(text)
    programs = hlo_programs(space)
    devices = devices_of(space, programs)
    pre = preprocess(space, derive=False) if may_have_groups(space) else None
    return Decoded(space, devices, step_windows(space, pre, devices) if devices else None, programs)


def devices(text: str) -> tuple[Device, ...]:
    """The devices of the profile."""
    return decoded(text).devices


def budget(text: str) -> HostBudget | None:
    """The parts of each step."""
    return host_budget(*decoded(text))


def communication(text: str) -> HostCommunication | None:
    """The collectives and waits."""
    return host_communication(*decoded(text))


def runs(spans: OpSpans, device: Device) -> list[tuple[str, str, int, int]]:
    """(name, work, begin, end) of each run, times in us."""
    columns = (spans.op.tolist(), spans.work.tolist(), spans.begin_ps.tolist(), spans.end_ps.tolist())
    return [(device.ops[op].name, Work(w).name, b // US, e // US) for op, w, b, e in zip(*columns, strict=True)]


def blame(text: str, *, launches: bool = False) -> HostBlame:
    """Where the steps go, by op and stack."""
    space, devices, windows, programs = decoded(text)
    reader = HostReader(space)
    spent = spent_time(devices, windows, programs, reader)
    used = np.ones((0 if windows is None else len(windows), len(devices)), np.bool_)
    return host_blame(devices, spent, used, reader, launches=launches)
