"""Several devices compute the same: a partitioned program gets all its arguments whole on each of them.

Fires if what they repeat takes at least {REPEATED_SHARE:.0%} of the time from step to step. The program shows it: each
argument is replicated, and nothing inside tells one device from another.

Shard the batch over the devices, so that each computes its part.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows

REPEATED_SHARE = 0.1
"""Repeated work, as a share of the time from step to step: small programs beside the sharded step get no arguments but
whole ones, which takes up to 3% of it."""

_REPLICATED = 0
"""Type of a sharding, `xla.OpSharding.Type`."""
_TELLS_APART = frozenset(("partition-id", "replica-id", "rng-get-and-update-state", "infeed", "recv"))
ADVICE = PARTS["replicated work"]
_TELLING = Telling(
    "{what}, which costs up to {share:.1%} of the {base}{most}",
    "Work that several devices repeat takes {share:.1%} of the {base}.",
    "Ops of programs that do the same on each device, of the time of all ops",
    "device compute times the share of these ops in the ops' time, less the part of it that one of the devices has if "
    "they divide it",
    REPEATED_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The ops of one host that each of several devices runs on the same values."""
    work = work_of(host)
    devices = {op.rows: devices_that_repeat(op.rows) for op in work.in_programs}
    ops = [op for op in work.in_programs if devices[op.rows] > 1]
    if not ops:
        return op_kind(host, (), REPEATED_SHARE) if work.in_programs else UNREAD
    saving = sum(op.self_ps * (1 - 1 / devices[op.rows]) for op in ops)
    count, name = devices[ops[0].rows], ops[0].rows.program.module.name
    return replace(
        op_kind(host, ops, REPEATED_SHARE, saving),
        what=f"Each of {count} devices computes the same in {name}",
        evidence=(Evidence("Devices that compute the same", count), Evidence("Program", name)),
        advice=ADVICE,
        confidence="high",
    )


def devices_that_repeat(rows: ProgramRows) -> int:
    """How many devices run a program on the same values, by its partitioning; 1 if each has some of its own."""
    shardings = rows.header.spmd_parameters_shardings
    parts = [part for one in shardings for part in one.tuple_shardings or (one,)]
    same = len(parts) > 0 and all(part.type == _REPLICATED for part in parts) and _TELLS_APART.isdisjoint(rows.opcodes)
    return int(rows.header.device_assignment.computation_count) if same else 1


RULE = kind_rule("replicated_work", "Work that several devices repeat", gather, _TELLING)
