"""Perf counters: the recorded values of performance counters, and the counter names of a type of TPU.

The columns up to `Set` are XProf's. XProf reads values written as doubles as 0; `reading` has every value.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np

from tpu_profile_plugin.analysis.counters.listing import Listing, has_values, listings
from tpu_profile_plugin.analysis.counters.registers import LISTED
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, numbers, texts
from tpu_profile_plugin.tools.common.counters import lacks_counters
from tpu_profile_plugin.tools.params import Param, ParamValue
from tpu_profile_plugin.tools.payload import Json, Payload
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

COLUMNS = (
    texts("Host", "Host", "Host of the device."),
    numbers("Chip", "Chip", "", "Id of the chip among all chips, or of the device if the chip is not recorded."),
    texts("Kernel", "Kernel", "Name of the line: the kernel, if counters are read per kernel."),
    numbers("Sample", "Sample", "", "Id of the line: one line for each time the counters are read."),
    texts("Counter", "Counter", "Name of the counter, in lower case."),
    numbers("Value", "Value (Hex)", "",
            "Value written as an integer, shown in hexadecimal; values written as doubles read 0."),
    texts("Description", "Description", "Recorded description of the counter, else derived from its name."),
    texts("Set", "Set", "Counter sets that contain the counter."),
    numbers("reading", "Reading", "", "Value of any type.", extra=True),
)  # fmt: skip


@per_host()
def host_listings(host: HostProfile) -> tuple[Listing, ...]:
    """The counters of one host."""
    planes = tuple(plane for plane in host.lazy.planes if has_values(plane))
    host.lazy.decode(planes)
    return tuple(listings(host.lazy, planes))


def build(run: Run, query: Query) -> Payload:
    """A row per counter event, host after host."""
    named = names(query.params)
    if named is not None:
        return named
    of_hosts = run.map_hosts(host_listings)
    parts = [(host.name, part) for host, found in zip(run.readable, of_hosts, strict=True) for part in found]
    values = np.concatenate([np.zeros(0, np.uint64), *(part.value for _, part in parts)])
    return Table(
        COLUMNS,
        (
            list(chain.from_iterable([host] * len(part.counter) for host, part in parts)),
            list(chain.from_iterable([part.chip] * len(part.counter) for _, part in parts)),
            list(chain.from_iterable(part.line_name for _, part in parts)),
            np.concatenate([np.zeros(0, np.int64), *(part.line for _, part in parts)]),
            list(chain.from_iterable(part.counter for _, part in parts)),
            values,
            list(chain.from_iterable(part.description for _, part in parts)),
            list(chain.from_iterable(part.sets for _, part in parts)),
            np.concatenate([np.zeros(0, np.float64), *(part.reading for _, part in parts)]),
        ),
        formatted={"Value": list(map(hex, values.tolist()))},
    )


def names(params: Mapping[str, ParamValue]) -> Json | None:
    """With `names_only=1` the counters of a type of TPU, `[{"name", "val"}]`; they need no run."""
    if params["names_only"] != "1":
        return None
    kind = params["device_type"]
    if not kind:
        raise BadRequest("Parameter 'device_type' is missing: names_only needs it.", parameter="device_type")
    return Json([{"name": register.name, "val": register.address} for register in LISTED[str(kind)]()])


TOOL = Tool(
    id="perf_counters",
    title="Perf Counters",
    group="Ops",
    summary="Recorded values of performance counters.",
    build=build,
    params=(
        Param("names_only", "string", "", "`1`: the names and ids of all counters of `device_type`."),
        Param("device_type", "string", "", "With `names_only`: the type of TPU.", ("v6e", "v7x")),
    ),
    lacks=lacks_counters,
    without_run=names,
)
