"""MLIR bytecode as text in the generic form of MLIR: every op with its name in quotes, operands, attributes, types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tpu_profile_plugin.analysis.hlo.mlir.reader import MOST_TEXT, Module, Reader, Unreadable, entry, read_module
from tpu_profile_plugin.analysis.hlo.mlir.values import MAP, Attribute, Type, Values, dictionary, function_type, symbol

_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USES, _PROPERTIES = (1 << bit for bit in range(7))
_LAZY, _USE_LISTS, _OPTIONAL_LOCATIONS = 2, 3, 4
_DEEPEST = 64
_MOST = 200_000
"""Maximum number of ops, and of values, in one kernel."""
_NAME = 10
"""Letters counted for the name of a value and its punctuation."""
_MODULE = "builtin.module"


@dataclass(slots=True, eq=False)
class _Value:
    """An argument of a block, or a result; `name` is assigned after reading everything."""

    type: Type
    name: str = ""


@dataclass(slots=True, eq=False)
class _Block:
    arguments: list[_Value] = field(default_factory=list)
    ops: list[_Op] = field(default_factory=list)
    before: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Op:
    name: str
    attributes: Attribute | None = None
    properties: Attribute | str | None = None
    results: list[_Value] = field(default_factory=list)
    operands: list[_Value] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    regions: list[list[_Block]] = field(default_factory=list)


class _Scope:
    """The values that ops may use: the values of all enclosing regions up to an isolated region."""

    def __init__(self) -> None:
        self.values: list[_Value | None] = []
        self.next: list[int] = []

    def push(self, count: int) -> None:
        """Enters a region with this number of values."""
        self.next.append(len(self.values))
        self.values += [None] * count

    def pop(self, count: int) -> None:
        """Leaves the innermost region."""
        self.next.pop()
        del self.values[len(self.values) - count :]

    def define(self, value: _Value) -> None:
        """The next value of the innermost region."""
        index = self.next[-1]
        if index >= len(self.values):
            raise Unreadable("more values than the region declares")
        if (known := self.values[index]) is not None:  # used before it was defined
            known.type = value.type
            value = known
        self.values[index] = value
        self.next[-1] += 1

    def use(self, index: int) -> _Value:
        """A value by its number."""
        value = entry(self.values, index)
        if value is None:
            value = self.values[index] = _Value(Type("?"))
        return value


class _Body:
    """Reads the ops."""

    def __init__(self, module: Module, values: Values) -> None:
        self._module, self._values = module, values
        self._count = self._declared = 0
        self._scopes: list[_Scope] = []

    def read(self) -> list[_Op]:
        """The ops of the file."""
        scope = _Scope()
        scope.push(0)
        self._scopes.append(scope)
        return self._block(self._module.body.again(), 0).ops

    def _block(self, reader: Reader, depth: int) -> _Block:
        if depth > _DEEPEST:
            raise Unreadable("regions within each other")
        block = _Block()
        count, arguments = reader.flagged()
        if arguments:
            for _ in range(reader.count()):
                block.arguments.append(self._defined(self._argument(reader)))
            if self._module.version >= _USE_LISTS and reader.byte():
                self._uses(reader, len(block.arguments))
        for _ in range(count):
            block.ops.append(self._op(reader, depth))
        return block

    def _argument(self, reader: Reader) -> Type:
        if self._module.version < _OPTIONAL_LOCATIONS:
            argument_type = self._values.type(reader.number())
            reader.number()
            return argument_type
        number, located = reader.flagged()
        if located:
            reader.number()
        return self._values.type(number)

    def _defined(self, type: Type) -> _Value:
        scope = self._scopes[-1]
        scope.define(_Value(type))
        value = scope.values[scope.next[-1] - 1]
        assert value is not None
        return value

    def _op(self, reader: Reader, depth: int) -> _Op:
        self._count += 1
        if self._count > _MOST:
            raise Unreadable(f"more than {_MOST} ops")
        name, known = entry(self._module.ops, reader.number())
        parts = reader.byte()
        reader.number()  # location
        op = _Op(name)
        if parts & _ATTRIBUTES:
            op.attributes = self._values.attribute(reader.number())
        if parts & _PROPERTIES:
            op.properties = self._properties(entry(self._module.properties, reader.number()), name, known)
        if parts & _RESULTS:
            types = [self._values.type(reader.number()) for _ in range(reader.count())]
            op.results = [self._defined(one) for one in types]
        if parts & _OPERANDS:
            op.operands = [self._scopes[-1].use(reader.number()) for _ in range(reader.count())]
        if parts & _SUCCESSORS:
            op.successors = [reader.number() for _ in range(reader.count())]
        if parts & _USES:
            self._uses(reader, len(op.results))
        if parts & _REGIONS:
            self._regions(op, reader, depth)
        return op

    def _properties(self, data: Reader, name: str, known: bool) -> Attribute | str:
        """The attribute of an unregistered op; registered ops have forms of their own."""
        data = data.again()
        if not known:
            return self._values.attribute(data.number())
        if name != _MODULE:
            return f"{data.end - data.at} bytes"
        given = [(key, data.flagged()) for key in ("sym_name", "sym_visibility")]
        members = [(key, self._values.attribute(at)) for key, (at, present) in given if present]
        return Attribute("", members=tuple(members))

    def _uses(self, reader: Reader, count: int) -> None:
        """Skips the order of uses, which the text does not show."""
        for _ in range(reader.count() if count > 1 else 1):
            if count > 1:
                reader.number()
            for _ in range(reader.flagged()[0]):
                reader.number()

    def _regions(self, op: _Op, reader: Reader, depth: int) -> None:
        count, isolated = reader.flagged()
        if isolated and self._module.version >= _LAZY:
            reader = reader.section()[1]
        for _ in range(count):
            if isolated:
                self._scopes.append(_Scope())
            op.regions.append(self._region(reader, depth + 1))
            if isolated:
                self._scopes.pop()

    def _region(self, reader: Reader, depth: int) -> list[_Block]:
        blocks = reader.count()
        if not blocks:
            return []
        values = reader.count()
        self._declared += values
        if self._declared > _MOST:
            raise Unreadable(f"more than {_MOST} values")
        self._scopes[-1].push(values)
        region = [self._block(reader, depth) for _ in range(blocks)]
        self._scopes[-1].pop(values)
        for index, block in enumerate(region):
            for target in {target for op in block.ops for target in op.successors}:
                entry(region, target).before.append(index)
        return region


def generic_text(data: bytes) -> str:
    """The text of MLIR bytecode; raises Unreadable."""
    module = read_module(data)
    ops = _Body(module, Values(module)).read()
    if (letters := _letters(ops)) > MOST_TEXT:
        raise Unreadable(f"{letters} letters of names and types")
    for op in ops:
        _name(op.regions, 0, 0)
    return _with_maps("\n".join(line for op in ops for line in _lines(op, "")))


def _letters(ops: Iterable[_Op]) -> int:
    """Number of letters that the names and types of ops take in the text, repetitions included."""
    letters = 0
    for op in ops:
        letters += len(op.name) + sum(_NAME + len(one.type.text) for one in (*op.operands, *op.results))
        for block in (block for blocks in op.regions for block in blocks):
            letters += sum(_NAME + len(one.type.text) for one in block.arguments) + _letters(block.ops)
    return letters


def _with_maps(text: str) -> str:
    """The text with affine maps replaced by names, and the maps listed at the top."""
    parts = text.split(MAP)
    names = {one: f"#map{at or ''}" for at, one in enumerate(dict.fromkeys(parts[1::2]))}
    parts[1::2] = [names[one] for one in parts[1::2]]
    return "".join([*(f"{name} = {one}\n" for one, name in names.items()), *parts])


def summary(data: bytes) -> str:
    """Producer, dialects and names of ops of MLIR bytecode whose ops cannot be read; raises Unreadable."""
    module = read_module(data)
    ops = sorted(name for name, _ in module.ops)
    head = f"// MLIR bytecode, version {module.version}, of {module.producer}"
    return "\n".join([head, f"// Dialects: {', '.join(module.dialects)}", *(f"// Op: {name}" for name in ops)])


def _name(regions: Iterable[list[_Block]], values: int, arguments: int) -> None:
    """Names values as MLIR does: each region continues the numbers of the enclosing region."""
    for blocks in regions:
        value, argument = values, arguments
        for number, block in enumerate(blocks):
            for defined in block.arguments:
                if number:
                    defined.name, value = f"%{value}", value + 1
                else:
                    defined.name, argument = f"%arg{argument}", argument + 1
            for op in block.ops:
                for result, defined in enumerate(op.results):
                    defined.name = f"%{value}#{result}" if len(op.results) > 1 else f"%{value}"
                value += bool(op.results)
        for block in blocks:
            for op in block.ops:
                _name(op.regions, value, argument)


def _lines(op: _Op, indent: str) -> Iterable[str]:
    if op.name == _MODULE and len(op.regions) == 1 and len(op.regions[0]) <= 1:
        yield from _module_lines(op, indent)
        return
    head = indent + (f"{_results(op)} = " if op.results else "")
    head += f'"{op.name}"({", ".join(one.name or "%?" for one in op.operands)})'
    if op.successors:
        head += f"[{', '.join(f'^bb{at}' for at in op.successors)}]"
    if isinstance(op.properties, Attribute):
        head += f" <{op.properties.text}>"
    elif op.properties is not None:
        head += f" /* properties: {op.properties} in the op's own form */"
    for region, blocks in enumerate(op.regions):
        yield head + (" ({" if region == 0 else ", {")
        for number, block in enumerate(blocks):
            yield from _block_lines(number, block, indent)
        head = f"{indent}}}"
    head += ")" if op.regions else ""
    members = list(op.attributes.members or ()) if op.attributes else []
    head += f" {dictionary(members)}" if members else ""
    yield f"{head} : {function_type([one.type for one in op.operands], [one.type for one in op.results])}"


def _results(op: _Op) -> str:
    name = op.results[0].name.partition("#")[0]
    return name if len(op.results) == 1 else f"{name}:{len(op.results)}"


def _block_lines(number: int, block: _Block, indent: str) -> Iterable[str]:
    if number or block.arguments:
        arguments = ", ".join(f"{one.name}: {one.type.text}" for one in block.arguments)
        label = f"{indent}^bb{number}({arguments}):" if arguments else f"{indent}^bb{number}:"
        yield label + (_before(block) if number else "")
    for op in block.ops:
        yield from _lines(op, indent + "  ")


def _before(block: _Block) -> str:
    names = ", ".join(f"^bb{at}" for at in block.before)
    if not names:
        return "  // no predecessors"
    return f"  // pred: {names}" if len(block.before) == 1 else f"  // {len(block.before)} preds: {names}"


def _module_lines(op: _Op, indent: str) -> Iterable[str]:
    members = [*((op.attributes.members if op.attributes else None) or ())]
    if isinstance(op.properties, Attribute):
        members = [*(op.properties.members or ()), *members]
    named = dict(members)
    name = f" {symbol(named['sym_name'].name)}" if "sym_name" in named else ""
    rest = [(key, one) for key, one in members if key != "sym_name"]
    yield f"{indent}module{name}{f' attributes {dictionary(rest)}' if rest else ''} {{"
    for block in op.regions[0]:
        for inner in block.ops:
            yield from _lines(inner, indent + "  ")
    yield f"{indent}}}"
