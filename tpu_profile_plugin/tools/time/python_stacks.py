"""The answer about Python on hosts.

An object: `hosts` [{host, names [texts], name [positions in `names`], parent [positions of callers, -1 for threads],
self_ps}], columns of the distinct call stacks of the threads with Python frames; `reason` why there is none, else null.
"""

from __future__ import annotations

from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


def build(run: Run, query: Query) -> Json:
    """The stacks of the chosen hosts."""
    try:
        found = run.python_stacks()
    except NoData as error:
        return Json({"hosts": [], "reason": error.message})
    hosts = [
        {
            "host": name,
            "names": list(stacks.names),
            **{column: getattr(stacks, column) for column in ("name", "parent", "self_ps")},
        }
        for name, stacks in found.hosts
    ]
    return Json({"hosts": hosts, "reason": None})


TOOL = Tool(
    id="python_stacks",
    title="Python stacks",
    group="Time",
    summary="Time of host threads by Python call stack.",
    build=build,
    offered=False,
)
