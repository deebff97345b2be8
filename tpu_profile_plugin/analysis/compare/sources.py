"""Source lines of the base as lines of the run: checkouts lie in other directories, and edits move lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from tpu_profile_plugin.analysis.compare.fingerprint import Fingerprint, primitive
from tpu_profile_plugin.analysis.compare.run import WorkedOp

MOST_LINES = 3000
"""Lines with ops of one file; longer files are matched line by line, as if nothing had moved."""
MOST_CELLS = 10_000
"""Pairs of lines of an edited passage that are tried; in longer ones no lines match."""
GONE = "~"
"""Marks a line of the base that the run does not have, so that it equals no other."""


@dataclass(frozen=True, slots=True)
class _Line:
    file: str
    number: int


def in_lines_of(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> list[WorkedOp]:
    """The ops of the base with the files and lines of the run in their fingerprints; `WorkedOp.source` stays.

    Files match by the longest suffix of their paths, at least by name; lines by the order of what was written there.
    """
    if {op.print.source for op in base} == {op.print.source for op in run}:
        return [*base]
    old, new = _lines(base), _lines(run)
    files = _matched_files([*old], [*new])
    moved: dict[str, str] = {}
    for file, lines in old.items():
        other = files.get(file)
        aligned = {} if other is None else _matched_lines(lines, new[other])
        for number in lines:
            moved[f"{file}:{number}"] = f"{other or GONE + file}:{aligned.get(number, f'{number}{GONE}')}"
    return [replace(op, print=_moved(op.print, moved), inside=_moved_inside(op.inside, moved)) for op in base]


def _lines(ops: Iterable[WorkedOp]) -> dict[str, dict[int, frozenset[str]]]:
    """File -> line -> what is written there: framework ops without scopes, else kinds of instructions."""
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for op in ops:
        if (line := _line(op.print.source)) is not None:
            found[line.file][line.number].add(primitive(op.print.framework) or op.print.kind)
        for name, _, place in (one.rpartition(" ") for one in op.inside):
            if (line := _line(place)) is not None:
                found[line.file][line.number].add(primitive(name))
    return {
        file: {number: frozenset(names) for number, names in sorted(lines.items())} for file, lines in found.items()
    }


def _line(source: str) -> _Line | None:
    file, _, number = source.rpartition(":")
    return _Line(file, int(number)) if file and number.isdecimal() else None


def _matched_files(base: Sequence[str], run: Sequence[str]) -> dict[str, str]:
    """File of the base -> file of the run."""
    matched = {file: file for file in set(base).intersection(run)}
    pairs = [
        (_shared_suffix(old, new), old, new)
        for old in sorted(set(base) - matched.keys())
        for new in sorted(set(run) - matched.keys())
    ]
    taken = set(matched)
    for shared, old, new in sorted(pairs, key=lambda one: -one[0]):
        if shared and old not in matched and new not in taken:
            matched[old] = new
            taken.add(new)
    return matched


def _shared_suffix(one: str, other: str) -> int:
    """How many parts at the end of two paths are equal."""
    parts = list(zip(*(reversed(path.replace("\\", "/").split("/")) for path in (one, other)), strict=False))
    return next((i for i, (old, new) in enumerate(parts) if old != new), len(parts))


def _matched_lines(base: dict[int, frozenset[str]], run: dict[int, frozenset[str]]) -> dict[int, int]:
    """Line of the base -> line of the run."""
    if base.keys() == run.keys() or max(len(base), len(run)) > MOST_LINES:
        return {number: number for number in base}
    old, new = [*base], [*run]
    matched: dict[int, int] = {}
    matcher = SequenceMatcher(None, [*base.values()], [*run.values()], autojunk=False)
    for how, since, until, first, last in matcher.get_opcodes():
        if how == "equal":
            matched.update(zip(old[since:until], new[first:last], strict=True))
        elif how == "replace" and (until - since) * (last - first) <= MOST_CELLS:
            pairs = _most_alike(
                [base[number] for number in old[since:until]], [run[number] for number in new[first:last]]
            )
            matched.update((old[since + i], new[first + j]) for i, j in pairs)
    return matched


def _most_alike(base: Sequence[frozenset[str]], run: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """Pairs of lines in order with the most in common together."""
    best: list[list[tuple[float, list[tuple[int, int]]]]] = [[(0.0, [])] * (len(run) + 1)]
    for i, old in enumerate(base):
        row: list[tuple[float, list[tuple[int, int]]]] = [(0.0, [])]
        for j, new in enumerate(run):
            skipped = max(best[i][j + 1], row[j], key=lambda one: one[0])
            score = best[i][j][0] + len(old & new) / len(old | new)
            row.append((score, [*best[i][j][1], (i, j)]) if score > skipped[0] else skipped)
        best.append(row)
    return best[-1][-1][1]


def _moved(one: Fingerprint, moved: dict[str, str]) -> Fingerprint:
    return replace(one, source=moved.get(one.source, one.source))


def _moved_inside(inside: Iterable[str], moved: dict[str, str]) -> frozenset[str]:
    parts = (one.rpartition(" ") for one in inside)
    return frozenset(f"{name} {moved.get(place, place)}" for name, _, place in parts)
