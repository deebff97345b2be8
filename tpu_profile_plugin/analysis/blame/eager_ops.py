"""Ops that PyTorch and TensorFlow run one by one: by what is around them, what they do, and how small they are."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile

import numpy as np

from tpu_profile_plugin.analysis.blame.stacks import AFTER, NOWHERE, Stacks, inclusive, launched_at, with_callees
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.op_names import GRAPH, PYTORCH_SUFFIX
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.common.spans import Times, contains, times_of
from tpu_profile_plugin.analysis.devices.cpu_torch import COMPILED
from tpu_profile_plugin.analysis.devices.model import Device, Op
from tpu_profile_plugin.analysis.ops.op_nature import RECURRENT, Nature
from tpu_profile_plugin.columns.arrays import I32, I64, Bools
from tpu_profile_plugin.units import PS_PER_US

SMALL_PS = 20 * PS_PER_US
"""An op that takes less than this does less than it costs to call it."""
SHORT_PS, OFTEN = 50 * PS_PER_US, 100
"""So short, on average, are ops of a loop in Python, if so many of one kind run in a step; and the code between ops."""
NEARLY_ALL = 0.9
"""A range with so much of another's time stands for it; one with as much of all ops' tells nothing."""
LEAST_RANGE = 0.05
"""Ranges with less of the ops' time are not looked at."""
_ELEMENTWISE = re.compile(
    r"aten::(?:r?sub|add|mul|(?:true_|floor_)?div\w*|pow|tanh|sigmoid|expm?1?|log1?p?|r?sqrt|abs|neg|reciprocal|[gln][et]|eq"
    r"|where|clamp\w*|_?to(?:_copy)?|lerp|addc(?:mul|div)|square|sin|cos|erf|sign|maximum|minimum|masked_fill"
    r"|(?:logical|bitwise)_\w+|isnan|isinf|floor|ceil|round|remainder|fmod)"
)
_OF_TENSORFLOW = re.compile(
    r"(?:Add(?:V2|N)?|Sub|Mul(?:NoNan)?|(?:Real|Floor)?Div(?:NoNan)?|FloorMod|Pow|Square|SquaredDifference|R?[Ss]qrt|Reciprocal"
    r"|Expm?1?|Log1?p?|Neg|Abs|Sign|(?:Tanh|Sigmoid|Relu|Relu6|Elu|Selu|Softplus)(?:Grad)?|Erfc?|Maximum|Minimum|Cast|Tile"
    r"|Greater(?:Equal)?|Less(?:Equal)?|(?:Not)?Equal|Logical(?:And|Or|Not)|Select(?:V2)?|ClipByValue|Floor|Ceil|R(?:ound|int)"
    r"|Is(?:Nan|Inf|Finite)|Assign(?:Add|Sub)?VariableOp|BroadcastTo|Fill|(?:Zero|One)sLike)"
)
_EAGER = re.compile(r"EagerLocalExecute: (?!__(?:inference|forward|backward)|\w*(?:Iterator|Dataset))\w")
"""The call of an op of TensorFlow that is neither a function nor the next batch."""
_AROUND_GRAPH = re.compile(
    rf"(?:\w+/)*{COMPILED}|TorchDynamo Cache Lookup|AOTDispatcher Runtime Wrapper|Pregraph bytecode|CompiledFunction\Z"
)
"""What a call of a compiled function takes beside its graphs: guards, wrappers, bytecode."""
_CALLS_GRAPH = re.compile(r"(?:aten::)?compiledfunction", re.IGNORECASE)
"""What calls a graph, and has its time where the graph itself is not recorded."""
_AROUND_SCOPES = frozenset(("StatefulPartitionedCall", "gradient_tape"))
_PRODUCT = re.compile(r"(?:(?P<one>Backprop[A-Za-z]{0,20})|MatMul|Einsum)_(?P<number>\d{1,4})\Z")
"""TensorFlow numbers ops of the same name: those of the gradients of one op, of which matrix products have two."""
_BACKWARD = re.compile(r"(?<=\w)Backward\d*\Z")
_PASSES = 3
"""Least backward passes through the same ops: adversarial networks may need two, others with nothing to mend one."""
_RECOMPUTES = re.compile(r"torch/utils/checkpoint\.py:\d+ (?:recompute_fn|backward)\Z")
_OPTIMIZER = re.compile(r"(?:^|/)Optimizer\.step#(?P<name>[\w.]+?)(?:\.step)?/")
_NO_RANGE = re.compile(
    r"[$<]|nn\.Module: |## Call |ProfilerStep|Optimizer\.|DistributedDataParallel\.|FullyShardedDataParallel\.|FSDP::"
    rf"|enumerate\(|DataLoader|\w+:\w*(?:all|reduce|broadcast|gather|send|recv|barrier)|cuda|hip|{AFTER}|.*{PYTORCH_SUFFIX}\Z"
)
"""Names on the main thread that are not ranges of the program: functions, layers, ops, and what libraries record."""


