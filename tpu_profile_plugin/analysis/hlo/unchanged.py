"""What a program computes without anything that it changes: the same in each run that gets the same arguments."""

from __future__ import annotations

from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import leaves, type_name

MOST_ROWS = 50_000
"""Of larger programs nothing is said."""
_CHANGES = frozenset((
    "rng", "rng-get-and-update-state", "infeed", "outfeed", "recv", "recv-done", "send", "partition-id", "replica-id",
))  # fmt: skip
_COSTLY = frozenset(
    ("dot", "convolution", "custom-call", "fft", "sort", "while", "cholesky", "triangular-solve", "rng-bit-generator")
)
_KEY_SIZES = ((2,), (4,))
"""Of 32-bit numbers: a key of random numbers, which is another in each step."""


class Unchanged:
    """The instructions of a program that depend on no argument of which the program returns a new value.

    Nor on one that others take as well, such as a batch. An argument counts as returned if a result has its type and
    shape: the program does not tell more. Without such arguments only those that depend on none at all are unchanged.
    """

    def __init__(self, rows: ProgramRows) -> None:
        self._rows = rows
        self._depends: dict[
            int, int
        ] = {}  # per row of the entry that depends on nothing that changes, a bit per argument
        self._called_by: dict[int, int] = {}
        self._changes = set[int]()
        entry = rows.program.entry
        if entry is None or len(rows.opcodes) > MOST_ROWS:
            return
        self._entry = rows.links.rows_of(entry)
        for row in self._entry:
            self._enter(row)
        self._arguments = rows.arguments()
        root = rows.root(entry)
        results = set() if root is None else set(_arrays(rows, root))
        changed = {one for one in self._arguments if _is_key(rows, one) or not results.isdisjoint(_arrays(rows, one))}
        self._changes |= changed or set(self._arguments)
        self._spread()
        bits = {one: 1 << i for i, one in enumerate(self._arguments)}
        for row in self._entry:
            if row not in self._changes:
                self._depends[row] = bits.get(row, 0)
                for one in rows.links.operands(row):
                    self._depends[row] |= self._depends.get(one, 0)

    def _spread(self) -> None:
        """To what depends on something that changes, and to the arguments that it takes as well."""
        links, arguments = self._rows.links, set(self._arguments)
        waiting = list(self._changes)
        while waiting:
            for user in links.users(waiting.pop()):
                found = {user, *arguments.intersection(links.operands(user))} - self._changes
                self._changes |= found
                waiting += found

    def _enter(self, row: int) -> None:
        """Notes what a row of the entry calls, and whether anything in it changes by itself."""
        if self._rows.opcodes[row] in _CHANGES or -1 in self._rows.links.operands(row):
            self._changes.add(row)
        waiting = list(self._rows.links.called(row))
        while waiting:
            computation = waiting.pop()
            if self._called_by.setdefault(computation, row) != row:
                continue
            for inside in self._rows.links.rows_of(computation):
                if self._rows.opcodes[inside] in _CHANGES:
                    self._changes.add(row)
                waiting += self._rows.links.called(inside)

    def arguments(self, row: int) -> list[str] | None:
        """The names of the arguments that a row depends on; None if it depends on what changes.

        Or on none, but computes nothing of consequence: masks and zeros are made where they are needed.
        """
        caller = self._called_by.get(self._rows.links.home(row), row)
        mask = self._depends.get(caller)
        if mask is None or (not mask and _COSTLY.isdisjoint(self._rows.opcodes[one] for one in self._rows.inside(row))):
            return None
        return [self._rows.program.op_names[one] for i, one in enumerate(self._arguments) if mask >> i & 1]


def _is_key(rows: ProgramRows, row: int) -> bool:
    return any(type_name(kind) == "u32" and sizes in _KEY_SIZES for kind, sizes in _arrays(rows, row))


def _arrays(rows: ProgramRows, row: int) -> list[tuple[int, tuple[int, ...]]]:
    return [(int(leaf.element_type), tuple(leaf.dimensions)) for _, leaf in leaves(rows.shape(row))]
