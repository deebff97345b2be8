"""The one form of all answers: JSON within a limit of bytes, with a cursor to the rows that follow.

{"answer": ..., "units": ..., "base": ..., "from": {"run", "hosts", "tool"}, "link": ..., "next": [...],
 "rows": {"from", "to", "of"} | null, "cursor": ... | null, "cannot_answer": {"reason", "how_to_record"} | null}
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tpu_profile_plugin.answers.answer import Answer, Cannot, Link, Next
from tpu_profile_plugin.answers.figures import sent, sent_id, unit_of
from tpu_profile_plugin.answers.registry import find
from tpu_profile_plugin.answers.verb import Asked, Verb
from tpu_profile_plugin.cache.build import build_identity
from tpu_profile_plugin.errors import BadRequest, NoData, NotAvailable, ProfileError
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.tables.table import Table

ADDRESS = "http://localhost:6006"
"""Where pages are, unless the caller says otherwise."""
BYTES, LEAST_BYTES, MOST_BYTES = 8_000, 2_000, 1_000_000
"""The size of an answer: default, least and most."""
_PAGE = "/data/plugin/profile/index.html"
_TEXTS = (600, 200, 80, 30)
"""The longest text in an answer; shorter if it does not fit otherwise."""

Deeper = Callable[[Next, Mapping[str, str]], Any]
"""Writes a further question for the caller, with the run and host that it is about."""


@dataclass(frozen=True)
class Door:
    """How a caller is answered.

    Attributes:
      deeper: writes what to ask next: a command line, or the call of an agent's tool.
      address: of the server whose pages links open.
    """

    deeper: Deeper
    address: str = ADDRESS


def ask(
    logdir: OpenLogdir,
    name: str,
    arguments: Mapping[str, Any],
    door: Door,
    *,
    run: str | None = None,
    host: str | None = None,
    cursor: str | None = None,
    max_bytes: int = BYTES,
) -> dict[str, Any]:
    """The envelope of the answer to a question.

    Args:
      logdir: where the runs are.
      name: of the verb.
      arguments: of the verb, in the types of its parameters.
      door: how the caller is answered.
      run, host: what it is about; the newest run and all hosts if None.
      cursor: of the page of rows before.
      max_bytes: the most bytes of the envelope as compact JSON.

    Raises BadRequest and NotFound with `argument` and `choices` in `details`, and what reading the profile raises.
    """
    verb = find(name)
    if not LEAST_BYTES <= max_bytes <= MOST_BYTES:
        message = f"max_bytes must be from {LEAST_BYTES:,} to {MOST_BYTES:,}, not {max_bytes}."
        raise BadRequest(message, argument="max_bytes", choices=[])
    checked = verb.checked(arguments)
    asked = Asked(logdir, run, host)
    try:
        answer = verb.ask(asked, checked)
    except (NoData, NotAvailable) as error:
        answer = Answer(Link("overview_page" if verb.of_run else ""), cannot=Cannot(error.message, verb.needs))
    offset = _offset(cursor, verb, checked, asked)
    return _fitting(answer, verb, asked, door, offset, max_bytes, _digest(verb, checked, asked))


def error_of(error: ProfileError) -> dict[str, Any]:
    """What is sent if there is no answer: what is wrong, with which argument, and the choices."""
    details = error.details
    return {
        "error": {
            "code": error.code,
            "message": error.message,
            "argument": details.get("argument", details.get("parameter")),
            "choices": list(itertools.islice(details.get("choices", ()), 50)),
        }
    }


def compact(envelope: Mapping[str, Any]) -> str:
    """The envelope as JSON without needless blanks."""
    return json.dumps(envelope, separators=(",", ":"), ensure_ascii=False)


def _digest(verb: Verb, arguments: Mapping[str, Any], asked: Asked) -> str:
    """What a cursor belongs to: the question, the files of the run, and this build."""
    files = asked.run.files if verb.of_run else ""
    told = repr((verb.name, sorted(arguments.items()), asked.run_name, asked.host, files, build_identity()))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _offset(cursor: str | None, verb: Verb, arguments: Mapping[str, Any], asked: Asked) -> int:
    if not cursor:
        return 0
    number, _, digest = cursor.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 12) or digest != _digest(verb, arguments, asked):
        message = "This cursor belongs to another question, or the profile has changed: ask without a cursor."
        raise BadRequest(message, argument="cursor", choices=[])
    return int(number)


def _fitting(
    answer: Answer, verb: Verb, asked: Asked, door: Door, offset: int, max_bytes: int, digest: str
) -> dict[str, Any]:
    """The envelope with as many rows as fit, and texts as short as needed for at least one."""
    envelope: dict[str, Any] = {}
    for longest in _TEXTS:
        envelope = _shortened(_without_rows(answer, verb, asked, door), longest)
        table = answer.table
        if table is None:
            if _size(envelope) <= max_bytes:
                break
            continue
        rows = _rows(table, offset, max_bytes)
        left = max_bytes - _size(envelope) - len(str(len(table))) * 3 - 60
        fitting: list[dict[str, Any]] = []
        for row in rows:
            short = _shortened(row, longest)
            left -= _size(short) + 1
            if left < 0:
                break
            fitting.append(short)
        until = offset + len(fitting)
        envelope["answer"][table.name] = fitting
        envelope["rows"] = {"from": offset, "to": until, "of": len(table)}
        envelope["cursor"] = f"{until}-{digest}" if until < len(table) else None
        if fitting or offset >= len(table):
            break
    return envelope


def _without_rows(answer: Answer, verb: Verb, asked: Asked, door: Door) -> dict[str, Any]:
    link, about = answer.link, {}
    hosts: Sequence[str] = ()
    if verb.of_run:
        about["run"] = asked.run.name
        hosts = asked.run.hosts
        if asked.host is not None:
            about["host"] = asked.host
    keys = {**about, **({"tool": link.tool} if link.tool else {}), **link.query}
    cannot = answer.cannot
    return {
        "answer": sent("", answer.facts),
        "units": _units(answer),
        "base": answer.base
        if isinstance(answer.base, str)
        else {sent_id(id_): text for id_, text in answer.base.items()},
        "from": {"run": about.get("run"), "hosts": list(hosts[:20]), "tool": link.tool or None},
        "link": f"{door.address}{_PAGE}{'?' if keys else ''}{urlencode(keys, quote_via=quote, safe='/,~;:@')}",
        "next": [door.deeper(one, about) for one in answer.next],
        "rows": None,
        "cursor": None,
        "cannot_answer": None if cannot is None else {"reason": cannot.reason, "how_to_record": cannot.how_to_record},
    }


def _units(answer: Answer) -> dict[str, str]:
    """The unit of each figure that has one, by the id under which it is sent."""
    ids = {id_: unit_of(id_) for id_ in _fact_ids(answer.facts)}
    if answer.table is not None:
        ids |= {column.id: unit_of(column.id, column) for column in answer.table.columns}
    return {sent_id(id_): unit for id_, unit in ids.items() if unit}


def _fact_ids(facts: Mapping[str, Any]) -> list[str]:
    """Ids of facts, also of those within facts."""
    ids = []
    for id_, value in facts.items():
        ids.append(id_)
        for inner in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(inner, Mapping):
                ids += _fact_ids(inner)
    return ids


def _rows(table: Table, offset: int, most: int) -> list[dict[str, Any]]:
    """The rows from `offset` on, no more than can fit."""
    shown = table.take(range(min(offset, len(table)), min(len(table), offset + most // 8)))
    units = {column.id: column.unit for column in table.columns}
    return [{sent_id(id_): sent(id_, value, units[id_]) for id_, value in row.items()} for row in shown]


def _shortened(value: Any, longest: int) -> Any:
    """The value with texts of at most so many characters; addresses and commands keep theirs."""
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1]}…"
    if isinstance(value, list):
        return [_shortened(one, longest) for one in value]
    if isinstance(value, dict):
        whole = ("link", "next", "cursor", "id")
        return {name: one if name in whole else _shortened(one, longest) for name, one in value.items()}
    return value


def _size(value: Any) -> int:
    return len(compact(value).encode())
