"""Which programs and ops of two runs correspond."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal, TypeVar

from tpu_profile_plugin.analysis.compare.host_work import CONTAINERS, Fingerprint, primitive
from tpu_profile_plugin.analysis.compare.run_work import WorkedOp

K = TypeVar("K", bound=Hashable)
Relation = Literal["same", "dtype_changed", "shape_changed", "split", "merged", "changed", "added", "removed"]
_UNSURE: tuple[Relation, ...] = ("shape_changed", "split", "merged")
"""Relations of ops of one place that are not the same."""
_FLOAT = re.compile(r"b?f\d")
_LAYER = re.compile(r"([^/]*?[^/_\d])((?:_\d+)*)$")
"""A scope and the numbers at its end."""
LEAST_ALIKE = 0.5
"""Share of ops, or of the time in the base, that programs of different names must have in common to be the same."""
LEAST_SHARED = 0.3
"""Share of framework ops, of the smaller one's, that ops of different structure must have in common to be related."""
MOST_HOLDERS = 50
"""A framework op inside more ops than this tells nothing of their relation."""


@dataclass(frozen=True, slots=True)
class Match:
    """Ops of the base and ops of the run that correspond to each other; one side is empty if added or removed.

    Attributes:
      base, run: the ops.
      relation: how they differ.
      types: element types that only one side has, "bf16" and "f32", if that is how they differ: of the ops, or of their
        programs where the compiler made other ops of the same lines.
    """

    base: tuple[WorkedOp, ...]
    run: tuple[WorkedOp, ...]
    relation: Relation
    types: tuple[str, str] = ("", "")

    @property
    def ps(self) -> tuple[float, float]:
        """The time of the ops on both sides."""
        return sum(op.ps for op in self.base), sum(op.ps for op in self.run)

    @property
    def runs(self) -> tuple[float, float]:
        """The runs of the ops on both sides, per step and device."""
        return sum(op.runs for op in self.base), sum(op.runs for op in self.run)

    @property
    def programs(self) -> tuple[str, str]:
        """Names of the programs on both sides, "" for a side without ops."""
        old, new = (", ".join(dict.fromkeys(op.program for op in side)) for side in (self.base, self.run))
        return old, new


