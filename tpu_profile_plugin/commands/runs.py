"""`tpu-profile runs`: lists the runs of a logdir with their hosts, size and time."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from tpu_profile_plugin.commands import answer
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.units import MIB

HELP = "list the runs of a logdir"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    answer.VerbCommand("runs").define(parser)
    parser.epilog = "exit status: 0 runs found, 1 no runs"


def run(options: argparse.Namespace) -> int:
    """Prints the list, the latest session first; problems go to stderr."""
    import tpu_profile_plugin
    from tpu_profile_plugin.answers.verbs.runs import matching, written

    with closing(tpu_profile_plugin.open(options.logdir)) as opened:
        match = options.match or ""
        if options.format == "json":
            return answer.print_answer(opened, "runs", {"match": match}, options)
        runs = matching(opened, match)
    names = [one_line(each.name) for each in runs]
    width = max(map(len, names))
    for each, name in zip(runs, names, strict=True):
        hosts = f"{len(each.hosts)} host{'' if len(each.hosts) == 1 else 's'}"
        print(f"{name:<{width}}  {hosts:>10}  {each.size / MIB:>9.2f} MiB  {written(each) or '-'}")
        for problem in each.problems:
            print(one_line(f"tpu-profile: {each.name}: {problem}"), file=sys.stderr)
    return 0
