"""What to do about the largest parts of the step, by what they are: host code, small ops, ops of a nature or a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from functools import cache

from tpu_profile_plugin.analysis.common.rows import file_sections
from tpu_profile_plugin.analysis.findings.model import Advice
from tpu_profile_plugin.analysis.ops.op_nature import Nature

OFTEN = 20
"""Ops and functions that run so often per step may be repeated for one item after the other."""
_SCALARS = re.compile(r"::(?:item|_?local_scalar_dense|is_nonzero|equal)\b")


def by_framework(lines: Sequence[Sequence[str]]) -> Advice:
    """The words of lines as advice: in general, then from `NAME:` at the begin of a line on for a framework."""
    field, texts = "general", dict[str, list[str]]()
    for first, *words in lines:
        named = first.removesuffix(":")
        if first.endswith(":") and named in _FIELDS:
            field = named
        else:
            words = [first, *words]
        texts.setdefault(field, []).extend(words)
    return Advice(**{name: " ".join(words) for name, words in texts.items()})


_FIELDS = frozenset(one.name for one in fields(Advice))
PARTS = {" ".join(head): by_framework(lines) for head, lines in file_sections(__file__, "part_advice.txt")}
HOST, SMALL, SCALARS, SUMMARIES = (PARTS[name] for name in ("host", "small", "scalars", "summaries"))
GROWING, REPEATED = PARTS["growing"].general, PARTS["repeated"].general


def led(what: str, advice: Advice) -> Advice:
    """Advice after a sentence that goes before it, whatever the framework."""
    texts = ((one.name, getattr(advice, one.name)) for one in fields(advice))
    return Advice(**{name: f"{what} {text}".strip() for name, text in texts if text})


def advice_after(call: str, untraced: Advice) -> Advice:
    """For code of the host that no function is recorded of, by the call that most of it is in or follows."""
    told = _told("after_advice.txt", call)
    return led(told, untraced) if told else untraced


def advice_within(calls: Sequence[str], otherwise: Advice) -> Advice:
    """For a function of the program, by the calls that have most of its time."""
    told = next(filter(None, (_told("within_advice.txt", call) for call in calls)), "")
    return led(told, otherwise) if told else otherwise


def advice_of_function(kinds: Sequence[str], *, traced: bool = False) -> Advice:
    """For a function beside the model, by the kinds of ops that it launches; `traced`: that a compiler did."""
    if any(map(_SCALARS.search, kinds)):
        return SCALARS
    return _of_kind(kinds[0], "traced function" if traced else "function") if kinds else HOST


def advice_of_ops(
    nature: Nature, kind: str, within: str = "", *, ordinary: bool, often: bool = False, few: bool = False
) -> Advice:
    """For ops, by what they are called or, of rare ones, what they are a part of; `ordinary`: they may be the work of a
    model; `often`: they run many times per step; `few`: for few rows each.
    """
    head, loop, _ = within.partition("/while/body/")
    adds = loop and "transpose(" in head and within.endswith("/add_any")
    if often and adds and nature is not Nature.MATRIX:
        return PARTS["sums of a loop"]
    advice = HOST if nature is Nature.RANGE else PARTS.get(nature.value)
    if advice is None or (ordinary and nature not in (Nature.ELEMENTWISE, Nature.EAGER)):
        rest = "movement" if nature is Nature.MOVEMENT else "rare"
        other = "matrix" if nature is Nature.MATRIX else "ordinary" if ordinary else rest
        advice = _of_kind(kind, other, within if other == rest else "")
    return led(PARTS["few rows"].general if few else REPEATED, advice) if often else advice


def _of_kind(kind: str, other: str, within: str = "") -> Advice:
    texts = (_told("op_advice.txt", name) for name in (kind, within, f"({other})"))
    return Advice(next(filter(None, texts)))


def _told(file: str, name: str) -> str:
    """The text of a file for the first of its patterns that a name has, "" without one."""
    return next((text for pattern, text in _texts(file) if pattern.search(name)), "")


@cache
def _texts(file: str) -> list[tuple[re.Pattern[str], str]]:
    """The file's patterns, which are its headings, and the text below each."""
    sections = file_sections(__file__, file)
    return [(re.compile(head[0], re.IGNORECASE), " ".join(map(" ".join, lines))) for head, lines in sections]
