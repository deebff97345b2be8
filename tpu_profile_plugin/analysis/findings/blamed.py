"""The largest parts of the step, by name and place, whether a rule knows their cause or not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tpu_profile_plugin.analysis.blame.eager_ops import SmallOps, small_ops
from tpu_profile_plugin.analysis.blame.host_groups import (
    MOST,
    FunctionGroup,
    HostGroup,
    function_groups,
    helper_groups,
    host_groups,
    launches_only,
    traced_groups,
)
from tpu_profile_plugin.analysis.blame.op_groups import LIBRARY, OpGroup, OpNamer, named, op_groups
from tpu_profile_plugin.analysis.blame.stacks import AFTER
from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, members
from tpu_profile_plugin.analysis.budget.host_names import BLOCKS, Activity, activity, is_user_frame
from tpu_profile_plugin.analysis.budget.purpose import Purpose, purpose
from tpu_profile_plugin.analysis.common.op_names import GRAPH, shown_event
from tpu_profile_plugin.analysis.common.spans import contains, no_time, times_of
from tpu_profile_plugin.analysis.devices.inventory import RUNS_WITHIN_HOST_CALLS
from tpu_profile_plugin.analysis.devices.launched import SUMMARY
from tpu_profile_plugin.analysis.devices.model import HOST_ALONE
from tpu_profile_plugin.analysis.findings.evidence.host.code import code_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.kinds import KINDS
from tpu_profile_plugin.analysis.findings.lost import LEAST_ANY, LEAST_SHARE, Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, OpOf
from tpu_profile_plugin.analysis.findings.part_advice import (
    GROWING,
    HOST,
    OFTEN,
    PARTS,
    SMALL,
    SUMMARIES,
    advice_after,
    advice_of_function,
    advice_of_ops,
    advice_within,
    led,
)
from tpu_profile_plugin.analysis.findings.places import TIMELINE, cell, costs, most_label, shown
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.op_nature import Nature
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.units import PS_PER_US, duration

_CODE = tuple(
    column for name in ("idle_host", "idle_transfer", "idle_launch", "idle_other") for column in members(name)
)
LEAST_PART = 0.10
"""Least share of the step of a part that is not ordinary work."""
LEAST_ON_CPUS = 0.20
"""The same of CPUs, whose threads share processors: what a step needs of the host takes up to 18% of it."""
LEAST_LAUNCH = 0.15
"""The same of a launch: steps of a few milliseconds always lose about a tenth."""
LEAST_MOVEMENT = 0.25
LEAST_BESIDE = 0.28
"""The same of a function beside the model, with its ops: what follows a model takes up to 25% where it is cheap."""
LEAST_HELPER = 0.20
"""The same of a function without matrix products, anywhere: it takes up to 19%."""
LEAST_EAGER = 0.35
"""The same of Python between ops that are launched one by one, outside of which little runs: it reaches 31% in programs
of small ops with nothing to mend, which record their functions."""
LEAST_SMALL = 0.20
"""The same of small ops that run one by one, with the code between them: it reaches 17% in programs of small models."""
EXPLAINED = 0.5
"""Least share of a part that another finding must explain to be the reason for it."""
ALL = 0.9
"""Share of a part from which a finding that names it is about all of it."""
LEAST_OPS = 0.2
"""Least share of ops in the time of a function that is told with its ops, rather than by the waits for it alone."""
_SEVERAL = 2
LEAST_OF_NATURE = {
    Nature.MOVEMENT: LEAST_MOVEMENT,
    Nature.EAGER: 0.30,
    Nature.ELEMENTWISE: 0.40,
    Nature.OPTIMIZER: 0.40,
    Nature.RANGE: LEAST_BESIDE,
    Nature.BACKWARD_AGAIN: LEAST_PART,
    Nature.RECOMPUTED: LEAST_PART,
    Nature.BROKEN_GRAPH: LEAST_PART,
    Nature.COMPILED_CALL: 0.18,
}
"""Least share of the step of groups of ops that are not the work of a model, however usual each of the ops is: programs
with nothing to mend reach 24% in movement, 37% in elementwise ops, 36% in an optimizer and 15% in calls of compiled
functions."""

LEAST_DENSE, EMBEDDING = 0.25, "aten::embedding"
"""The same of an optimizer beside look-ups in tables whose gradients take time: they are as large as the tables."""
LEAST_TELLING = 0.05
"""The same of ops that bring on larger costs: a debug mode that keeps ops from being fused, rows for products."""
_TELLING = re.compile(r"CheckNumerics|DebugNumeric|DebugIdentity|one_?hot\b", re.IGNORECASE)
LEAST_ONE_HOT = 0.015
"""The same of making one-hot rows from which on they are for products; labels take less than half of that."""
_ONE_HOT = re.compile(r"one_?hot\b", re.IGNORECASE)
_RARE = re.compile(
    r"eigh?\b|svd|\bqr\b|\blu\b|cholesky|schur|hessenberg|householder|tridiagonal|triangular|inverse|\binv\b|pinv|lstsq"
    r"|sort|unique|nonzero|callback|multinomial|linalg|cumsum|cumprod|cumulative|while|reduce-window"
    r"|one_?hot\b|histogram|bincount|searchsorted|cdist|threefry|random_bits|rng"
    r"|(?<!layer)(?<!batch)(?<!group)(?<!instance)(?<!rms)_norm\b|clip_grad"
    r"|Regex|String(?:Split|Lower|Upper|Strip|Join)|Unicode|LookupTable|Parse\w{0,40}Example"
    r"|Decode(?:Jpeg|Png|Image|Raw|Csv)|CheckNumerics|DebugNumeric|DebugIdentity|isnan|isinf|isfinite|is_finite"
    r"|\buniform\b|\bnormal\b|\brandn?\b|randint|randperm",
    re.IGNORECASE,
)
"""Ops that most programs spend little on: decompositions, sorting, cumulative sums, random numbers, loops."""


@dataclass(frozen=True, slots=True, eq=False)
class Blamed:
    """The largest parts of one host's steps: waits for functions, ops, functions with their ops, and small ops."""

    waits: tuple[HostGroup, ...] = ()
    ops: tuple[OpGroup, ...] = ()
    functions: tuple[FunctionGroup, ...] = ()
    small: tuple[SmallOps, ...] = ()


