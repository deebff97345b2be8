"""`tpu-profile events`: lists events of a run, or adds them up by name, line or plane, as text, CSV or JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tpu_profile_plugin.commands.opened import opened_run, warn_of_left_out
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.units import PS_PER_US

HELP = "list events of a run, or add them up by name, line or plane"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "Planes, lines and numbers of events: tpu-profile tools LOGDIR --tool profile_contents --format csv"
    parser.add_argument("logdir", help="a logdir or a .xplane.pb file")
    parser.add_argument("run", nargs="?", help="the run (default: the newest)")
    parser.add_argument("--host", help="one host (default: all)")
    for name in ("plane", "line", "name"):
        parser.add_argument(f"--{name}", metavar="REGEX", help=f"only {name}s that match; for names, of the event")
    parser.add_argument(
        "--from-ms", dest="start_time_ms", metavar="MS", help="begin of a window, as in the trace viewer"
    )
    parser.add_argument("--to-ms", dest="end_time_ms", metavar="MS", help="end of the window")
    parser.add_argument("--inside", action="store_true", help="only events that do not reach beyond the window")
    parser.add_argument("--min-us", metavar="US", help="shortest duration")
    parser.add_argument("--max-us", metavar="US", help="longest duration")
    parser.add_argument("--by", metavar="KEYS", help="add up by name, line, plane (joined by commas)")
    parser.add_argument("--order", choices=("begin", "duration", "self"), help="of single events (default: begin)")
    parser.add_argument("--stats", action="store_true", help="with the stats of each event")
    parser.add_argument("--limit", metavar="N", help="maximum number of rows (default: 100)")
    parser.add_argument("--offset", metavar="N", help="number of rows to skip")
    parser.add_argument(
        "--format", choices=("text", "csv", "json"), default="text", help="(default: text, times in us)"
    )


_PASSED = (
    *("plane", "line", "name", "start_time_ms", "end_time_ms", "inside", "min_us", "max_us"),
    *("by", "order", "stats", "limit", "offset"),
)
"""Options that are parameters of the tool."""


def run(options: argparse.Namespace) -> int:
    """Prints the events; returns the exit status."""
    from tpu_profile_plugin.tables.table import csv_of

    if options.by and (options.order or options.stats):
        raise BadRequest("--order and --stats are about single events; they have no effect with --by.")
    params = {name: value for name in _PASSED if (value := getattr(options, name))}
    with opened_run(options.logdir, options.run) as chosen:
        table = chosen.answer("events", options.host, **params)
    warn_of_left_out(chosen)
    if options.format == "json":
        print(json.dumps(table, ensure_ascii=False))
    else:
        sys.stdout.write(csv_of(table) if options.format == "csv" else _text(table))
        _say_what_is_missing(table, int(options.offset or 0))
    return 0


def _say_what_is_missing(table: Mapping[str, Any], offset: int) -> None:
    total, shown = int(table["p"]["total"]), len(table["rows"])
    if shown < total:
        rows = f"{offset + 1} to {offset + shown}" if shown else "none"
        print(f"tpu-profile: rows {rows} of {total}; more with --limit and --offset", file=sys.stderr)


def _text(table: Mapping[str, Any]) -> str:
    """Aligned columns, of the host only if there are several; numbers to the right, times in us."""
    columns: Sequence[Mapping[str, Any]] = table["cols"]
    cells = [[cell["v"] for cell in row["c"]] for row in table["rows"]]
    several = len({row[0] for row in cells}) > 1
    texts: list[list[str]] = []
    for i, column in enumerate(columns):
        if (column["id"] == "host" and not several) or (column["id"] == "stats" and not any(row[i] for row in cells)):
            continue
        is_time = column.get("unit") == "ps"
        title = f"{column['label']} (us)" if is_time else column["label"]
        shown = [title, *(_cell(row[i], is_time=is_time) for row in cells)]
        texts.append(_aligned(shown, to_the_right=column["type"] == "number"))
    return "".join("  ".join(row).rstrip() + "\n" for row in zip(*texts, strict=True))


def _aligned(texts: Sequence[str], *, to_the_right: bool) -> list[str]:
    width = max(map(len, texts))
    return [text.rjust(width) if to_the_right else text.ljust(width) for text in texts]


def _cell(value: Any, *, is_time: bool) -> str:
    if is_time:
        return f"{value / PS_PER_US:.3f}"
    return f"{value:.0f}" if isinstance(value, float) else str(value)
