"""`tpu-profile report`: a run in one HTML file that opens without a server, or as Markdown for a pull request."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_profile_plugin.commands.losses import tell, told
from tpu_profile_plugin.commands.parser import define_run
from tpu_profile_plugin.commands.trend import tell_read
from tpu_profile_plugin.errors import BadRequest

if TYPE_CHECKING:
    from tpu_profile_plugin.opening import OpenRun
    from tpu_profile_plugin.trend.trend import Trend

HELP = "save a run as one HTML file that opens without a server"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "markdown: headline, findings and comparison, for a pull request"
    define_run(parser, host=None)
    parser.add_argument("--base", metavar="RUN", help="a run of the same logdir to compare with")
    parser.add_argument("--window", metavar="A,B", help="milliseconds of the timeline (default: the slowest step)")
    parser.add_argument("--redact", action="store_true", help="replace names of hosts, programs, files and scopes")
    parser.add_argument("--format", choices=("html", "markdown"), default="html", help="form of the report")
    parser.add_argument("--trend", action="store_true", help="also the step over all runs, each read once")
    parser.add_argument("--link", metavar="URL", help="markdown: where the HTML file is")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (markdown: default standard output)")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace) -> int:
    """Writes the report; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.export.write import write_file
    from tpu_profile_plugin.report.collector import window_of

    if options.format == "html" and not options.output:
        raise BadRequest("An HTML report needs a file: -o report.html.")
    if options.format == "markdown" and (options.redact or options.window):
        raise BadRequest("--redact and --window have no effect on --format markdown.")
    window = window_of(options.window)
    with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
        chosen = logdir.run(options.run)
        base = logdir.run(options.base) if options.base else None
        trend = logdir.trend(on_run=tell_read) if options.trend else None
        if options.format == "markdown":
            data = ("\n".join(_markdown(chosen, base, options.link, trend)) + "\n").encode()
            tell(*([] if base is None else [base]))  # the text has those of the run
        else:
            report = chosen.report(base, window, redact=options.redact, trend=trend)
            data = report.data
            if report.left:
                print(f"tpu-profile: {report.left}", file=sys.stderr)
            tell(*filter(None, (chosen, base)))
        if options.output is None:
            sys.stdout.write(data.decode())
            return 0
        write_file(Path(options.output), lambda path: path.write_bytes(data), logdir=logdir.path, force=options.force)
    print(f"{options.output}  {len(data):,} bytes")
    return 0


def _markdown(run: OpenRun, base: OpenRun | None, link: str | None, trend: Trend | None) -> Iterator[str]:
    """The findings, then what changed from the base, and over the runs of a logdir."""
    from tpu_profile_plugin.commands.compare import lines
    from tpu_profile_plugin.commands.explain import as_markdown as findings
    from tpu_profile_plugin.commands.trend import markdown

    whole = run.on(None)
    yield findings(run.name, len(run.hosts), whole.findings(), silent=False, losses=told(run))
    if base is not None:
        yield "\n### What changed\n"
        yield from lines(whole.compare(base.on(None)), base.name, run.name, markdown=True)
    if trend is not None:
        yield "\n### Over the runs\n"
        yield from markdown(trend, run.name)
    if link:
        yield f"\n[The whole report](<{link.replace('>', '%3E')}>): every page, with the timeline, in one file."
