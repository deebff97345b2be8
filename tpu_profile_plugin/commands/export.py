"""`tpu-profile export`: writes the tables or the timeline of a run as files for other programs."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path

from tpu_profile_plugin.commands.losses import tell
from tpu_profile_plugin.commands.parser import define_run
from tpu_profile_plugin.export import FORMS

HELP = "write a run as files for other programs"
_QUIET_S = 1.0
"""Progress is shown of exports that take longer than this, and renewed as often."""


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "tables: events, steps, ops, collectives, allocations; their columns are in docs/user/programs.md"
    define_run(parser)
    parser.add_argument("--format", required=True, choices=tuple(FORMS), help="parquet and arrow: a file per table")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="directory or file to write")
    parser.add_argument("--tables", metavar="NAMES", default="", help="tables to write, comma-separated (default: all)")
    parser.add_argument("--align", action="store_true", help="timelines: move the hosts' clocks to the first one's")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def run(options: argparse.Namespace) -> int:
    """Writes the files and prints their paths; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.export import find
    from tpu_profile_plugin.export.write import Options, export

    form = find(options.format)
    names = tuple(name.strip() for name in options.tables.split(",") if name.strip())
    with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
        chosen = logdir.run(options.run).on(options.host)
        files = export(
            chosen,
            form,
            Path(options.output),
            Options(names, options.align),
            _Progress(),
            logdir=logdir.path,
            force=options.force,
        )
        tell(chosen)
    for file in files:
        print(f"{file}  {file.stat().st_size:,} bytes")
    return 0


class _Progress:
    """Prints what is being written, at most once per second."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _QUIET_S

    def __call__(self, what: str) -> None:
        if time.monotonic() >= self._next:
            print(f"tpu-profile: {what}", file=sys.stderr)
            self._next = time.monotonic() + _QUIET_S
