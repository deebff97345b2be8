"""Nodes, boxes and edges that XLA draws of an HLO computation or around an instruction.

Constants, parts of tuples and constant arguments are written into the nodes that use them. An open fusion or called
computation is a box around its instructions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from tpu_profile_plugin.analysis.hlo.graph.links import Links
from tpu_profile_plugin.analysis.hlo.graph.selection import CUT_ABOVE, Mark, Selection, around, everything

ROOT = -1
"""Pseudo row of the tag that follows the result of the drawn computation."""
_FEWEST_PARTS = 4
"""A tuple parameter with at least this many users, all of them parts, is written into them."""


@dataclass(frozen=True, slots=True)
class Edge:
    """From a row to a row, or to ROOT.

    `kind`: `data` (operand number `operand`), `control`, `call` (result of an open computation to its caller), `root`.
    """

    source: int
    target: int
    kind: str = "data"
    operand: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    """An open computation: its caller, and the box around it (None: none)."""

    computation: int
    caller: int
    parent: int | None
    fusion: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """One node: its row, its box, and (operand number, row) of the operands written into it."""

    row: int
    box: int | None
    mark: Mark
    inline: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The nodes, boxes and edges of a drawing.

    Attributes:
      computation: row of the drawn computation, or of the computation with the center.
      center: the requested row; None for a whole computation.
      nodes: in program order, called computations before their caller.
      boxes: open computations; other fields refer to them by index.
      edges: between nodes that are drawn.
    """

    computation: int
    center: int | None
    nodes: tuple[Drawn, ...]
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]


def draw_computation(links: Links, computation: int, *, merge_fusion: bool, opened: Collection[int] = ()) -> Drawing:
    """A whole computation with the computations that it calls; `opened` fusions are boxes even if fusions are nodes."""
    return _Drawer(links, computation, everything(), merge_fusion, frozenset(opened)).draw(None)


def draw_around(
    links: Links,
    center: int,
    radius: int,
    *,
    merge_fusion: bool,
    opened: Collection[int] = (),
    keep_center: bool = False,
) -> tuple[Drawing, Selection]:
    """The instructions within `radius` hops of an instruction, with their distances.

    `keep_center`: the center is a node even if XLA writes it into its users.
    """
    selection = around(links, center, radius)
    drawer = _Drawer(links, links.home(center), selection, merge_fusion, frozenset(opened))
    drawer.kept = center if keep_center else ROOT
    return drawer.draw(center), selection


def excerpt(drawing: Drawing, most: int) -> tuple[Drawing, int]:
    """The `most` nodes nearest to the center or result of the drawing, and the number of omitted nodes."""
    if len(drawing.nodes) <= most:
        return drawing, 0
    near: dict[int, list[int]] = {}
    for edge in drawing.edges:
        near.setdefault(edge.source, []).append(edge.target)
        near.setdefault(edge.target, []).append(edge.source)
    start = ROOT if drawing.center is None else drawing.center
    rows = [start, *near.get(start, ()), *(node.row for node in reversed(drawing.nodes))]
    drawn = {node.row for node in drawing.nodes}
    kept: set[int] = set()
    for first in rows:
        waiting = deque([first])
        while waiting and len(kept) < most:
            row = waiting.popleft()
            if row in kept or (row not in drawn and row != first):
                continue
            if row in drawn:
                kept.add(row)
            waiting.extend(one for one in near.get(row, ()) if one not in kept)
    nodes = tuple(node for node in drawing.nodes if node.row in kept)
    edges = tuple(e for e in drawing.edges if e.source in kept and (e.target in kept or e.target == ROOT))
    return replace(drawing, nodes=nodes, edges=edges), len(drawing.nodes) - len(nodes)


