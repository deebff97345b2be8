"""The HLO text and the source line of the ops that findings name, from the programs that the run recorded."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tpu_profile_plugin.analysis.findings.evidence.device.program_rows import ProgramRows
from tpu_profile_plugin.analysis.findings.find import Report, RuleFinding
from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf
from tpu_profile_plugin.analysis.hlo.text.module import HloText
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.hosts import RunHosts

MOST_TEXT = 600
"""Longer texts are cut: a fusion or a tuple may have hundreds of operands."""
_CONFIG = ", backend_config="
"""What is left out of texts: long, and of interest to the compiler."""


def with_op_texts(run: RunHosts, report: Report) -> Report:
    """The report; the ops of its evidence with what their programs tell."""
    known: dict[tuple[str, OpOf], OpOf] = {}

    def told(one: Evidence, hosts: tuple[str, ...]) -> Evidence:
        if one.op is None:
            return one
        host = one.query.get("host") or (hosts[0] if hosts else run.readable[0].name)
        key = host, one.op
        if key not in known:
            known[key] = _told(run, host, one.op)
        return replace(one, op=known[key])

    def told_of(entry: RuleFinding) -> RuleFinding:
        finding = entry.finding
        evidence = tuple(told(one, finding.hosts) for one in finding.evidence)
        return replace(entry, finding=replace(finding, evidence=evidence))

    return replace(report, findings=tuple(map(told_of, report.findings)))


def _told(run: RunHosts, host: str, op: OpOf) -> OpOf:
    """The op with text and line; as it is if the host has no such program, or one that does not decode."""
    program = None
    with suppress(ProfileError):
        profile = next(one for one in run.readable if one.name == host)
        program = programs_of(profile).program(op.program_id) if op.program_id else None
    row = None if program is None or program.problem is not None else program.row_of.get(op.name)
    if program is None or row is None:
        return op
    text = HloText(program, full=False, metadata=False).instruction(row).partition(_CONFIG)[0]
    near = ProgramRows(program).near_source(row, 1)
    file, line = ("", 0) if near is None else (near[1].file, near[1].line)
    return replace(op, text=text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…", file=file, line=line)
