"""Drawings of HLO computations: nodes, boxes and edges as XLA draws them, and their places.

Constants, parts of tuples and constant arguments are written into the nodes that use them. An open fusion or called
computation is a box around its instructions.

Nodes are placed in layers, operands above their users, each open computation as a box of its own: a layered layout
without auxiliary nodes on long edges, whose time grows with nodes and edges, but not with edge lengths.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from tpu_profile_plugin.analysis.hlo.graph import CUT_ABOVE, Links, Mark, Selection, around, everything

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
            if row in drawn and row not in kept:
                kept.add(row)
                waiting.extend(near.get(row, ()))
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


GAP_X = 18
GAP_Y = 36
PAD = 12
HEAD = 34
"""Height of a box's title."""
ROOT_SIZE = (60, 28)
_SWEEPS = 8
_NARROWEST = 8
"""Number of members that every layer may have."""
_MOST_CORNERS = 300_000
"""Maximum number of corners of all lines; beyond it, lines look at every second layer only, or every third, ..."""

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rect:
    """Upper left corner and size, in pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Placement:
    """Positions of `nodes` by row (ROOT: the tag) and of `boxes` by index, and the corners of each edge's line."""

    width: int
    height: int
    nodes: Mapping[int, Rect]
    boxes: Mapping[int, Rect]
    lines: Sequence[Sequence[Point]]


_Key = tuple[str, int]
"""A member of a level: ("n", row) or ("b", index of the box)."""


@dataclass
class _Level:
    """The members of one box, or of the outermost level: sizes, layers, and places relative to its corner."""

    members: list[_Key] = field(default_factory=list)
    edges: dict[tuple[_Key, _Key], int] = field(default_factory=lambda: defaultdict(int))
    layers: list[list[_Key]] = field(default_factory=list)
    layer_of: dict[_Key, int] = field(default_factory=dict)
    center: dict[_Key, float] = field(default_factory=dict)
    top: list[int] = field(default_factory=list)
    bottom: list[int] = field(default_factory=list)
    gaps: list[list[float]] = field(default_factory=list)
    fed: set[_Key] = field(default_factory=set)

    def place_of(self, kind: str, index: int, height: int) -> int:
        """Upper edge of a member: at the top of its layer, or at the bottom if nothing is above it."""
        layer = self.layer_of[kind, index]
        return self.top[layer] if (kind, index) in self.fed else self.bottom[layer] - height


def place(drawing: Drawing, size_of: Callable[[int], tuple[int, int]]) -> Placement:
    """Places a drawing; `size_of` answers width and height of the node of a row."""
    parents = [box.parent for box in drawing.boxes]
    box_of: dict[int, int | None] = {node.row: node.box for node in drawing.nodes}
    if any(edge.target == ROOT for edge in drawing.edges):
        box_of[ROOT] = None
    levels: dict[int | None, _Level] = {None: _Level(), **{i: _Level() for i in range(len(parents))}}
    for position in _used(box_of.values(), parents):
        levels[parents[position]].members.append(("b", position))
    for row, box in box_of.items():
        levels[box].members.append(("n", row))
    for edge in drawing.edges:
        meeting = _meeting(edge.source, edge.target, box_of, parents)
        if meeting[1] != meeting[2]:
            levels[meeting[0]].edges[meeting[1], meeting[2]] += 1
    sizes: dict[_Key, tuple[int, int]] = {("n", row): size_of(row) if row != ROOT else ROOT_SIZE for row in box_of}
    order = {node.row: i for i, node in enumerate(drawing.nodes)}
    first = _first_rows(drawing, parents, order)
    for box in [*range(len(parents))[::-1], None]:  # the contents of a box come after it
        level = levels[box]
        if level.members:
            level.members.sort(key=lambda key: order.get(key[1], len(order)) if key[0] == "n" else first[key[1]])
            width, height = _arrange(level, sizes)
            sizes["b", -1 if box is None else box] = (width, height + (0 if box is None else HEAD))
    return _absolute(drawing, levels, sizes, box_of, parents)


def _used(boxes: Iterable[int | None], parents: Sequence[int | None]) -> list[int]:
    """Indices of the boxes that contain a node, at any depth."""
    used: set[int] = set()
    for box in boxes:
        while box is not None and box not in used:
            used.add(box)
            box = parents[box]
    return sorted(used)


