"""Profiles with one planted cause of lost time, from what happens in each step; times are in microseconds."""

from __future__ import annotations

from typing import Any

from builders import planes
from builders.answers import answer
from tpu_profile_plugin.tools import registry

US, MS = 10**6, 10**9


def cpu(
    main: str,
    ops: str,
    *,
    steps: int = 4,
    length: int = 1000,
    other: str = "",
    once: str = "",
    lasting: int | None = None,
) -> str:
    """One device of XLA's CPU backend; every op is a program run of its own.

    Args:
      main: events of the main thread in each step, `BEGIN LENGTH NAME [{STATS}]` a line; `$N` is the step's number.
      ops: ops of the device in each step, in the same form.
      steps, length: how many steps, and the time from one begin to the next.
      other: events of another thread in each step.
      once: events of the main thread besides, timed from the begin of the first step.
      lasting: duration of a step's marker; all of the time by default.
    """
    threads = [
        planes.marked(main, steps=steps, period=length, length=lasting or length - 1) + "\n" + once,
        planes.xla_on_cpu(ops, steps=steps, period=length),
    ]
    return planes.host(*threads, *([planes.in_each_step(other, steps, length)] if other else []))


def tf_loop(main: str, ops: str = "", *, steps: int = 4, length: int = 1000, other: str = "", start: int = 0) -> str:
    """A loop of TensorFlow on the CPU with a marker around each step.

    Args:
      main: events of the main thread in each step, as above.
      ops: ops of an executor in each step, `BEGIN LENGTH NAME:TYPE` a line.
      steps, length: how many steps, and the time from one begin to the next.
      other: lines and events of more threads, as they are.
      start: begin of the first step.
    """
    executor = planes.in_each_step(f"0 {length} ExecutorState::Process {{id=$N}}\n{ops}", steps, length, start)
    return planes.host(planes.marked(main, steps=steps, period=length, start=start), executor) + "\n" + other


def tpu(main: str, ops: str, *, steps: int = 4, length: int = 1000, modules: str = "") -> str:
    """One TensorCore and the host's main thread, in the same form; `modules`: runs of programs."""
    device = planes.tpu(
        planes.in_each_step(ops, steps, length),
        steps=planes.device_steps(steps, length, length - 1),
        modules=planes.in_each_step(modules, steps, length),
        category=lambda _: "loop fusion",
    )
    return planes.profile(device, planes.host(planes.marked(main, steps=steps, period=length, length=length - 1)))


def findings(*profiles: Any) -> Any:
    """The tool's answer with all rules, without the place of ordinary work."""
    found = answer(registry.find("smart_suggestion"), *profiles, page=True)
    told = [one for one in found["findings"] if one["id"] != "largest_part" or one["share"]]
    return {**found, "findings": told}


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
