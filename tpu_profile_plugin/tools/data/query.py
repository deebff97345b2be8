"""Query: the tables and columns that SQL statements read. The page sends statements to the routes of SQL."""

from __future__ import annotations

from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, texts
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

COLUMNS = (
    texts("table", "Table", "Name of the table in SQL."),
    texts("column", "Column", "Name of the column in SQL."),
    texts("type", "Type", "Kind of the values: number, string or boolean."),
    texts("unit", "Unit", "Unit of the numbers; empty for texts and counts."),
    texts("meaning", "Meaning", "What the values say."),
)


def build(_: Run, __: Query) -> Table:
    """One row per column of each table; the same for every run."""
    rows = [(table.name, column) for table in RELATIONS for column in table.columns]
    return Table(
        COLUMNS,
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
)
