"""The share of some ops in the time of all ops, and the op with most of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import of_op
from tpu_profile_plugin.analysis.findings.evidence.device.op_places import Place, longest_run
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp, ReadOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Evidence
from tpu_profile_plugin.analysis.findings.run_view import RunView


@dataclass(frozen=True, slots=True)
class OpShare:
    """Self times of one host's ops in ps: of all that compute or move data, and of some; the op with most of these."""

    counted_ps: int
    ops_ps: int = 0
    most: NamedOp | None = None
    longest: Place | None = None


def op_share(host: HostView, ops: Sequence[ReadOp], least: float) -> OpShare:
    """The share of `ops`, the most costly first; the longest run is searched if they take at least `least` of it."""
    work = work_of(host)
    if not ops:
        return OpShare(work.counted_ps)
    most, time_ps = work.named(ops[0]), work.time_ps(ops)
    longest = longest_run(host, most.program_id, most.name) if time_ps >= least * work.counted_ps else None
    return OpShare(work.counted_ps, time_ps, most, longest)


@dataclass(frozen=True, slots=True)
class RunShare:
    """The same of a run: `of_ops`, 0 to 1, of the time of all ops; `most` and `host` of the host with most of it."""

    of_ops: float
    lost: Lost
    most: NamedOp
    host: str
    longest: Place | None
    hosts: tuple[str, ...]

    def evidence(self) -> list[Evidence]:
        """The op with most of it."""
        return of_op(self.host, self.most, self.longest)


def run_share(run: RunView, parts: Sequence[OpShare | None]) -> RunShare | None:
    """The share of ops over all hosts, lost in the parts of the budget that ops take; None without any such op."""
    known = run.present(parts)
    counted, ops = sum(part.counted_ps for part, _ in known), sum(part.ops_ps for part, _ in known)
    if not ops or not counted:
        return None
    part, host = max(known, key=lambda one: one[0].ops_ps)
    assert part.most is not None
    lost = run.lost_in("device_compute", ps=ops / counted * (run.part_ps("compute") + run.part_ps("data_movement")))
    hosts = tuple(name for one, name in known if one.ops_ps)
    return RunShare(ops / counted, lost, part.most, host, part.longest, hosts)
