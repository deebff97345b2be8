"""Calls of a host that wait for results within steps, and the idle time of devices after them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.findings.on_host.slow_code import lies_between
from tpu_profile_plugin.analysis.findings.places import shown
from tpu_profile_plugin.analysis.findings.thresholds import AFTER_CALLS_SHARE, BLOCKED_SHARE

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView
    from tpu_profile_plugin.analysis.findings.on_host.spans import HostCode


_NAMES = (
    (re.compile(r"\b(?:_item|item)\Z|aten::item|_local_scalar_dense"), ".item()"),
    (re.compile(r"__float__\Z"), "float()"),
    (re.compile(r"__(?:int|index)__\Z"), "int()"),
    (re.compile(r"__bool__\Z"), "bool()"),
    (re.compile(r"asarray|\b(?:_value|__array__|array)\Z"), "np.asarray()"),
    (re.compile(r"[Bb]lock_?[Uu]ntil_?[Rr]eady"), "block_until_ready()"),
    (re.compile(r"\bdevice_get\Z"), "jax.device_get()"),
    (re.compile(r"\b_?numpy\Z"), ".numpy()"),
    (re.compile(r"\btolist\Z"), ".tolist()"),
)


@dataclass(frozen=True, slots=True)
class Fetches:
    """Calls that wait for results on one host.

    Attributes:
      cells: steps times devices; steps: how many; length_ps: time from step to step, summed over `cells`.
      running_ps: the same without compilation, which may be in a single step and as long as many others.
      calls: in steps; blocked_ps: time in them, summed over steps.
      after_ps: idle time after them, summed over cells.
      call, place: the kind of call with most idle time after it, and the frame of the program's code around it, or "".
      window: the call with the longest idle time after it, and that idle time.
      between: some of the idle time lies between the end of a step and the begin of the next.
    """

    cells: int
    steps: int
    length_ps: int
    running_ps: int
    calls: int
    blocked_ps: int
    after_ps: int
    call: str
    place: str
    window: tuple[int, int]
    between: bool = False

    @property
    def blocked(self) -> float:
        """Share of the time from step to step in which the host waits."""
        return self.blocked_ps * (self.cells // self.steps) / self.length_ps

    @property
    def after(self) -> float:
        """Share of idle time after the calls."""
        return self.after_ps / self.length_ps

    @property
    def harmful(self) -> bool:
        """The host waits for `BLOCKED_SHARE` and devices are idle after it for `AFTER_CALLS_SHARE`."""
        longer = self.length_ps / self.running_ps
        return self.blocked * longer >= BLOCKED_SHARE and self.after * longer >= AFTER_CALLS_SHARE


def gather(host: HostView) -> Fetches | None:
    """The calls of one host; None without any, or if the devices are hardly idle."""
    code = host.code
    if code is None or host.steps is None or not len(code.after_calls.ps):
        return None
    spans = code.after_calls
    row = int(np.argmax(spans.ps))
    calls = np.zeros(len(code.calls), np.int64)
    np.add.at(calls, spans.event, spans.ps)
    name, place = _where(code, calls)
    at = int(spans.event[row])
    return Fetches(
        code.cells,
        len(host.steps),
        code.length_ps,
        max(code.length_ps - code.compile_ps, 1),
        code.call_count,
        code.blocked_ps,
        spans.total(),
        _call_name(name),
        place,
        (int(code.calls.begin_ps[at]), int(spans.end_ps[row])),
        lies_between(host, spans),
    )


def _where(code: HostCode, ps: np.ndarray) -> tuple[str, str]:
    """Name of the calls with most idle time after them, and the function that contains most of those."""
    sums = np.zeros(len(code.names), np.int64)
    np.add.at(sums, code.calls.name, ps)
    best = int(sums.argmax())
    calls = np.flatnonzero((code.calls.name == best) & (ps > 0))
    frames = code.caller[calls]
    known = frames >= 0
    if not known.any():
        return code.names[best], ""
    places = np.zeros(len(code.names), np.int64)
    np.add.at(places, frames[known], ps[calls[known]])
    return code.names[best], code.names[int(places.argmax())]


def _call_name(event: str) -> str:
    return next((name for pattern, name in _NAMES if pattern.search(event)), shown(event))
