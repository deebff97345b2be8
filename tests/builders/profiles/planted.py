"""Profiles with one planted cause of lost time, from what happens in each step; times are in microseconds."""

from __future__ import annotations

from typing import Any

from builders.answers import answer
from tpu_profile_plugin.tools import registry

US, MS = 10**6, 10**9


def cpu(main: str, ops: str, *, steps: int = 4, length: int = 1000, other: str = "", lasting: int | None = None) -> str:
    """One device of XLA's CPU backend; every op is a program run of its own.

    Args:
      main: events of the main thread in each step, `BEGIN LENGTH NAME [{STATS}]` a line; `$N` is the step's number.
      ops: ops of the device in each step, in the same form.
      steps, length: how many steps, and the time from one begin to the next.
      other: events of another thread.
      lasting: duration of a step's marker; all of the time by default.
    """
    begins = [length * step for step in range(steps)]
    lines = ['plane 9 "/host:CPU"', "line 1 main"]
    for step, at in enumerate(begins):
        lines.append(f"{at}us +{lasting or length - 1}us train {{_r=1, step_num={step}}}")
        lines += [event for _, event in _events(main, at, step)]
    lines.append("line 2 worker")
    run = 0
    for step, at in enumerate(begins):
        for name, event in _events(ops, at, step):
            run += 1
            lines.append(f'{event} {{hlo_op="{name}", device_ordinal=0, program_id=7, run_id={run}}}')
    if other:
        lines.append("line 3 pool")
        lines += [event for step, at in enumerate(begins) for _, event in _events(other, at, step)]
    return "\n".join(lines)


def tpu(main: str, ops: str, *, steps: int = 4, length: int = 1000, modules: str = "") -> str:
    """One TensorCore and the host's main thread, in the same form; `modules`: runs of programs."""
    lines = ['plane 1 "/device:TPU:0" {device_type_string="TPU v4"}', "line 1 Steps"]
    lines += [f"{length * step}us +{length - 1}us {step} {{_ct=9, _c={step}}}" for step in range(steps)]
    if modules:
        lines.append('line 3 "XLA Modules"')
        lines += [event for step in range(steps) for _, event in _events(modules, length * step, step)]
    lines.append('line 2 "XLA Ops"')
    names: dict[str, None] = {}
    for step in range(steps):
        for name, event in _events(ops, length * step, step):
            names[name] = None
            lines.append(event)
    for number, name in enumerate(names, 1):
        lines.append(f'metadata "{name}" {{program_id=u7, symbol_id=u{number}, hlo_category="loop fusion"}}')
    lines += ['plane 9 "/host:CPU"', "line 1 main"]
    for step in range(steps):
        lines.append(f"{length * step}us +{length - 1}us train {{_r=1, step_num={step}}}")
        lines += [event for _, event in _events(main, length * step, step)]
    return "\n".join(lines)


def _events(text: str, at: int, step: int) -> list[tuple[str, str]]:
    """(name, statement) of each line, moved to the step."""
    found = []
    for line in text.replace("$N", str(step)).strip().splitlines():
        begin, duration, rest = line.split(maxsplit=2)
        name, brace, stats = rest.partition(" {")
        found.append((name, f'{at + int(begin)}us +{duration}us "{name}"{brace}{stats}'))
    return found


def findings(*profiles: Any) -> Any:
    """The tool's answer with all rules."""
    return answer(registry.find("smart_suggestion"), *profiles, all_rules="true")


def finding(rule: str, *profiles: Any) -> Any:
    """What a rule found, None if it is silent."""
    return next((one for one in findings(*profiles)["findings"] if one["id"] == rule), None)


def reason(rule: str, *profiles: Any) -> str:
    """Why a rule is silent."""
    return next(one["reason"] for one in findings(*profiles)["silent"] if one["id"] == rule)


def evidence(found: Any) -> dict[str, Any]:
    """Values of a finding's evidence by label; numbers rounded."""
    values = ((one["label"], one["value"]) for one in found["evidence"])
    return {label: round(value, 3) if isinstance(value, float) else value for label, value in values}
