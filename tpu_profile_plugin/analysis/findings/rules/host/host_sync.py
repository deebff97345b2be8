"""The host waits for results within steps, and the devices have nothing to do afterwards.

Fires if the host waits for at least {BLOCKED_SHARE:.0%} of the time from step to step, or several times
per step and for most of what it launches, and devices are idle for {AFTER_CALLS_SHARE:.0%} of the time after these
calls; {ONCE_ON_CPUS:.0%} where CPUs are waited for once per step. Time of compilation does not count.

Read values less often, several at once, or after the next step is launched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.budget.categories import IDLE_COMPILE
from tpu_profile_plugin.analysis.budget.host_names import BLOCKS
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.findings.evidence.host.code import HostCode, code_of
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import OFTEN, PARTS, REPEATED, led
from tpu_profile_plugin.analysis.findings.places import event, lasting, shown
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns.arrays import I64

BLOCKED_SHARE = 0.30
"""Share of the step that the host waits for results: healthy programs wait as well."""
AFTER_CALLS_SHARE = 0.10
"""Idle time after the waits, as a share of the step: tells harmful waits from waits during which devices work."""
ONCE_ON_CPUS = 0.20
"""The same of CPUs that are waited for once per step, as a server does before it answers: the next step begins when the
system has woken its threads, which took up to 19% of short steps with nothing to mend."""

_NAMES = (
    (re.compile(r"\b(?:_item|item)\Z|aten::item|_local_scalar_dense"), ".item()"),
    (re.compile(r"__float__\Z"), "float()"),
    (re.compile(r"__(?:int|index)__\Z"), "int()"),
    (re.compile(r"__bool__\Z"), "bool()"),
    (re.compile(r"asarray|\b(?:_value|__array__|array)\Z"), "np.asarray()"),
    (BLOCKS, "block_until_ready()"),
    (re.compile(r"Buffer::Await\Z"), "block_until_ready() or a like function"),
    (re.compile(r"\bdevice_get\Z"), "jax.device_get()"),
    (re.compile(r"\b_?numpy\Z"), ".numpy()"),
    (re.compile(r"\btolist\Z"), ".tolist()"),
)


def _where(code: HostCode, ps: I64) -> tuple[str, str]:
    """Name of the calls with most idle time after them, and the function that contains most of those."""
    names = code.calls.main.names
    best = int(sums_by(code.fetches.name, ps, len(names)).argmax())
    rows = np.flatnonzero((code.fetches.name == best) & (ps > 0))
    place, _ = code.calls.most(code.calls.function[code.calls.stacks.at(code.fetches.begin_ps[rows])], ps[rows])
    return names[best], place


ADVICE = PARTS["waits for results"]


def gather(host: HostView) -> HostLoss | None:
    """The calls of one host; None without any, or if the devices are hardly idle."""
    code = code_of(host)
    if code is None or host.steps is None or not len(code.after):
        return None
    spans, blame, steps = code.after, host.blame, len(host.steps)
    row = int(spans.ps.argmax())
    of_span = np.maximum(np.searchsorted(code.fetches.begin_ps, spans.begin_ps, side="right") - 1, 0)
    name, place = _where(code, sums_by(of_span, spans.ps, len(code.fetches)))
    window = int(code.fetches.begin_ps[of_span[row]]), int(spans.end_ps[row])
    blocked, after = code.blocked_ps * (host.time.cells / steps) / code.length_ps, spans.total() / code.length_ps
    # Compilation may be in a single step, and as long as many others.
    compiling = int(blame.ps[blame.part % BETWEEN == IDLE_COMPILE].sum())
    longer = code.length_ps / max(code.length_ps - compiling, 1)
    often = code.in_lockstep or blocked * longer >= BLOCKED_SHARE
    least = ONCE_ON_CPUS if host.on_cpus and code.fetched <= steps else AFTER_CALLS_SHARE
    harmless = f"The host waits {blocked:.1%} of the {host.base} for results; devices then idle {after:.1%}."
    call = next((call for pattern, call in _NAMES if pattern.search(name)), shown(name))
    count = round(code.fetched / steps, 1)
    calls = f"{count:g} call{'' if count == 1 else 's'} of {call}{'' if host.per == 'recording' else ' per step'}"
    evidence = [
        lasting("Longest idle time after a call, with the call", host.name, window),
        Evidence(f"Host in such calls, of the {host.base}", 100 * blocked, "%"),
        Evidence(f"Calls per {host.per}", count),
        Evidence("Kind of call", call),
    ]
    if place:
        evidence.append(event("Function", host.name, window, place))
    return HostLoss(
        spans.by_part(host),
        f"{calls} in {shown(place)}" if place else calls,
        tuple(evidence),
        led(REPEATED, ADVICE) if count >= OFTEN else ADVICE,
        "high" if place else "medium",
        harmless="" if often and after * longer >= least else harmless,
    )


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host with most idle time after waits."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    return verdict(
        run,
        gathered,
        title="Devices idle {share} of the {base} after {what}",
        label="Devices idle after such calls",
        formula="idle time from the end of a device's work, for which the host waits, to the next launch, without code "
        "that is known to run meanwhile; per step and device",
        nothing="No idle time follows a wait for results.",
        little="",
        least=0.0,
    )


RULE = Rule("host_sync", "Waiting for results in steps", judge, gather, ("split_graph",))