def blamed(host: HostView) -> Blamed:
    """The largest parts of one host's steps; none without steps."""
    blame = host.blame
    if not len(blame.ps):
        return Blamed()
    names = OpNamer(host.hlo)
    return Blamed(
        tuple(_waited(host, group) for group in host_groups(blame)),
        tuple(op_groups(blame, names, _runs(host))),
        (*function_groups(blame), *helper_groups(blame), *traced_groups(blame, names)),
        _small_ops(host),
    )


def _runs(host: HostView) -> F64 | None:
    """How often each op of the blame runs per step, on the average device."""
    if host.spent is None or not host.devices:
        return None
    counts = []
    for i, (device, time) in enumerate(zip(host.devices, host.spent.devices, strict=True)):
        begin, end = time.windows
        used = host.time.takes_part[:, i]
        inside = np.flatnonzero(contains(times_of(begin[used], end[used]), device.runs.begin_ps))
        # One run may be in several pieces.
        first = inside[np.unique(device.runs.event[inside], return_index=True)[1]]
        counts.append(np.bincount(device.runs.op[first], minlength=len(device.ops)))
    runs: F64 = np.concatenate(counts) / host.time.cells
    return runs


def _waited(host: HostView, group: HostGroup) -> HostGroup:
    """A group of waits without what only single steps lose, and with what `HostGroup` says of its ops and input."""
    code, blame, by_part = code_of(host), host.blame, group.by_part
    if code is not None and code.excess_ps:
        whole = int(blame.ps[(blame.op < 0) & np.isin(blame.part % len(CATEGORIES), _CODE)].sum())
        counted = np.isin(np.arange(len(by_part)), (*_CODE, len(CATEGORIES)))
        usual = max(1 - code.excess_ps / max(whole, 1), 0.0)
        by_part = np.where(counted, by_part * usual, by_part).astype(np.int64)
    of_input = np.isin(blame.part[group.rows] % len(CATEGORIES), members("input"))
    return replace(
        group,
        rows=np.zeros(0, np.int64),
        by_part=by_part,
        ps=int(by_part.sum()),
        inner_ps=group.inner_ps * int(by_part.sum()) // max(group.ps, 1),
        eager=group.launched_ps(blame) >= group.ps,
        input=2 * int(blame.ps[group.rows[of_input]].sum()) > group.ps,
        growth=blame.growth(group.rows),
    )


