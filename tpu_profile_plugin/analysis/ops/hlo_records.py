"""Op tables and records of GPUs and CPUs: category, cost, text, source and traffic come from the HLO programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import PYTORCH, parse_op
from tpu_profile_plugin.analysis.hlo.instructions import category, provenance
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.records import HBM, READ, OpRecords, OpText, no_traffic
from tpu_profile_plugin.analysis.ops.table import OpTable
from tpu_profile_plugin.columns.arrays import I64

OpKey = tuple[int, str]
"""Program id and instruction name."""
Source = tuple[str, int, str]
"""File, line and stack."""
_NO_SOURCE: Source = ("", -1, "")


def hlo_op_table(
    ops: HloOps,
    keys: Sequence[OpKey],
    sums: tuple[I64, I64, I64, I64],
    unknown: str,
    other_categories: Mapping[OpKey, str] | None = None,
    *,
    on_cpu: bool = False,
) -> OpTable:
    """Op table of HLO instructions, with category, provenance and cost from their programs.

    Args:
      ops: the HLO programs.
      keys: one per row.
      sums: occurrences, time, self time and minimum time in ps, per row.
      unknown: category of instructions that are in no program.
      other_categories: categories of the keys that are not instructions.
      on_cpu: costs are those of a CPU, not of a GPU.
    """
    other = other_categories or {}
    occurrences, time_ps, self_ps, min_ps = sums
    instructions = [None if key in other else ops.find(*key) for key in keys]
    costs = np.zeros((3, len(keys)))
    for row, (key, instruction) in enumerate(zip(keys, instructions, strict=True)):
        if instruction is not None:
            cost = ops.cost(key[0], instruction, on_cpu=on_cpu)
            costs[:, row] = np.array((cost.flops, cost.model_flops, cost.bytes)) * occurrences[row]
    flops, model_flops, accessed = costs
    return OpTable(
        module=tuple(program for program, _ in keys),
        name=tuple(name for _, name in keys),
        category=tuple(
            category(instruction) if instruction else other.get(key, unknown)
            for key, instruction in zip(keys, instructions, strict=True)
        ),
        provenance=tuple(provenance(instruction) if instruction else "" for instruction in instructions),
        eager=np.zeros(len(keys), np.bool_),
        occurrences=occurrences,
        time_ps=time_ps,
        self_ps=self_ps,
        min_ps=min_ps,
        cores=np.ones(len(keys), np.int64),
        flops=flops,
        model_flops=model_flops,
        bytes=accessed,
    )


def hlo_records(
    table: OpTable, ops: HloOps, sources: Mapping[str, Source] | None = None, *, on_cpu: bool = False
) -> OpRecords:
    """Records for an op table of GPUs or CPUs; `sources` by provenance, of ops that are no HLO instructions."""
    zeros = np.zeros(len(table))
    traffic, text = no_traffic(len(table)), []
    for row, (program, name) in enumerate(zip(table.module, table.name, strict=True)):
        instruction = ops.find(program, name) if program else None
        if instruction is None:
            file, line, stack = (sources or {}).get(table.provenance[row], _NO_SOURCE)
            text.append(OpText(source_file=file, source_line=line, source_stack=stack))
            if parse_op(table.provenance[row]).category == PYTORCH:
                # Operands and results, each once: how much is read and how much written is not known apart.
                traffic[row, HBM, READ] = table.bytes[row]
            continue
        file, line, stack = ops.source(program, name)
        shared = instruction.metadata.deduplicated_name
        text.append(OpText(ops.text(program, instruction), shared, file, line, stack))
        cost = ops.cost(program, instruction, on_cpu=on_cpu)
        traffic[row, HBM] = np.array((cost.read, cost.written)) * table.occurrences[row]
    programs = dict(ops.programs.names)
    return OpRecords(table, zeros, zeros, zeros, zeros, traffic, tuple(text), programs, observed=True)