def groups_of_rows(
    op: I64,
    node: I64,
    ps: I64,
    kinds: Sequence[tuple[Nature, str]],
    ops: Sequence[Op],
    stacks: Stacks,
    runs: Iterable[float] = (),
) -> list[tuple[Nature, str, Bools]]:
    """Groups that are more than a kind of op: (nature, name, bool[n] the rows in it), disjoint.

    Args:
      op, node, ps: int64[n], of rows of ops: index into `ops`, what launched it, and its time.
      kinds: of each op.
      ops: all ops.
      stacks: the calls of the main thread.
      runs: of each op per step, if known.
    """
    names = [kind for _, kind in kinds]
    left = np.ones(len(op), np.bool_)
    found: list[tuple[Nature, str, Bools]] = []

    def take(nature: Nature, name: str, rows: Bools) -> None:
        found.append((nature, name, rows & left))
        left[rows] = False

    def of_kind(chosen: Iterable[bool]) -> Bools:
        rows: Bools = np.fromiter(chosen, np.bool_, len(kinds))[op]
        return rows

    if not any(name.startswith(("aten::", COMPILED)) for name in names):
        eager = np.array([_EAGER.match(name) is not None for name in stacks.names], np.bool_)
        if eager.any():
            inside = with_callees(stacks.parent, np.flatnonzero(eager[stacks.name]))
            take(Nature.EAGER, "eager ops", np.append(inside, False)[node])
        passes = list(map(_earlier_passes, ops))
        if max(passes, default=0) >= _PASSES - 1:
            take(Nature.BACKWARD_AGAIN, "repeated backward passes", of_kind(map(bool, passes)))
        elementwise = (_OF_TENSORFLOW.fullmatch(name) is not None for name in names)
        take(Nature.ELEMENTWISE, "elementwise ops", of_kind(elementwise))
        return found
    loose = of_kind(one.name.startswith(f"{COMPILED}/") for one in ops)
    around = of_kind(_AROUND_GRAPH.match(name) is not None for name in names)
    graphs = of_kind(name == GRAPH for name in names)
    if not graphs.any():
        graphs = of_kind(_CALLS_GRAPH.fullmatch(name) is not None for name in names)
        around &= ~graphs
    if loose.any() and not graphs.any():
        loose[:] = False  # the backend runs ops one by one
    elif around.any() and not graphs.any():
        loose = of_kind(name.startswith("aten::") for name in names)
    broken = loose.any() and ps[loose].sum() >= ps[graphs].sum()
    take(Nature.BROKEN_GRAPH, "ops of a compiled function outside of its graphs", loose | (around & broken))
    take(Nature.COMPILED_CALL, "calls of compiled functions", around)
    again = np.array([_RECOMPUTES.search(name) is not None for name in stacks.names], np.bool_)
    inside = with_callees(stacks.parent, np.flatnonzero(again[stacks.name]))
    take(Nature.RECOMPUTED, "recomputed activations", np.append(inside, False)[node])
    take(Nature.BACKWARD_AGAIN, "several backward passes", of_kind(_backward_again(kinds, ops, runs)))
    optimizers = list(map(_optimizer, ops))
    for optimizer in set(optimizers) - {""}:
        take(Nature.OPTIMIZER, optimizer, of_kind(name == optimizer for name in optimizers))
    matrix = of_kind(nature is Nature.MATRIX for nature, _ in kinds)
    ranges = [(name, np.append(inside, False)[node]) for name, inside in _ranges(stacks, node, ps)]
    times = [int(ps[rows].sum()) for _, rows in ranges]
    for i in sorted(range(len(ranges)), key=lambda i: -times[i]):
        name, rows = ranges[i]
        inner = any(
            NEARLY_ALL * times[i] <= times[j] < times[i] and not (ranges[j][1] & ~rows).any()
            for j in range(len(ranges))
        )
        of_matrix = int(ps[rows & matrix].sum())
        beside = of_matrix <= times[i] / 2 and of_matrix < int(ps[matrix & ~rows].sum())
        if beside and not inner and times[i] < NEARLY_ALL * ps.sum():
            take(Nature.RANGE, name, rows)
    take(Nature.ELEMENTWISE, "elementwise ops", of_kind(_ELEMENTWISE.fullmatch(name) is not None for name in names))
    return found