def _first_rows(drawing: Drawing, parents: Sequence[int | None], order: Mapping[int, int]) -> list[int]:
    """Box -> position of its first node in the order."""
    first = [len(order)] * len(parents)
    for node in drawing.nodes:
        box = node.box
        while box is not None and first[box] == len(order):
            first[box] = order[node.row]
            box = parents[box]
    return first


def _chain(row: int, box_of: Mapping[int, int | None], parents: Sequence[int | None]) -> list[int | None]:
    """The boxes around a node, outermost (None) first."""
    chain, box = [], box_of[row]
    while box is not None:
        chain.append(box)
        box = parents[box]
    return [None, *reversed(chain)]


def _meeting(
    source: int, target: int, box_of: Mapping[int, int | None], parents: Sequence[int | None]
) -> tuple[int | None, _Key, _Key]:
    """The innermost box around both ends of an edge, and its members that contain the ends."""
    source_chain, target_chain = _chain(source, box_of, parents), _chain(target, box_of, parents)
    depth = 0
    while depth + 1 < min(len(source_chain), len(target_chain)) and source_chain[depth + 1] == target_chain[depth + 1]:
        depth += 1
    ends = [
        ("n", row) if depth + 1 == len(chain) else ("b", chain[depth + 1])
        for row, chain in ((source, source_chain), (target, target_chain))
    ]
    return source_chain[depth], ends[0], ends[1]  # type: ignore[return-value]


def _arrange(level: _Level, sizes: Mapping[_Key, tuple[int, int]]) -> tuple[int, int]:
    """Fills in layers and places of a level; returns its size, padding included."""
    _layer(level)
    ends = _neighbours(level)
    for layer in level.layers:
        _spread(level, layer, sizes, dict.fromkeys(layer, 0.0))
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in level.layers if down else level.layers[::-1]:
            wanted = {key: _preferred_place(level, key, ends[key], down and sweep < _SWEEPS - 2) for key in layer}
            if sweep < _SWEEPS - 2:
                layer.sort(key=lambda key: wanted[key])
            _spread(level, layer, sizes, wanted)
    left = min(level.center[key] - sizes[key][0] / 2 for key in level.members)
    for key in level.members:
        level.center[key] -= left - PAD
    y = PAD
    for layer in level.layers:
        level.top.append(y)
        y += max(sizes[key][1] for key in layer)
        level.bottom.append(y)
        y += GAP_Y
        edges = [(level.center[key] - sizes[key][0] / 2, level.center[key] + sizes[key][0] / 2) for key in layer]
        level.gaps.append([x for edge in edges for x in edge])
    right = max(level.center[key] + sizes[key][0] / 2 for key in level.members)
    return math.ceil(right) + PAD, y - GAP_Y + PAD


def _layer(level: _Level) -> None:
    """Assigns every member a layer below its operands, with a limited number of members per layer."""
    place = {key: i for i, key in enumerate(level.members)}
    above, below = defaultdict(list), defaultdict(list)
    for source, target in level.edges:
        if place[source] < place[target]:
            above[target].append(source)
            below[source].append(target)
    widest = max(_NARROWEST, math.ceil(1.5 * math.sqrt(len(level.members))))
    count: dict[int, int] = defaultdict(int)
    layer_of = level.layer_of
    for key in level.members:
        layer = max((layer_of[operand] + 1 for operand in above[key]), default=0)
        while count[layer] >= widest:
            layer += 1
        layer_of[key] = layer
        count[layer] += 1
    for key in reversed(level.members):  # members with more users than operands move down to their users
        if below[key] and len(below[key]) >= len(above[key]):
            least, layer = layer_of[key], min(layer_of[user] for user in below[key]) - 1
            while count[layer] >= widest:
                layer -= 1
            count[least] -= 1
            layer_of[key] = max(layer, least)
            count[layer_of[key]] += 1
    level.fed.update(key for key, operands in above.items() if operands)
    used = {layer: i for i, layer in enumerate(sorted(set(layer_of.values())))}
    level.layers = [[] for _ in used]
    for key in level.members:
        layer_of[key] = used[layer_of[key]]
        level.layers[layer_of[key]].append(key)


def _neighbours(level: _Level) -> Mapping[_Key, tuple[list[tuple[_Key, float]], list[tuple[_Key, float]]]]:
    """Per member the members above and below it, each with its pull, which decreases with distance."""
    neighbours: dict[_Key, tuple[list[tuple[_Key, float]], list[tuple[_Key, float]]]] = {
        key: ([], []) for key in level.members
    }
    for (source, target), times in level.edges.items():
        span = level.layer_of[target] - level.layer_of[source]
        pull = (1 + 0.25 * min(times - 1, 4)) / max(1, abs(span)) ** 1.5
        neighbours[target][0 if span > 0 else 1].append((source, pull))
        neighbours[source][1 if span > 0 else 0].append((target, pull))
    return neighbours


