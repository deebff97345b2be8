"""What an op is, apart from its number: opcode, shapes, framework op and source line, the same when recompiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LAYOUT = re.compile(r"(?<=\])\{[^}]*\}")
_SHAPE = re.compile(r"\b(pred|[a-z]+\d+[a-z0-9]*|token)\[([\d,<=]*)\]")
_NUMBER = re.compile(r"(?:\.(?:\d+|clone|remat\d*))+$")
_SCOPE = re.compile(r"^(?:(?:jit|pjit|pmap|xmap)\([^()]*\)/)+")
_PROGRAM = re.compile(r"\(\d+\)$")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What an op is.

    Attributes:
      category: HLO category.
      shapes: element types and dimensions of the result and the operands, in order, without layouts.
      framework: the framework op, without scopes of compiled functions around it, and its type.
      source: `file:line`, "" if unknown.
      kind: name of the instruction without its number, for ops of which nothing else is known.
    """

    category: str
    shapes: tuple[str, ...]
    framework: str
    source: str
    kind: str

    @property
    def place(self) -> tuple[str, str, str]:
        """Identity of the op without its shapes."""
        return self.category, self.framework or self.kind, self.source

    @property
    def anywhere(self) -> tuple[str, tuple[str, ...], str]:
        """Identity of the op without the line that it comes from."""
        return self.category, self.shapes, self.framework or self.kind

    @property
    def types(self) -> tuple[str, ...]:
        """Element types of its shapes."""
        return tuple(shape.partition("[")[0] for shape in self.shapes)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Dimensions of its shapes."""
        return tuple(shape.partition("[")[2] for shape in self.shapes)


def fingerprint(name: str, category: str, provenance: str, expression: str, source: str) -> Fingerprint:
    """The fingerprint of an op.

    Args:
      name, category, provenance: of its row in an op table.
      expression: its HLO text, "" if unknown.
      source: `file:line`, "" if unknown.
    """
    return Fingerprint(category, tuple(shapes_in(expression)), framework_op(provenance), source, kind_of(name))


def shapes_in(expression: str) -> Iterator[str]:
    """The shapes in an HLO instruction, e.g. "f32[8,128]"."""
    for shape in _SHAPE.finditer(_LAYOUT.sub("", expression.partition(" = ")[2])):
        yield f"{shape[1]}[{shape[2]}]"


def framework_op(provenance: str) -> str:
    """`name:type` without the compiled functions that it lies in; what recompiling under another name leaves alone."""
    return _SCOPE.sub("", provenance).rstrip(":")


def primitive(framework: str) -> str:
    """A framework op without its scopes and type: a loop, or no compiled function, leaves it alone."""
    return framework.rpartition("/")[2].partition(":")[0]


def kind_of(name: str) -> str:
    """An instruction's name without its number."""
    return _NUMBER.sub("", name.lstrip("%"))


def program_name(name: str) -> str:
    """The name of a program without its id."""
    return _PROGRAM.sub("", name)