def _earlier_passes(op: Op) -> int:
    """How many backward passes of TensorFlow went through the same op before the one that a product belongs to."""
    match = _PRODUCT.search(op.name) if "gradient_tape/" in op.name else None
    return 0 if match is None else int(match["number"]) // (1 if match["one"] else 2)


def _backward_again(kinds: Sequence[tuple[Nature, str]], ops: Sequence[Op], runs: Iterable[float]) -> list[bool]:
    """Which are products of PyTorch's backward pass that run several times as often as the forward pass of a module."""
    of_module = [(op.name.rpartition("/")[0], kind) for op, (_, kind) in zip(ops, kinds, strict=True)]
    backward = [_BACKWARD.search(op.name) is not None and RECURRENT.search(op.name) is None for op in ops]
    count: dict[tuple[tuple[str, str], bool], float] = defaultdict(float)
    for module, back, times in zip(of_module, backward, runs, strict=False):
        count[module, back] += times
    often = {module for module in of_module if count[module, True] >= _PASSES * count[module, False] > 0}
    products = (back and nature is Nature.MATRIX for back, (nature, _) in zip(backward, kinds, strict=True))
    return [product and module in often for product, module in zip(products, of_module, strict=True)]


def _ranges(stacks: Stacks, node: I64, ps: I64) -> list[tuple[str, Bools]]:
    """The program's own ranges that enough of a time lies in, with the nodes inside of them."""
    own = np.zeros(len(stacks.parent), np.int64)
    np.add.at(own, node[node >= 0], ps[node >= 0])
    of_name = np.asarray(sums_by(stacks.name, inclusive(stacks.parent, own), len(stacks.names)), np.int64)
    return [
        (stacks.names[row], with_callees(stacks.parent, np.flatnonzero(stacks.name == row)))
        for row in np.flatnonzero(of_name >= LEAST_RANGE * ps.sum()).tolist()
        if _NO_RANGE.match(stacks.names[row]) is None and activity(stacks.names[row]) is Activity.OTHER
    ]


def _optimizer(op: Op) -> str:
    """The optimizer that runs an op, "" for other ops."""
    match = _OPTIMIZER.search(op.name)
    return match["name"] if match else ""


def _backward_of(op: Op) -> str | None:
    """The module that an op of PyTorch's backward pass is named after; None for other ops."""
    module, _, name = op.name.rpartition("/")
    return module if _BACKWARD.search(name) else None


@dataclass(frozen=True, slots=True, eq=False)
class SmallOps:
    """Small ops of a device that are launched one by one, with the code between them.

    Attributes:
      spans: when they run.
      count: of them, per step.
      kinds: those with most time, with their count per step.
      optimizer: the one that more than half of them are of, "" without one.
      place: the program's own function that launches more than half of their time, or the loop of a graph that they
        are in, "" without one.
      by_part: int64[c + 1], their time by part of the budget.
    """

    spans: Times
    count: float
    kinds: tuple[tuple[str, float], ...]
    optimizer: str
    place: str
    by_part: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def name(self) -> str:
        """They are one group."""
        return "small ops"


