"""`tpu-profile explain`: says what slows a run down, with evidence and advice, as text, JSON or Markdown."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from tpu_profile_plugin.commands.losses import told, warn
from tpu_profile_plugin.errors import ProfileError

HELP = "say what slows a run down, with evidence and advice"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    from tpu_profile_plugin.commands.answer import define_shared

    parser.epilog = "exit status: 0 the run was examined, with findings or without; 2 it could not be"
    parser.add_argument("logdir", nargs="?", help="a logdir or a .xplane.pb file")
    parser.add_argument("run", nargs="?", help="the run (default: the newest)")
    parser.add_argument("--host", help="one host (default: all)")
    parser.add_argument("--finding", metavar="ID", help="one finding with all evidence, or why there is none")
    parser.add_argument("--all", action="store_true", help="also the checks without a finding")
    parser.add_argument("--rule", metavar="ID", help="print a rule's documentation; needs no logdir")
    define_shared(parser, ("text", "json", "markdown"))


def run(options: argparse.Namespace) -> int:
    """Prints the findings; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.commands.answer import print_answer

    if options.rule is not None:
        return _explain_rule(options.rule)
    if options.logdir is None:
        print("tpu-profile: explain needs a logdir or --rule ID", file=sys.stderr)
        return 2
    if options.finding and options.format == "markdown":
        print("tpu-profile: explain --finding has the formats text and json", file=sys.stderr)
        return 2
    try:
        with closing(tpu_profile_plugin.open(options.logdir)) as opened:
            if options.format == "json" or options.finding:
                chosen = {"finding": options.finding} if options.finding else {}
                return 2 if print_answer(opened, "explain", chosen, options) else 0
            examined = opened.run(options.run)
            part = examined.on(options.host)
            findings, losses = part.findings(), told(part)
    except ProfileError as error:
        print(f"tpu-profile: {error.message}", file=sys.stderr)
        return 2
    from tpu_profile_plugin.commands.findings_text import as_markdown, as_text

    about = (examined.name, len(examined.hosts), findings)
    if options.format == "markdown":
        print(as_markdown(*about, silent=options.all, losses=losses))
    else:
        print(as_text(*about, silent=options.all))
        warn(losses)
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
