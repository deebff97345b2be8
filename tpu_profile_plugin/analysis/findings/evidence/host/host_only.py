"""TensorFlow or PyTorch on the host alone: what the main thread does within steps outside of their runtimes.

Without XLA the CPU has no device in a profile, but each call into the runtime returns when its ops have run, so that
nothing is computed while the main thread runs other code.
"""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, TENSORFLOW
from tpu_profile_plugin.analysis.common.spans import join, subtract, times_of, union
from tpu_profile_plugin.analysis.devices.model import busy
from tpu_profile_plugin.analysis.findings.evidence.host.covering import events_of
from tpu_profile_plugin.analysis.findings.evidence.host.spans import (
    GLUE_PS,
    HostCode,
    Seen,
    clipped,
    named_functions,
    no_spans,
    profiler,
    rows,
)
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import function_calls
from tpu_profile_plugin.analysis.findings.host_view import HostView


def code_on_host(host: HostView) -> HostCode | None:
    """What the main thread runs besides ops; None without steps, and for other frameworks."""
    begin, end = host.windows
    if not {TENSORFLOW, PYTORCH} & set(host.summary.frameworks) or not len(begin):
        return None
    known = host.reader.time
    main = host.reader.main(int(begin.min()), int(end.max()))
    events = events_of(main.levels)
    kind = np.array([activity(name) for name in main.names], np.uint8)
    runtime = events.where(~np.isin(kind, (Activity.HANDOVER, Activity.OTHER))[events.name])
    calls, _, _ = function_calls(host, known.main)
    window = union(begin, end)
    inside = join(times_of(runtime.begin_ps, runtime.end_ps), known.input, times_of(*calls))
    gaps = subtract(window, join(inside, *map(busy, host.devices)))
    seen = Seen(main.levels, events, named_functions(main), profiler(main), np.unique(inside[0]))
    event, user = seen.covering(gaps), seen.covering(gaps, seen.user)
    covered = user >= 0
    slow = covered.copy()
    slow[covered] = ~seen.is_glue(rows(gaps, covered), event[covered], user[covered])
    slow[slow] &= ~seen.profiler[events.name[event[slow]]]
    unknown = ~covered & (gaps[1] - gaps[0] >= GLUE_PS)
    none = np.full(int(unknown.sum()), -1)
    nothing = events.where(np.zeros(len(events), np.bool_))
    return HostCode(
        cells=len(begin),
        length_ps=int((end - begin).sum()),
        names=main.names,
        traced=main.traced,
        events=events,
        calls=nothing,
        caller=nothing.name,
        in_lockstep=False,
        blocked_ps=0,
        call_count=0,
        compiling=no_spans(),
        after_calls=no_spans(),
        slow=clipped(rows(gaps, slow), window, event[slow], user[slow], 0),
        unknown=clipped(rows(gaps, unknown), window, none, none, 0),
        launching=no_spans(),
    )
