"""The collectives of a host's programs: their source lines, and those that the compiler inserts to change shardings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.op_names import short_kernel
from tpu_profile_plugin.analysis.communication.host_collectives import (
    CollectiveSums,
    bus_factor,
    gigabytes_per_second,
    message_bytes,
)
from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf
from tpu_profile_plugin.analysis.findings.places import cell, in_timeline, most_in, most_label
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import laid_out, leaves
from tpu_profile_plugin.analysis.hlo.text import sharding
from tpu_profile_plugin.units import PS_PER_MS

_MOVING = frozenset(("all-gather", "all-to-all", "ragged-all-to-all", "collective-permute"))
"""Collectives that only move data; reductions also compute, which sharded products and gradients need."""
_MOVES = frozenset((
    *("gather", "take", "dynamic_slice", "dynamic_update_slice", "slice", "squeeze", "reshape", "transpose"),
    *("concatenate", "pad", "rev", "broadcast_in_dim", "sharding_constraint"),
))  # fmt: skip
"""Ops of JAX that move data: a reduction that the compiler inserts for one of them collects its pieces from devices."""
_ASKED = re.compile(
    r"psum|pmax|pmin|ppermute|pbroadcast|pgather|all_?gather|all_?reduce|all_?to_?all|reduce_?scatter|collective|"
    r"cross_?replica",
    re.IGNORECASE,
)
"""Ops of JAX, TensorFlow and PyTorch that are collectives themselves."""
_FORMS = frozenset(("bitcast", "copy", "reshape", "transpose", "convert", "get-tuple-element"))
_MOST = 64
"""Collectives of a host whose instructions are read, most exposed time first: the others change no verdict."""

Key = tuple[str, int]
"""Name and program of a collective."""
Most = tuple[str, tuple[Evidence, ...]]
"""A label and evidence."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a collective comes from.

    Attributes:
      place: `file:line`; "" if unknown.
      inserted: the compiler's partitioner added it to move data, the program does not name it.
      change: type and sizes of what a device gives and has afterwards, as HLO text; "" if they are the same.
      evidence: the same, and the sharding of the program's argument that it gives.
    """

    place: str
    inserted: bool
    change: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Collectives:
    """The collectives of one host.

    Attributes:
      origins: of those of known programs.
      shared_ps: exposed communication of CPU devices while others use their cores, summed over steps and devices.
    """

    origins: Mapping[Key, Origin]
    shared_ps: int


@once
def collectives_of(host: HostView) -> Collectives:
    """The collectives of a host with the places that they come from."""
    found: dict[Key, Origin] = {}
    for one in sorted(host.communication.sums, key=lambda one: -one.own_exposed_ps)[:_MOST]:
        rows = host.hlo.rows(one.key.program)
        row = None if rows is None else _row(rows, one.key.name, one.key.kind)
        if rows is not None and row is not None:
            found[one.key.name, one.key.program] = _origin(rows, row, one.key)
    return Collectives(found, host.budget.shared_ps)


def origins_of(parts: Iterable[Collectives]) -> Mapping[Key, Origin]:
    """The origins of the collectives of all hosts."""
    return {key: origin for part in parts for key, origin in part.origins.items()}


def most_of_it(
    run: RunView, all_: Sequence[CollectiveSums], origins: Mapping[Key, Origin], more: Iterable[Evidence] = ()
) -> Most:
    """The collective with most exposed time, for the end of a title, and the evidence of it.

    That is its name and line, more numbers, and its longest run.
    """
    sums = max(all_, key=lambda one: one.own_exposed_ps)
    share = sums.own_exposed_ps / max(sum(one.own_exposed_ps for one in all_), 1)
    origin = origins.get((sums.key.name, sums.key.program))
    name = sums.key.name
    label = f"{name} ({origin.place})" if origin is not None and origin.place else name
    what = most_label(share, known="collective")
    told = most_in(short_kernel(label), share, known="collective")
    return told, (of_collective(sums.key, what, label), *more, *_longest_run(run, sums))


def most_waited_in(run: RunView, label: str) -> list[Evidence]:
    """The collective in which devices wait most: its longest wait, and its longest run in the timeline."""
    most = max(run.communication.sums, key=lambda one: one.wait_ps)
    if not most.wait_ps:
        return []
    longest = of_collective(most.key, "Longest wait in this collective", most.most_wait_ps / PS_PER_MS, "ms")
    return [of_collective(most.key, label, most.key.name), longest, *_longest_run(run, most)]


def _longest_run(run: RunView, sums: CollectiveSums) -> list[Evidence]:
    host = run.hosts[run.communication.devices[sums.device].host]
    return in_timeline(host, op_of(sums.key), (sums.begin_ps, sums.end_ps))


def of_collective(key: CollectiveKey, label: str, value: float | str, unit: str = "") -> Evidence:
    """What the page Communication tells of a collective."""
    return Evidence(label, value, unit, "communication", {"t1.row": cell("op", key.name)}, op_of(key))


def op_of(key: CollectiveKey) -> OpOf:
    """The op that a collective is."""
    return OpOf(key.name, key.program)


def bandwidth(sums: CollectiveSums) -> tuple[float | None, float | None]:
    """Bytes per device and run, and GB/s on the bus, of a collective without waits; None if unknown."""
    ranks = sums.transfer.ranks or (sums.ranks if sums.ranks > 1 else 0)
    size = message_bytes(sums.key.kind, sums.transfer.operand_bytes, ranks)
    rate = gigabytes_per_second(None if size is None else size * sums.instances, sums.latency_ps)
    return size, None if rate is None or not ranks else rate * bus_factor(sums.key.kind, ranks)


def _row(rows: ProgramRows, name: str, kind: str) -> int | None:
    """The instruction of a collective; the start op of an asynchronous one, whose name has its number at the end."""
    stem, dot, number = name.rpartition(".")
    names = (name, f"{name}-start", f"{stem}-start.{number}" if dot and number.isdigit() else name)
    row = next((row for one in names if (row := rows.row(one)) is not None), None)
    return row if row is not None and kind in rows.opcodes[row] else None


def _origin(rows: ProgramRows, row: int, key: CollectiveKey) -> Origin:
    operands = [one for one in rows.links.operands(row) if one >= 0]
    header = rows.header
    partitioned = header.HasField("spmd_output_sharding") or len(header.spmd_parameters_shardings) > 0
    op = rows.program.op_names[row].rpartition("/")[2]
    moves = op in _MOVES or any(kind in rows.opcodes[row] for kind in _MOVING)
    before, after = _shapes(rows, operands), _shapes(rows, [row])
    evidence = [of_collective(key, "A device gives", before), of_collective(key, "A device has afterwards", after)]
    *_, source = rows.back(operands[0] if operands else row, lambda one: rows.opcodes[one] in _FORMS)
    if rows.opcodes[source] == "parameter" and rows.links.home(source) == rows.program.entry:
        number, shardings = int(rows.instruction(source).parameter_number), header.spmd_parameters_shardings
        name = rows.program.op_names[source] or rows.program.names[source]
        sharded = sharding(shardings[number]) if 0 <= number < len(shardings) else "unknown"
        evidence.append(Evidence(f"Sharding of argument {name}", sharded))
    change = f"{before} to {after}" if before != after else ""
    return Origin(rows.place(row), partitioned and moves and not _ASKED.search(op), change, tuple(evidence))


def _shapes(rows: ProgramRows, some: list[int]) -> str:
    """Types and sizes of the results of some rows, such as `f32[512,64]` or `8 x f32[1,256]`."""
    texts = [laid_out(leaf).text.partition("{")[0] for row in some for _, leaf in leaves(rows.shape(row))]
    same = len(set(texts)) == 1
    return f"{len(texts)} x {texts[0]}" if same and len(texts) > 1 else ", ".join(dict.fromkeys(texts[:3]))