def _preferred_place(
    level: _Level, key: _Key, ends: tuple[list[tuple[_Key, float]], list[tuple[_Key, float]]], down: bool
) -> float:
    """Preferred place of a member: amid its neighbours on one side; the other side counts little."""
    total = weight = 0.0
    for near, share in zip(ends, (1.0, 0.1) if down else (0.6, 1.0), strict=True):
        for other, pull in near:
            total += level.center[other] * pull * share
            weight += pull * share
    return total / weight if weight else level.center[key]


def _spread(
    level: _Level, layer: Sequence[_Key], sizes: Mapping[_Key, tuple[int, int]], wanted: Mapping[_Key, float]
) -> None:
    """Places a layer's members in order, without overlap, as near as possible to their preferred places.

    Members that collide share the mean of their preferred places (pooled adjacent violators).
    """
    offsets, x = [], 0.0
    for i, key in enumerate(layer):
        if i:
            x += (sizes[layer[i - 1]][0] + sizes[key][0]) / 2 + GAP_X
        offsets.append(x)
    pools: list[tuple[float, int]] = []
    for key, offset in zip(layer, offsets, strict=True):
        mean, count = wanted[key] - offset, 1
        while pools and pools[-1][0] > mean:
            before, members = pools.pop()
            mean, count = (before * members + mean * count) / (members + count), members + count
        pools.append((mean, count))
    places = iter(zip(layer, offsets, strict=True))
    for mean, count in pools:
        for _ in range(count):
            key, offset = next(places)
            level.center[key] = mean + offset


def _absolute(
    drawing: Drawing,
    levels: Mapping[int | None, _Level],
    sizes: Mapping[_Key, tuple[int, int]],
    box_of: Mapping[int, int | None],
    parents: Sequence[int | None],
) -> Placement:
    corner: dict[int | None, Point] = {None: (0, 0)}
    nodes: dict[int, Rect] = {}
    boxes: dict[int, Rect] = {}
    for box in [None, *range(len(parents))]:
        if box not in corner:
            continue
        (left, top), level = corner[box], levels[box]
        for kind, index in level.members:
            width, height = sizes[kind, index]
            x = round(left + level.center[kind, index] - width / 2)
            y = top + level.place_of(kind, index, height)
            (nodes if kind == "n" else boxes)[index] = Rect(x, y, width, height)
            if kind == "b":
                corner[index] = (x, y + HEAD)
    meetings = [_meeting(edge.source, edge.target, box_of, parents) for edge in drawing.edges]
    spans = sum(abs(levels[box].layer_of[source] - levels[box].layer_of[target]) for box, source, target in meetings)
    stride = 1 + spans // _MOST_CORNERS
    lines = []
    for edge, (box, source, target) in zip(drawing.edges, meetings, strict=True):
        between = _route(levels[box], source, target, corner[box], stride) if source != target else []
        begin, end = nodes[edge.source], nodes[edge.target]
        lines.append([(begin.x + begin.width // 2, begin.y + begin.height), *between, (end.x + end.width // 2, end.y)])
    width, height = sizes.get(("b", -1), (2 * PAD, 2 * PAD))
    return Placement(width, height, nodes, boxes, lines)


def _route(level: _Level, source: _Key, target: _Key, corner: Point, stride: int) -> list[Point]:
    """Corners of an edge in the layers between its ends: beside their members, near the straight line."""
    points: list[Point] = []
    x, end, last = level.center[source], level.center[target], level.layer_of[target]
    for layer in range(level.layer_of[source] + 1, last, stride):
        beside = _beside(level.gaps[layer], x + (end - x) * stride / (last - layer + stride))
        if points and beside == x:
            points.pop()
        else:
            points.append((round(corner[0] + beside), corner[1] + level.top[layer] - 4))
        x = beside
        points.append((round(corner[0] + x), corner[1] + level.top[layer + 1] - GAP_Y + 4))
    return points


def _beside(walls: Sequence[float], x: float) -> float:
    """The place nearest to x outside of all pairs of walls."""
    index = bisect.bisect_left(walls, x)
    if index % 2 == 0:
        return x
    left, right = walls[index - 1] - GAP_X / 2, walls[index] + GAP_X / 2
    return left if x - left <= right - x else right
