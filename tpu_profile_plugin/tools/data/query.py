"""Query: the tables and columns that SQL statements read. The page sends statements to the routes of SQL."""

from __future__ import annotations

from tpu_profile_plugin.run.catalogue.runs import SQL
from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool


def build(_: Run, __: Query) -> Table:
    """One row per column of each table; the same for every run."""
    rows = [(table.name, column) for table in RELATIONS for column in table.columns]
    return Table(
        SQL,
        {
            "table": [name for name, _ in rows],
            "column": [column.id for _, column in rows],
            "type": [column.type for _, column in rows],
            "unit": [column.unit for _, column in rows],
            "meaning": [column.sentence for _, column in rows],
        },
    )


TOOL = Tool(
    id="query",
    title="Query",
    group="Data",
    summary="SQL over events, steps, ops, collectives and allocations of one run or several.",
    build=build,
    hosts=HostChoice.ALL_ONLY,
    needs_server="Queries are answered by a server: open the profile with tpu-profile serve.",
)
