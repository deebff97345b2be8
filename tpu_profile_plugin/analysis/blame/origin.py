"""Which functions, layers or functions of TensorFlow the time of ops comes from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tpu_profile_plugin.analysis.blame.stacks import Stacks, callers
from tpu_profile_plugin.analysis.budget.host_names import is_library, is_unnamed
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import Frame, call_stack

NEARLY_ALL = 0.9
"""A function that calls another for so much of its time is told by that one."""
LEAST_PLACE = 0.1
"""Least share for a place to be one of several."""
MOST_PLACES = 3
_NUMBER = re.compile(r"_\d{1,9}\Z")
_TF_FUNCTION = re.compile(r"(?:EagerLocalExecute: )?(__inference_\w+)\Z")
_WRAPPERS = re.compile(r"p?jit\([^()]{0,200}\)|\b[a-z]{1,20}\(|\)|gradient_tape\b")
_NO_SCOPE = re.compile(
    r"(?:while|body|cond|branch_\d+_fun|closed_call|shard_map|checkpoint|rematted_computation|StatefulPartitionedCall"
    r"|Torch-Compiled Region)?\Z"
)

Chain = tuple[Frame, ...]
"""The functions around an op, outermost first: file, name and line of the call within; of some the name alone."""


def of_program(rows: ProgramRows, row: int) -> Chain:
    """The program's own functions that an instruction was traced in, and the named scopes inside of them."""
    near = rows.near_source(row, 1)
    frames = () if near is None else call_stack(rows.program, near[0])
    return (*filter(_is_own, reversed(frames)), *scopes(rows.op_name(row)))


def scopes(name: str) -> Chain:
    """The named scopes of a framework's op, such as Model and Dense_0 of `jit(step)/jvp(Model)/Dense_0/dot_general`.

    Those that TensorFlow makes for a single op, such as `matmul_1/MatMul`, tell nothing.
    """
    *around, op = name.partition(";")[0].partition(":")[0].split("/")  # of several ops in one, the first
    named = (_WRAPPERS.sub("", part) for part in around)
    alone = _NUMBER.sub("", op).lower()
    return tuple(
        ("", scope, 0)
        for scope in named
        if not (_NO_SCOPE.fullmatch(scope) or "," in scope or "->" in scope or _NUMBER.sub("", scope).lower() == alone)
    )


def of_stack(stacks: Stacks, node: int) -> Chain:
    """The program's own functions that launched something, and functions of TensorFlow."""
    if node < 0:
        return ()
    own, found = stacks.own, list[Frame]()
    for one in reversed([node, *callers(stacks.parent, node)]):
        name = stacks.names[int(stacks.name[one])]
        function = _TF_FUNCTION.match(name)
        if own[one] or function is not None:
            found.append(("", function[1] if function is not None else name.removeprefix("$"), 0))
    return tuple(found)


def common(chains: Sequence[tuple[Chain, int]]) -> str:
    """The innermost function that nearly all of a time is in; "" without one."""
    return "".join(map(_called, path(chains)[-1:]))


def path(chains: Sequence[tuple[Chain, int]]) -> Chain:
    """The functions that nearly all of a time is in, outermost first, each with the line that has most of it."""
    depth, inside = _descend(chains)
    sums = Counter[Chain]()
    for chain, ps in inside:
        sums[chain[:depth]] += ps
    return max(sums, key=sums.__getitem__, default=())


def shared(chains: Sequence[tuple[Chain, int]]) -> list[tuple[str, float]]:
    """The functions that share a time, and their parts of it, most first: at most three, each with a tenth or more.

    A function that nearly all of the time is in says nothing of it: those that it calls are told, if there are such.
    """
    depth, inside = _descend(chains)
    whole, callees, lines = sum(ps for _, ps in chains), Counter[tuple[str, str]](), Counter[Frame]()
    for chain, ps in inside:
        if len(chain) > depth:
            callees[chain[depth][:2]] += ps
            lines[chain[depth]] += ps
    told = [(name, ps / whole) for name, ps in callees.most_common(MOST_PLACES) if ps >= LEAST_PLACE * whole]
    most = {name: max((one for one in lines if one[:2] == name), key=lines.__getitem__) for name, _ in told}
    return [(_called(most[name]), share) for name, share in told]


def _descend(chains: Sequence[tuple[Chain, int]]) -> tuple[int, Sequence[tuple[Chain, int]]]:
    """How many functions around a time have nearly all of it, and what is inside of them."""
    whole, depth, inside = sum(ps for _, ps in chains), 0, chains
    while True:
        callees = Counter[tuple[str, str]]()
        for chain, ps in inside:
            if len(chain) > depth:
                callees[chain[depth][:2]] += ps
        name, most = callees.most_common(1)[0] if callees else (("", ""), -1)
        if most < NEARLY_ALL * whole:
            return depth, inside
        inside = [(chain, ps) for chain, ps in inside if len(chain) > depth and chain[depth][:2] == name]
        depth += 1


def _is_own(frame: Frame) -> bool:
    file, function, _ = frame
    return function not in ("", "<module>") and not is_unnamed(function) and not is_library(file, function)


def _called(frame: Frame) -> str:
    file, function, line = frame
    return f"{file.rpartition('/')[2]}:{line} {function}" if file else function
