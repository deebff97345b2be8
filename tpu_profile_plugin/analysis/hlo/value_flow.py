"""Where a value of an HLO program goes: through tuples, loops and calls, until something else reads it.

A buffer that a loop fills slice by slice is one value: the loop's tuple element, updated in place.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows

Value = tuple[int, tuple[int, ...]]
"""A row and the path of tuple indices to the array."""
_MOST = 20_000
"""Values looked at; a flow in a real program is far shorter."""
_SAME = frozenset(("bitcast", "opt-barrier", "optimization-barrier", "domain", "add-dependency"))
_IN_PLACE = "dynamic-update-slice"


@dataclass(slots=True)
class Flow:
    """What happens to a value.

    Attributes:
      fills: (row that updates it in place, row of what it writes: inside the fusion if the row is one).
      readers: rows that read it otherwise.
    """

    fills: list[tuple[int, int]] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)


class ValueFlow:
    """Flows of values in one program."""

    def __init__(self, rows: ProgramRows) -> None:
        self._rows, self._links = rows, rows.links
        self._known: dict[int, dict[int, int]] = {}

    @cached_property
    def _callers(self) -> dict[int, list[int]]:
        callers: dict[int, list[int]] = defaultdict(list)
        for row, opcode in enumerate(self._rows.opcodes):
            if opcode in ("while", "call", "conditional", "async-start"):
                for computation in self._links.called(row):
                    callers[computation].append(row)
        return callers

    def follow(self, row: int, path: tuple[int, ...]) -> Flow:
        """The flow of the value that a row defines at a path."""
        flow, seen, waiting = Flow(), {(row, path)}, [(row, path)]
        while waiting and len(seen) < _MOST:
            value = waiting.pop()
            for other in self._next(value, flow):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return flow

    def _next(self, value: Value, flow: Flow) -> list[Value]:
        row, path = value
        values: list[Value] = []
        for user in self._links.users(row):
            for number, operand in enumerate(self._links.operands(user)):
                if operand == row:
                    values += self._through(user, number, path, flow)
        home = self._links.home(row)
        if self._rows.root(home) == row:
            values += [other for caller in self._callers[home] for other in self._returned(caller, home, path)]
        return values

    def _through(self, user: int, number: int, path: tuple[int, ...], flow: Flow) -> list[Value]:
        """The values that operand `number` of an instruction lives on as."""
        opcode = self._rows.opcodes[user]
        if opcode == "tuple":
            return [(user, (number, *path))]
        if opcode == "get-tuple-element":
            wanted = int(self._rows.instruction(user).tuple_index)
            return [(user, path[1:])] if path and path[0] == wanted else []
        if opcode in _SAME:
            return [(user, path)]
        if opcode == "while":
            return [(user, path), *self._parameters(user, 0, path)]
        if opcode in ("call", "conditional", "async-start"):
            return self._arguments(user, opcode, number, path)
        if opcode == _IN_PLACE and number == 0:
            flow.fills.append((user, self._links.operands(user)[1]))
            return [(user, ())]
        if opcode == "fusion" and (updates := self._updates(user, number)):
            flow.fills += [(user, written) for written, _ in updates]
            return [(user, index) for _, index in updates]
        flow.readers.append(user)
        return []

    def _parameters(self, caller: int, number: int, path: tuple[int, ...]) -> list[Value]:
        """The parameter of that number in all computations that an instruction calls."""
        return [(row, path) for called in self._links.called(caller) for row in self._parameter(called, number)]

    def _parameter(self, computation: int, number: int) -> list[int]:
        if computation not in self._known:
            rows = self._links.rows_of(computation)
            parameters = [row for row in rows if self._rows.opcodes[row] == "parameter"]
            self._known[computation] = {self._number(row): row for row in parameters}
        row = self._known[computation].get(number)
        return [] if row is None else [row]

    def _arguments(self, caller: int, opcode: str, number: int, path: tuple[int, ...]) -> list[Value]:
        if opcode != "conditional":
            return self._parameters(caller, number, path)
        branches = self._links.called(caller)[number - 1 : number] if number else []
        return [(row, path) for branch in branches for row in self._parameter(branch, 0)]

    def _returned(self, caller: int, computation: int, path: tuple[int, ...]) -> list[Value]:
        """What the result of a computation becomes: the caller's, and in loops the next iteration's parameter."""
        if self._rows.opcodes[caller] != "while":
            return [(caller, path)]
        if not path:
            return []  # the condition
        return [(caller, path), *self._parameters(caller, 0, path)]

    def _updates(self, fusion: int, number: int) -> list[tuple[int, tuple[int, ...]]]:
        """Results of a fusion that update its operand in place: (row of what is written, path of the result)."""
        computation = self._rows.fused(fusion)
        root = None if computation is None else self._rows.root(computation)
        if root is None:
            return []
        several = self._rows.opcodes[root] == "tuple"
        results = self._links.operands(root) if several else [root]
        updates: list[tuple[int, tuple[int, ...]]] = []
        for index, result in enumerate(results):
            write = self._unwrapped(result)
            if write < 0 or self._rows.opcodes[write] != _IN_PLACE:
                continue
            target, written = self._links.operands(write)[:2]
            target = self._unwrapped(target)
            if self._rows.opcodes[target] == "parameter" and self._number(target) == number:
                updates.append((written, (index,) if several else ()))
        return updates

    def _number(self, parameter: int) -> int:
        return int(self._rows.instruction(parameter).parameter_number)

    def _unwrapped(self, row: int) -> int:
        while row >= 0 and self._rows.opcodes[row] in _SAME:
            row = self._links.operands(row)[0]
        return row

    def _inner(self, row: int, fusion: int) -> tuple[int, int]:
        """The operand of a change of form; of a part of a loop's result, what the loop fills it with."""
        operand = self._links.operands(row)[0]
        if self._rows.opcodes[row] != "get-tuple-element" or self._rows.opcodes[operand] != "while":
            return operand, fusion
        index = int(self._rows.instruction(row).tuple_index)
        for called in self._links.called(operand):
            root = self._rows.root(called)
            parts = self._links.operands(root) if root is not None and self._rows.opcodes[root] == "tuple" else []
            if index < len(parts) and parts[index] >= 0:
                return self._filled(parts[index], fusion)
        return operand, fusion

    def _filled(self, row: int, fusion: int) -> tuple[int, int]:
        """What is written into a value that an instruction updates in place; the row itself otherwise."""
        if self._rows.opcodes[row] == _IN_PLACE:
            return self._links.operands(row)[1], row
        for number in range(len(self._links.operands(row)) if self._rows.opcodes[row] == "fusion" else 0):
            for written, _ in self._updates(row, number):
                return written, row
        return row, fusion

    def origin(self, row: int, fusion: int) -> int:
        """What computed a value: through changes of form, out of the fusion that it is in, into loops that stack it."""
        forms = {"bitcast", "reshape", "convert", "copy", "transpose", "get-tuple-element"}
        for _ in range(_MOST):
            opcode, operands = self._rows.opcodes[row], self._links.operands(row)
            if opcode == "parameter":
                outer = self._rows.parameter(fusion, row) if self._links.home(row) == self._rows.fused(fusion) else None
                if outer is None:
                    return row
                row = outer
            elif opcode in forms and operands and operands[0] >= 0:
                row, fusion = self._inner(row, fusion)
            else:
                return row
        return row