def small_ops(device: Device, kinds: Sequence[str], windows: Times, steps: int, stacks: Stacks) -> SmallOps | None:
    """The small ops of a device in some steps; None without any.

    Args:
      device: whose ops run within calls of the host.
      kinds: what each of its ops is called.
      windows: the time of the steps.
      steps: how many these are.
      stacks: the calls of the main thread.
    """
    runs = device.runs
    inside = np.flatnonzero(contains(windows, runs.begin_ps))
    if not steps or not len(inside):
        return None
    begin, end, op = runs.begin_ps[inside], runs.end_ps[inside], runs.op[inside]
    own = [one.name if RECURRENT.search(one.name) else kind for one, kind in zip(device.ops, kinds, strict=True)]
    names, code = np.unique(np.array(own, object).astype(str), return_inverse=True)
    kind = code.reshape(-1)[op]
    count = np.bincount(kind, minlength=len(names))
    mean = np.asarray(sums_by(kind, end - begin, len(names)), np.int64) / np.maximum(count, 1)
    often = (count >= OFTEN * steps) & (mean < SHORT_PS)
    compiled = _AROUND_GRAPH.match, _CALLS_GRAPH.fullmatch, RECURRENT.search
    others = [name == GRAPH or any(one(name) for one in compiled) for name in names]
    small = np.flatnonzero(((end - begin < SMALL_PS) | often[kind]) & ~np.array(others, np.bool_)[kind])
    if not len(small):
        return None
    reached = np.maximum.accumulate(end)
    gap = np.append(np.maximum(begin[1:] - reached[:-1], 0), 0)
    until = end[small] + np.where(gap < SHORT_PS, gap, 0)[small]
    counts = np.bincount(kind[small], minlength=len(names))
    most = np.argsort(-np.bincount(kind[small], until - begin[small], len(names)), kind="stable")[:3]
    of_kinds = tuple((str(names[row]), float(counts[row]) / steps) for row in most.tolist() if counts[row])
    by_optimizer = Counter[str]()
    for row, of_op in enumerate(np.bincount(op[small], minlength=len(device.ops)).tolist()):
        by_optimizer[_optimizer(device.ops[row])] += of_op
    optimizer, most_of = by_optimizer.most_common(1)[0]
    node = stacks.at(begin[small]) if len(stacks.node) else np.full(len(small), NOWHERE)
    optimizer = optimizer if 2 * most_of > len(small) else ""
    place = _place(stacks, node, device.ops, op[small], until - begin[small])
    return SmallOps(times_of(begin[small], until), len(small) / steps, of_kinds, optimizer, place)


def loop_of(name: str) -> str:
    """The loop of a graph of TensorFlow that an op is in, the same for its backward pass; "" if it is in none."""
    scopes = list(dropwhile(_AROUND_SCOPES.__contains__, name.split("/")))
    end = next((i for i, scope in enumerate(scopes[:-1], 1) if scope.endswith("while")), 0)
    return "/".join(scopes[:end])


def _place(stacks: Stacks, node: I64, ops: Sequence[Op], op: I32, ps: I64) -> str:
    """The program's own function, or else the loop, that more than half of a time is in; `node`: what launched it.

    Ops of the backward pass are where most time of the module that they are named after is in the forward pass.
    """
    pairs, which = np.unique(np.stack([node, op]), axis=1, return_inverse=True)
    forward, backward = defaultdict[str, Counter[str]](Counter), Counter[tuple[str, str]]()
    for (one, row), of_pair in zip(pairs.T.tolist(), sums_by(which.reshape(-1), ps, pairs.shape[1]), strict=True):
        if (module := _backward_of(ops[row])) is not None:
            backward[module, launched_at(stacks, one)] += int(of_pair)
        else:
            place = launched_at(stacks, one) or loop_of(ops[row].name)
            forward[ops[row].name.rpartition("/")[0]][place] += int(of_pair)
    times = sum(forward.values(), Counter[str]())
    for (module, place), of_module in backward.items():
        times[max(forward[module], key=forward[module].__getitem__, default=place)] += of_module
    place, most = times.most_common(1)[0]
    return place if 2 * most > times.total() else ""
