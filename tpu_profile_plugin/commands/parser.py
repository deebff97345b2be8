"""The parser of the command line, whose errors are JSON for programs that ask for JSON."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tpu_profile_plugin.errors import BadRequest, ProfileError


class Parser(argparse.ArgumentParser):
    """Prints an error object too, if the command was to print an answer as JSON."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Remembers the words for `error`."""
        self._given = tuple(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Prints usage and message; ends the process with status 2."""
        if _asks_for_json(self._given):
            wrong = sys.exc_info()[1]
            named = wrong.argument_name if isinstance(wrong, argparse.ArgumentError) else None
            # Otherwise words are missing or unknown, and the message ends in them.
            name = named or re.split(r"[ ,=]", message.rpartition(": ")[2])[0]
            choices = self._arguments() if named is None else self._values(named)
            print_error(BadRequest(message, argument=_id(name)[:80], choices=choices))
        super().error(message)

    def _values(self, named: str) -> list[str]:
        """The values of an argument; empty for any."""
        chosen = [one for one in self._actions if named in (one.metavar, one.dest, "/".join(one.option_strings))]
        return [str(choice) for one in chosen for choice in one.choices or ()]

    def _arguments(self) -> list[str]:
        """The arguments of the command."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                called = [word for word in self._given if word in action.choices]
                return action.choices[called[0]]._arguments() if called else list(action.choices)
        return [_id(one.dest) for one in self._actions if one.dest != "help"]


def print_error(error: ProfileError) -> None:
    """Prints an error as JSON."""
    from tpu_profile_plugin.answers.envelope import compact, error_of

    print(compact(error_of(error)))


def asks_verb_for_json(options: argparse.Namespace) -> bool:
    """Whether a command that answers a question was to print JSON."""
    from tpu_profile_plugin.answers.registry import VERBS

    return getattr(options, "format", None) == "json" and options.command in [verb.name for verb in VERBS]


def _asks_for_json(words: Sequence[str]) -> bool:
    return "--format=json" in words or ("--format", "json") in itertools.pairwise(words)


def _id(name: str) -> str:
    """The name of an argument as questions have it."""
    return name.rpartition("/")[2].lstrip("-").replace("-", "_").lower()
