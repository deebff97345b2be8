"""`tpu-profile compare`: what changed between two runs, as text, JSON or Markdown; a gate for CI."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from tpu_profile_plugin.answers.text import aligned, in_markdown
from tpu_profile_plugin.commands.answer import define_shared, print_answer
from tpu_profile_plugin.commands.gate import STATUS
from tpu_profile_plugin.commands.losses import tell
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.workers import EXECUTOR_HELP, parse_executor

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.trend.gate import Judged
    from tpu_profile_plugin.opening import OpenLogdir, OpenRun
    from tpu_profile_plugin.run.figures.comparison import Comparison

HELP = "say what changed between two runs"
_MOST_NAMED = 3
_LEAST_RELATED = 0.5


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = (
        "exit status: 0 compared, and not slower than --fail-above allows, 1 a run cannot be read, 2 wrong arguments, "
        "3 slower than --fail-above allows and beyond noise, 4 inconclusive, as `gate` is: why is said, and how many "
        "more runs would decide"
    )
    parser.add_argument("base", help="a logdir, a directory of one run or a .xplane.pb file")
    parser.add_argument("other", metavar="run", help="the same for the run to compare with the base")
    parser.add_argument(
        "--base-run",
        help="the run in the logdir of the base (default: the newest; in the logdir of the run, the one that shares "
        "most programs with it)",
    )
    parser.add_argument("--run", help="the run in the other logdir (default: the newest)")
    parser.add_argument("--fail-above", metavar="PERCENT", help="exit status 3 if the step is slower by more, as 5%%")
    parser.add_argument("--executor", metavar="WHERE", default="", help=EXECUTOR_HELP)
    define_shared(parser, ("text", "json", "markdown"))


def run(options: argparse.Namespace) -> int:
    """Prints the difference; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.answers.verbs.runs import related_runs

    allowed = _percent(options.fail_above)
    executor = parse_executor(options.executor)
    with (
        closing(tpu_profile_plugin.open(options.base, executor=executor)) as base_logdir,
        closing(tpu_profile_plugin.open(options.other, executor=executor)) as logdir,
    ):
        other = logdir.run(options.run)
        chosen, related = options.base_run, []
        if chosen is None and base_logdir.path == logdir.path:
            related = related_runs(base_logdir, other)
            others = (one.name for one in base_logdir.runs() if one.files != other.files)
            chosen = related[0][0] if related else next(others, None)
        base = base_logdir.run(chosen)
        comparison = other.on(None).compare(base.on(None))
        if options.format == "json":
            options.logdir = logdir.path
            same = base_logdir.path == logdir.path
            where = (logdir, base.name) if same else (_WithBase(logdir, base), _WithBase.NAME)
            status = print_answer(where[0], "compare", {"base": where[1]}, options)
            if status:
                return status
        else:
            instead = _instead(related or related_runs(base_logdir, other), base.name) if comparison.caution else ""
            markdown = options.format == "markdown"
            print("\n".join(map(one_line, lines(comparison, base.name, other.name, instead, markdown=markdown))))
            tell(base, other)
        judged = None if allowed is None else _judged(base, other, allowed)
    if judged is None:
        return 0
    if judged.verdict == "inconclusive":
        print(one_line(f"tpu-profile: --fail-above is inconclusive: {judged.reason}"), file=sys.stderr)
    return STATUS[judged.verdict]


class _WithBase:
    """A logdir with a run of another one, which has a name that no run has."""

    NAME = "/base"

    def __init__(self, logdir: OpenLogdir, base: OpenRun) -> None:
        self._logdir, self._base = logdir, base
        self.path = logdir.path

    def runs(self) -> list[OpenRun]:
        """The runs of the logdir."""
        return self._logdir.runs()

    def run(self, name: str | None = None) -> OpenRun:
        """A run of the logdir, or the base."""
        return self._base if name == self.NAME else self._logdir.run(name)


def _instead(related: Sequence[tuple[str, float]], base: str) -> str:
    """Runs that could be compared instead, as a sentence; "" without any."""
    better = [f"{name} ({share:.0%})" for name, share in related if share >= _LEAST_RELATED and name != base]
    return f" Runs that share programs: {', '.join(better[:_MOST_NAMED])}." if better else ""


def _percent(text: str | None) -> float | None:
    """The value of --fail-above."""
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise BadRequest(f"--fail-above must be a percentage such as 5%, not {text!r}.")
    return value


def _judged(base: OpenRun, other: OpenRun, percent: float) -> Judged:
    """What `tpu-profile gate` says of a limit on the step time of the two runs."""
    from tpu_profile_plugin.analysis.trend.gate import Limit, judge

    limit = Limit("--fail-above", "step_time", True, True, percent / 100)
    [found] = judge([limit], *([run.summarize(run)] for run in (base, other) if run.summarize is not None))
    return found


def lines(comparison: Comparison, base: str, run: str, instead: str = "", *, markdown: bool = False) -> Iterator[str]:
    """The difference as lines for a terminal, or of Markdown; `instead`: other runs, as a sentence."""
    shown, gap = (in_markdown, [""]) if markdown else (str, [])
    mark, item = ("**", "- ") if markdown else ("", "")
    yield f"{mark}{shown(run)}{mark} against {mark}{shown(base)}{mark}"
    yield from gap
    if comparison.caution:
        yield f"{mark}{shown(comparison.caution + instead)}{mark}"
        yield from gap
    yield shown(comparison.headline.text)
    yield from gap
    yield from (f"{item}{shown(note)}" for note in comparison.notes)
    heads, rows = comparison.texts()
    if not rows:
        return
    yield from gap
    if markdown:
        yield f"| {' | '.join(heads)} |"
        yield "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"
        yield from (f"| {' | '.join(map(in_markdown, row))} |" for row in rows)
    else:
        columns = zip(heads, *rows, strict=True)
        yield from aligned((column, 1 < place < 6) for place, column in enumerate(columns))
