"""Communication between devices, told by names of kernels, ranges and ops: rules as data in `collective_names.txt`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from tpu_profile_plugin.analysis.common.data_files import rows
from tpu_profile_plugin.system.name_cache import cached_by_name

UNKNOWN_KIND = "collective"
"""The kind of a collective whose name does not tell it."""

_SCOPE = re.compile(r"(?:[\w~]+|\(anonymous namespace\))(?:::(?:[\w~]+|\(anonymous namespace\)))*")
_MANGLED = re.compile(r"_Z\w*?N?(?=\d)")
_LENGTH = re.compile(r"(\d+)(?=[A-Za-z_])")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_CALL = re.compile(r"\w+")
_LONGEST = 1 << 16
"""Longer names are read up to here."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rows of the file as patterns; `kinds` in order of preference."""

    library: re.Pattern[str]
    host: re.Pattern[str]
    namespace: frozenset[str]
    function: re.Pattern[str]
    types: re.Pattern[str]
    local: re.Pattern[str]
    compute: tuple[str, ...]
    kinds: tuple[tuple[re.Pattern[str], str], ...]


def _words(phrases: list[str]) -> re.Pattern[str]:
    """Any of these phrases among words in lower case that underscores join; those of a phrase may be one word."""
    some = "|".join(re.escape(phrase).replace("_", "_?") for phrase in phrases)
    return re.compile(rf"(?<![a-z])(?:{some})(?:kernel)?(?![a-z])")


@cache
def _rules() -> _Rules:
    table: dict[str, list[list[str]]] = {}
    for what, *row in rows(__file__, "collective_names.txt"):
        table.setdefault(what, []).append(row)
    names = {what: [row[0] for row in found] for what, found in table.items()}
    return _Rules(
        library=re.compile(rf"_*(?:{'|'.join(names['library'])})", re.IGNORECASE),
        host=re.compile("|".join(names["host"])),
        namespace=frozenset((*names["namespace"], *names["host"])),
        function=_words(names["function"]),
        types=re.compile(rf"\b(?:{'|'.join(names['type'])})"),
        local=_words(names["local"]),
        compute=tuple(names["compute"]),
        kinds=tuple((_words([phrase]), kind) for phrase, kind in table["kind"]),
    )


@cached_by_name
def kernel_collective(kernel: str) -> str:
    """The kind of collective that a kernel is part of; "" for kernels that compute or move data on one device.

    Its function tells it: a library of collectives, words such as all_reduce, or a parameter that reaches other
    devices. A product or a normalisation of what was exchanged is computation, unless one kernel does both.
    """
    kernel = kernel[:_LONGEST]
    scope, rest = _function(kernel)
    rules = _rules()
    *spaces, function = scope
    words = _snake(function)
    if "::".join(scope).startswith(rules.compute):
        return ""
    if rules.library.match(function):
        return _kind(words)
    if rules.local.search(words):
        return ""
    if (
        any(space in rules.namespace or rules.library.match(space) for space in spaces)
        or rules.function.search(words)
        or rules.types.search(rest)
    ):
        return _kind("_".join([words, *map(_snake, reversed(spaces))]))
    return ""


def computes_only(kernel: str) -> bool:
    """Whether a kernel's name says that it computes, or prepares locally what an op exchanges."""
    scope, _ = _function(kernel[:_LONGEST])
    rules = _rules()
    return "::".join(scope).startswith(rules.compute) or rules.local.search(_snake(scope[-1])) is not None


@cached_by_name
def op_collective(op: str) -> str:
    """The kind of collective that an op of a framework starts, such as `c10d::allreduce_`; "" for other ops.

    Ranges that mark a collective of a library, such as `nccl:all_reduce`, count as ops.
    """
    library, call = range_of(op)
    if library:
        return _kind(_snake(call))
    _, colon, rest = op.partition(":")
    return "" if colon and not rest.startswith(":") else kernel_collective(op)


def range_of(name: str) -> tuple[str, str]:
    """Library and call in the name of a range that marks a collective, `gloo:all_reduce`; else two empty texts."""
    library, colon, call = name.strip().partition(":")
    rules = _rules()
    known = rules.library.fullmatch(library) or rules.host.fullmatch(library)
    return (library, call) if known and colon and _CALL.fullmatch(call) else ("", "")


def runs_on_host(library: str) -> bool:
    """Whether the library of a range is one whose collectives the processors of the hosts run themselves."""
    return _rules().host.fullmatch(library) is not None


def collective_kind(name: str) -> str:
    """The kind of what is known to be a collective, from its name; "" if the name does not tell it."""
    words = _snake(name)
    return next((kind for pattern, kind in _rules().kinds if pattern.search(words)), "")


def _kind(words: str) -> str:
    return next((kind for pattern, kind in _rules().kinds if pattern.search(words)), UNKNOWN_KIND)


def _function(kernel: str) -> tuple[list[str], str]:
    """The namespaces of a kernel's function and the function, and its template arguments and parameters as text."""
    if mangled := _MANGLED.match(kernel):
        return _demangled(kernel, mangled.end())
    kernel = kernel.removeprefix("void ").removesuffix(".kd")
    found = _SCOPE.match(kernel)
    if found is None:
        return [kernel], ""
    return found[0].split("::"), kernel[found.end() :]


def _demangled(name: str, at: int) -> tuple[list[str], str]:
    """As `_function`, of a name that a C++ compiler mangled: lengths stand before names."""
    scope: list[str] = []
    while (length := _LENGTH.match(name, at)) is not None:
        end = length.end() + int(length[1][:6])
        scope.append(name[length.end() : end])
        at = end
    return scope or [name], re.sub(r"\d+", " ", name[at:])


def _snake(name: str) -> str:
    """The words of a name in lower case, joined by underscores: `oneShotAllReduceKernel`, `all-reduce`."""
    return re.sub(r"[^a-z0-9]+", "_", _HUMP.sub("_", name).lower())
