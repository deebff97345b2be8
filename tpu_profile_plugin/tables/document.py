"""Documents: what pages receive, declared once as dataclasses, with their JSON, TypeScript types and reference."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.tables.column import python_values
from tpu_profile_plugin.tables.table import Table


@dataclass(frozen=True, kw_only=True)
class Document:
    """Base of what the route `/page` answers for a tool.

    A subclass is a frozen dataclass whose fields are the members of the JSON: numbers, texts, flags, sequences,
    mappings by text, tables, arrays (`Annotated[I64, "number[][]"]` if they have several dimensions), and further
    dataclasses. The sections `Attributes:` of their docstrings are the reference of the members.

    Attributes:
      left_out: hosts that could not be read: `host`, `file`, `code`, `message`.
    """

    left_out: Sequence[Mapping[str, Any]] = ()


def document_json(document: object) -> bytes:
    """The JSON of a dataclass in UTF-8; numbers that are not finite are null, tables have an array per column."""
    return _json(document)


def integers_json(values: I64) -> bytes:
    """Integers of any shape as nested lists, written by the native core: much quicker than by `json`."""
    return _native.json_integers(np.ascontiguousarray(values, np.int64))


def tables_of(document: object, name: str = "") -> Iterator[tuple[str, Table]]:
    """All tables in order, by name: the names of the members around them, joined by ".".

    A table in a list has its own name, else its position: "steps", "1", "7.steps".
    """
    if isinstance(document, Table):
        yield name or document.name, document
    elif dataclasses.is_dataclass(document):
        for field in dataclasses.fields(document):
            yield from tables_of(getattr(document, field.name), f"{name}.{field.name}".lstrip("."))
    elif isinstance(document, Mapping):
        for key, member in document.items():
            yield from tables_of(member, f"{name}.{key}".lstrip("."))
    elif isinstance(document, (list, tuple)):
        for i, member in enumerate(document):
            label = (member.name if isinstance(member, Table) else "") or i
            yield from tables_of(member, f"{name}.{label}".lstrip("."))


def typescript(documents: Mapping[str, type], about: str) -> str:
    """The TypeScript types of the documents by tool id, and of all dataclasses in them, after the line `about`."""
    parts = [f"// {about}\n", 'import type { TableData } from "./table/table_data";\n']
    for cls in _reachable(documents.values()):
        described = _attributes(cls)
        lines = [*_comment(_summary(cls), ""), f"export interface {cls.__name__} {{"]
        for name, hint in _hints(cls).items():
            if name in described:
                lines += _comment(_sentence(described[name]), "  ")
            lines.append(f"  readonly {name}: {_type(hint)};")
        parts.append("\n".join([*lines, "}\n"]))
    members = "".join(
        f"  readonly {tool if tool.isidentifier() else json.dumps(tool)}: {cls.__name__};\n"
        for tool, cls in documents.items()
    )
    parts.append(f"/** What `/page` answers, by the id of the tool. */\nexport interface Documents {{\n{members}}}\n")
    return "\n".join(parts)


def reference(documents: Mapping[str, type]) -> str:
    """The documents as Markdown: each dataclass once, with its members, their types and meanings."""
    parts = []
    tools = {cls: tool for tool, cls in documents.items()}
    for cls in _reachable(documents.values()):
        title = f"`{tools[cls]}`: {cls.__name__}" if cls in tools else cls.__name__
        described = _attributes(cls)
        lines = [f"**{title}.** {_summary(cls)}", "", "| Member | Type | Meaning |", "| --- | --- | --- |"]
        for name, hint in _hints(cls).items():
            kind = _type(hint).replace("|", "\\|")
            lines.append(f"| `{name}` | {kind} | {_sentence(described.get(name, ''))} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _json(value: Any) -> bytes:
    if isinstance(value, Table):
        columns = b",".join(_json(_column(value, i)) for i in range(len(value.columns)))
        return b'{"columns":[' + columns + b"]," + _json(_about(value))[1:]
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and not isinstance(value, np.ma.MaskedArray):
        return integers_json(value)
    if dataclasses.is_dataclass(value):  # its members may be large tables and arrays
        members = (f'"{name}":'.encode() + _json(member) for name, member in _members(value).items())
        return b"{" + b",".join(members) + b"}"
    try:
        return _text(value).encode("utf-8", "replace")
    except ValueError:
        return _text(_finite(value)).encode("utf-8", "replace")


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """A value that `json` does not know, in a form that it does."""
    if isinstance(value, Table):
        return {"columns": [_column(value, i) for i in range(len(value.columns))]} | _about(value)
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim > 1 else python_values(value)
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value):
        return _members(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a document cannot hold a {type(value).__name__}")


def _members(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _finite(value: Any) -> Any:
    """The value with null for numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int)) or value is None else _finite(_plain(value))


