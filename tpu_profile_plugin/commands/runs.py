"""`tpu-profile runs`: lists the runs of a logdir with their hosts, size and time."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from datetime import datetime

from tpu_profile_plugin.commands import answer
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.units import MIB, MS_PER_S

HELP = "list the runs of a logdir"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    answer.VerbCommand("runs").define(parser)
    parser.epilog = "exit status: 0 runs found, 1 no runs"


def run(options: argparse.Namespace) -> int:
    """Prints the list, the latest session first; problems go to stderr."""
    import tpu_profile_plugin

    with closing(tpu_profile_plugin.open(options.logdir)) as opened:
        match = options.match or ""
        if options.format == "json":
            return answer.print_answer(opened, "runs", {"match": match}, options)
        runs = [each for each in opened.runs() if match in each.name]
        if not runs:
            message = f"No run has {match[:80]!r} in its name." if match else opened.why_no_run()
            raise NotFound(message, code="run_not_found")
    width = max(len(each.name) for each in runs)
    for each in runs:
        hosts = f"{len(each.hosts)} host{'' if len(each.hosts) == 1 else 's'}"
        ms = each.mtime_ms
        written = datetime.fromtimestamp(ms / MS_PER_S).astimezone().isoformat(" ", "seconds") if ms else "-"
        print(f"{each.name:<{width}}  {hosts:>10}  {each.size / MIB:>9.2f} MiB  {written}")
        for problem in each.problems:
            print(f"tpu-profile: {each.name}: {problem}", file=sys.stderr)
    return 0
