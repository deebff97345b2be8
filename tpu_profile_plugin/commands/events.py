"""`tpu-profile events`: lists events of a run, or sums per name, line or plane, as text, CSV or JSON."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.answers.text import aligned
from tpu_profile_plugin.commands.losses import tell
from tpu_profile_plugin.commands.parser import define_run
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.units import PS_PER_US

if TYPE_CHECKING:
    from tpu_profile_plugin.tables.table import Table

HELP = "list events of a run, or their sums per name, line or plane"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "planes, lines and event counts: tpu-profile tools LOGDIR --tool profile_contents --format csv"
    define_run(parser)
    for option, what in (("plane", "planes"), ("line", "lines"), ("name", "events")):
        parser.add_argument(f"--{option}", metavar="REGEX", help=f"only {what} whose name contains a match")
    parser.add_argument(
        "--from-ms", dest="start_time_ms", metavar="MS", help="begin of the window in ms, as in the trace viewer"
    )
    parser.add_argument("--to-ms", dest="end_time_ms", metavar="MS", help="end of the window in ms")
    parser.add_argument("--inside", action="store_true", help="only events entirely inside the window")
    parser.add_argument("--min-us", metavar="US", help="shortest duration")
    parser.add_argument("--max-us", metavar="US", help="longest duration")
    parser.add_argument("--by", metavar="KEYS", help="sums per name, line, plane (comma-separated)")
    parser.add_argument(
        "--order", choices=("begin", "duration", "self"), help="order of single events (default: begin)"
    )
    parser.add_argument("--stats", action="store_true", help="show the stats of each event")
    parser.add_argument("--limit", metavar="N", help="maximum number of rows (default: 100)")
    parser.add_argument("--offset", metavar="N", help="number of rows to skip")
    parser.add_argument(
        "--format", choices=("text", "csv", "json"), default="text", help="output format (default: text, times in us)"
    )


_PASSED = (
    *("plane", "line", "name", "start_time_ms", "end_time_ms", "inside", "min_us", "max_us"),
    *("by", "order", "stats", "limit", "offset"),
)
"""Options that are parameters of the tool."""


def run(options: argparse.Namespace) -> int:
    """Prints the events; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.tables.datatable import datatable_json
    from tpu_profile_plugin.tables.table import csv_text

    if options.by and (options.order or options.stats):
        raise BadRequest("--order and --stats apply to single events, not to the sums of --by.")
    with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
        chosen = logdir.run(options.run)
        params = {name: value for name in _PASSED if (value := getattr(options, name))}
        (table,) = chosen.tables("events", options.host, **params).values()  # `name` is a parameter of the tool
        tell(chosen.on(options.host))
    if options.format == "json":
        print(datatable_json(table).decode())
    else:
        sys.stdout.write(csv_text(table) if options.format == "csv" else _text(table))
        _report_rest(table, int(options.offset or 0))
    return 0


def _report_rest(table: Table, offset: int) -> None:
    total, shown = int(table.properties["total"]), len(table)
    if shown < total:
        rows = f"{offset + 1} to {offset + shown}" if shown else "none"
        print(f"tpu-profile: rows {rows} of {total}; more with --limit and --offset", file=sys.stderr)


def _text(table: Table) -> str:
    """Aligned columns, numbers to the right, times in us; the host column only for several hosts."""
    several = len(set(table.column("host"))) > 1
    columns = []
    for column in table.columns:
        cells = table.column(column.id)
        if (column.id == "host" and not several) or (column.id == "stats" and not any(cells)):
            continue
        is_time = column.unit == "ps"
        head = f"{column.label} (us)" if is_time else column.label
        columns.append(([head, *(_cell(cell, is_time=is_time) for cell in cells)], column.type == "number"))
    return "".join(f"{line}\n" for line in aligned(columns))


def _cell(value: Any, *, is_time: bool) -> str:
    if is_time:
        return f"{value / PS_PER_US:.3f}"
    return f"{value:.0f}" if isinstance(value, float) else str(value)
