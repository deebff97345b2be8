"""What a statement is and which tables it reads; runs in the worker process, before anything else of the statement."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_profile_plugin.errors import QueryFailed, QueryRefused
from tpu_profile_plugin.sql.functions import FUNCTIONS

_MOST_CHARACTERS = 100_000

# Which runs a parsed statement can have rows of, so that others are not read: `WHERE run = 'a'`, `run IN ('a', 'b')`.
#
# Only conditions of a table's own SELECT count that every row must fulfil. A table without one may need all runs.

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


TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest"})
"""The only functions that may stand for a table: most others read files, settings or other databases."""
_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_SOURCES = frozenset(
    {
        *("BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EMPTY", "EMPTY_FROM", "EXPRESSION_LIST"),
        *("SHOW_REF", "PIVOT"),
    }
)
_EXPLAIN = re.compile(r"\s*explain\s+(?=\S)", re.IGNORECASE)
_LISTS = frozenset({"tables", "__show_tables_expanded"})
_ALLOWED = "a single SELECT (also WITH, VALUES, FROM, EXPLAIN, DESCRIBE, SUMMARIZE, SHOW TABLES)"
_NOWHERE = 1 << 62
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class Checked:
    """A statement that may run.

    Attributes:
      statement: the SQL to run.
      tables: the tables whose rows it reads.
      runs: by table the names of the runs that can have rows of the result; None for all.
    """

    statement: str
    tables: set[str] = field(default_factory=set)
    runs: dict[str, frozenset[str] | None] = field(default_factory=dict)


def check(connection: Any, statement: str, known: Collection[str]) -> Checked:
    """The tables of a statement, by `connection` of an empty database.

    Raises QueryFailed for a statement that cannot be parsed, and QueryRefused for all but one query of the `known`
    tables. Nothing here is the only lock: files, network and settings are also closed in the engine.
    """
    if len(statement) > _MOST_CHARACTERS:
        raise QueryRefused(f"The statement has {len(statement):,} characters; the most are {_MOST_CHARACTERS:,}.")
    if "\0" in statement:
        raise QueryRefused("The statement contains a NUL character.")
    if _SURROGATE.search(statement):
        raise QueryRefused("The statement contains half of a surrogate pair, which is no character.")
    kinds = [str(each.type.name) for each in connection.extract_statements(statement)]
    if len(kinds) != 1:
        what = f"These are {len(kinds)} statements" if kinds else "There is no statement"
        raise QueryRefused(f"{what}; allowed is {_ALLOWED}.")
    (kind,) = kinds
    prefix, query = "", statement
    if kind == "EXPLAIN" and (explain := _EXPLAIN.match(statement)):
        prefix, query = "EXPLAIN ", statement[explain.end() :]
    elif kind == "MULTI":
        raise QueryRefused("PIVOT needs the values of its columns: PIVOT ... ON column IN (values).")
    elif kind != "SELECT":
        raise QueryRefused(f"{kind.replace('_', ' ')} statements are not allowed; allowed is {_ALLOWED}.")
    try:
        tree = json.loads(connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()[0])
        if tree["error"]:
            raise QueryRefused(f"This form of {kind} is not allowed ({tree['error_message']}); allowed is {_ALLOWED}.")
        checked = Checked(prefix + query)
        first = len(statement[: len(statement) - len(query)].encode("utf-8", "replace"))
        _Walk(statement, first, {name.lower() for name in known}, checked.tables).visit(tree, frozenset(), rows=True)
        checked.runs = {name: runs for name, runs in named_runs(tree).items() if name in checked.tables}
    except RecursionError:
        raise QueryRefused("The statement is nested too deeply.") from None
    return checked


@dataclass
class _Walk:
    """Visits all parts of a parsed statement, which begins with byte `first`."""

    statement: str
    first: int
    known: set[str]
    tables: set[str]

    def visit(self, part: Any, named: frozenset[str], *, rows: bool) -> None:
        """Checks a part; `named` are the subqueries in scope, `rows` whether its tables are read or only described."""
        if isinstance(part, list):
            for each in part:
                self.visit(each, named, rows=rows)
        elif isinstance(part, dict):
            named, rows = self._entered(part, named, rows)
            for each in part.values():
                if isinstance(each, (dict, list)):
                    self.visit(each, named, rows=rows)

    def _entered(self, part: Mapping[str, Any], named: frozenset[str], rows: bool) -> tuple[frozenset[str], bool]:
        kind = part.get("type")
        if not isinstance(kind, str):
            return named, rows
        if kind.endswith("_NODE") and "class" not in part:
            if kind not in _NODES:
                what = kind.removesuffix("_NODE").replace("_", " ")
                raise QueryRefused(f"{what} is not allowed within a query; allowed is {_ALLOWED}.")
            ctes = (part.get("cte_map") or {}).get("map", ())
            return named | {str(cte["key"]).lower() for cte in ctes} | {str(part.get("cte_name", "")).lower()}, rows
        if "class" in part:
            if part["class"] in ("FUNCTION", "WINDOW"):
                self._function(part)
            return named, rows
        if "sample" in part and "alias" in part:  # only what can stand after FROM has both
            if kind not in _SOURCES:
                raise QueryRefused(f"{kind.replace('_', ' ')} is not allowed after FROM.", **self._place(part))
            if kind == "BASE_TABLE":
                self._table(part, named, rows)
            elif kind == "TABLE_FUNCTION":
                self._table_function(part)
            elif kind == "SHOW_REF":
                rows = self._shown(part, rows)
        return named, rows

    def _table(self, part: Mapping[str, Any], named: frozenset[str], rows: bool) -> None:
        name, place = str(part["table_name"]), self._place(part)
        where = [str(part[key]) for key in ("catalog_name", "schema_name") if part.get(key)]
        if not where and name.lower() in named:
            return
        if name.lower() not in self.known or where not in ([], ["main"]) or part.get("at_clause"):
            self._unknown(".".join([*where, name]), place)
        if rows:
            self.tables.add(name.lower())

    def _unknown(self, name: str, place: Mapping[str, int]) -> None:
        like = difflib.get_close_matches(name.lower(), self.known, 1)
        hint = f" Did you mean {like[0]}?" if like else ""
        tables = ", ".join(sorted(self.known))
        raise QueryRefused(f"There is no table {name[:200]!r}; the tables are {tables}.{hint}", **place)

    def _function(self, part: Mapping[str, Any]) -> None:
        name = str(part["function_name"]).lower()
        if name not in FUNCTIONS:
            like = difflib.get_close_matches(name, FUNCTIONS, 1)
            hint = f" Did you mean {like[0]}()?" if like else ""
            raise QueryRefused(f"The function {name[:200]}() is not allowed.{hint}", **self._place(part))

    def _table_function(self, part: Mapping[str, Any]) -> None:
        name = str(part["function"].get("function_name", "")).lower()
        if name not in TABLE_FUNCTIONS:
            allowed = ", ".join(sorted(TABLE_FUNCTIONS))
            message = f"{name}() is not allowed after FROM: queries read only tables, and {allowed}."
            raise QueryRefused(message, **self._place(part))

    def _shown(self, part: Mapping[str, Any], rows: bool) -> bool:
        """Whether DESCRIBE, SUMMARIZE or SHOW reads the rows of what it is about."""
        if part.get("query") is None:
            name = str(part.get("table_name", "")).strip('"').lower()
            if name not in _LISTS | self.known:
                raise QueryRefused(f"SHOW {name} is not allowed; allowed are SHOW TABLES and DESCRIBE.")
            if name in self.known and part.get("show_type") == "SUMMARY" and rows:
                self.tables.add(name)
        return rows and part.get("show_type") != "DESCRIBE"

    def _place(self, part: Mapping[str, Any]) -> dict[str, int]:
        at = part.get("query_location")
        return place(self.statement, self.first + at) if isinstance(at, int) and at < _NOWHERE else {}


def place(statement: str, at: int) -> dict[str, int]:
    """Line and column, counted from 1, of an offset in bytes of UTF-8."""
    before = statement.encode("utf-8", "replace")[:at].decode("utf-8", "replace")
    return {"line": before.count("\n") + 1, "column": len(before) - before.rfind("\n")}


_MARKED = re.compile(r"\n[^\S\n]*LINE (\d+): ([^\n]*)\n( *)\^")
_MOST_TEXT = 2000


def failed(error: Exception, statement: str, *, above: int = 0) -> QueryFailed:
    """What DuckDB says about a statement, without its picture of the place, which goes into `details`.

    `above` is the number of lines before the statement in what DuckDB was given.
    """
    message = str(error)
    details: dict[str, int] = {}
    if mark := _MARKED.search(message):
        message = message[: mark.start()]
        details = _marked(statement, int(mark[1]) - above, mark[2], len(mark[3]) - len(f"LINE {mark[1]}: "))
    if "expression depth" in message or "memory exhausted at" in message:  # the second from DuckDB's older parser
        return QueryFailed("The statement is nested too deeply.")
    kind, colon, rest = message.partition(" Error: ")
    message = rest if colon and len(kind) < 40 else message
    return QueryFailed(" ".join(message.split())[:_MOST_TEXT], **details)


def _marked(statement: str, line: int, shown: str, at: int) -> dict[str, int]:
    """The place of character `at` of a line, of which only a part is shown if it is long."""
    lines = statement.split("\n")
    if not 1 <= line <= len(lines):
        return {}
    part = shown.removeprefix("...").removesuffix("...")
    begin = lines[line - 1].find(part)
    cut = len("...") if shown.startswith("...") else 0
    return {"line": line, "column": begin + at - cut + 1} if begin >= 0 else {"line": line}
