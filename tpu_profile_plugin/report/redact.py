"""Replaces names that identify people, machines and code by stable placeholders, in all answers of a report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from tpu_profile_plugin.analysis.hlo.programs import source_paths
from tpu_profile_plugin.analysis.trend.summary import RunSummary
from tpu_profile_plugin.report.collector import Stored, contained, container
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.run import Run

REPLACED = "Names of hosts, runs, programs, source files, functions and scopes are replaced"
LEFT = "names of HLO ops, kernels, threads and host events are left."

_PROTECTED = frozenset({"id", "type", "unit", "kind", "code", "tool", "opcode", "category"})
"""Members of JSON objects whose values the page reads."""
_EXTENSIONS = "py|pyx|pyi|ipynb|cc|cpp|cxx|c|h|hpp|cu|cuh|rs|go|java|jl|js|ts"
_IN_FRAME = r"[^\s\"'()<>,;=|:$]"
_FILE = re.compile(rf"{_IN_FRAME}*\.(?:{_EXTENSIONS})\b")
# Text without a file is consumed as well: none of its letters is looked at again.
_FRAME = re.compile(rf"({_FILE.pattern})(:\d+)?(?:([: ])([A-Za-z_<][\w.<>]*)(?![\w(]))?|{_IN_FRAME}+")
_DIRECTORY = re.compile(
    r"(?<![\w/.])/(?:home|Users|root|mnt|data|opt|tmp|usr|var|srv|workspace|content)(?:/[^\s\"':,;()<>]*)?"
)
_WORD = re.compile(r"[^\s\"',;|<>=]+")
_INNER = re.compile(r"(?<=\()[^()/\s]+(?=\))")
_PART = re.compile(r"[A-Za-z_][\w.\-]*")
_TELLING = re.compile(r"[\W\d_]")
_TOKEN = re.compile(r"\w+|\W")
_MOST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Names:
    """What the profile calls things.

    Attributes:
      hosts, runs, programs: of the runs; programs without their ids.
      op_names: framework ops with their scopes, such as `jit(step)/encoder/dot_general`.
      arguments: arguments of programs, such as `params['dense'][0]`.
      functions: functions of stack frames.
      files: source files.
    """

    hosts: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    op_names: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def names_of(runs: Sequence[Run]) -> Names:
    """The names in some runs."""
    programs: dict[str, None] = {}
    op_names: dict[str, None] = {}
    arguments: dict[str, None] = {}
    functions: dict[str, None] = {}
    files: set[str] = set()
    for run in runs:
        for _, found in run.iterate_hosts(programs_of):
            files |= source_paths(found)
            for program in filter(None, map(found.program, found.modules)):
                programs[program.module.name.rpartition("(")[0]] = None
                op_names |= dict.fromkeys(program.op_names)
                named = zip(program.opcodes, program.op_names, strict=True)
                arguments |= {name: None for opcode, name in named if opcode == "parameter" and "/" not in name}
                functions |= dict.fromkeys(function for _, function, _ in program.frames)
    hosts = dict.fromkeys(chain.from_iterable(run.hosts for run in runs))
    return Names(
        hosts=tuple(hosts),
        runs=tuple(run.name for run in runs),
        programs=tuple(programs),
        op_names=tuple(op_names),
        arguments=tuple(filter(None, arguments)),
        functions=tuple(functions),
        files=tuple(sorted(files)),
    )


def unnamed(summary: RunSummary) -> RunSummary:
    """A summary without texts that may name anything: labels, and the reason why it has no figures."""
    return replace(summary, labels={}, problem=summary.problem and "It has no figures.")


def with_summaries(names: Names, summaries: Iterable[RunSummary]) -> Names:
    """The names with those of further runs, of which only the summaries are known."""
    runs, programs, op_names = dict.fromkeys(names.runs), dict.fromkeys(names.programs), dict.fromkeys(names.op_names)
    for summary in summaries:
        runs[summary.run] = None
        for place in summary.places:
            programs[place.program] = None
            op_names[place.name] = None
    return replace(names, runs=tuple(runs), programs=tuple(programs), op_names=tuple(op_names))


class _Known:
    """Names within texts, the longest one at each place, as whole words; the time does not depend on their number.

    Of a name with more than 64 words and characters between them, these are looked for, and what follows up to a
    blank goes with them.
    """

    def __init__(self, names: Mapping[str, str], alone: Mapping[str, str]) -> None:
        """Takes placeholders by name; those in `alone` count only before a colon or a dot, as hosts stand there."""
        self._root: dict[str, Any] = {}
        self._alone = alone
        for name, placeholder in names.items():
            node = self._root
            tokens = _TOKEN.findall(name)
            for token in tokens[:_MOST_TOKENS]:
                node = node.setdefault(token, {})
            node.setdefault("", (placeholder, len(tokens) > _MOST_TOKENS))

    def replaced(self, text: str) -> str:
        """The text with placeholders."""
        tokens = _TOKEN.findall(text)
        if self._root.keys().isdisjoint(tokens) and self._alone.keys().isdisjoint(tokens):
            return text
        done = 0
        out: list[str] = []
        for at in [i for i, token in enumerate(tokens) if token in self._root or token in self._alone]:
            placeholder, end = self._found(tokens, at) if at >= done else ("", at)
            if placeholder:
                out += (*tokens[done:at], placeholder)
                done = end
        return "".join([*out, *tokens[done:]])

    def _found(self, tokens: list[str], at: int) -> tuple[str, int]:
        """The placeholder for the longest name that begins at a token, "" for none; and the token behind it."""
        node, found, rest = self._root, "", False
        begin = end = at
        if at and _in_word(tokens[at - 1]) and not _in_word(tokens[at]):
            return "", at + 1
        while at < len(tokens) and (following := node.get(tokens[at])) is not None:
            node, at = following, at + 1
            whole = _in_word(tokens[at - 1]) or at == len(tokens) or not _in_word(tokens[at])
            if whole and "" in node:
                (found, rest), end = node[""], at
        while rest and end < len(tokens) and not tokens[end].isspace():
            end += 1
        if found:
            return found, end
        behind = "".join(tokens[begin + 1 : begin + 3])
        if tokens[begin] in self._alone and (behind[:2] == ": " or (behind[:1] in (".", ":") and behind[1:].strip())):
            return self._alone[tokens[begin]], begin + 1
        return "", begin + 1


def _in_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


class Redactor:
    """Changes answers; one name gets the same placeholder everywhere."""

    def __init__(self, names: Names) -> None:
        self._given: dict[str, dict[str, str]] = {}
        self._done: dict[str, str] = {}
        words = {name: self._placeholder("host", name) for name in names.hosts}
        words |= {name: self._placeholder("run", name) for name in names.runs}
        words |= {name: self._placeholder("program", name) for name in names.programs if name}
        words |= {name: self._placeholder("argument", name) for name in names.arguments}
        # Files without a known ending; others are found wherever they are named.
        odd = [path for path in names.files if path and not _FILE.fullmatch(path)]
        words |= {path: self._placeholder("file", path) for path in odd}
        self._whole = dict(words)
        self._inner: dict[str, str] = {}
        self._scope: dict[str, str] = {}
        for name in names.op_names:
            for part in name.split("/")[:-1]:
                self._learn(part)
        for name in names.programs:
            self._name(name.removeprefix("jit_"))
        for name in names.functions:
            self._whole.setdefault(name, self._placeholder("function", name))
        # A host called "host" is a word of every sentence: plain words are replaced only where they stand alone.
        telling = {name: placeholder for name, placeholder in words.items() if _TELLING.search(name)}
        self._known = _Known(telling, {name: words[name] for name in names.hosts if name not in telling})

    def __call__(self, answer: Stored) -> Stored:
        """The answer with placeholders, in its key as well."""
        key = json.dumps(self._value(json.loads(answer.key), ""), ensure_ascii=False, separators=(",", ":"))
        if answer.body[:4] == b"TPC1":
            header, arrays = container(answer.body)
            return replace(answer, key=key, body=contained(self._value(header, ""), arrays))
        text = answer.body.decode("utf-8", "replace")
        try:
            value = json.loads(text)
        except ValueError:
            return replace(answer, key=key, body=self.text(text).encode())
        body = json.dumps(self._value(value, ""), ensure_ascii=False, separators=(",", ":"))
        return replace(answer, key=key, body=body.encode("utf-8", "replace"))

    def text(self, text: str) -> str:
        """A text with placeholders."""
        known = self._done.get(text)
        if known is None:
            known = self._done[text] = self._whole.get(text) or self._scope.get(text) or self._replaced(text)
        return known

    def _replaced(self, text: str) -> str:
        text = _FRAME.sub(self._frame, self._known.replaced(text))
        text = _DIRECTORY.sub(lambda match: self._placeholder("directory", match[0]), text)
        text = _WORD.sub(self._scopes, text)
        return _INNER.sub(lambda match: self._inner.get(match[0], match[0]), text)

    def _frame(self, match: re.Match[str]) -> str:
        """A source file, with its line and function: files are told apart by their last part, as pages name them."""
        path, line, between, function = match.groups()
        if path is None:
            return match[0]
        name = path.rpartition("/")[2]
        if re.fullmatch(r"file\d+", name.rpartition(".")[0]):
            return match[0]
        file = f"{self._placeholder('file', name)}.{name.rpartition('.')[2]}{line or ''}"
        if function is None:
            return file
        if line is None and between != ":":
            return f"{file}{between}{function}"  # a word of the sentence
        return f"{file}{between}{self._placeholder('function', function)}"

    def _scopes(self, match: re.Match[str]) -> str:
        if "/" not in match[0][1:]:
            return match[0]
        *parts, last = match[0].split("/")
        return "/".join(
            [*(part and (self._scope.get(part) or self._inside(part)) for part in parts), self._scope.get(last, last)]
        )

    def _inside(self, part: str) -> str:
        return _INNER.sub(lambda match: self._inner.get(match[0], match[0]), part)

    def _learn(self, part: str) -> None:
        """A component of a scope: `layer_0`, or a transformation of a function such as `jit(step)`."""
        if not part or part in self._scope:
            return
        inner = re.search(r"\(([^()]*)\)", part)
        if inner is None:
            self._scope[part] = self._placeholder("scope", part)
        elif inner[1]:
            self._name(inner[1])
            self._scope[part] = part[: inner.start(1)] + self._inner.get(inner[1], inner[1]) + part[inner.end(1) :]

    def _name(self, name: str) -> None:
        if _PART.fullmatch(name):
            self._inner.setdefault(name, self._placeholder("scope", name))

    def _placeholder(self, kind: str, name: str) -> str:
        given = self._given.setdefault(kind, {})
        dash = "" if kind in ("file", "function") else "-"
        return given.setdefault(name, f"{kind}{dash}{len(given) + 1}")

    def _value(self, value: Any, member: str) -> Any:
        if isinstance(value, str):
            return value if member in _PROTECTED else self.text(value)
        if isinstance(value, list):
            return [self._value(one, member) for one in value] if _has_texts(value) else value
        if isinstance(value, dict):
            return {self._whole.get(key, key): self._value(one, key) for key, one in value.items()}
        return value


def _has_texts(values: Iterable[Any]) -> bool:
    """Whether a list may hold texts; most lists are long columns of numbers."""
    return any(isinstance(value, (str, list, dict)) for value in values)
