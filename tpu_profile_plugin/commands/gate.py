"""`tpu-profile gate` and `baseline`: whether runs are worse than a baseline allows, for continuous integration."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from tpu_profile_plugin.answers.text import in_markdown
from tpu_profile_plugin.commands.parser import checked_runs
from tpu_profile_plugin.commands.trend import read
from tpu_profile_plugin.errors import BadRequest, NotFound, ProfileError, StorageFailed
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.units import MIB, duration

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.trend.gate import Judged
    from tpu_profile_plugin.analysis.trend.summary import RunSummary

HELP = "fail if runs are worse than a baseline allows"
STATUS = {"pass": 0, "fail": 3, "inconclusive": 4}
"""Exit statuses."""
_CONTROLS = {code: f"\\x{code:02x}" for code in range(32)}


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("logdir", metavar="LOGDIR", help="a logdir, or a file of summaries (*.runs.jsonl)")
    parser.add_argument(
        "--run", action="append", default=[], metavar="NAME",
        help="a run, a label KEY=VALUE of runs, or latest:N; repeatable (default: the newest run)",
    )  # fmt: skip
    parser.add_argument(
        "--base", metavar="NAME", help="a baseline, a run, a label KEY=VALUE, or latest:N of the runs before"
    )
    parser.add_argument(
        "--baselines", metavar="FILE", help="the file of baselines (default: in the user's data directory)"
    )
    parser.add_argument(
        "--fail-if", action="append", default=[], metavar="CONDITION", required=True,
        help="as 'step_time > +3%%', 'memory_peak > 12 GiB', 'communication_exposed > 10%%'; repeatable",
    )  # fmt: skip
    parser.add_argument("--format", choices=("text", "json", "markdown", "junit"), default="text", help="default: text")
    parser.add_argument(
        "--runs", type=int, metavar="N",
        help="run the command behind `--` N times, and judge the runs that it records in LOGDIR (default: 5)",
    )  # fmt: skip
    parser.usage = f"{parser.prog} LOGDIR --fail-if CONDITION [--base NAME] [options] [-- COMMAND ...]"
    parser.epilog = (
        "exit status: 0 passed, 1 a run cannot be read, 2 wrong arguments, 3 failed, "
        "4 inconclusive: the runs vary too much to tell, and how many more would decide is said"
    )


def run(options: argparse.Namespace) -> int:
    """Judges and prints; returns the exit status."""
    from tpu_profile_plugin.analysis.trend.gate import judge, limit_of, verdict_of
    from tpu_profile_plugin.trend.summaries import chosen

    try:
        limits = [limit_of(text) for text in options.fail_if]
    except ValueError as error:
        raise BadRequest(str(error), argument="fail_if") from None
    wanted = _recorded(options) if options.behind or options.runs is not None else options.run
    known = list(read(options.logdir).runs)
    runs = _distinct([one for text in wanted or ["latest:1"] for one in chosen(known, text)])
    base = _base(options, known, runs) if any(limit.relative for limit in limits) or options.base else []
    judged = judge(limits, base, runs)
    verdict = verdict_of(judged)
    print(_FORMATS[options.format](judged, verdict, base, runs))
    return 1 if all(one.problem for one in (*base, *runs)) else STATUS[verdict]


def _recorded(options: argparse.Namespace) -> list[str]:
    """Runs the program several times; returns the names of the runs that it recorded. Raises BadRequest, NotFound."""
    count = checked_runs(5 if options.runs is None else options.runs)
    if not options.behind:
        raise BadRequest("--runs needs a command to run: -- COMMAND, at the end.", argument="runs")
    if options.run:
        raise BadRequest("--run has no effect with a command: the runs that it records are judged.", argument="run")
    before = _written(options.logdir)
    for number in range(1, count + 1):
        print(one_line(f"tpu-profile: run {number} of {count}: {shlex.join(options.behind)}"), file=sys.stderr)
        try:
            done = subprocess.run(options.behind, stdout=2, check=False)  # noqa: S603 - the user's own words
        except OSError as error:
            raise BadRequest(f"{options.behind[0]} cannot be run: {error.strerror}.", argument="program") from None
        if done.returncode:
            raise ProfileError(f"{options.behind[0]} ended with status {done.returncode}.")
    written = sorted(_written(options.logdir).items(), key=lambda one: one[::-1])
    found = [name for name, at in written if before.get(name) != at]
    if not found:
        raise NotFound(f"The command recorded no run in {options.logdir}.", code="run_not_found")
    return found


def _written(logdir: str) -> dict[str, int]:
    """When each run of the logdir was written; {} of one that is not there yet."""
    import tpu_profile_plugin

    if not Path(logdir).exists() and "://" not in logdir:
        return {}
    with closing(tpu_profile_plugin.open(logdir)) as opened:
        return {run.name: run.mtime_ms for run in opened.runs() if run.hosts}


def _base(options: argparse.Namespace, known: Sequence[RunSummary], runs: Sequence[RunSummary]) -> list[RunSummary]:
    """The runs of the baseline: of a name that was set, else of the other runs of the logdir."""
    from tpu_profile_plugin.trend.baselines import baselines
    from tpu_profile_plugin.trend.summaries import chosen

    if not options.base:
        raise BadRequest("--base is missing: a limit as '+3%' is against a baseline.", argument="base")
    named = baselines(baselines_file(options))
    if options.base in named:
        return named[options.base]
    judged = {one.run for one in runs}
    return chosen([one for one in known if one.run not in judged], options.base)


def _distinct(runs: Sequence[RunSummary]) -> list[RunSummary]:
    return list({one.run: one for one in runs}.values())


def baselines_file(options: argparse.Namespace) -> Path:
    """The file of baselines."""
    from tpu_profile_plugin.trend.baselines import default_file

    return Path(options.baselines) if options.baselines else default_file()


# What is printed.


def _told(one: Judged) -> str:
    from tpu_profile_plugin.analysis.trend.gate import METRICS

    def value(number: float) -> str:
        kind = METRICS[one.limit.metric].kind
        return (
            f"{number:.1%}" if kind == "share" else duration(number) if kind == "time" else f"{number / MIB:,.1f} MiB"
        )

    if one.verdict == "inconclusive":
        return one.reason
    assert one.run is not None
    if not one.limit.relative:
        return f"{value(one.run)}."
    assert one.base is not None
    machine = f"; {one.removed:.0%} of the variation was the machine's" if one.removed >= 0.1 else ""
    return f"{one.delta:+.1%} ({one.low:+.1%} to {one.high:+.1%}), {value(one.base)} to {value(one.run)}{machine}."


def _sides(base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> str:
    of = f"{len(runs)} run{'' if len(runs) == 1 else 's'} ({runs[-1].run})"
    return f"{of} against {len(base)} of the baseline ({base[-1].run})" if base else of


def _unread(*sides: Sequence[RunSummary]) -> list[str]:
    """The runs that do not count, with the reason of each."""
    return [f"{one.run} does not count: {one.problem}" for side in sides for one in side if one.problem]


def _text(judged: Sequence[Judged], verdict: str, base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> str:
    lines = [f"{verdict.upper()}: {_sides(base, runs)}"]
    lines += [f"  {one.verdict}: {one.limit.text}: {_told(one)}" for one in judged]
    lines += [f"  {text}" for text in _unread(base, runs)]
    return "\n".join(map(one_line, lines))


def _markdown(judged: Sequence[Judged], verdict: str, base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> str:
    rows = [f"**{verdict.capitalize()}**: {in_markdown(_sides(base, runs))}", ""]
    rows += ["| Fails if | Verdict | Measured |", "| --- | --- | --- |"]
    rows += [f"| {in_markdown(one.limit.text)} | {one.verdict} | {in_markdown(_told(one))} |" for one in judged]
    unread = _unread(base, runs)
    return "\n".join([*rows, *([""] if unread else []), *(f"- {in_markdown(text)}" for text in unread)])


def _json(judged: Sequence[Judged], verdict: str, base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> str:
    def plain(one: Judged) -> dict[str, Any]:
        names = ("verdict", "base", "run", "delta", "low", "high", "more", "reason", "removed")
        return {"condition": one.limit.text, **{name: getattr(one, name) for name in names}}

    sides = {"base": [one.run for one in base], "runs": [one.run for one in runs], "problems": _unread(base, runs)}
    return json.dumps({"verdict": verdict, **sides, "conditions": list(map(plain, judged))}, indent=2)


def _junit(judged: Sequence[Judged], verdict: str, base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> str:
    def case(one: Judged) -> Iterator[str]:
        name, told = (quoteattr(text.translate(_CONTROLS)) for text in (one.limit.text, _told(one)))
        yield f"  <testcase classname={quoteattr('tpu-profile gate')} name={name}>"
        if one.verdict == "fail":
            yield f"    <failure message={told}/>"
        if one.verdict == "inconclusive":
            yield f'    <error type="inconclusive" message={told}/>'
        yield "  </testcase>"

    counts = {kind: sum(one.verdict == kind for one in judged) for kind in ("fail", "inconclusive")}
    head = f'tests="{len(judged)}" failures="{counts["fail"]}" errors="{counts["inconclusive"]}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name="tpu-profile gate" {head}>']
    return "\n".join([*lines, *(line for one in judged for line in case(one)), "</testsuite>"])


_FORMATS = {"text": _text, "markdown": _markdown, "json": _json, "junit": _junit}


class BaselineCommand:
    """`tpu-profile baseline`."""

    HELP = "name runs to compare later ones with"

    def define(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments."""
        parser.add_argument("action", choices=("set", "list", "delete"), help="what to do")
        parser.add_argument("name", nargs="?", metavar="NAME", help="of the baseline")
        parser.add_argument(
            "logdir", nargs="?", metavar="LOGDIR", help="a logdir, or a file of summaries (*.runs.jsonl)"
        )
        parser.add_argument(
            "--run", action="append", default=[], metavar="NAME",
            help="a run, a label KEY=VALUE of runs, or latest:N; repeatable (default: the newest run)",
        )  # fmt: skip
        parser.add_argument("--baselines", metavar="FILE", help="the file (default: in the user's data directory)")
        parser.epilog = "exit status: 0 done, 1 a run or the baseline is not there, 2 wrong arguments"

    def run(self, options: argparse.Namespace) -> int:
        """Does it; returns the exit status."""
        from tpu_profile_plugin.trend.baselines import baselines, delete_baseline, set_baseline

        path = baselines_file(options)
        if options.action == "list":
            known = baselines(path)
            for name, runs in known.items():
                print(one_line(f"{name}: {', '.join(one.run for one in runs)}"))
            if not known:
                print("no baselines")
            return 0
        if not options.name:
            raise BadRequest(f"baseline {options.action} needs a name.", argument="name")
        try:
            if options.action == "delete":
                delete_baseline(path, options.name)
            else:
                set_baseline(path, options.name, self._runs(options))
        except OSError as error:
            raise StorageFailed(f"{path.name} cannot be written: {error.strerror}.") from error
        return 0

    def _runs(self, options: argparse.Namespace) -> list[RunSummary]:
        from tpu_profile_plugin.trend.summaries import chosen

        if not options.logdir:
            raise BadRequest("baseline set needs a logdir.", argument="logdir")
        known = read(options.logdir).runs
        runs = _distinct([one for text in options.run or ["latest:1"] for one in chosen(known, text)])
        if unusable := [one for one in runs if one.problem]:
            raise ProfileError(f"{unusable[0].run} is no baseline: {unusable[0].problem}")
        return runs
