"""`tpu-profile runs`: lists the runs of a logdir with their hosts, size and time."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.units import MIB

if TYPE_CHECKING:
    from tpu_profile_plugin.opening import OpenRun

HELP = "list the runs of a logdir"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "exit status: 0 runs found, 1 no runs"
    parser.add_argument("logdir", help="a logdir")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(options: argparse.Namespace) -> int:
    """Prints the list, the latest session first; problems go to stderr."""
    import tpu_profile_plugin

    opened = tpu_profile_plugin.open(options.logdir)
    runs = opened.runs()
    if not runs:
        raise NotFound(opened.why_no_run(), code="run_not_found")
    listed = [_facts(each) for each in runs]
    if options.json:
        print(json.dumps(listed, indent=2))
        return 0
    width = max(len(facts["run"]) for facts in listed)
    for facts in listed:
        hosts = f"{len(facts['hosts'])} host{'' if len(facts['hosts']) == 1 else 's'}"
        print(f"{facts['run']:<{width}}  {hosts:>10}  {facts['bytes'] / MIB:>9.2f} MiB  {facts['time'] or '-'}")
        for problem in facts["problems"]:
            print(f"tpu-profile: {facts['run']}: {problem}", file=sys.stderr)
    return 0


def _facts(run: OpenRun) -> dict[str, Any]:
    ms = run.mtime_ms
    return {
        "run": run.name,
        "hosts": run.hosts,
        "bytes": run.size,
        "time": datetime.fromtimestamp(ms / 1000).astimezone().isoformat(" ", "seconds") if ms else None,
        "problems": run.problems,
    }
