"""`tpu-profile events`: lists events of a run, or sums per name, line or plane, as text, CSV or JSON."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.answers.text import aligned
from tpu_profile_plugin.commands.losses import tell
from tpu_profile_plugin.commands.parser import define_run, define_spreadsheet, for_spreadsheet
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.system.terminal import write_data
from tpu_profile_plugin.units import PS_PER_US

if TYPE_CHECKING:
    from tpu_profile_plugin.tables.table import Table

HELP = "list events of a run, or their sums per name, line or plane"
_FLAGS = {"start_time_ms": "from-ms", "end_time_ms": "to-ms"}
"""Options that are called otherwise than the parameters of the tool."""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments; those that choose events are the parameters of the tool."""
    from tpu_profile_plugin.tools.registry import find

    parser.epilog = "planes, lines and event counts: tpu-profile tools LOGDIR --tool profile_contents --format csv"
    define_run(parser)
    for param in find("events").params:
        flag = f"--{_FLAGS.get(param.name, param.name.replace('_', '-'))}"
        kind: dict[str, Any] = {"choices": param.choices} if param.choices else {"metavar": param.type.upper()}
        if param.type == "bool":
            kind = {"action": "store_true"}
        default = f" (default: {param.default})" if param.default else ""
        parser.add_argument(flag, dest=param.name, help=f"{param.sentence}{default}".replace("%", "%%"), **kind)
    parser.add_argument(
        "--format", choices=("text", "csv", "json"), default="text", help="output format (default: text, times in us)"
    )
    define_spreadsheet(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the events; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.tables.datatable import datatable_json
    from tpu_profile_plugin.tables.table import csv_text
    from tpu_profile_plugin.tools.registry import find

    spreadsheet = for_spreadsheet(options)
    if options.by and (options.order or options.stats):
        raise BadRequest("--order and --stats apply to single events, not to the sums of --by.")
    with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
        chosen = logdir.run(options.run)
        params = {param.name: value for param in find("events").params if (value := getattr(options, param.name))}
        (table,) = chosen.tables("events", options.host, **params).values()  # `name` is a parameter of the tool
        tell(chosen.on(options.host))
    if options.format == "json":
        print(datatable_json(table).decode())
    else:
        (write_data if options.format == "csv" else sys.stdout.write)(
            csv_text(table, spreadsheet=spreadsheet) if options.format == "csv" else _text(table)
        )
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
