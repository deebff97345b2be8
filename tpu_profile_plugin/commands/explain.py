"""`tpu-profile explain`: says what slows a run down, with evidence and advice, as text, JSON or Markdown."""

from __future__ import annotations

import argparse
import json
import re
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import BadRequest, ProfileError

if TYPE_CHECKING:
    from tpu_profile_plugin.reading import OpenLogdir, OpenRun

_SESSION = re.compile(r"(\d{4})[_-](\d{2})[_-](\d{2})[_-](\d{2})[_:-](\d{2})[_:-](\d{2})")
"""The time in the name of a session, as profilers write it."""
HELP = "say what slows a run down, with evidence and advice"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "exit status: 0 the run was examined, with findings or without; 2 it could not be"
    parser.add_argument("logdir", nargs="?", help="a logdir or a .xplane.pb file")
    parser.add_argument("run", nargs="?", help="the run (default: the newest)")
    parser.add_argument("--host", help="one host (default: all)")
    parser.add_argument("--all", action="store_true", help="also the checks without a finding; always in JSON")
    parser.add_argument("--rule", metavar="ID", help="print a rule's documentation; needs no logdir")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="(default: text)")


def run(options: argparse.Namespace) -> int:
    """Prints the findings; returns the exit status."""
    import tpu_profile_plugin

    if options.rule is not None:
        return _explain_rule(options.rule)
    if options.logdir is None:
        print("tpu-profile: explain needs a logdir or --rule ID", file=sys.stderr)
        return 2
    try:
        opened = tpu_profile_plugin.open(options.logdir)
        try:
            chosen = _choose(opened, options)
            answer = _ask(chosen, options.host)
        finally:
            opened.close()
    except ProfileError as error:
        print(f"tpu-profile: {error.message}", file=sys.stderr)
        return 2
    if options.format == "json":
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    from tpu_profile_plugin.commands.findings_text import as_markdown, as_text

    write = as_markdown if options.format == "markdown" else as_text
    print(write(chosen.name, len(chosen.hosts), answer, silent=options.all))
    return 0


def _explain_rule(name: str) -> int:
    """Prints the documentation of a rule; returns the exit status."""
    from tpu_profile_plugin.analysis.findings.rules import RULES
    from tpu_profile_plugin.commands.findings_text import rule_text

    known = {rule.id: rule for rule in RULES}
    if name not in known:
        print(f"tpu-profile: there is no rule {name!r}; the rules are {', '.join(known)}", file=sys.stderr)
        return 2
    print(rule_text(known[name]))
    return 0


def _choose(opened: OpenLogdir | OpenRun, options: argparse.Namespace) -> OpenRun:
    """The run that is asked about; by default the newest, by the time in its name, else of its files."""
    from tpu_profile_plugin.reading import OpenRun

    if isinstance(opened, OpenRun):
        if options.run is not None:
            raise BadRequest(f"{options.logdir} is a single file, so there is no run {options.run!r} to choose.")
        return opened
    if options.run is not None:
        return opened.run(options.run)
    return max(opened.runs(), key=_time, default=None) or opened.run()


def _time(run: OpenRun) -> str:
    """A text that orders runs by time."""
    session = run.name.rpartition("/")[2]
    named = _SESSION.match(session)
    at = datetime.fromtimestamp(run.mtime_ms / 1000)
    return "".join(named.groups()) if named else f"{at:%Y%m%d%H%M%S}"


def _ask(chosen: OpenRun, host: str | None) -> dict[str, Any]:
    """The object of the tool `smart_suggestion`; hosts that it lacks go to stderr."""
    answer: dict[str, Any] = chosen.answer("smart_suggestion", host, all_rules=True)
    for left_out in chosen.left_out:
        print(f"tpu-profile: host {left_out['host']} is left out: {left_out['message']}", file=sys.stderr)
    return answer
