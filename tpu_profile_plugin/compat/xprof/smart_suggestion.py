"""The suggestions that XProf makes, of which it has one: much time at barriers of TensorCores."""

from __future__ import annotations

from dataclasses import replace
from html import escape

from tpu_profile_plugin.analysis.communication.barriers import BarrierTime, barrier_time, barriers, may_have_barriers
from tpu_profile_plugin.analysis.findings.rules.communication.barrier import BARRIER_PERCENT
from tpu_profile_plugin.run.figures.summary import groups_if_any
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.summary import smart_suggestion

_NO_OUTLIER = (
    "<li><b>Compare the workers:</b> One that takes longer than the rest makes all others wait at the barrier. "
    "Look for uneven work.</li>"
)
_OUTLIERS = "<li><b>Check these hosts:</b> Their time at barriers is far from that of the other hosts:<ul>{}</ul></li>"
_OUTLIER = "<li>Host <b>{}</b> average barrier-cores time fraction: <b>{:.1f}%</b></li>"
_TEXT = (
    "<p><b>TPU barrier-cores</b> operations are likely what limits the program: <b>on average {:.1f}% of each step</b> "
    "is spent in them. Workers of a distributed run are then often out of step. What may help:</p><ul>{}"
    "<li><b>Collectives:</b> All-reduce and its like make workers wait for each other. Send less data, and in fewer "
    "operations.</li>"
    "<li><b>Network:</b> A link with high latency or low bandwidth keeps workers waiting at barriers.</li>"
    "<li><b>Input pipeline:</b> A worker that waits for its data holds up all the others. Loading and preprocessing "
    "should be fast, and equally fast on all workers.</li></ul>"
)


@per_host()
def host_barrier_time(host: HostProfile) -> BarrierTime | None:
    """The barriers of one host; None without any."""
    if not may_have_barriers(host.lazy):
        return None
    groups = groups_if_any(host)
    return None if groups is None else barrier_time(host.lazy, groups, host.name)


def build(run: Run, query: Query) -> Json:
    """Rule and text, or nothing below the threshold."""
    hosts = [times for times in run.map_hosts(host_barrier_time) if times is not None]
    times = barriers(hosts)
    if times.percent < BARRIER_PERCENT:
        return Json({"suggestions": []})
    listed = "".join(_OUTLIER.format(escape(name), percent) for name, percent in times.outliers)
    balance = _OUTLIERS.format(listed) if listed else _NO_OUTLIER
    text = _TEXT.format(times.percent, balance)
    return Json({"suggestions": [{"ruleName": "BarrierCoresRule", "suggestionText": text}]})


TOOL = replace(smart_suggestion.TOOL, build=build, needs=())