def _small_ops(host: HostView) -> tuple[SmallOps, ...]:
    """Of devices whose ops run within calls of the host, of which there is one."""
    spent = host.spent
    if spent is None or (host.devices[0] if host.devices else HOST_ALONE).name not in RUNS_WITHIN_HOST_CALLS:
        return ()
    device, names = host.devices[0], OpNamer(host.hlo)
    begin, end = spent.devices[0].windows
    used = host.time.takes_part[:, 0]
    kinds = [names.kind(op)[1] for op in device.ops]
    small = small_ops(device, kinds, times_of(begin[used], end[used]), int(used.sum()), host.blame.stacks)
    if small is None:
        return ()
    return (replace(small, spans=no_time(), by_part=host.by_part([small.spans], range(len(CATEGORIES)))),)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a run's steps that has a name.

    Attributes:
      lost: its time per step and device; ordinary: it is work that any program does.
      place: where it is: a function or a line; "" if unknown.
      names: texts by which a finding names it.
      finding: what it says if no rule explains it.
      of_ops: it is time of ops alone.
      shown: it says enough for that: not of time of which only is known what comes before it.
      advised: its advice is about just this, whatever findings that know no cause say of some of it.
      usual: Python between ops that are launched one by one, no more of it than programs with nothing to mend have.
      growth: the share of its time by which each step takes it longer.
      whole: findings about some of it tell less than it does.
    """

    lost: Lost
    by_part: I64
    ordinary: bool
    place: str
    names: tuple[str, ...]
    finding: Finding
    of_ops: bool = False
    shown: bool = True
    advised: bool = False
    usual: bool = False
    growth: float = 0.0
    whole: bool = False

    def overlaps(self, found: Finding) -> bool:
        """Whether most of this time is in parts of the time budget that a finding is about."""
        columns = {column for name in found.segments for column in members(name)}
        if BETWEEN in found.segments:
            columns.add(len(CATEGORIES))
        return bool(columns) and self.by_part[sorted(columns)].sum() >= EXPLAINED * self.by_part.sum()

    def explained_by(self, found: Finding) -> bool:
        """Whether a finding tells the reason for most of this time."""
        if not self.overlaps(found) or found.saving_ps < EXPLAINED * self.lost.ps:
            return False
        return not self.of_ops or self.named_in(found) or found.saving_ps >= self.lost.ps

    def told_by(self, found: Finding, *, neutral: bool) -> bool:
        """Whether a finding that names this part tells all there is to tell of it.

        A rule that knows a cause needs to explain most of it, one that only adds up time all.
        """
        least = (ALL if neutral or self.whole else EXPLAINED) * self.lost.ps
        return found.saving_ps >= least

    def replaces(self, found: Finding) -> bool:
        """Whether a finding that knows no cause is about some of this."""
        return not self.of_ops and (self.named_in(found) or self.explained_by(found))

    def names_title(self, found: Finding) -> bool:
        """Whether a finding is named after it."""
        return self._in(found.title)

    def named_in(self, found: Finding) -> bool:
        """Whether a finding names it."""
        texts = [found.title, *(str(one.value) for one in found.evidence), *(one.label for one in found.evidence)]
        return any(map(self._in, texts))

    def _in(self, text: str) -> bool:
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in self.names)


def parts(run: RunView, gathered: Sequence[Blamed | None]) -> list[Part]:
    """The parts of a run that are worth a finding, those of known cost first, most time first."""
    known = run.present(gathered)
    waits = (_of_host(run, *group) for group in _over_hosts([(host, one.waits) for one, host in known]))
    groups = list(_over_hosts([(host, one.ops) for one, host in known]))
    tables = sum(run.located([by_part]).share for _, group, by_part in groups if group.name == EMBEDDING)
    one_hot = sum(run.located([by_part]).share for _, group, by_part in groups if _ONE_HOT.search(group.name))
    ops = (_of_ops(run, *group, tables, one_hot=one_hot) for group in groups)
    small = (_of_small(run, *group) for group in _over_hosts([(host, one.small) for one, host in known]))
    found = [part for part in (*waits, *ops, *small) if part is not None]
    if not any((part.shown and not part.usual) or part.lost.share >= LEAST_ANY for part in found):
        smaller = (_of_ops(run, *group, tables, LEAST_PART) for group in groups)
        found += sorted(filter(None, smaller), key=lambda part: -part.lost.ps)[:1]
    for group in _over_hosts([(host, one.functions) for one, host in known]):
        found = _with_function(found, _of_function(run, *group))
    # What is known to be too much comes before other names for the same ops.
    return sorted(found, key=lambda part: (part.ordinary, not (part.of_ops and part.advised), -part.lost.ps))


G = TypeVar("G", HostGroup, OpGroup, FunctionGroup, SmallOps)


def _over_hosts(hosts: Sequence[tuple[str, Sequence[G]]]) -> Iterator[tuple[str, G, I64]]:
    """The groups of one name over all hosts: the host with most time in groups, its group, and their sum."""
    seen: set[str] = set()
    for host, groups in sorted(hosts, key=lambda one: -sum(int(group.by_part.sum()) for group in one[1])):
        for group in groups:
            if group.name not in seen:
                seen.add(group.name)
                same = [other.by_part for _, others in hosts for other in others if other.name == group.name]
                yield host, group, np.sum(same, axis=0)


def _with_function(found: list[Part], function: Part | None) -> list[Part]:
    """The parts, and a function unless it is there, instead of its waits alone."""
    if function is None or any(part.place == function.place and part.lost.ps >= function.lost.ps for part in found):
        return found
    return [*(part for part in found if part.place != function.place), function]


def _of_function(run: RunView, host: str, group: FunctionGroup, by_part: I64) -> Part | None:
    """A function whose ops are not those of a model: what a model does is known by its ops."""
    lost = run.located([by_part])
    helper, name = group.ops_ps == group.ps, shown(group.name)
    least, what = (LEAST_HELPER, "without matrix products") if helper else (LEAST_BESIDE, "outside of the model")
    what = f"{name}, {what}"
    if group.evaluates:
        what = f"{name}, an evaluation" if purpose(group.name) is Purpose.EVALUATION else f"an evaluation in {name}"
    elif group.model_ps > MOST * group.ops_ps or group.ops_ps < LEAST_OPS * group.ps:
        return None
    if lost.share < least:
        return None
    evidence = (
        *costs(run, "Wall time of this function and its ops", lost),
        Evidence("Function", name, "", TIMELINE, {"host": host, "find": group.name}),
        Evidence("Its ops with most time", ", ".join(group.ops)),
    )
    finding = Finding(
        f"{lost.share:.1%} of the {run.base} is {what}: {', '.join(group.ops)}",
        lost.ps,
        "wall time of the function and of its ops but for matrix products, per step; at most that, if it is not needed",
        "medium",
        evidence,
        KINDS[Purpose.EVALUATION].advice if group.evaluates else advice_of_function(group.ops, traced=group.traced),
        (host,),
        lost.segments,
    )
    known = group.evaluates
    return Part(lost, by_part, False, group.name, (name,), finding, advised=known, growth=group.growth, whole=known)


def _of_host(run: RunView, host: str, group: HostGroup, by_part: I64) -> Part | None:
    lost = run.located([by_part])
    usual = group.eager and lost.share < LEAST_EAGER
    launch = activity(group.inner or group.name) is Activity.LAUNCH
    least = LEAST_ON_CPUS if run.on_cpus else LEAST_LAUNCH if launch else LEAST_PART
    if not usual and (lost.share < least or not group.name):
        return None
    name, inner = shown(group.name), shown(group.inner)
    inside = f", most of it in {inner}" if inner else ""
    share = f"{lost.share:.1%} of the {run.base}"
    waits = f"Devices wait {share} while the host runs {name}{inside}"
    title = waits if run.has_devices else f"The host runs {name} for {share}{inside}"
    evidence = [*costs(run, "Waiting meanwhile", lost)]
    what, own = "Function" if group.name.startswith("$") else "Event", is_user_frame(group.name)
    evidence.append(Evidence(what, name, "", TIMELINE, {"host": host, "find": group.name}))
    if inner:
        evidence.append(Evidence("Most of it in", inner, "", TIMELINE, {"host": host, "find": group.inner}))
        evidence.append(Evidence("In this call, of that time", 100 * group.inner_ps / max(group.ps, 1), "%"))
    finding = Finding(
        title,
        lost.ps,
        "wall time in which devices wait while this runs on the main thread, per step and device",
        "high" if group.name.startswith("$") else "medium",
        tuple(evidence),
        advice_within(group.calls, HOST) if own else advice_after(f"{group.name} {group.inner}", HOST),
        (host,),
        lost.segments,
    )
    # Of CPUs the rules of input alone tell how much of the waits for it is waste.
    names, tells = ((name,) if name else ()), _tells(group) and not (run.on_cpus and group.input)
    return Part(lost, by_part, False, group.name, names, finding, shown=tells, usual=usual, growth=group.growth)


def _of_small(run: RunView, host: str, group: SmallOps, by_part: I64) -> Part | None:
    """Ops that take about as long as calling them: a loop in Python, or a model that is too small for the device."""
    lost = run.located([by_part])
    if lost.share < LEAST_SMALL:
        return None
    kinds = ", ".join(f"{kind} {count:,.0f} times" for kind, count in group.kinds)
    share = f"{lost.share:.1%} of the {run.base}"
    where = f" in {group.place}" if group.place else ""
    whose = f", most of the optimizer {group.optimizer}" if group.optimizer else ""
    each = f"{lost.ps / group.count / PS_PER_US:.3g} us"
    evidence = (
        *costs(run, "Small ops and the code between them", lost),
        Evidence("Small ops per step", group.count),
        Evidence("Most time in, per step", kinds),
        *([Evidence("Where", group.place, "", TIMELINE, {"host": host, "find": group.place})] if where else []),
    )
    finding = Finding(
        f"{share}: {group.count:,.0f} small ops, {each} each{where}{whose}: {kinds}",
        lost.ps,
        "wall time of ops shorter than 20 us, or that run over 100 times per step and take less than 50 us on average, "
        "with the code between them, per step; at most that, if fewer and larger ops do the same",
        "medium",
        evidence,
        SMALL,
        (host,),
        lost.segments,
    )
    names = tuple(filter(None, (group.place, *(kind for kind, _ in group.kinds))))
    return Part(lost, by_part, False, group.place, names, finding, advised=True)


def _tells(group: HostGroup) -> bool:
    """Whether the name tells what the program does: not that a runtime launches or waits, or what came before."""
    inner = group.inner or group.name
    waits = activity(group.name if group.name.startswith("$") else inner) is Activity.TRANSFER
    # Devices that are idle meanwhile wait for their threads.
    waits |= BLOCKS.search(inner) is not None
    return not (launches_only(inner) or waits or group.name.startswith(AFTER))


def _of_ops(
    run: RunView, host: str, group: OpGroup, by_part: I64, tables: float, least_any: float = LEAST_ANY, *,
    one_hot: float = 0.0,
) -> Part | None:  # fmt: skip
    """Ops of one kind; `tables`, `one_hot`: shares of look-ups in tables, and of one-hot rows, in the step."""
    lost = run.located([by_part])
    rare = _RARE.search(_called(group)) is not None and group.nature not in _MIXED
    usual = LEAST_OF_NATURE.get(group.nature, np.inf)
    if group.nature is Nature.OPTIMIZER and tables >= LEAST_TELLING:
        usual = LEAST_DENSE
    ordinary = not rare and lost.share < usual and not group.growth
    least = least_any if ordinary else LEAST_TELLING if _TELLING.search(group.name) else LEAST_PART
    if lost.share < least or group.nature is Nature.NOT_COUNTED:
        return None
    what = _called(group)
    most = shown_event(group.ops[0][0])
    alone = group.count >= _SEVERAL and group.ops[0][2] > MOST * group.ps and most != what and what != GRAPH
    mixed = group.nature in _MIXED
    summaries = [kind for kind in group.kinds if SUMMARY.match(kind)][:1] if group.nature is Nature.EAGER else []
    several = (
        ", ".join([*group.kinds[:3], *summaries]) if mixed else f"{group.count} ops" if group.count >= _SEVERAL else ""
    )
    often = group.runs >= OFTEN and group.runs >= _SEVERAL * group.count
    often &= not mixed or group.nature is Nature.ELEMENTWISE
    rows = f", of {group.few} row{'s' * (group.few > 1)}" if group.few else ""
    several = f"{group.runs:,.0f} runs per step{rows}" if often and not mixed else several
    loops = f"in the loop at {' and that at '.join(filter(None, group.loops))}" if often and any(group.loops) else ""
    where = ", ".join(filter(None, (several, loops, _where(group))))
    advice = advice_of_ops(group.nature, what, group.framework, ordinary=ordinary, often=often, few=group.few > 0)
    if group.places[:1] and group.places[0][1] > MOST and purpose(f"${group.places[0][0]}") is Purpose.EVALUATION:
        advice = KINDS[Purpose.EVALUATION].advice
    if group.nature is Nature.MATRIX and one_hot >= LEAST_ONE_HOT:
        where, advice = ", ".join(filter(None, (where, "beside one-hot rows"))), PARTS["one-hot rows"]
    name, program = group.ops[0][:2]
    op = OpOf(name, program)
    row = {"host": host, "row": f"{cell('hlo_op_name', name)};{cell('program_id', str(program))}"} if program else {}
    tool = "hlo_stats" if program else ""
    evidence = [
        Evidence(most_label(group.ops[0][2] / max(group.ps, 1)), name, "", tool, row, op),
        *costs(run, "Wall time of these ops", lost),
    ]
    if group.framework:
        evidence.append(Evidence("Its framework op", group.framework, "", tool, row, op))
    if group.place:
        evidence.append(Evidence("Where", group.place, "", "", {}, op))
    evidence += [Evidence(f"Where {share:.0%} of it comes from", place) for place, share in group.places]
    finding = Finding(
        f"{lost.share:.1%} of the {run.base}: {what}"
        + (f" ({where})" if where else "")
        + (f", most of it in {most}" if alone and not mixed else ""),
        0.0 if ordinary else lost.ps * _spare(group),
        "wall time of these ops, shared evenly with others that run at the same time, per step and device"
        + ("; ordinary work, of which no waste is known" if ordinary else "; at most that, if they are not needed"),
        "medium",
        tuple(evidence),
        SUMMARIES if summaries else advice,
        (host,),
        () if ordinary else lost.segments,
    )
    names = tuple(filter(None, (group.place, *(one[0] for one in group.ops))))
    known, growth = group.nature in _CAUSES, group.growth
    return Part(lost, by_part, ordinary, group.place, names, finding, of_ops=True, advised=known, growth=growth)


def _spare(group: OpGroup) -> float:
    """The share of ops that is not needed at most: of several passes through each op all but the first."""
    several = group.nature is Nature.BACKWARD_AGAIN and group.runs >= _SEVERAL * group.count
    return 1 - group.count / group.runs if several else 1.0


_CAUSES = {Nature.BACKWARD_AGAIN, Nature.RECOMPUTED, Nature.BROKEN_GRAPH}
_MIXED = LEAST_OF_NATURE.keys() - {Nature.MOVEMENT}
"""Groups of ops of several kinds, which are named beside the group."""


def _called(group: OpGroup) -> str:
    """What the ops are called: a library call by the framework's name."""
    framework = named(group.framework)
    return framework if framework and group.name in (LIBRARY, "while", "call", "conditional") else group.name


