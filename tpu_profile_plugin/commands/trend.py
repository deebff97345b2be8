"""`tpu-profile trend` and `summarize`: the runs of a logdir over time, and what is kept of each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_profile_plugin.answers.text import in_markdown
from tpu_profile_plugin.commands.answer import define_shared, print_answer
from tpu_profile_plugin.errors import BadRequest, StorageFailed
from tpu_profile_plugin.system.terminal import one_line

if TYPE_CHECKING:
    from tpu_profile_plugin.trend.trend import Trend

HELP = "say since when steps take longer or shorter, and where"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("logdir", metavar="LOGDIR", help="a logdir, or a file of summaries (*.runs.jsonl)")
    parser.add_argument("--match", default="*", help="only runs whose name matches this pattern, such as 'nightly/*'")
    parser.add_argument(
        "--most-read", type=int, metavar="N", help="read at most N runs that are not known yet (default: all)"
    )
    define_shared(parser, ("text", "json", "markdown"))
    parser.epilog = (
        "exit status: 0 told, 1 no run can be read; runs are read once, an interrupted command goes on later"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the trend; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.trend.trend import lines

    if options.format == "json" and not _is_file(options.logdir):
        with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
            most = 1_000_000 if options.most_read is None else options.most_read
            return print_answer(logdir, "trend", {"match": options.match, "most_read": most}, options)
    found = read(options.logdir, options.match, options.most_read)
    if options.format == "json":
        raise BadRequest("--format json needs a logdir.")
    told = markdown(found) if options.format == "markdown" else lines(found)
    print("\n".join(map(one_line, told)))
    return 0 if found.series else 1


def read(logdir: str, match: str = "*", most_read: int | None = None) -> Trend:
    """The trend of a logdir or a file of summaries; runs that are read are told on standard error.

    Interrupted, it tells what is known: the runs that were read stay known.
    """
    import tpu_profile_plugin
    from tpu_profile_plugin.trend.summaries import read_file
    from tpu_profile_plugin.trend.trend import of_summaries

    if _is_file(logdir):
        return of_summaries(read_file(Path(logdir)))
    with closing(tpu_profile_plugin.open(logdir)) as opened:
        try:
            return opened.trend(match, on_run=tell_read, most_read=most_read)
        except KeyboardInterrupt:
            print("tpu-profile: interrupted; runs that were read stay known", file=sys.stderr)
            return opened.trend(match, most_read=0)


def _is_file(logdir: str) -> bool:
    from tpu_profile_plugin.trend.summaries import SUFFIX

    return logdir.endswith(SUFFIX)


def tell_read(known: int, whole: int, name: str) -> None:
    """Tells on standard error which run was read."""
    print(one_line(f"{known} of {whole}: {name}"), file=sys.stderr)


def markdown(found: Trend, run: str | None = None) -> Iterator[str]:
    """The trend for a pull request; of the series of one run if it is given."""
    from tpu_profile_plugin.trend.trend import about, no_event, sentence, title

    for series in found.series:
        if run is not None and all(one.run != run for one in series.runs):
            continue
        yield f"**{in_markdown(title(series))}**: {in_markdown(about(series))}"
        yield ""
        told = [sentence(series, event) for event in series.events] or [no_event(series)]
        yield from (f"- {in_markdown(text)}" for text in told)
        yield ""
    if run is None:
        yield from (f"- {in_markdown(problem)}" for problem in found.problems)


class SummarizeCommand:
    """`tpu-profile summarize`."""

    HELP = "write what is kept of runs to a file, to follow them without their profiles"

    def define(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments."""
        parser.add_argument("logdir", metavar="LOGDIR", help="a logdir or a .xplane.pb file")
        parser.add_argument("--match", default="*", help="only runs whose name matches this pattern")
        parser.add_argument(
            "--label", action="append", default=[], metavar="KEY=VALUE", help="a label of all these runs; repeatable"
        )
        parser.add_argument(
            "--output", metavar="FILE", help="the file (default: standard output); its name should end in .runs.jsonl"
        )
        parser.epilog = "exit status: 0 written, 1 no run can be read, 2 wrong arguments"

    def run(self, options: argparse.Namespace) -> int:
        """Writes the summaries; returns the exit status."""
        from dataclasses import replace

        from tpu_profile_plugin.trend.summaries import encoded, label_of, write_file

        labels = dict(map(label_of, options.label))
        found = [replace(one, labels={**one.labels, **labels}) for one in read(options.logdir, options.match).runs]
        if options.output:
            try:
                count = write_file(Path(options.output), found)
            except OSError as error:
                raise StorageFailed(f"{options.output} cannot be written: {error.strerror}.") from error
            print(one_line(f"{count} runs -> {options.output}"))
        else:
            print("\n".join(map(encoded, found)))
        return 0 if any(one.conditions is not None for one in found) else 1
