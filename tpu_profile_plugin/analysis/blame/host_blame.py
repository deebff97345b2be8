"""The wall time of a host's steps by what ran and where; it adds up to the time budget, to the picosecond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks, stacks_of
from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.budget import DeviceTime, SpentTime
from tpu_profile_plugin.analysis.budget.host_time import HostReader, MainThread
from tpu_profile_plugin.analysis.common.rows import no_rows, row_codes, sums_by
from tpu_profile_plugin.analysis.common.spans import Times, cut, intersect, subtract, times_of, total
from tpu_profile_plugin.analysis.common.statistics import rise
from tpu_profile_plugin.analysis.devices.inventory import RUNS_WITHIN_HOST_CALLS
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, Op, Work
from tpu_profile_plugin.analysis.replay.binding_path import OF_OPS
from tpu_profile_plugin.columns.arrays import I64, Bools

LEAST_WAITING = 0.05
"""The main thread is read for stacks if devices are idle for more than this share of the steps."""
MOST_AT_ONCE = 64
"""So many ops of one device share a moment; more do not run at once."""
NO_OP = -1
ANY_STEP = -1


@dataclass(frozen=True, slots=True, eq=False)
class HostBlame:
    """Where the steps of one host go; rows of distinct (part, op, node, step), int64[n] each.

    Attributes:
      part: index in `CATEGORIES`; of the time between steps, that plus `BETWEEN`.
      op: index into `ops` of what a device ran, `NO_OP` while it ran none.
      node: what the main thread did meanwhile if the device ran nothing, else what it did when it launched the op; a
        node of `stacks`, `NOWHERE` if unknown.
      ps: summed over steps and devices.
      step: number of the step, of as many as were asked for; `ANY_STEP` of all others and of the time between steps.
      ops: the distinct ops of the host's devices.
      stacks: the main thread's calls.
      thread_ps: per node of `stacks`, how long it is the innermost call from the first step to the last.
    """

    part: I64 = field(default_factory=no_rows)
    op: I64 = field(default_factory=no_rows)
    node: I64 = field(default_factory=no_rows)
    ps: I64 = field(default_factory=no_rows)
    ops: tuple[Op, ...] = ()
    stacks: Stacks = field(default_factory=Stacks)
    thread_ps: I64 = field(default_factory=no_rows)
    step: I64 = field(default_factory=no_rows)

    def by_part(self, rows: Bools | I64) -> I64:
        """Time of some rows by part, int64[c + 1]; the last is what lies between steps."""
        code = np.minimum(self.part[rows], BETWEEN)
        return np.asarray(sums_by(code, self.ps[rows], BETWEEN + 1), np.int64)

    def growth(self, rows: I64) -> float:
        """By which share of their average some rows take more from one step to the next; 0 if not steadily more."""
        count, step = int(self.step.max(initial=ANY_STEP)) + 1, self.step[rows]
        by_step = np.bincount(step[step >= 0], self.ps[rows][step >= 0], count).astype(np.float64)
        return rise(by_step) / max(float(by_step.mean()), 1.0) if count else 0.0


BETWEEN = len(part.CATEGORIES)
"""From here on parts are those of the time between steps."""


def host_blame(
    devices: Sequence[Device],
    spent: SpentTime | None,
    used: Bools,
    reader: HostReader,
    *,
    launches: bool,
    steps: int = 0,
) -> HostBlame:
    """Where the steps of one host go; empty without devices.

    Args:
      devices: the devices, or the host that stands for them.
      spent: how they spend their steps.
      used: bool[s, d], the device takes part in the step; others do not count.
      reader: reads the main thread, unless devices are hardly idle and `launches` are not asked for.
      launches: ops have no source of their own: what launched them tells where they come from.
      steps: so many of the first ones are told apart.
    """
    if spent is None:
        return HostBlame()
    stacks = stacks_of(_main_thread(spent, reader, launches=launches))
    columns: list[tuple[I64, I64, I64, I64, I64]] = []
    ops: list[Op] = []
    for i, (device, time) in enumerate(zip(devices, spent.devices, strict=True)):
        inside = _windows(time.windows, used[:, i], steps)
        launched = _launches(device, reader, stacks) if launches and len(stacks.node) else None
        between = time.between, np.full(len(time.between[0]), ANY_STEP, np.int64)
        for first, (window, number) in ((0, inside), (BETWEEN, between)):
            for category, op, node, step, ps in _rows(device, time, (window, number), stacks, launched):
                shifted = np.where(op >= 0, op + len(ops), NO_OP)
                columns.append((np.full(len(ps), category + first), shifted, node, step, ps))
        ops += device.ops
    if not columns:
        return HostBlame()
    part_of, op, node, step, ps = (np.concatenate(column) for column in zip(*columns, strict=True))
    code, row = row_codes(part_of, op, node, step)
    return HostBlame(
        part_of[row],
        op[row],
        node[row],
        np.asarray(sums_by(code, ps, len(row)), np.int64),
        tuple(ops),
        stacks,
        stacks.innermost_ps(int(spent.steps.begin_ps.min()), int(spent.steps.end_ps.max())),
        step[row],
    )


def _windows(windows: Times, used: Bools, steps: int) -> tuple[Times, I64]:
    """The windows of the steps that count, and the number of each; as one set if they are not told apart."""
    begin, end = windows
    if not steps:
        inside = times_of(begin[used], end[used])
        return inside, np.full(len(inside[0]), ANY_STEP, np.int64)
    number = np.flatnonzero(used & (end > begin))
    number = number[np.argsort(begin[number], kind="stable")]
    return (begin[number], end[number]), np.where(number < steps, number, ANY_STEP)


def _main_thread(spent: SpentTime, reader: HostReader, *, launches: bool) -> MainThread:
    """The main thread, if it can tell enough to be read."""
    length = int(spent.steps.end_ps.max()) - int(spent.steps.begin_ps.min())
    idle = sum(length - total(one.work.any) for one in spent.devices)
    return spent.thread(reader) if launches or idle > LEAST_WAITING * length * len(spent.devices) else spent.main


def _rows(
    device: Device, time: DeviceTime, windows: tuple[Times, I64], stacks: Stacks, launched: I64 | None
) -> Iterator[tuple[int, I64, I64, I64, I64]]:
    """(part, op, node, step, ps) of one device in numbered windows; `launched`: the node that launched each run.

    A run counts to the step in which it begins.
    """
    window, number = windows

    def step_of(points: I64) -> I64:
        found: I64 = number[np.maximum(np.searchsorted(window[0], points, side="right") - 1, 0)]
        return found

    for category, times in time.spent:
        rest = intersect(times, window)
        wanted = np.zeros(len(Work), np.bool_)
        wanted[list(OF_OPS.get(category, ()))] = True
        for spans in (device.runs, device.windows, device.control) if len(rest[0]) and wanted.any() else ():
            mine = np.flatnonzero(wanted[spans.work])
            if not len(mine) or not len(rest[0]):
                continue
            begin, end, op = spans.begin_ps[mine], spans.end_ps[mine], spans.op[mine].astype(np.int64)
            share = _native.time_shares(rest, begin, end, MOST_AT_ONCE)
            own = launched is not None and spans is device.runs
            caller = launched[mine] if own and launched is not None else np.full(len(op), NOWHERE)
            step = step_of(begin)
            code, first = row_codes(op, caller, step)
            yield (
                category,
                op[first],
                caller[first],
                step[first],
                np.asarray(sums_by(code, share, len(first)), np.int64),
            )
            rest = subtract(rest, times_of(begin, end))
        if len(rest[0]):
            rest = cut(rest, window[0])
            node, step, ps = stacks.within(rest, step_of(rest[0]))
            yield category, np.full(len(node), NO_OP), node, step, ps


def _launches(device: Device, reader: HostReader, stacks: Stacks) -> I64:
    """Per run of an op the call that launched it, a node of the stacks."""
    begin = device.runs.begin_ps
    if device.name in RUNS_WITHIN_HOST_CALLS:
        return stacks.at(begin)
    start = np.searchsorted(device.starts, begin, side="right") - 1
    key = np.append(device.launch_key, NO_LAUNCH)[np.where(start >= 0, start, len(device.launch_key))]
    return stacks.at(reader.time.calls.times(key)[0])
