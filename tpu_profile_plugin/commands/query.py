"""`tpu-profile query`: SQL over the runs of a logdir, as text, CSV, JSON or a Parquet file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.answers.text import aligned
from tpu_profile_plugin.commands.answer import define_shared, print_answer
from tpu_profile_plugin.commands.parser import define_spreadsheet, for_spreadsheet
from tpu_profile_plugin.errors import BadRequest, QueryFailed, QueryRefused
from tpu_profile_plugin.system.terminal import one_line, write_data

if TYPE_CHECKING:
    from tpu_profile_plugin.opening import OpenLogdir
    from tpu_profile_plugin.sql import Result

HELP = "answer a SQL query over runs and hosts"
# As in `sql.Limits`, which imports too much for a help text.
_ROWS, _SECONDS = 100_000, 30.0
_LOOK_S = 1.0
_WIDEST = 80


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "exit status: 0 answered, 1 stopped or no run, 2 the statement is wrong or not allowed"
    parser.add_argument("statement", nargs="?", metavar="SQL", help='the query, or "-" to read it from standard input')
    parser.add_argument("--logdir", metavar="LOGDIR", help="a logdir or a .xplane.pb file")
    parser.add_argument("--runs", metavar="GLOB", default="*", help="only runs whose name matches (default: all)")
    define_shared(parser, ("text", "csv", "json", "parquet"))
    define_spreadsheet(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (required for parquet)")
    parser.add_argument("--rows", type=int, metavar="N", default=_ROWS, help="most rows (default: 100000)")
    parser.add_argument("--seconds", type=float, metavar="S", default=_SECONDS, help="most time (default: 30)")
    parser.add_argument("--schema", action="store_true", help="print the tables and their columns")
    parser.add_argument("--examples", action="store_true", help="print example queries")


def run(options: argparse.Namespace) -> int:
    """Prints the rows; returns the exit status."""
    import tpu_profile_plugin

    if options.schema or options.examples:
        sys.stdout.writelines(_schema() if options.schema else _examples())
        return 0
    if not options.statement or not options.logdir:
        raise BadRequest("A query needs SQL and --logdir; --schema lists the tables, --examples shows queries.")
    if options.format == "parquet" and not options.output:
        raise BadRequest("--format parquet needs --output FILE.", parameter="output")
    spreadsheet = for_spreadsheet(options)
    statement = sys.stdin.read() if options.statement == "-" else options.statement
    with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
        if options.format == "json":
            return _envelope(logdir, statement, options)
        result = _result(logdir, statement, options)
    if options.output:
        parquet = options.format == "parquet"
        data = result.to_parquet() if parquet else _shown(result, options.format, spreadsheet).encode()
        Path(options.output).write_bytes(data)
    else:
        (write_data if options.format == "csv" else sys.stdout.write)(_shown(result, options.format, spreadsheet))
    for note in result.notes:
        print(one_line(f"tpu-profile: {note}"), file=sys.stderr)
    return 0


def _result(logdir: OpenLogdir, statement: str, options: argparse.Namespace) -> Result:
    """The result; what is being read is told on standard error, once per second."""
    from tpu_profile_plugin.sql import Limits

    query = logdir.query(statement, options.runs, Limits(options.rows, options.seconds))
    try:
        while True:
            try:
                return query.result(_LOOK_S)
            except TimeoutError:
                if doing := query.status().doing:
                    print(one_line(f"tpu-profile: {doing}"), file=sys.stderr)
    except (QueryFailed, QueryRefused) as error:
        from tpu_profile_plugin.answers.verbs.query import with_place

        raise type(error)(with_place(error), **error.details) from None
    finally:
        query.cancel()  # Ctrl-C ends its process too


def _envelope(logdir: OpenLogdir, statement: str, options: argparse.Namespace) -> int:
    """Prints the answer of the verb, or writes it to the file."""
    limits = {"rows": options.rows, "seconds": options.seconds}
    arguments = {"statement": statement, "runs": options.runs, **limits}
    with ExitStack() as stack:
        if options.output:
            stack.enter_context(redirect_stdout(stack.enter_context(Path(options.output).open("w", encoding="utf-8"))))
        return print_answer(logdir, "query", arguments, options)


def _shown(result: Result, form: str, spreadsheet: bool) -> str:
    return result.to_csv(spreadsheet=spreadsheet) if form == "csv" else text(result)


def text(result: Result) -> str:
    """Aligned columns with the ids as header, numbers to the right."""
    columns = (
        ([column.id, *map(_cell, result.table.column(column.id))], column.type == "number") for column in result.columns
    )
    return "".join(f"{line}\n" for line in aligned(columns))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    shown = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"


def _schema() -> Iterator[str]:
    from tpu_profile_plugin.sql import schema

    for table in schema():
        yield f"{table.name}: {table.summary}\n"
        width = max(len(column.id) for column in table.columns)
        for column in table.columns:
            unit = f" ({column.unit})" if column.unit else ""
            yield f"  {column.id:<{width}}  {column.sentence}{unit}\n"
        yield "\n"


def _examples() -> Iterator[str]:
    from tpu_profile_plugin.sql.examples import EXAMPLES

    for example in EXAMPLES:
        yield f"-- {example.title}: {example.sentence}\n{example.sql}\n\n"