def _column(table: Table, i: int) -> dict[str, Any]:
    column, values = table.columns[i], table.data[i]
    return {
        "id": column.id,
        "label": column.label,
        "kind": column.type,
        "unit": column.unit or None,
        "help": column.sentence or None,
        "values": python_values(values.astype(np.float64) if column.type == "number" else values),
    }


def _about(table: Table) -> dict[str, Any]:
    return {"rowCount": len(table), "properties": dict(table.properties)}


def _reachable(classes: Iterable[type]) -> list[type]:
    """The dataclasses and those that their members hold, by name; raises ValueError if two share a name."""
    found: dict[str, type] = {}

    def visit(cls: type) -> None:
        if found.get(cls.__name__, cls) is not cls:
            raise ValueError(f"two documents are named {cls.__name__}")
        if cls.__name__ not in found:
            found[cls.__name__] = cls
            for hint in _hints(cls).values():
                for inner in _classes(hint):
                    visit(inner)

    for cls in classes:
        visit(cls)
    return sorted(found.values(), key=lambda cls: cls.__name__)


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint is not Table:
        yield hint
    for inner in get_args(hint):
        yield from _classes(inner)


@cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of a dataclass's fields, its own before inherited ones."""
    hints = get_type_hints(cls, include_extras=True)
    names = [field.name for field in dataclasses.fields(cls)]
    own = [name for name in names if name in inspect.get_annotations(cls)]
    return {name: hints[name] for name in (*own, *(name for name in names if name not in own))}


_PLAIN: dict[Any, str] = {
    **{str: "string", int: "number", float: "number", bool: "boolean"},
    **{type(None): "null", Any: "unknown"},
}


def _type(hint: Any) -> str:
    """The TypeScript type of a Python annotation; raises TypeError for one that a document cannot have."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return next((f"readonly {kind}" for kind in args[1:] if isinstance(kind, str)), _type(args[0]))
    if origin is Literal:
        return " | ".join(json.dumps(choice) for choice in args)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type, args)))
    if origin is np.ndarray:
        kind = np.dtype(get_args(args[1])[0]).kind
        return {"b": "readonly boolean[]", "f": "readonly (number | null)[]"}.get(kind, "readonly number[]")
    if origin is tuple and args[-1:] != (Ellipsis,):
        return f"readonly [{', '.join(map(_type, args))}]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"Readonly<Record<{_type(args[0])}, {_type(args[1])}>>"
    if isinstance(origin, type) and issubclass(origin, (Sequence, typing.Collection)):
        inner = _type(args[0])
        return f"readonly ({inner})[]" if " | " in inner or inner.startswith("readonly") else f"readonly {inner}[]"
    if hint is Table:
        return "TableData"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " | ".join(json.dumps(member.value) for member in hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint.__name__
    raise TypeError(f"{hint} is no type of a document")


def _comment(text: str, indent: str) -> list[str]:
    """The lines of a TypeScript comment; a long text has several."""
    if len(indent) + len(text) <= 130:
        return [f"{indent}/** {text} */"]
    wrapped = textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}/**", *(f"{indent} * {line}" for line in wrapped), f"{indent} */"]


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")


def _attributes(cls: type) -> dict[str, str]:
    """The meaning of each attribute, of the sections `Attributes:` of the class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        name = ""
        _, _, section = (inspect.cleandoc(base.__doc__ or "")).partition("Attributes:\n")
        for line in section.splitlines():
            if match := re.match(r"  (\w+): (.*)", line):
                name = match[1]
                found[name] = match[2]
            elif name and line.strip():
                found[name] += " " + line.strip()
    return found


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith(".") else f"{text}."