def match_programs(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> dict[str, str]:
    """Program of the run -> program of the base: of the same name, else of the most similar structure."""
    ours, theirs = by_key(run, lambda op: op.program), by_key(base, lambda op: op.program)
    matched = {name: name for name in ours if name in theirs}
    pairs = [
        (_alike(theirs[old], ours[new]), new, old)
        for new in ours.keys() - matched.keys()
        for old in theirs.keys() - matched.keys()
    ]
    taken: set[str] = set()
    for score, new, old in sorted(pairs, key=lambda one: (-one[0], one[1], one[2])):
        if score >= LEAST_ALIKE and new not in matched and old not in taken:
            matched[new] = old
            taken.add(old)
    return matched


def match_by_ops(matches: Sequence[Match], programs: dict[str, str]) -> dict[str, str]:
    """Further programs of the run -> program of the base, of which ops match only each other, and most of the base's.

    For programs with too much that is new to be alike as a whole. One that became several is no match.

    Args:
      matches: of all ops of both runs.
      programs: what `match_programs` found.
    """
    total: dict[str, float] = defaultdict(float)
    shared: dict[str, float] = defaultdict(float)
    later: dict[str, set[str]] = defaultdict(set)
    earlier: dict[str, set[str]] = defaultdict(set)
    for match in matches:
        before_all, after_all = ({op.program for op in ops} for ops in (match.base, match.run))
        for op in match.base:
            total[op.program] += op.ps
            shared[op.program] += op.ps if match.run else 0.0
        for program in before_all:
            later[program] |= after_all
        for program in after_all:
            earlier[program] |= before_all
    matched = {}
    for before, after in ((old, next(iter(new))) for old, new in later.items() if len(new) == 1):
        alone = earlier[after] == {before} and after not in programs and before not in programs.values()
        if alone and shared[before] >= LEAST_ALIKE * total[before]:
            matched[after] = before
    return matched


def match_ops(base: Sequence[WorkedOp], run: Sequence[WorkedOp], programs: dict[str, str]) -> list[Match]:
    """All ops of both runs, each in one match."""
    matches: list[Match] = []
    named: dict[str, tuple[list[WorkedOp], list[WorkedOp]]] = defaultdict(lambda: ([], []))
    for op in base:
        named[op.program][0].append(op)
    for op in run:
        named[programs.get(op.program, f"\0{op.program}")][1].append(op)
    left: list[WorkedOp] = []
    right: list[WorkedOp] = []
    for ours, theirs in named.values():
        old, new, pairs = ours, theirs, list[Match]()
        for key in _KEYS:
            old, new = _pair(old, new, key, pairs)
        types = _types(ours, theirs)
        if all(types):
            # Other types make other ops: whatever differs in the program is due to them.
            pairs = [
                one if one.relation == "same" else replace(one, relation="dtype_changed", types=types) for one in pairs
            ]
            if old and new:
                pairs.append(Match(tuple(old), tuple(new), "dtype_changed", types))
                old, new = [], []
        matches += pairs
        left += old
        right += new
    # An op that became another may have swallowed, or given away, what is left.
    unsure = [one for one in matches if one.relation in _UNSURE] if left or right else []
    sure = [one for one in matches if one.relation not in _UNSURE] if unsure else matches
    related = _by_content(left, right, lambda op: op.inside, unsure)
    # Ops of a loop, or of no compiled function, have other scopes: the line and the kind of op remain.
    alone = [one for one in related if not (one.base and one.run)]
    left, right = [op for one in alone for op in one.base], [op for one in alone for op in one.run]
    return [*sure, *(one for one in related if one.base and one.run), *_by_content(left, right, _primitives)]


def known_ops(ops: Iterable[WorkedOp]) -> list[WorkedOp]:
    """Ops without the loops and calls around them, which are alike in all programs."""
    return [op for op in ops if op.name != CONTAINERS]


def _types(base: Iterable[WorkedOp], run: Iterable[WorkedOp]) -> tuple[str, str]:
    """The types of floating-point numbers that only one side has; what the other has instead if it has no other one.

    "" twice if they are the same, or a side has no types.
    """
    every = [{kind for op in ops for kind in op.print.types} for ops in (base, run)]
    old, new = ({kind for kind in kinds if _FLOAT.match(kind)} for kinds in every)
    if old == new or not all(every):
        return "", ""
    sides = (old - new or old or every[0]), (new - old or new or every[1])
    before, after = (", ".join(sorted(kinds)) for kinds in sides)
    return before, after


def _pair(
    base: Iterable[WorkedOp], run: Iterable[WorkedOp], key: Callable[[WorkedOp], Hashable], matches: list[Match]
) -> tuple[list[WorkedOp], list[WorkedOp]]:
    """Matches ops with equal keys; returns the others."""
    left, right = by_key(base, key), by_key(run, key)
    for shared in [one for one in left if one in right and one != ""]:
        old, new = left.pop(shared), right.pop(shared)
        matches.append(_match(old, new, _relation))
    return [op for ops in left.values() for op in ops], [op for ops in right.values() for op in ops]


_KEYS: tuple[Callable[[WorkedOp], Hashable], ...] = (
    lambda op: op.print,
    lambda op: (op.print.place, op.print.sizes),
    lambda op: op.print.place,
    lambda op: op.print.place[1:],
    lambda op: (op.print.category, op.print.unnumbered, op.print.source, op.print.sizes),
    lambda op: (op.print.category, op.print.unnumbered, op.print.source),
    lambda op: op.print.source,
    lambda op: op.print.anywhere if op.print.shapes else "",
)
"""What is equal in two runs, the surest first: what an op is; whatever its element types; whatever its shapes; whatever
the compiler made of it; whatever the numbers of the layers around it, first with the same dimensions; the line that it
comes from; what it is, wherever that is written. "" matches nothing."""


def _match(
    base: Sequence[WorkedOp],
    run: Sequence[WorkedOp],
    relation: Callable[[Sequence[WorkedOp], Sequence[WorkedOp]], Relation],
) -> Match:
    """Ops that belong together; other types of numbers come before other differences."""
    types = _types(base, run)
    return Match(tuple(base), tuple(run), "dtype_changed" if any(types) else relation(base, run), types)


def _relation(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> Relation:
    if {op.print.shapes for op in base} == {op.print.shapes for op in run}:
        return "same"
    if len(base) == 1 and len(run) > 1:
        return "split"
    return "merged" if len(base) > 1 and len(run) == 1 else "shape_changed"


def _primitives(op: WorkedOp) -> frozenset[str]:
    """What an op was made of, without scopes; of known lines only."""
    parts = (one.rpartition(" ") for one in op.inside)
    return frozenset(f"{primitive(name)} {place}" for name, _, place in parts if place)


def _by_content(
    base: Sequence[WorkedOp],
    run: Sequence[WorkedOp],
    content: Callable[[WorkedOp], frozenset[str]],
    known: Sequence[Match] = (),
) -> list[Match]:
    """Ops that are made of the same framework ops, in whatever programs; the others are added or removed.

    Ops of `known` matches stay together; a match that nothing joins is returned as it is.
    """
    base = [*base, *(op for one in known for op in one.base)]
    ops = [*base, *run, *(op for one in known for op in one.run)]
    inside = [content(op) for op in ops]
    holders: dict[str, list[int]] = defaultdict(list)
    for i, names in enumerate(inside):
        for name in names:
            holders[name].append(i)
    group = list(range(len(ops)))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    number = {id(op): i for i, op in enumerate(ops)}
    for one in known:
        for op in (*one.base, *one.run):
            group[root(number[id(op)])] = root(number[id(one.base[0])])
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for held in (one for one in holders.values() if len(one) <= MOST_HOLDERS):
        for i in (one for one in held if one < len(base)):
            for j in (one for one in held if one >= len(base)):
                shared[i, j] += 1
    for (i, j), count in shared.items():
        if count >= LEAST_SHARED * min(len(inside[i]), len(inside[j])):
            group[root(j)] = root(i)
    sides: dict[int, tuple[list[WorkedOp], list[WorkedOp]]] = defaultdict(lambda: ([], []))
    for i, op in enumerate(ops):
        sides[root(i)][i >= len(base)].append(op)
    unchanged = {frozenset(map(id, (*one.base, *one.run))): one for one in known}
    return [
        unchanged.get(frozenset(map(id, (*old, *new)))) or _match(old, new, _structure) for old, new in sides.values()
    ]


def _structure(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> Relation:
    """Of ops that are made of the same framework ops; more programs count before more ops."""
    if not base or not run:
        return "removed" if base else "added"
    old, new = ((len({op.program for op in side}), len(side)) for side in (base, run))
    if old == new:
        return "changed"
    return "split" if old < new else "merged"


def _alike(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> float:
    """Share of ops that are the same wherever they are written, of the larger program."""
    left, right = (by_key(known_ops(side), lambda op: op.print.anywhere) for side in (base, run))
    both = sum(min(len(left[one]), len(right[one])) for one in left if one in right)
    return both / max(len(base), len(run))


def by_key(ops: Iterable[WorkedOp], key: Callable[[WorkedOp], K]) -> dict[K, list[WorkedOp]]:
    groups: dict[K, list[WorkedOp]] = defaultdict(list)
    for op in ops:
        groups[key(op)].append(op)
    return groups


def matched_share(
    ops: Sequence[WorkedOp], others: Sequence[WorkedOp], pairs: Iterable[tuple[str, str]], matches: Iterable[Match]
) -> float | None:
    """Share of the time of ops that the other run has as well, 0 to 1, or that is in its programs; None without time.

    A name alone makes no program the same: at least `LEAST_SHARED` of the smaller one's ops must come from the same
    place.

    Args:
      ops: of one run.
      others: of the other run.
      pairs: names of programs of both that correspond.
      matches: of all ops of both runs.
    """
    ours, theirs = (by_key(side, lambda op: op.program) for side in (known_ops(ops), known_ops(others)))
    total = sum(op.ps for side in ours.values() for op in side)
    both = {one for one, other in pairs if _related(ours.get(one, []), theirs.get(other, []))}
    matched = {id(op) for one in matches if one.base and one.run for op in (*one.base, *one.run)}
    shared = sum(op.ps for name, side in ours.items() for op in side if name in both or id(op) in matched)
    return shared / total if total else None


def _related(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> bool:
    """Whether ops of two programs come from the same places, or are the same ops wherever they are written."""
    origins = [{_origin(op.print) for op in side} for side in (base, run)]
    kinds = [{op.print.anywhere for op in side if op.print.shapes} for side in (base, run)]
    return any(old & new and len(old & new) >= LEAST_SHARED * min(len(old), len(new)) for old, new in (origins, kinds))


def _origin(one: Fingerprint) -> Hashable:
    return (one.framework, one.source) if one.framework or one.source else (one.kind, one.shapes)


MOST_LINES = 3000
"""Lines with ops of one file; longer files are matched line by line, as if nothing had moved."""
MOST_CELLS = 10_000
"""Pairs of lines of an edited passage that are tried; in longer ones no lines match."""
GONE = "~"
"""Marks a line of the base that the run does not have, so that it equals no other."""


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
    in_lines = []
    for op in base:
        parts = (framework_op.rpartition(" ") for framework_op in op.inside)
        inside = frozenset(f"{name} {moved.get(place, place)}" for name, _, place in parts)
        fingerprint = replace(op.print, source=moved.get(op.print.source, op.print.source))
        in_lines.append(replace(op, print=fingerprint, inside=inside))
    return in_lines


def in_layers_of(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> list[WorkedOp]:
    """The ops of the base with the layers' numbers of the run in their framework ops.

    A process numbers the layers that it makes: those of one model are `dense`, `dense_1` in one run and `dense_2`,
    `dense_3` in another, and `sequential_1_1` in place of `sequential_1`. Layers of one name correspond in their order;
    if one of the runs has more of them, by the ops in them.
    """
    old, new = (_layers(side) for side in (base, run))
    renamed: dict[str, str] = {}
    for name, layers in old.items():
        others = new.get(name, layers)
        if len(layers) == len(others):
            renamed.update(zip(layers, others, strict=True))
        else:
            renamed.update(_matched_lines(layers, others))
    renamed = {old: new for old, new in renamed.items() if old != new}
    if not renamed:
        return [*base]

    def as_in_run(framework: str) -> str:
        *scopes, name = framework.split("/")
        return "/".join((*(renamed.get(scope, scope) for scope in scopes), name))

    named = []
    for op in base:
        parts = (one.rpartition(" ") for one in op.inside)
        inside = frozenset(f"{as_in_run(name)} {place}" for name, _, place in parts)
        named.append(replace(op, print=replace(op.print, framework=as_in_run(op.print.framework)), inside=inside))
    return named


def _layers(ops: Iterable[WorkedOp]) -> dict[str, dict[str, frozenset[str]]]:
    """Names of layers without their numbers -> scopes by their numbers -> what is in them."""
    inside: dict[str, set[str]] = defaultdict(set)
    for op in ops:
        *scopes, name = op.print.framework.split("/")
        for scope in scopes:
            inside[scope].add(f"{name} {op.print.sizes}")
    found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for scope in sorted(inside, key=_numbers):
        if layer := _LAYER.fullmatch(scope):
            found[layer[1]][scope] = frozenset(inside[scope])
    return found


def _numbers(layer: str) -> tuple[int, ...]:
    match = _LAYER.fullmatch(layer)
    return tuple(map(int, match[2].split("_")[1:])) if match else ()


def _lines(ops: Iterable[WorkedOp]) -> dict[str, dict[int, frozenset[str]]]:
    """File -> line -> what is written there: framework ops without scopes, else kinds of instructions."""
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for op in ops:
        written = [(op.print.source, primitive(op.print.framework) or op.print.kind)]
        written += ((place, primitive(name)) for name, _, place in (part.rpartition(" ") for part in op.inside))
        for source, name in written:
            file, _, number = source.rpartition(":")
            if file and number.isdecimal():
                found[file][int(number)].add(name)
    return {
        file: {number: frozenset(names) for number, names in sorted(lines.items())} for file, lines in found.items()
    }


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


def _matched_lines(base: dict[K, frozenset[str]], run: dict[K, frozenset[str]]) -> dict[K, K]:
    """Line of the base -> line of the run, by what is written there; or layers, by what is in them."""
    if base.keys() == run.keys() or max(len(base), len(run)) > MOST_LINES:
        return {number: number for number in base}
    old, new = [*base], [*run]
    matched: dict[K, K] = {}
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
