"""`tpu-profile tools`: lists the tools of a run, or prints a tool's answer as JSON or CSV, without a server."""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from typing import TYPE_CHECKING

from tpu_profile_plugin.commands.losses import tell
from tpu_profile_plugin.commands.parser import define_run, define_spreadsheet, for_spreadsheet
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.system.terminal import write_data, write_encoded
from tpu_profile_plugin.workers import EXECUTOR_HELP, parse_executor

if TYPE_CHECKING:
    from tpu_profile_plugin.opening import OpenRun

HELP = "list the tools of a run, or print the answer of a tool"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    define_run(parser, host="one host (default: all; required if the tool shows one of several)")
    parser.add_argument("--tool", help="id of the tool (default: list all tools)")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="parameter of the tool; repeatable"
    )
    parser.add_argument("--executor", metavar="WHERE", help=EXECUTOR_HELP)
    parser.add_argument(
        "--table",
        metavar="NAME",
        help="one table of the answer, such as ops (default: the whole answer; as CSV the first table)",
    )
    parser.add_argument("--page", action="store_true", help="the answer that the tool's page receives, not XProf's")
    parser.add_argument("--format", choices=("json", "csv"), help="output format (default: json)")
    define_spreadsheet(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the list or the answer; returns the exit status."""
    import tpu_profile_plugin

    params = _checked(options)
    executor = parse_executor(options.executor or os.environ.get("TPU_PROFILE_EXECUTOR"))
    with closing(tpu_profile_plugin.open(options.logdir, executor=executor)) as logdir:
        return _print(logdir.run(options.run), options, params)


def _print(run: OpenRun, options: argparse.Namespace, params: dict[str, str]) -> int:
    from tpu_profile_plugin.tables.datatable import datatable_json
    from tpu_profile_plugin.tables.table import csv_text

    spreadsheet = for_spreadsheet(options)
    if options.tool is None:
        for tool, reason in run.tools().items():
            print(f"{tool:<26} {'-' if reason else 'yes'}{'   ' + reason if reason else ''}")
        tell(run)
        return 0
    if options.format == "csv" or options.table:
        table = run.table(options.tool, options.table or 0, options.host, **params)
        write_data(
            csv_text(table, spreadsheet=spreadsheet)
            if options.format == "csv"
            else datatable_json(table).decode() + "\n"
        )
    else:
        body, content_type = run.encoded(options.tool, options.host, params, page=options.page)
        write_encoded(body + (b"\n" if content_type.startswith("application/json") else b""))
    tell(run.on(options.host))
    return 0


def _checked(options: argparse.Namespace) -> dict[str, str]:
    """The tool's parameters; raises BadRequest for useless or contradictory options."""
    pairs = [_pair(text) for text in options.param]
    params = dict(pairs)
    if options.tool is None:
        without = {
            "--host": options.host,
            "--param": options.param,
            "--table": options.table,
            "--format": options.format,
        }
        if useless := [name for name, value in without.items() if value]:
            raise BadRequest(f"{useless[0]} needs --tool: the list of tools has no such option.")
    if len(params) < len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise BadRequest(f"--param {twice} is given more than once.", parameter=twice)
    for name, value, needed, wanted in _TOGETHER:
        if name in params and value in ("", params[name].lower()) and params.get(needed, "").lower() not in wanted:
            raise BadRequest(f"{name} has no effect unless {needed} is {' or '.join(w for w in wanted if w)}.")
    return params


_TOGETHER = (("unattributed", "true", "backend", ("", "device", "auto")),)
"""Parameter, its value ("": any), the parameter it depends on, and the values that make it work."""


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise BadRequest(f"--param must be NAME=VALUE, not {text!r}.")
    return name, value
