"""The answer about a program's memory over time.

An object; sizes are bytes, instants count the events of the compiler's heap simulation:

* `program`, `host`, `device_bytes` (0 if unknown), `instants`, `peak` (an instant), `peak_bytes`;
* `shown`: the instants of the series below, `names` [instruction at each], `heap`;
* `categories` [{name, bytes: [...]}], `lines` [{file, function, line, label, bytes: [...]}]: each add up to `heap`;
* `instant`, `live_bytes`, `live`: DataTable of what lives at that instant, the largest first, at most 500;
* `batch`, `corners` [[fixed, scaled, above]]: the peak at k times the batch is the largest fixed + k * scaled of those
  with k > above; `recompiled` [least, most]: what programs compiled anew needed, as factors of it;
* `assumed`: DataTable of the largest buffers with what is assumed of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.hlo.source import Frame
from tpu_profile_plugin.analysis.memory.scaling import RECOMPILED
from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.figures.memory_over_time import MemoryOverTime, Piece, host_memory_over_time
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, flags, integers, texts
from tpu_profile_plugin.tools.common.hlo_modules import PARAMS, lacks_modules, requested_program
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

_MOST_CHOSEN = 10_000
PIECES = (
    texts("name", "Buffer", "Instruction that defines the buffer, with its shape index."),
    texts("category", "Kind", "Parameter, argument, kept for backward, temporary, output, constant or unknown."),
    integers("size", "Size", "bytes", "Storage that the buffer takes up."),
    texts("source", "Source", "Source line that makes it."),
    texts("framework_op", "Framework op", "Framework op of the instruction; of an argument its path."),
    texts("shape", "Shape", "Shape with layout."),
    integers("first", "From", "", "First instant at which it lives."),
    integers("last", "Until", "", "Last instant at which it lives."),
    texts("freed_by", "Freed by", "Instruction that frees it; empty if it lives to the end."),
    flags("scales", "Grows with the batch", "Whether it is assumed to."),
    texts("why", "Because", "The reason for this assumption."),
    integers("number", "Number", "", "Number of the buffer among those of the program."),
)


def build(run: Run, query: Query) -> Json:
    """The memory of the requested program; the largest module without a name."""
    host, program = requested_program(run, query)
    choice = [_numbers(query, name) for name in ("fixed", "scaled")]
    found = host_memory_over_time(host, program.program_id, query.integer("instant"), *choice)
    return Json(
        {
            **{name: getattr(found, name) for name in ("program", "host", "device_bytes", "instants", "peak")},
            **{
                name: getattr(found, name) for name in ("peak_bytes", "shown", "heap", "instant", "live_bytes", "batch")
            },
            "names": list(found.names),
            "categories": [{"name": name, "bytes": values} for name, values in found.categories.items()],
            "lines": _lines(found),
            "live": _pieces(found.live),
            "corners": [list(corner) for corner in found.corners],
            "recompiled": list(RECOMPILED),
            "assumed": _pieces(found.assumed),
        }
    )


def _numbers(query: Query, name: str) -> tuple[int, ...]:
    """A comma-separated list of numbers of buffers."""
    parts = [part for part in query.text(name).split(",") if part]
    if len(parts) > _MOST_CHOSEN or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        raise BadRequest(f"Parameter {name!r} must be numbers of buffers, separated by commas.", parameter=name)
    return tuple(sorted({int(part) for part in parts}))


def _lines(found: MemoryOverTime) -> list[dict[str, Any]]:
    return [_line(line, values) for line, values in found.lines]


def _line(line: Frame | None, values: I64) -> dict[str, Any]:
    if line is None or line == NO_LOCATION:
        label = "other lines" if line is None else "no location"
        return {"file": "", "function": "", "line": None, "label": label, "bytes": values}
    file, function, number = line
    label = f"{file.replace(chr(92), '/').rpartition('/')[2]}:{number}{f' ({function})' if function else ''}"
    return {"file": file, "function": function, "line": number, "label": label, "bytes": values}


def _pieces(pieces: Sequence[Piece]) -> Table:
    names = (
        "number",
        "name",
        "category",
        "size",
        "framework_op",
        "shape",
        "first",
        "last",
        "freed_by",
        "scales",
        "why",
    )
    places = ["" if one.line == NO_LOCATION else f"{one.line[0]}:{one.line[2]}" for one in pieces]
    return Table(PIECES, {**attributes(pieces, *names), "source": places})


TOOL = Tool(
    id="memory_over_time",
    title="Memory over time",
    group="Memory",
    summary="Memory of a program at each instant by kind and source line, what lives there, and how it grows.",
    build=build,
    params=(
        *PARAMS,
        Param("instant", "int", -1, "Instant whose buffers are listed; -1 is the peak.", minimum=-1),
        Param("fixed", "string", "", "Numbers of buffers that do not grow with the batch, separated by commas."),
        Param("scaled", "string", "", "Numbers of buffers that grow with the batch, separated by commas."),
    ),
    lacks=lacks_modules,
    offered=False,
)
