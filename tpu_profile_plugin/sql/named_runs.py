"""Which runs a parsed statement can have rows of, so that others are not read: `WHERE run = 'a'`, `run IN ('a', 'b')`.

Only conditions of a table's own SELECT count that every row must fulfil. A table without one may need all runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Part = Mapping[str, Any]
_RUN = "run"
_JOINS = frozenset({"REGULAR", "CROSS"})
"""Others, such as ASOF and POSITIONAL, pair rows by what else there is."""


def named_runs(tree: Any) -> dict[str, frozenset[str] | None]:
    """By each table's name in lower case the runs that are named, None for all; subqueries count as tables too."""
    found: dict[str, frozenset[str] | None] = {}
    for table, runs in _references(tree):
        known = found.get(table, frozenset())
        found[table] = None if runs is None or known is None else known | runs
    return found


def _references(part: Any) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Every place where a table is read, and the runs that its SELECT names."""
    if isinstance(part, list):
        for each in part:
            yield from _references(each)
    elif isinstance(part, dict):
        if part.get("type") == "BASE_TABLE" and "class" not in part:
            yield str(part["table_name"]).lower(), None
            return
        joined: list[Part] = []
        if part.get("type") == "SELECT_NODE" and not part.get("sample"):
            joined = list(_joined(part.get("from_table") or {}))
        for table in joined:
            yield str(table["table_name"]).lower(), _runs(table, part, alone=table is part["from_table"])
        for each in part.values():
            yield from _references_beside(each, joined)


def _references_beside(part: Any, joined: list[Part]) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The references of a part without those that `joined` has."""
    if isinstance(part, dict) and any(part is table for table in joined):
        return
    if isinstance(part, dict) and part.get("type") == "JOIN" and "class" not in part:
        for each in part.values():
            yield from _references_beside(each, joined)
    else:
        yield from _references(part)


def _joined(source: Part) -> Iterator[Part]:
    """The tables of a FROM clause whose rows may be left out by themselves."""
    if source.get("sample"):
        return
    if source.get("type") == "BASE_TABLE":
        yield source
    elif source.get("type") == "JOIN" and source.get("ref_type") in _JOINS and not source.get("ranking_expression"):
        yield from _joined(source["left"])
        yield from _joined(source["right"])


def _runs(table: Part, select: Part, *, alone: bool) -> frozenset[str] | None:
    """The runs that the WHERE clause allows; None if it allows any."""
    if table.get("column_name_alias"):
        return None
    name = str(table.get("alias") or table["table_name"]).lower()
    hidden = any(str(item.get("alias", "")).lower() == _RUN for item in select["select_list"])
    names = [[name, _RUN], *([[_RUN]] if alone and not hidden else [])]
    allowed: frozenset[str] | None = None
    for condition in _conditions(select.get("where_clause")):
        runs = _compared(condition, names)
        if runs is not None:
            allowed = runs if allowed is None else allowed & runs
    return allowed


def _conditions(where: Part | None) -> Iterator[Part]:
    """The conditions that all have to hold."""
    if where and where.get("type") == "CONJUNCTION_AND":
        for each in where["children"]:
            yield from _conditions(each)
    elif where:
        yield where


def _compared(condition: Part, names: list[list[str]]) -> frozenset[str] | None:
    """The texts that a condition allows a column, which has one of these names."""
    if condition.get("type") == "COMPARE_EQUAL" and condition.get("class") == "COMPARISON":
        sides = [condition["left"], condition["right"]]
        column, *values = sides if sides[0].get("class") == "COLUMN_REF" else sides[::-1]
    elif condition.get("type") == "COMPARE_IN" and condition.get("children"):
        column, *values = condition["children"]
    else:
        return None
    if [str(name).lower() for name in column.get("column_names", ())] not in names:
        return None
    texts = [_text(value) for value in values]
    return None if None in texts else frozenset(text for text in texts if text is not None)


def _text(value: Part) -> str | None:
    """The text of a constant, in the forms of DuckDB 2 and 1; None for anything else."""
    if value.get("class") != "CONSTANT":
        return None
    literal = value.get("literal")
    if literal is not None:
        return str(literal["text"]) if literal.get("kind") == "STRING" else None
    constant = value.get("value") or {}
    return str(constant["value"]) if constant.get("type", {}).get("id") == "VARCHAR" and "value" in constant else None
