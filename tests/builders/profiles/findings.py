"""What the rules of the findings say of typed-in profiles, and profiles whose devices run given ops in every step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builders.answers import answer
from builders.programs.hlo import metadata_plane
from tpu_profile_plugin.tools.summary.smart_suggestion import TOOL

PROGRAM = 5
PERIOD = 100
"""Microseconds per step."""


def told(rule: str, *profiles: str | bytes | Path) -> dict[str, Any]:
    """The finding of a rule, or its entry among the silent ones (without `share`)."""
    found = answer(TOOL, *profiles, all_rules="true")
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
    lines = ['plane 1 "/host:CPU"', "line 1 python"]
    lines += [f"{PERIOD * i}us +{PERIOD}us train {{_r=1, step_num={i}}}" for i in range(steps)]
    for number, ops in enumerate(devices):
        lines.append(f'line {number + 2} "tf_XLAEigen/{number}"')
        for step in range(steps):
            at = PERIOD * step
            for name, length in ops:
                facts = f'hlo_op="{name}", program_id={PROGRAM}, device_ordinal={number}, run_id={step}'
                lines.append(f"{at}us +{length}us {name} {{{facts}}}")
                at += length
    return "\n".join([*lines, *_programs(proto)])


def tpu(
    ops: Sequence[tuple[str, str, int]], *, proto: bytes | None = None, facts: str = "", costs: str = "", steps: int = 2
) -> str:
    """A TensorCore: ops as (HLO text, category, us) in every step; `costs` are stats of each op."""
    own = f'device_type_string="TPU v5p"{facts}'
    lines = [f'plane 2 "/device:TPU:0" {{{own}}}', "line 1 Steps"]
    lines += [f"{PERIOD * i}us +{PERIOD}us {i} {{_ct=9, _c={i}}}" for i in range(steps)]
    lines.append('line 2 "XLA Ops"')
    for step in range(steps):
        at = PERIOD * step
        for text, _, length in ops:
            lines.append(f'{at}us +{length}us "{text}"')
            at += length
    for number, (text, category, _) in enumerate(ops, 1):
        name = text.partition(" = ")[0].removeprefix("%")
        stats = f'program_id={PROGRAM}, symbol_id={number}, hlo_category="{category}"{costs}'
        lines.append(f'metadata "{text}" {{{stats}}} display={name}')
    return "\n".join([*lines, *_programs(proto)])


def gpu(ops: Sequence[tuple[str, str, int]], *, proto: bytes | None = None, facts: str) -> str:
    """A GPU: kernels as (kernel, HLO op, us), one after the other, twice; there are no steps."""
    lines = [f'plane 3 "/device:GPU:0" {{{facts}}}', 'line 1 "Stream #1"']
    at = 0
    for kernel, name, length in [*ops, *ops]:
        lines.append(f'{at}us +{length}us {kernel} {{hlo_op="{name}", program_id={PROGRAM}}}')
        at += length
    return "\n".join([*lines, *_programs(proto)])


def _programs(proto: bytes | None) -> list[str]:
    return [] if proto is None else [metadata_plane(jit_f=(PROGRAM, proto))]
