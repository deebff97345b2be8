"""Planes of devices and hosts in the text notation of `xspace_text`, for tests to put together.

Events are given as text, a line each: either in the notation, or shorter as `BEGIN LENGTH NAME [{STATS}]`, times in us.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

SPARSE_CORE = """
plane 5 "/device:TPU:0 SparseCore 0" {device_type_string="TPU v4"}
line 1 "Sparse Core Steps"
50us +800us 0
2050us +800us 1
line 3 "Sparse Core Ops"
60us +500us y
2060us +300us y
2360us +100us in
2460us +50us out
metadata y {hlo_category="custom-call", program_id=u7, symbol_id=u9}
metadata in {hlo_category="infeed", program_id=u7, symbol_id=u10}
metadata out {hlo_category="outfeed", program_id=u7, symbol_id=u11}
"""
"""Two steps on a SparseCore of TPU 0, at 0 and 2 ms."""
V4 = 'device_type_string="TPU v4"'


def events(text: str, shift_us: int = 0) -> list[str]:
    """The events in the notation; `shift_us` delays the short ones."""
    return [_event(line.strip(), shift_us) for line in text.splitlines() if line.strip()]


def in_each_step(text: str, steps: int = 4, period: int = 1000, start: int = 0) -> str:
    """Short events repeated in every step; `$N` is the step's number."""
    return "\n".join(
        line for step in range(steps) for line in events(text.replace("$N", str(step)), start + period * step)
    )


def in_a_row(ops: Iterable[tuple[str, int]], begin: int = 0) -> str:
    """Short events given as (name and stats, us), each beginning when the one before it ends."""
    lines = []
    for name, length in ops:
        lines.append(f"{begin} {length} {name}")
        begin += length
    return "\n".join(lines)


def marked(each: str = "", *, steps: int = 4, period: int = 1000, length: int | None = None, start: int = 0) -> str:
    """Events of a main thread: the marker of each step, `length` us long (`period` by default), and `each` after it."""
    marker = f"0 {period if length is None else length} train {{_r=1, step_num=$N}}"
    return in_each_step(f"{marker}\n{each}", steps, period, start)


def device_steps(steps: int = 4, period: int = 1000, length: int | None = None, start: int = 0) -> str:
    """Events of a TensorCore's line of steps."""
    return in_each_step(f"0 {period if length is None else length} $N {{_ct=9, _c=$N}}", steps, period, start)


def host(*threads: str, name: str = "", plane: int = 9) -> str:
    """The plane of a host, a line per text of events; `name` is the host's."""
    lines = [f"host {name}"] if name else []
    lines.append(f'plane {plane} "/host:CPU"')
    for index, text in enumerate(threads):
        lines += [f"line {index + 1} {'worker' if index else 'main'}", *events(text)]
    return "\n".join(lines)


def xla_on_cpu(ops: str, *, device: int = 0, program: int = 7, steps: int = 1, period: int = 1000) -> str:
    """Events of a thread that runs short ops in each step for a device of XLA's CPU backend.

    Every op is a run of its own of the program; stats that an op has instead stay.
    """
    lines = []
    for run, event in enumerate(in_each_step(ops, steps, period).splitlines(), 1):
        facts = {"hlo_op": f'"{_name(event)}"', "device_ordinal": device, "program_id": program, "run_id": run}
        stats = ", ".join(f"{key}={value}" for key, value in facts.items() if f"{key}=" not in event)
        lines.append(_with_stats(event, stats))
    return "\n".join(lines)


def gpu(*streams: str, number: int = 0, facts: str = "") -> str:
    """The plane of a GPU, a stream per text of events; `facts` are stats of the plane."""
    stats = f" {{{facts}}}" if facts else ""
    lines = [f'plane {number + 1} "/device:GPU:{number}"{stats}']
    for stream, text in enumerate(streams, 1):
        lines += [f'line {stream} "Stream #{stream}"', *events(text)]
    return "\n".join(lines)


def category_of(op: str) -> str:
    """The category that XLA gives an op of this name: `%fusion.1 = ...` is a loop fusion, `copy.2` a copy."""
    kind = op.partition(" = ")[0].removeprefix("%").partition(".")[0]
    return "loop fusion" if kind == "fusion" else kind


def tpu(
    ops: str,
    *,
    core: int = 0,
    steps: str = "",
    modules: str = "",
    facts: str = V4,
    category: Callable[[str], str] | Mapping[str, str] = category_of,
    program: int = 7,
    more: str = "",
) -> str:
    """The plane of a TensorCore; ops, steps and runs of modules are events.

    Args:
      category: the category of an op by its name.
      more: stats of every op besides program, number and category.
    """
    ran = events(ops)
    stats = f" {{{facts}}}" if facts else ""
    lines = [f'plane {core} "/device:TPU:{core}"{stats}']
    for number, (title, text) in enumerate(
        (("Steps", steps), ("XLA Modules", modules), ("XLA Ops", "\n".join(ran))), 1
    ):
        lines += [f"line {number} {_quoted(title)}", *events(text)] if text else []
    find = category.__getitem__ if isinstance(category, Mapping) else category
    for number, op in enumerate(dict.fromkeys(map(_name, ran)), 1):
        known = f'program_id=u{program}, symbol_id=u{number}, hlo_category="{find(op)}"{more}'
        display = f" display={op.partition(' = ')[0].removeprefix('%')}" if " = " in op else ""
        lines.append(f"metadata {_quoted(op)} {{{known}}}{display}")
    return "\n".join(lines)


def profile(*planes: str) -> str:
    """A profile of these planes."""
    return "\n".join(filter(None, planes))


def _event(line: str, shift_us: int) -> str:
    begin, length, rest = line.split(maxsplit=2)
    if not begin.lstrip("-").isdigit():
        if shift_us:
            raise ValueError(f"not a short event, which alone is moved to its step: {line}")
        return line
    name, stats = _split(rest)
    return f"{shift_us + int(begin)}us +{length}us {_quoted(name)}{stats}"


def _split(rest: str) -> tuple[str, str]:
    """Name without quotes, and the stats with their braces."""
    if rest.startswith('"'):
        name, _, stats = rest[1:].partition('"')
        return name, stats
    name, brace, stats = rest.partition(" {")
    return name, brace + stats


def _quoted(name: str) -> str:
    return name if re.fullmatch(r'[^\s{}=,"#]+', name) else f'"{name}"'


def _name(event: str) -> str:
    return _split(event.split(maxsplit=2)[2])[0]


def _with_stats(event: str, stats: str) -> str:
    return f"{event[:-1]}, {stats}}}" if event.endswith("}") else f"{event} {{{stats}}}"
