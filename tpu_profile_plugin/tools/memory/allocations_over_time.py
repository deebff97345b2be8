"""The answer about the memory of an allocator over the time of the recording.

An object; sizes are bytes, times whole picoseconds since the start of the recording; instants count the events of the
allocator:

* `memory`, `host`, `instants`, `peak` (an instant);
* `shown`: the instants of the series below, `time_ps` of each, `heap`;
* `stacks` {region, op, step: [{name, bytes: [...]}]}: each adds up to `heap`;
* `instant`, `at_ps`, `live_bytes`, `blocks`, `rest_bytes` (beyond recorded blocks), `live`: DataTable of the blocks at
  that instant, the largest first, at most 500.
"""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.op_names import parse_op, shown_event
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.figures.recorded_memory import RecordedOverTime, host_recorded_memory, line_of_ops
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, integers, texts
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

BLOCKS = (
    texts("op", "Framework op", "Op that uses the memory."),
    integers("size", "Size", "bytes", "Bytes of the block."),
    integers("requested", "Requested", "bytes", "Size that was asked for."),
    texts("source", "Source", "Source line of the op."),
    texts("region", "Region", "Kind of use, such as output or temp."),
    integers("step", "Step", "", "Step that it is allocated in."),
    integers("allocated_ps", "Allocated", "ps", "Since the start of the recording; empty if it was before."),
    integers("freed_ps", "Freed", "ps", "Since the start of the recording; empty if it is not freed in it."),
    texts("freed_by", "Freed in", "Op in which it is freed, if that is recorded."),
    texts("data_type", "Data type", "Type of the elements."),
    texts("shape", "Shape", "Shape of the tensor."),
)
_FIGURES = (
    *("memory", "host", "instants", "peak", "shown", "time_ps", "heap"),
    *("instant", "at_ps", "live_bytes", "blocks", "rest_bytes"),
)
_NAMES = tuple(column.id for column in BLOCKS if column.id != "source")


def build(run: Run, query: Query) -> Json:
    """The memory of an allocator; of the one with the highest peak without a name."""
    if len(run.profiles) > 1:
        hosts = [host.name for host in run.profiles]
        raise BadRequest("Allocations are shown for one host: select one with 'host'.", parameter="host", hosts=hosts)
    host = run.profiles[0]
    found = host_recorded_memory(host, query.text("memory_id"), query.integer("instant"))
    stacks = {
        by: [{"name": name, "bytes": values} for name, values in parts.items()] for by, parts in found.stacks.items()
    }
    return Json({**{name: getattr(found, name) for name in _FIGURES}, "stacks": stacks, "live": _live(run, found)})


def _live(run: Run, found: RecordedOverTime) -> Table:
    lines = line_of_ops(run)
    sources = [lines.get(parse_op(one.op).name, "") for one in found.live]
    names = [shown_event(one.op) for one in found.live]
    return Table(BLOCKS, {**attributes(found.live, *_NAMES), "op": names, "source": sources})


TOOL = Tool(
    id="allocations_over_time",
    title="Allocations over time",
    group="Memory",
    summary="Memory of an allocator over the recording by region, op and step, and the blocks at a moment.",
    build=build,
    hosts=HostChoice.ONE,
    params=(
        Param("memory_id", "string", "", "The allocator: number of a device, or name; the fullest without one."),
        Param("instant", "int", -1, "Event after which the blocks are listed; -1 is the peak.", minimum=-1),
    ),
    offered=False,
)
