"""What the rules of the findings say of typed-in profiles, and profiles whose devices run given ops in every step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builders import planes
from builders.answers import answer
from builders.programs.hlo import metadata_plane
from tpu_profile_plugin.tools.summary.smart_suggestion import TOOL

PROGRAM = 5
PERIOD = 100
"""Microseconds per step."""


def told(rule: str, *profiles: str | bytes | Path) -> dict[str, Any]:
    """The finding of a rule, or its entry among the silent ones (without `share`)."""
    found = answer(TOOL, *profiles, page=True)
    entries: list[dict[str, Any]] = [*found["findings"], *found["silent"]]
    return next(entry for entry in entries if entry["id"] == rule)


def evidence(finding: dict[str, Any]) -> dict[str, tuple[Any, str, str]]:
    """Evidence by label: value, unit and tool."""
    return {one["label"]: (one["value"], one["unit"], one["tool"]) for one in finding["evidence"]}


def window(finding: dict[str, Any]) -> dict[str, str]:
    """The query of the evidence that links to the timeline."""
    found: dict[str, str] = next(one["query"] for one in finding["evidence"] if one["tool"] == "trace_viewer@")
    return found


def cpu(*devices: Sequence[tuple[str, int]], proto: bytes | None = None, steps: int = 2) -> str:
    """XLA's CPU backend: the ops of each device in every step of 100 us, one after the other, as (name, us)."""
    threads = [
        planes.xla_on_cpu(_each_step(ops, steps, " {run_id=$N}"), device=number, program=PROGRAM)
        for number, ops in enumerate(devices)
    ]
    return planes.profile(planes.host(planes.marked(steps=steps, period=PERIOD), *threads), _programs(proto))


def tpu(
    ops: Sequence[tuple[str, str, int]], *, proto: bytes | None = None, facts: str = "", costs: str = "", steps: int = 2
) -> str:
    """A TensorCore: ops as (HLO text, category, us) in every step; `costs` are stats of each op."""
    device = planes.tpu(
        _each_step([(text, length) for text, _, length in ops], steps),
        steps=planes.device_steps(steps, PERIOD),
        facts=f'device_type_string="TPU v5p"{facts}',
        category={text: category for text, category, _ in ops},
        program=PROGRAM,
        more=costs,
    )
    return planes.profile(device, _programs(proto))


def gpu(ops: Sequence[tuple[str, str, int]], *, proto: bytes | None = None, facts: str) -> str:
    """A GPU: kernels as (kernel, HLO op, us), one after the other, twice; there are no steps."""
    program = f"program_id={PROGRAM}"
    kernels = [(f'"{kernel}" {{hlo_op="{name}", {program}}}', length) for kernel, name, length in ops]
    return planes.profile(planes.gpu(planes.in_a_row([*kernels, *kernels]), facts=facts), _programs(proto))


def _each_step(ops: Sequence[tuple[str, int]], steps: int, stats: str = "") -> str:
    row = planes.in_a_row([(f'"{name}"{stats}', length) for name, length in ops])
    return planes.in_each_step(row, steps, PERIOD)


def _programs(proto: bytes | None) -> str:
    return "" if proto is None else metadata_plane(jit_f=(PROGRAM, proto))
