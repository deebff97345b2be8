"""`tpu-profile compare`: what changed between two runs, as text, JSON or Markdown; a gate for CI."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.commands.answer import define_shared, print_answer
from tpu_profile_plugin.commands.losses import tell
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.units import PS_PER_MS
from tpu_profile_plugin.workers import EXECUTOR_HELP, parse_executor

if TYPE_CHECKING:
    from tpu_profile_plugin.opening import OpenLogdir, OpenRun

HELP = "say what changed between two runs"
SLOWER = 3
"""Exit status if the step got slower by more than allowed."""
UNKNOWN = 4
"""Exit status if --fail-above is given and step times cannot be compared."""
_MOST = 10
_MOST_NAMED = 3
_LEAST_RELATED = 0.5


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = (
        "exit status: 0 compared, 1 a run cannot be read, 2 wrong arguments, 3 slower than --fail-above allows and "
        "beyond noise, 4 --fail-above is given and times cannot be compared"
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
    from tpu_profile_plugin.answers.related import related_runs
    from tpu_profile_plugin.tools.payload import encode

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
        answer = json.loads(encode(other.payload("compare", base=base)).body)
        if answer["caution"]:
            answer["caution"] += _instead(related or related_runs(base_logdir, other), base.name)
        if options.format == "json":
            options.logdir = logdir.path
            same = base_logdir.path == logdir.path
            where = (logdir, base.name) if same else (_WithBase(logdir, base), _WithBase.NAME)
            status = print_answer(where[0], "compare", {"base": where[1]}, options)
            if status:
                return status
        else:
            print("\n".join(_FORMATS[options.format](answer, base.name, other.name)))
            tell(base, other)
    if allowed is None:
        return 0
    if answer["headline"]["tone"] == "unknown":
        print("tpu-profile: step times cannot be compared, so --fail-above has no answer", file=sys.stderr)
        return UNKNOWN
    return SLOWER if _is_slower(answer, allowed) else 0


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


def _is_slower(answer: Mapping[str, Any], percent: float) -> bool:
    time = answer["summary"]["compared_ps"]
    return bool(answer["headline"]["tone"] == "slower" and 100 * time["delta"] > percent * time["base"])


def _rows(answer: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The largest contributions: what, change, difference, base, run and whether it is beyond noise; then the rest."""
    table = answer["contributions"]
    ids = [column["id"] for column in table["cols"]]
    rows = [dict(zip(ids, (cell["v"] for cell in row["c"]), strict=True)) for row in table["rows"]]
    shown, rest = rows[:-1][:_MOST], rows[:-1][_MOST:] + rows[-1:]
    left = sum(row["delta_ps_per_step"] for row in rest)
    more = f"{len(rest) - 1} more" if len(rest) > 1 else ""
    return [*map(_row, shown), ("Rest", more, f"{round(left / PS_PER_MS, 3) + 0.0:+.3f}", "", "", "")]


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["what"],
        _how(row["kind"], row["part"]),
        f"{row['delta_ps_per_step'] / PS_PER_MS:+.3f}",
        f"{row['base_ps_per_step'] / PS_PER_MS:.3f}",
        f"{row['run_ps_per_step'] / PS_PER_MS:.3f}",
        "yes" if row["certain"] else "no",
    )


def _how(kind: str, part: str) -> str:
    """The kind of a change in words; parts of the step take more or less time, ops are slower or faster."""
    if part:
        kind = {"slower": "more time", "faster": "less time"}.get(kind, kind)
    return kind.replace("_", " ")


_HEADS = ("What changed", "How", "ms per step", "Base, ms", "Run, ms", "Beyond noise")


def _text(answer: Mapping[str, Any], base: str, run: str) -> Iterator[str]:
    yield f"{run} against {base}"
    if answer["caution"]:
        yield answer["caution"]
    yield answer["headline"]["text"]
    yield from answer["notes"]
    if not answer["contributions"]["rows"]:
        return
    rows = [_HEADS, *_rows(answer)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join(cells).rstrip()


def as_markdown(answer: Mapping[str, Any], base: str, run: str) -> Iterator[str]:
    """The difference as lines of Markdown."""
    yield f"**{_escaped(run)}** against **{_escaped(base)}**"
    yield ""
    if answer["caution"]:
        yield f"**{_escaped(answer['caution'])}**\n"
    yield _escaped(answer["headline"]["text"]) + "\n"
    yield from (f"- {_escaped(note)}" for note in answer["notes"])
    if not answer["contributions"]["rows"]:
        return
    yield f"\n| {' | '.join(_HEADS)} |"
    yield "| --- | --- | ---: | ---: | ---: | --- |"
    for row in _rows(answer):
        yield f"| {' | '.join(_escaped(cell) for cell in row)} |"


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_[]<>|" else char for char in text)


_FORMATS = {"text": _text, "markdown": as_markdown}
