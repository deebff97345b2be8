"""Collectives: their runs on each device, waits in them, and what they transfer between which devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tpu_profile_plugin.analysis.common.rows import joined, row_codes, sums_by
from tpu_profile_plugin.analysis.common.spans import covered_within
from tpu_profile_plugin.analysis.devices.kinds import async_role
from tpu_profile_plugin.analysis.devices.model import WAIT, Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.hlo.instructions import Instruction, replica_groups
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.analysis.hlo.shapes import leaf_bytes
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_MS

Groups = tuple[tuple[int, ...], ...]

_ARRAY = re.compile(r"\b(pred|bf16|[sufc]\d+(?:e\d+m\d\w*)?)\[([\d,]*)\]")
_LISTED = re.compile(r"replica_groups=\{(\{[\d,{} ]*\})?\}")
_IOTA = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MOST_DEVICES = 1 << 20


@dataclass(frozen=True, slots=True)
class Transfer:
    """Data that one run of a collective moves.

    Attributes:
      operand_bytes: size of the operands on one device; None if unknown.
      groups: numbers of the devices that exchange data with each other; empty: all of them; None: unknown.
    """

    operand_bytes: int | None = None
    groups: Groups | None = None

    def group_of(self, device: int, devices: int) -> int | None:
        """The index of a device's group; None if it is in none, or unknown.

        `device` is its position among the run's `devices`. Groups that hold more devices than were recorded can only be
        told apart if there is a single one.
        """
        if self.groups is None:
            return None
        if len(self.groups) <= 1:
            return 0
        if sum(map(len, self.groups)) != devices:
            return None
        return next((i for i, group in enumerate(self.groups) if device in group), None)

    @property
    def ranks(self) -> int:
        """Number of devices in the largest group; 0 if unknown."""
        return max(map(len, self.groups), default=0) if self.groups else 0


def transfer_of(op: Op, programs: HloPrograms) -> Transfer:
    """The transfer of a collective op; unknown parts are None."""
    if op.operand_bytes or op.ranks:
        # Its name tells the group, so that the devices that run it are one.
        return Transfer(op.operand_bytes or None, (tuple(range(op.ranks)),) if op.ranks else ())
    program = programs.program(op.program) if op.program else None
    row = program.row_of.get(op.name) if program is not None else None
    if program is None or row is None:
        return _from_text(op.text)
    instruction = program.instruction(row)
    wanted = set(instruction.operand_ids)
    rows = np.flatnonzero(np.isin(program.columns["id"], list(wanted))).tolist() if wanted else []
    size = sum(leaf_bytes(program.instruction(operand).shape) for operand in rows)
    return Transfer(size if rows else None, _groups(instruction))


def _groups(instruction: Instruction) -> Groups | None:
    iota, listed = replica_groups(instruction)
    if iota is not None:
        shape = (iota.num_replica_groups, iota.num_devices_per_group)
        return _iota(shape, tuple(iota.iota_reshape_dims), tuple(iota.iota_transpose_perm))
    if instruction.HasField("mesh_axes_replica_group_list"):
        return None
    return tuple(tuple(group.replica_ids) for group in listed)


def _iota(shape: Sequence[int], dimensions: Sequence[int], order: Sequence[int]) -> Groups | None:
    """Device numbers in order, shaped, transposed and cut into groups."""
    count = prod(shape)
    if min((*shape, *dimensions), default=0) < 1 or count > _MOST_DEVICES or prod(dimensions) != count:
        return None
    numbers = np.arange(count).reshape(tuple(dimensions))
    if order:
        if sorted(order) != list(range(len(dimensions))):
            return None
        numbers = numbers.transpose(tuple(order))
    rows = numbers.reshape(tuple(shape))
    return tuple(tuple(map(int, row)) for row in rows)


def _from_text(text: str) -> Transfer:
    """From HLO text such as `%x = f32[8] all-reduce(f32[8] %y), replica_groups={{0,1}}`."""
    if not text:
        return Transfer()
    _, _, rest = text.partition(" = ")
    call = re.search(r"[ )][a-z][a-z0-9-]*\(", rest)
    operands = _ARRAY.findall(_enclosed(rest[call.end() :])) if call else []
    size = sum((prod(map(int, filter(None, sizes.split(",")))) * _bits(kind) + 7) // 8 for kind, sizes in operands)
    groups: Groups | None = None
    if iota := _IOTA.search(text):
        shape, dimensions, order = (tuple(map(int, (part or "").split(",") if part else [])) for part in iota.groups())
        groups = _iota(shape, dimensions, order)
    elif listed := _LISTED.search(text):
        members = re.findall(r"\{([\d, ]+)\}", listed[1] or "")
        groups = tuple(tuple(int(number) for number in group.split(",")) for group in members)
    return Transfer(size if operands else None, groups)


def _enclosed(text: str) -> str:
    """The text up to the parenthesis that closes it."""
    depth = 1
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[:position]
    return text


def _bits(kind: str) -> int:
    number = re.search(r"\d+", kind)
    return 8 if kind == "pred" else int(number[0]) if number else 0


# The wait of a device's first collective for devices that start later, which no other collective repeats.

TIMES = 10
"""A first run that takes this many times the median of the others waited: a cold start alone costs less."""

LEAST_PS = PS_PER_MS
"""Processes start further apart than this; a shorter first run is slow for other reasons."""


def first_waits(key: I64, device: I64, begin: I64, end: I64, meets: Bools) -> I64:
    """Per run the part in which the first collectives of its device wait for devices that have not started yet, in ps.

    That is what the first run of a collective takes beyond the median of its other runs on the device, if it takes far
    longer, and longer than all else that the device communicates. Runs that begin before this one ends count as well.

    Args:
      key, device, begin, end: of each run, sorted by key, device and begin.
      meets: of each run, whether its collective moves no data: all of it is a wait.
    """
    wait = np.zeros(len(key), np.int64)
    if not len(key):
        return wait
    duration = end - begin
    code, first = row_codes(key, device)
    typical, judged = _typical(code, first, duration)
    judged |= meets[first]
    excess = duration[first] - typical
    of_device = np.bincount(device, weights=duration)[device[first]]
    # All runs of the device together take more than twice as long as without the wait.
    long = judged & (duration[first] >= TIMES * typical) & (excess >= LEAST_PS)
    far = long & (2 * excess > of_device)
    if not far.any():
        return wait
    for number in np.unique(device[first[far]]).tolist():
        mine = device[first] == number
        earliest = first[mine][int(begin[first[mine]].argmin())]
        if far[code[earliest]]:
            early = first[mine & long & (begin[first] < end[earliest])]
            wait[early] = excess[code[early]]
    return wait


def _typical(code: I64, first: I64, duration: I64) -> tuple[I64, Bools]:
    """The lower median duration of the runs of each collective on a device but the first; and whether there are any."""
    rest = np.ones(len(code), np.bool_)
    rest[first] = False
    rows = np.flatnonzero(rest)
    rows = rows[np.lexsort((duration[rows], code[rows]))]
    start = np.searchsorted(code[rows], np.arange(len(first) + 1))
    repeated = start[1:] > start[:-1]
    typical = np.zeros(len(first), np.int64)
    typical[repeated] = duration[rows[(start[:-1] + start[1:] - 1)[repeated] // 2]]
    return typical, repeated


SYNCHRONIZING = frozenset(("barrier", "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all"))
"""Collectives that no device completes before all have come."""
PAIR = "send/recv"
"""Kind of a send and its receive, as one."""
_MEETINGS = ("barrier", WAIT)
"""Kinds that move no data."""


@dataclass(frozen=True, slots=True)
class CollectiveKey:
    """A collective op as all devices know it: instruction (start and done are one) and program."""

    name: str
    program: int
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class CollectiveRuns:
    """Runs of collectives on the devices of a host, one row per run and device.

    Attributes:
      keys: the distinct collectives; transfers: what a run of each moves.
      key, device: int64[n], indices into `keys` and the devices.
      begin_ps, end_ps: int64[n].
      source: int64[n], row in the device's runs, or -1 - row in its windows.
      occurrence: int64[n], number of the run among those of its collective and device, aligned over the devices.
      instance: int64[n], number of the execution that the devices took part in together; -1 if they cannot be matched.
      ranks: int64[n], devices that take part in the instance, 1 without an instance.
      wait_ps: int64[n], from the run's begin to that of the last device, at most the run's duration; what it waited
        for devices that were not recorded, as far as that shows.
      start_ps: int64[n], the part of `wait_ps` that is for devices which had not started to run yet; see `first_waits`.
      last: int64[n], the device that began last, -1 without an instance.
      early: runs that ended before the last device began, in collectives where this cannot be: clocks disagree.
    """

    keys: tuple[CollectiveKey, ...]
    key: I64
    device: I64
    begin_ps: I64
    end_ps: I64
    source: I64
    occurrence: I64
    instance: I64
    ranks: I64
    wait_ps: I64
    start_ps: I64
    last: I64
    early: Bools
    transfers: tuple[Transfer, ...] = ()

    @property
    def repeated_ps(self) -> I64:
        """int64[n], waits without those for the start of other devices, which happen once."""
        return self.wait_ps - self.start_ps

    def caused_ps(self, devices: int) -> I64:
        """int64[devices], repeated waits by the device that began last."""
        awaited = self.last >= 0
        caused: I64 = sums_by(self.last[awaited], self.repeated_ps[awaited], devices)
        return caused


@dataclass(frozen=True, slots=True)
class FirstWait:
    """A run of a collective in which a device waited until others had started; times in ps, on the device's axis.

    Attributes:
      key, device: the collective and the device, as its owner counts them.
      begin_ps, end_ps: of the run; wait_ps: the part of it that was the wait.
    """

    key: CollectiveKey
    device: int
    begin_ps: int
    end_ps: int
    wait_ps: int


def waits_for_start(runs: CollectiveRuns) -> tuple[FirstWait, ...]:
    """The runs that waited until other devices had started, longest wait first."""
    rows = np.flatnonzero(runs.start_ps)
    rows = rows[np.argsort(-runs.start_ps[rows], kind="stable")]
    columns = (column[rows].tolist() for column in (runs.device, runs.begin_ps, runs.end_ps, runs.start_ps))
    return tuple(FirstWait(runs.keys[key], *wait) for key, *wait in zip(runs.key[rows].tolist(), *columns, strict=True))


def collective_spans(device: Device) -> tuple[OpSpans, I64]:
    """Collectives of one device: synchronous ops, and windows of asynchronous ones; and `CollectiveRuns.source`."""
    marks = np.array([op.work == Work.COMMUNICATION and async_role(op.name) is None for op in device.ops], np.bool_)
    plain = np.flatnonzero(device.runs.work == Work.COMMUNICATION)
    if device.kind == "tpu":
        plain = plain[marks[device.runs.op[plain]]]
    windows = np.flatnonzero(device.windows.work == Work.COMMUNICATION)
    spans = joined([device.runs.where(plain), device.windows.where(windows)])
    return spans, np.concatenate([plain, -1 - windows])


def key_of(op: Op) -> CollectiveKey:
    """The collective that an op belongs to; a send and its receive are one."""
    if op.pair:
        return CollectiveKey(f"{PAIR} {op.pair}", 0, PAIR)
    role = async_role(op.name)
    return CollectiveKey(role[0] if role else op.name, op.program, op.collective)


def match_collectives(devices: Sequence[Device], transfer: Callable[[Op], Transfer]) -> CollectiveRuns:
    """Matches collectives in order of time per op; devices whose recording starts later are aligned by time.

    `transfer` says which devices exchange data; without HLO all devices are taken to.
    """
    keys: dict[CollectiveKey, int] = {}
    first: dict[int, Op] = {}
    parts: list[tuple[I64, I64, I64, I64, I64]] = []
    for number, device in enumerate(devices):
        spans, source = collective_spans(device)
        code = np.zeros(len(device.ops), np.int64)
        for i in np.unique(spans.op).tolist():
            code[i] = keys.setdefault(key_of(device.ops[i]), len(keys))
            first.setdefault(int(code[i]), device.ops[i])
        numbers = np.full(len(spans), number, np.int64)
        parts.append((code[spans.op], numbers, spans.begin_ps, spans.end_ps, source))
    columns = [np.concatenate([np.zeros(0, np.int64), *part]) for part in zip(*parts, strict=True)]
    return match_runs(tuple(keys), columns, [transfer(first[i]) for i in range(len(keys))], len(devices))


def match_runs(
    keys: tuple[CollectiveKey, ...], columns: Sequence[I64], transfers: Sequence[Transfer], devices: int
) -> CollectiveRuns:
    """Matches runs on a common clock.

    Args:
      keys: the collectives.
      columns: key, device, begin, end and source of each run, in any order.
      transfers: what each collective transfers.
      devices: number of devices.
    """
    key, device, begin, _, _ = columns
    order = np.lexsort((begin, device, key))
    key, device, begin, end, source = (column[order] for column in columns)
    group = _groups_of(key, device, devices, transfers)
    occurrence = _occurrences(key, device, end)
    synchronizing = np.array([collective.kind in SYNCHRONIZING for collective in keys], np.bool_)
    runs = _instances(keys, (key, device, begin, end, source), (group, occurrence, group >= 0), synchronizing)
    return replace(_with_other_waits(runs, devices), transfers=tuple(transfers))


@dataclass(frozen=True, slots=True, eq=False)
class RecordedCollectives:
    """The runs of collectives of one host.

    Attributes:
      runs: matched among the devices of the host.
      exposed_ps: int64[n], the part of each run in which its device computes nothing.
    """

    runs: CollectiveRuns
    exposed_ps: I64


def recorded_collectives(devices: Sequence[Device], programs: HloPrograms) -> RecordedCollectives:
    """The runs of collectives on the devices of one host."""
    runs = match_collectives(devices, lambda op: transfer_of(op, programs))
    return RecordedCollectives(runs, exposed_runs(devices, runs))


def exposed_runs(devices: Sequence[Device], runs: CollectiveRuns) -> I64:
    """Per run, the part in which its device computes nothing."""
    exposed = runs.end_ps - runs.begin_ps
    for number, device in enumerate(devices):
        on_device = runs.device == number
        if on_device.any():
            exposed[on_device] -= covered_within(*device.compute(), runs.begin_ps[on_device], runs.end_ps[on_device])
    return exposed


def _groups_of(key: I64, device: I64, devices: int, transfers: Sequence[Transfer]) -> I64:
    """The group of each run; -1 if the devices of its group are not known."""
    table = np.zeros((len(transfers), devices), np.int64)
    for i, transfer in enumerate(transfers):
        if transfer.groups is None:
            continue
        for number in range(devices):
            group = transfer.group_of(number, devices)
            table[i, number] = -1 if group is None else group
    return table[key, device] if len(key) else np.zeros(0, np.int64)


def _occurrences(key: I64, device: I64, end: I64) -> I64:
    """The number of each run among those of its op on its device, shifted so that runs of one number end together.

    Rows are sorted by key, device and begin. Devices with as many runs as the one with the most need no shift.
    """
    code, start = row_codes(key, device)
    occurrence = np.arange(len(key)) - start[code]
    count = np.bincount(code, minlength=len(start))
    owner = key[start]
    for collective in np.unique(owner).tolist():
        segments = np.flatnonzero(owner == collective)
        if len(np.unique(count[segments])) == 1:
            continue
        reference = segments[int(np.argmax(count[segments]))]
        ends = end[start[reference] : start[reference] + count[reference]]
        for segment in segments.tolist():
            rows = slice(start[segment], start[segment] + count[segment])
            if count[segment] != count[reference]:
                occurrence[rows] += _shift(ends, end[rows])
    return occurrence


def _shift(reference: I64, ends: I64) -> int:
    """How many runs of the reference come before the first of another device, by the nearest ends."""
    right = np.maximum(np.searchsorted(reference, ends), 1)
    left = np.abs(reference[right - 1] - ends) <= np.abs(reference[np.minimum(right, len(reference) - 1)] - ends)
    return int(np.median(np.where(left, right - 1, right) - np.arange(len(ends))))


def _instances(
    keys: tuple[CollectiveKey, ...],
    columns: tuple[I64, I64, I64, I64, I64],
    numbers: tuple[I64, I64, Bools],
    synchronizing: Bools,
) -> CollectiveRuns:
    """Waits and last devices of the runs that share key, group and occurrence."""
    key, device, begin, end, source = columns
    group, occurrence, matched = numbers
    count = len(key)
    instance, ranks = np.full(count, -1, np.int64), np.ones(count, np.int64)
    wait, last, early = np.zeros(count, np.int64), np.full(count, -1, np.int64), np.zeros(count, np.bool_)
    rows = np.flatnonzero(matched)
    if len(rows):
        code, first = row_codes(key[rows], group[rows], occurrence[rows])
        order = np.lexsort((begin[rows], code))
        start = np.searchsorted(code[order], np.arange(len(first)))
        final = np.append(start[1:], len(order)) - 1
        size = final - start + 1
        latest = rows[order[final]]
        several = size[code] > 1
        shared = rows[several]
        which = code[several]
        instance[shared], ranks[shared], last[shared] = which, size[which], device[latest[which]]
        came = begin[latest[which]]
        wait[shared] = np.minimum(came - begin[shared], end[shared] - begin[shared])
        early[shared] = synchronizing[key[shared]] & (end[shared] < came)
    none = np.zeros(count, np.int64)
    return CollectiveRuns(keys, key, device, begin, end, source, occurrence, instance, ranks, wait, none, last, early)


def _with_other_waits(runs: CollectiveRuns, devices: int) -> CollectiveRuns:
    """The runs with waits that the begins of other devices do not tell: for their start, and without a collective."""
    kinds = np.array([key.kind for key in runs.keys], object)
    meets, waits = (np.isin(kinds, some)[runs.key] for some in (_MEETINGS, (WAIT,)))
    start = first_waits(runs.key, runs.device, runs.begin_ps, runs.end_ps, meets)
    start = np.where(start > 0, np.maximum(start, runs.wait_ps), 0)
    # A wait that no other device shares is for a device that does not wait: of two, for the other one.
    alone = waits & (runs.instance < 0) & (start == 0)
    wait = np.where(alone, runs.end_ps - runs.begin_ps, np.maximum(runs.wait_ps, start))
    last = np.where(alone, 1 - runs.device, runs.last) if devices == 2 else runs.last
    return replace(runs, wait_ps=wait, start_ps=start, last=last)