MOST_FUNCTIONS = 3
"""Functions that a title names beside the jitted one."""
_PROGRAM = re.compile(r"jit\((\w{1,100})\)/")


def _where(group: OpGroup) -> str:
    """The place of a group, and those that share its time: "54% in train.py:41 denoise, 43% in train.py:35 encode";
    else the last functions that it is all in, from the jitted one on: "train.py:41, in next_token/attend".
    """
    places, program, inside = group.places[:2], _PROGRAM.match(group.framework), ""
    if group.place and len(places) == 1 and places[0][0].startswith(group.place):
        return places[0][0]
    if program and not any(" " in place for place in (group.place, *(place for place, _ in places))):
        last = max((i for i, one in enumerate(group.path) if one == program[1]), default=len(group.path))
        inside = f"in {'/'.join((program[1], *group.path[last + 1 :][-MOST_FUNCTIONS:]))}"
    return ", ".join(filter(None, (group.place, *(f"{share:.0%} in {place}" for place, share in places), inside)))


def busy_with(run: RunView, gathered: Sequence[Blamed | None]) -> str:
    """What devices compute most: "58.5% of it in eigh (3 ops, shampoo.py:33)"; "" without ops."""
    known = [(group, host) for of_host, host in run.present(gathered) for group in of_host.ops]
    compute = run.part_ps("compute") + run.part_ps("data_movement")
    if not known or not compute:
        return ""
    group = max((group for group, _ in known), key=lambda one: one.ps)
    share = run.located([group.by_part]).ps / compute
    where = _where(group)
    return f"{min(share, 1.0):.1%} of it in {_called(group)}" + (f" ({where})" if where else "")


