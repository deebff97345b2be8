"""The one form of all answers: JSON within a limit of bytes, with a cursor to the rows that follow.

{"answer": ..., "units": ..., "base": ..., "from": {"run", "hosts", "tool"}, "link": ..., "next": [...],
 "rows": {"from", "to", "of"} | null, "cursor": ... | null, "cannot_answer": {"reason", "how_to_record"} | null}

Of a run that lacks something, `from` also has `left_out` (sentences on hosts), `problems` [{host, file, code,
message, offset, remedy}, ...] and `more_problems`, the number of further ones.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tpu_profile_plugin.answers.answer import Answer, Cannot, Link, Next, sent, sent_id, unit_of
from tpu_profile_plugin.answers.registry import VERBS, find
from tpu_profile_plugin.answers.verb import Asked, Verb
from tpu_profile_plugin.cache.files import build_identity
from tpu_profile_plugin.errors import BadRequest, NoData, NotAvailable, ProfileError
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.system.terminal import visible
from tpu_profile_plugin.tables.table import Table

ADDRESS = "http://localhost:6006"
"""Where pages are, unless the caller says otherwise."""
BYTES, LEAST_BYTES, MOST_BYTES = 8_000, 2_000, 1_000_000
"""The size of an answer: default, least and most."""
_PAGE = "/data/plugin/profile/index.html"
_MOST_NEXT = 6
"""Further questions of an answer."""
_CUTS = ((600, _MOST_NEXT), (200, _MOST_NEXT), (80, 3), (30, 1), (30, 0))
"""The longest text in an answer and the number of further questions; the next ones if it does not fit otherwise."""
_ROWS_AT_ONCE = 32
_MOST_CHOICES, _CHOICES_BYTES, _LONGEST_MESSAGE = 50, 3_000, 1_000
"""Limits of an error."""
_MOST_PROBLEMS = 3
"""Problems of the run that are sent; further ones are counted."""
_PAGING_BYTES = 60
"""What the range of rows and the cursor add to an answer."""

_OF_NO_RUN = frozenset(verb.name for verb in VERBS if not verb.of_run)

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
        needs = verb.needs.of(asked.frameworks if verb.of_run else ())
        answer = Answer(Link("overview_page" if verb.of_run else ""), cannot=Cannot(error.message, needs))
    offset = _offset(cursor, verb, checked, asked)
    return _fitting(answer, verb, asked, door, offset, max_bytes, _digest(verb, checked, asked))


def error_of(error: ProfileError) -> dict[str, Any]:
    """What is sent if there is no answer: what is wrong, with which argument, and the choices."""
    details = error.details
    choices: list[Any] = []
    left = _CHOICES_BYTES
    for choice in itertools.islice(details.get("choices", ()), _MOST_CHOICES):
        left -= _size(choice)
        if left < 0:
            break
        choices.append(choice)
    file = f"{details['file']}: " if "file" in details else ""
    return {
        "error": {
            "code": error.code,
            "message": _shortened(f"{file}{error.message}", _LONGEST_MESSAGE),
            "argument": details.get("argument", details.get("parameter")),
            "choices": choices,
        }
    }


def compact(value: Any) -> str:
    """The envelope as JSON without needless blanks, always encodable as UTF-8; what steers a terminal is escaped."""
    return visible(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _digest(verb: Verb, arguments: Mapping[str, Any], asked: Asked) -> str:
    """What a cursor belongs to: the question, the files of the run, and this build."""
    files = asked.whole_run.files if verb.of_run else ""
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
    """The envelope with as many rows as fit: with shorter texts and fewer further questions if not even one does."""
    whole = _without_rows(answer, verb, asked, door)
    table, needed = answer.table, 0
    for longest, further in _CUTS:
        envelope: dict[str, Any] = _shortened({**whole, "next": whole["next"][:further]}, longest)
        needed = _size(envelope)
        if table is None:
            if needed <= max_bytes:
                return envelope
            continue
        needed += _PAGING_BYTES + len(table.name) + 3 * len(str(len(table)))
        fitting: list[dict[str, Any]] = []
        for row in _rows(table, offset):
            short = _shortened(row, longest)
            needed += _size(short) + 1
            if needed > max_bytes:
                break
            fitting.append(short)
        if fitting or (offset >= len(table) and needed <= max_bytes):
            until = offset + len(fitting)
            envelope["answer"][table.name] = fitting
            envelope["rows"] = {"from": offset, "to": until, "of": len(table)}
            envelope["cursor"] = f"{until}-{digest}" if until < len(table) else None
            return envelope
    raise BadRequest(f"The answer needs more bytes: try max_bytes {needed + 100}.", argument="max_bytes", choices=[])


def _without_rows(answer: Answer, verb: Verb, asked: Asked, door: Door) -> dict[str, Any]:
    link, about = answer.link, {}
    hosts: Sequence[str] = ()
    if verb.of_run:
        about["run"] = asked.whole_run.name
        hosts = asked.whole_run.hosts
        if asked.host is not None:
            about["host"] = asked.host
            hosts = [asked.host]
    keys = {**about, **({"tool": link.tool} if link.tool else {}), **link.query}
    cannot = answer.cannot
    missing: dict[str, Any] = {"left_out": list(asked.warnings)} if asked.warnings else {}
    told = "" if answer.cannot is None else answer.cannot.reason
    losses = [problem for problem in asked.losses if problem.message not in told] if verb.of_run else []
    if losses:
        missing["problems"] = [problem.describe() for problem in losses[:_MOST_PROBLEMS]]
        if len(losses) > _MOST_PROBLEMS:
            missing["more_problems"] = len(losses) - _MOST_PROBLEMS
    return {
        "answer": sent("", answer.facts),
        "units": _units(answer),
        "base": answer.base
        if isinstance(answer.base, str)
        else {sent_id(id_): text for id_, text in answer.base.items()},
        "from": {"run": about.get("run"), "hosts": list(hosts[:20]), "tool": link.tool or None, **missing},
        "link": f"{door.address}{_PAGE}{'?' if keys else ''}{urlencode(keys, quote_via=quote, safe='/,~;:@')}",
        "next": [door.deeper(one, {} if one.verb in _OF_NO_RUN else about) for one in answer.next[:_MOST_NEXT]],
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


def _rows(table: Table, offset: int) -> Iterator[dict[str, Any]]:
    """The rows from `offset` on; few are converted at once, because few fit."""
    units = {column.id: column.unit for column in table.columns}
    for begin in range(offset, len(table), _ROWS_AT_ONCE):
        for row in table.take(range(begin, min(len(table), begin + _ROWS_AT_ONCE))):
            yield {sent_id(id_): sent(id_, value, units[id_]) for id_, value in row.items()}


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