@dataclass
class _Drawer:
    links: Links
    computation: int
    selection: Selection
    merge_fusion: bool
    opened: frozenset[int]
    nodes: list[Drawn] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    kept: int = ROOT

    def __post_init__(self) -> None:
        self.opcodes = self.links.program.opcodes
        self.home = cache(self.links.home)
        self.is_open = cache(self._is_open)
        self.merged = cache(self._merged)
        self.spread_constant = cache(self._spread_constant)
        self._box_of: dict[int, int] = {}

    def draw(self, center: int | None) -> Drawing:
        """Walks the computation, and each open computation at its caller; iterative, for deep nesting."""
        stack = [self._steps(self.computation, None)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(inner)
        self._root_tag()
        drawn = {node.row for node in self.nodes}
        edges = tuple(e for e in self.edges if e.source in drawn and (e.target in drawn or e.target == ROOT))
        return Drawing(self.computation, center, tuple(self.nodes), tuple(self.boxes), edges)

    def _steps(self, computation: int, box: int | None) -> Iterator[Iterator]:  # type: ignore[type-arg]
        """Draws the instructions of a computation; yields the steps of each computation to be drawn first."""
        for row in self.links.rows_of(computation):
            if not self.selection.shows(row):
                continue
            for called in self.links.called(row):
                if self._shows_computation(called, row):
                    position = self._box(called, row, box)
                    if position is not None:
                        yield self._steps(called, position)
            self._node(row, box)

    def _box(self, computation: int, caller: int, parent: int | None) -> int | None:
        """Opens a box and returns its index; None if the computation is already drawn."""
        fusion = self.opcodes[caller] == "fusion"
        root = self.links.root(computation)
        if not fusion and root is not None:
            self.edges.append(Edge(self.visible(root), caller, "call"))
        if computation in self._box_of or computation == self.computation:
            return None
        self._box_of[computation] = len(self.boxes)
        self.boxes.append(Box(computation, caller, parent, fusion))
        return self._box_of[computation]

    def _node(self, row: int, box: int | None) -> None:
        opcode = self.opcodes[row]
        is_root = self.links.root(self.home(row)) == row
        if (opcode == "constant" or self.spread_constant(row)) and not is_root and row != self.kept:
            return
        if self.merged(row) or (opcode == "fusion" and self.is_open(row)):
            return
        self.nodes.append(Drawn(row, box, self.selection.mark(row), tuple(self._inline(row))))
        self._edges_to(row)

    def _edges_to(self, row: int) -> None:
        fusion = self._fusion_around(row)
        if self.opcodes[row] == "parameter" and fusion is not None:
            if self.home(row) != self.computation:
                self._edge(self._argument(row, fusion), row, 0)
            return
        for number, operand in enumerate(self.links.operands(row)):
            self._edge(operand, row, number)
        for earlier in self.links.before(row):
            self._edge(earlier, row, 0, "control")

    def _edge(self, source: int, target: int, operand: int, kind: str = "data") -> None:
        source = -1 if source < 0 else self.visible(source)
        if source < 0 or not self.selection.shows(source):
            return
        written = self.opcodes[source] == "constant" or self.spread_constant(source) or self.merged(source)
        if source == self.kept or not written:
            self.edges.append(Edge(source, target, kind, operand))

    def _root_tag(self) -> None:
        root = self.links.root(self.computation)
        source = -1 if root is None else self.visible(root)
        constant = source >= 0 and (self.opcodes[source] == "constant" or self.spread_constant(source))
        if source >= 0 and self.selection.shows(source) and not constant:
            self.edges.append(Edge(source, ROOT, "root"))

    def visible(self, row: int) -> int:
        """The node of a result: for a part its tuple, for an open fusion its inner result; -1: none."""
        if self.opcodes[row] == "get-tuple-element" and row != self.kept:
            row = next(iter(self.links.operands(row)), -1)
        seen: set[int] = set()
        while row >= 0 and self.opcodes[row] == "fusion" and row not in seen and self.is_open(row):
            seen.add(row)
            root = self.links.root(self.links.called(row)[0])
            row = -1 if root is None else root
        return row

    def _fusion_around(self, row: int) -> int | None:
        """The fusion that contains a row."""
        return self.links.fusion_of.get(self.home(row))

    def _argument(self, row: int, fusion: int) -> int:
        """The operand that a parameter inside a fusion represents; -1 if the fusion lacks it."""
        number, operands = self.links.message(row).parameter_number, self.links.operands(fusion)
        return operands[number] if 0 <= number < len(operands) else -1

    def _constant_argument(self, row: int) -> int | None:
        fusion = self._fusion_around(row) if self.opcodes[row] == "parameter" else None
        argument = -1 if fusion is None else self._argument(row, fusion)
        return argument if argument >= 0 and self.opcodes[argument] == "constant" else None

    def _spread_constant(self, row: int) -> bool:
        """Whether a row inside a fusion only broadcasts a constant scalar."""
        if self.opcodes[row] != "broadcast" or self._fusion_around(row) is None:
            return False
        source = next(iter(self.links.operands(row)), -1)
        return source >= 0 and self.opcodes[source] == "constant" and self.links.is_scalar(source)

    def _merged(self, row: int) -> bool:
        """Whether a row is written into its users instead of being a node."""
        opcode = self.opcodes[row]
        if row == self.kept:
            return False
        if opcode == "get-tuple-element":
            return self.links.root(self.home(row)) != row
        if opcode != "parameter":
            return False
        if self._fusion_around(row) is not None:
            return self._constant_argument(row) is not None
        shown = [user for user in self.links.users(row) if self.selection.shows(user)]
        parts = all(self.opcodes[user] == "get-tuple-element" for user in shown)
        return len(shown) >= _FEWEST_PARTS and parts and bool(self.links.shape(row).tuple_shapes)

    def _inline(self, row: int) -> Iterator[tuple[int, int]]:
        fusion = self._fusion_around(row)
        if self.opcodes[row] == "parameter" and fusion is not None:
            argument = self._argument(row, fusion)
            if argument >= 0 and self.opcodes[argument] == "get-tuple-element":
                yield 0, argument
            return
        for number, operand in enumerate(self.links.operands(row)):
            if operand < 0 or operand == self.kept:
                continue
            if self.opcodes[operand] == "constant":
                yield number, operand
            elif self.spread_constant(operand):
                yield number, next(iter(self.links.operands(operand)))
            elif self.merged(operand):
                constant = self._constant_argument(operand)
                yield number, operand if constant is None else constant

    def _shows_computation(self, called: int, caller: int) -> bool:
        if called in self.links.fusion_of:
            fusion = self.links.fusion_of[called]
            if not self._may_open(fusion) or (self.opcodes[caller] == "fusion" and not self.is_open(caller)):
                return False
        elif self.links.simple(called) is not None:
            return False
        return any(self.selection.shows(row) for row in self.links.rows_of(called))

    def _may_open(self, fusion: int) -> bool:
        if not self.selection.shows(fusion):
            return False
        if fusion in self.opened:
            return True
        return not self.merge_fusion and self.selection.mark(fusion) not in CUT_ABOVE

    def _is_open(self, fusion: int) -> bool:
        """Whether a fusion is a box; its node is then not drawn."""
        called = self.links.called(fusion)
        # A computation shared by several fusions is drawn in the first.
        if not called or self.links.fusion_of[called[0]] != fusion or not self._may_open(fusion):
            return False
        return any(self.selection.shows(row) for row in self.links.rows_of(called[0]))