def enlarged(run: RunView, part: Part, found: Finding) -> Finding:
    """A finding about some of a part, as one about all of it."""
    if part.advised:
        return part.finding
    title, share = part.finding.title, run.share(found.saving_ps)
    told = found.reason and found.saving_ps >= EXPLAINED * part.lost.ps
    if told and run.has_devices:
        title = f"Devices wait {part.lost.share:.1%} of the {run.base} for {found.reason}"
    elif found.reason and share >= LEAST_SHARE:
        title = f"{title}; {share:.1%} waits for {found.reason}"
    return replace(
        part.finding,
        title=title,
        advice=found.advice if told or part.finding.advice is HOST else part.finding.advice,
        confidence=found.confidence,
        evidence=(*part.finding.evidence, Evidence("Of it", found.title), *found.evidence[2:]),
    )


def growing(found: Finding, largest: Sequence[Part]) -> Finding:
    """A finding, which says so if what it is named after takes longer from step to step."""
    named = (one for one in largest if one.finding.title == found.title or one.names_title(found))
    part = next((one for one in named if one.growth), None)
    if part is None:
        return found
    title = f"{found.title}, {duration(round(part.growth * part.lost.ps))} more with each step"
    return replace(found, title=title, advice=led(GROWING, found.advice))


def pointed(part: Part, saving_ps: float) -> Evidence:
    """The evidence that tells a finding's place; with more time than the finding, it has other time as well."""
    what = f"{shown(part.place)}, {duration(round(part.lost.ps))} per step and device"
    inside = round(part.lost.ps) <= round(saving_ps)
    return Evidence("Largest part" if inside else "Largest part of the step that has a name", what, "", "", {})
