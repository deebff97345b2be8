"""A profile as text: `build(text) -> bytes` of an XSpace, `build_message(text)` for the message itself.

One statement per line; indentation is free; `#` starts a comment. `[...]` marks optional parts.

    plane [ID] NAME [{STATS}]                                        opens a plane
    line [ID] NAME [@TIME] [display=ID] [duration=TIME] ["shown name"]   opens a line of the plane
    TIME +TIME NAME [{STATS}]                                        an event: offset from the line, duration, metadata
    xCOUNT +TIME NAME [{STATS}]                                      an aggregated event: occurrences, summed duration
    metadata NAME [id=ID] [{STATS}] [display=NAME] [bytes=0xHEX] [children=ID,ID]   facts of one event metadata
    host NAME | error NAME | warning NAME                            the strings of the space

NAME is a bare word or a JSON string. TIME is an integer with ps, ns, us, ms or s (bare: ps), may be negative.
STATS are comma-separated `name=value`; the type follows from how the value is written:

    123  -5        int64          "text"      str
    u5             uint64         &"text"     ref (the text becomes a stat metadata name)
    0.5  2d        double         0x0102      bytes (0x alone: empty)
                                  z"text"     compressed str (gzip)

Event metadata ids count from 1 per plane in order of appearance, or are given by a `metadata` statement that comes
before the first use; stat metadata ids count from 1 per plane in order of appearance.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

from builders.messages import XSpace

_TOKEN = re.compile(r'\s*(?:(#.*)|([&z]?"(?:[^"\\]|\\.)*")|([{}=,])|([^\s{}=,"#]+))')
_TIME = re.compile(r"([+@]?)(-?\d+)(ps|ns|us|ms|s)?\Z")
_UNITS = {None: 1, "ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def build(text: str) -> bytes:
    """Bytes of the XSpace that `text` describes; map entries are written in a fixed order."""
    return bytes(build_message(text).SerializeToString(deterministic=True))


def build_message(text: str) -> Any:
    """The profile as a message, for tests that modify it before serializing."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), start=1):
        tokens = _tokens(line, number)
        try:
            reader.statement(tokens)
            if tokens:
                raise ValueError(f"unexpected {tokens[0]!r}")
        except (ValueError, IndexError, AttributeError) as error:
            raise ValueError(f"line {number}: {line.strip()!r}: {error}") from error
    return reader.space


def _tokens(line: str, number: int) -> list[str]:
    tokens, at, line = [], 0, line.rstrip()
    while at < len(line):
        match = _TOKEN.match(line, at)
        if not match:
            raise ValueError(f"line {number}: cannot read {line[at:]!r}")
        if match[1]:
            break
        tokens.append(match[2] or match[3] or match[4])
        at = match.end()
    return tokens


def _name(token: str) -> str:
    return str(json.loads(token)) if token.startswith('"') else token


def _time(token: str, sign: str = "") -> int:
    match = _TIME.match(token)
    if not match or match[1] != sign:
        raise ValueError(f"not a time: {token!r}")
    return int(match[2]) * _UNITS[match[3]]


class _Reader:
    """Holds the plane and line that statements add to."""

    def __init__(self) -> None:
        self.space = XSpace()
        self.plane: Any = None
        self.line: Any = None

    def statement(self, tokens: list[str]) -> None:
        """Parses one statement; tokens that remain in `tokens` are errors."""
        if not tokens:
            return
        word = tokens.pop(0)
        strings = {"host": "hostnames", "error": "errors", "warning": "warnings"}
        if word in strings:
            getattr(self.space, strings[word]).append(_name(tokens.pop(0)))
        elif word in ("plane", "line", "metadata"):
            getattr(self, f"_{word}")(tokens)
        else:
            self._event(word, tokens)

    def _plane(self, tokens: list[str]) -> None:
        self.plane, self.line = self.space.planes.add(), None
        self._events: dict[str, int] = {}
        self._stats: dict[str, int] = {}
        if re.fullmatch(r"-?\d+", tokens[0]):
            self.plane.id = int(tokens.pop(0))
        self.plane.name = _name(tokens.pop(0))
        self._add_stats(self.plane, tokens)

    def _line(self, tokens: list[str]) -> None:
        line = self.line = self.plane.lines.add()
        if re.fullmatch(r"-?\d+", tokens[0]):
            line.id = int(tokens.pop(0))
        line.name = _name(tokens.pop(0))
        while tokens:
            token = tokens.pop(0)
            if token.startswith("@"):
                line.timestamp_ns = _time(token, "@") // 1000
            elif token == "display":
                line.display_id = int(self._value(tokens))
            elif token == "duration":
                line.duration_ps = _time(self._value(tokens))
            else:
                line.display_name = _name(token)

    def _event(self, word: str, tokens: list[str]) -> None:
        event = self.line.events.add()
        if word.startswith("x"):
            event.num_occurrences = int(word[1:])
        else:
            event.offset_ps = _time(word)
        event.duration_ps = _time(tokens.pop(0), "+")
        event.metadata_id = self._event_metadata(_name(tokens.pop(0)))
        self._add_stats(event, tokens)

    def _metadata(self, tokens: list[str]) -> None:
        name = _name(tokens.pop(0))
        if tokens[:2] == ["id", "="]:
            self._events[name] = int(tokens[2])
            del tokens[:3]
        metadata = self.plane.event_metadata[self._event_metadata(name)]
        self._add_stats(metadata, tokens)
        while tokens:
            key = tokens.pop(0)
            if key == "display":
                metadata.display_name = _name(self._value(tokens))
            elif key == "bytes":
                metadata.metadata = bytes.fromhex(self._value(tokens)[2:])
            elif key == "children":
                metadata.child_id.append(int(self._value(tokens)))
                while tokens[:1] == [","]:
                    metadata.child_id.append(int(tokens[1]))
                    del tokens[:2]
            else:
                raise ValueError(f"unknown {key!r}")

    @staticmethod
    def _value(tokens: list[str]) -> str:
        if tokens.pop(0) != "=":
            raise ValueError("expected '='")
        return tokens.pop(0)

    def _event_metadata(self, name: str) -> int:
        number = self._events.setdefault(name, max([0, *self._events.values()]) + 1)
        metadata = self.plane.event_metadata[number]
        metadata.id, metadata.name = number, name
        return number

    def _stat_metadata(self, name: str) -> int:
        number = self._stats.setdefault(name, len(self._stats) + 1)
        metadata = self.plane.stat_metadata[number]
        metadata.id, metadata.name = number, name
        return number

    def _add_stats(self, owner: Any, tokens: list[str]) -> None:
        if tokens[:1] != ["{"]:
            return
        while tokens.pop(0) != "}":
            if tokens[0] == "}":
                continue
            stat = owner.stats.add(metadata_id=self._stat_metadata(_name(tokens.pop(0))))
            self._set_value(stat, self._value(tokens))

    def _set_value(self, stat: Any, token: str) -> None:
        if token.startswith('"'):
            stat.str_value = json.loads(token)
        elif token.startswith('&"'):
            stat.ref_value = self._stat_metadata(json.loads(token[1:]))
        elif token.startswith('z"'):
            stat.compressed_str_value = gzip.compress(json.loads(token[1:]).encode(), mtime=0)
        elif token.startswith("0x"):
            stat.bytes_value = bytes.fromhex(token[2:])
        elif re.fullmatch(r"u\d+", token):
            stat.uint64_value = int(token[1:])
        elif re.fullmatch(r"-?\d+", token):
            stat.int64_value = int(token)
        else:
            stat.double_value = float(token.removesuffix("d"))
