"""Loops of TensorFlow on the CPU, from what happens in each step; times are in microseconds."""

from __future__ import annotations


def tf_loop(main: str, ops: str = "", *, steps: int = 4, length: int = 1000, other: str = "", start: int = 0) -> str:
    """A loop with a marker around each step.

    Args:
      main: events of the main thread in each step, `BEGIN LENGTH NAME [{STATS}]` a line; `$N` is the step's number.
      ops: ops of an executor in each step, `BEGIN LENGTH NAME:TYPE` a line.
      steps, length: how many steps, and the time from one begin to the next.
      other: lines and events of more threads, as they are.
      start: begin of the first step.
    """
    lines = ['plane 1 "/host:CPU"', "line 1 python"]
    for step in range(steps):
        at = start + length * step
        lines.append(f"{at}us +{length}us train {{_r=1, step_num={step}}}")
        lines += _events(main, at, step)
    lines.append('line 2 "tf_Compute/1"')
    for step in range(steps):
        lines.append(f'{start + length * step}us +{length}us "ExecutorState::Process" {{id={step}}}')
        lines += _events(ops, start + length * step, step)
    return "\n".join([*lines, other])


def _events(text: str, at: int, step: int) -> list[str]:
    found = []
    for line in text.replace("$N", str(step)).strip().splitlines():
        begin, duration, rest = line.split(maxsplit=2)
        name, brace, stats = rest.partition(" {")
        found.append(f'{at + int(begin)}us +{duration}us "{name}"{brace}{stats}')
    return found
