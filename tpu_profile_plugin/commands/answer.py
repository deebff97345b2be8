"""The commands that answer a question about profiles: one per verb, all in one form."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.errors import BadRequest, ProfileError
from tpu_profile_plugin.system.terminal import one_line

_FLAGS = ("host", "cursor", "max_bytes")


@dataclass(frozen=True)
class VerbCommand:
    """The command of a verb: its arguments are those of the verb, required ones between LOGDIR and RUN."""

    name: str

    @property
    def HELP(self) -> str:  # noqa: N802 - as the constant of other commands
        """One sentence."""
        from tpu_profile_plugin.answers.registry import find

        summary = find(self.name).summary
        return summary[:1].lower() + summary[1:].rstrip(".")

    def define(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the verb and those that all have."""
        from tpu_profile_plugin.answers.registry import find

        verb = find(self.name)
        parser.epilog = (
            "exit status: 0 answered, or the profile cannot tell, which the answer says; "
            "1 not found or not readable; 2 wrong arguments"
        )
        parser.add_argument("logdir", metavar="LOGDIR", help="a logdir or a .xplane.pb file")
        for one in verb.parameters:
            sentence = one.sentence.replace("%", "%%")
            flag = "--" + one.name.replace("_", "-")
            kind: dict[str, Any] = {"choices": one.choices} if one.choices else {"type": one.type}
            if one.required:
                parser.add_argument(one.name, metavar=one.name.upper(), help=sentence, **kind)
            elif one.type is bool:
                parser.add_argument(flag, action="store_true", dest=one.name, help=sentence)
            else:
                if not one.choices:
                    kind["metavar"] = one.name.upper()
                parser.add_argument(flag, dest=one.name, default=None, help=sentence, **kind)
        if verb.of_run:
            parser.add_argument("run", metavar="RUN", nargs="?", help="the run (default: the newest)")
            parser.add_argument("--host", help="one host (default: all)")
        define_shared(parser)

    def run(self, options: argparse.Namespace) -> int:
        """Prints the answer; returns the exit status."""
        import tpu_profile_plugin
        from tpu_profile_plugin.answers.registry import find

        with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
            given = {one.name: getattr(options, one.name) for one in find(self.name).parameters}
            arguments = {id_: value for id_, value in given.items() if value is not None and value is not False}
            return print_answer(logdir, self.name, arguments, options)


def command_of(verb: str) -> str:
    """The command of a verb."""
    return verb.replace("_", "-")


def define_shared(parser: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json")) -> None:
    """Adds the arguments that all verbs have, but run and host."""
    parser.add_argument("--cursor", help="the cursor of the answer before, for the rows that follow")
    parser.add_argument("--max-bytes", type=int, metavar="N", help="most bytes of the JSON (default: 8000)")
    parser.add_argument(
        "--address", metavar="URL", help="of the server that links open (default: http://localhost:6006)"
    )
    parser.add_argument("--format", choices=formats, default="text", help="default: text")


def print_answer(logdir: Any, name: str, arguments: Mapping[str, Any], options: argparse.Namespace) -> int:
    """Prints the answer to a question in the format of the options; returns the exit status."""
    from tpu_profile_plugin.answers.envelope import ADDRESS, Door, ask, compact, error_of
    from tpu_profile_plugin.answers.text import as_text

    def deeper(one: Any, about: Mapping[str, str]) -> str:
        return command_line(options.logdir, one.verb, {**about, **one.arguments})

    chosen = {id_: getattr(options, id_, None) for id_ in ("run", *_FLAGS)}
    door = Door(deeper, (options.address or ADDRESS).rstrip("/"))
    try:
        envelope = ask(
            logdir, name, arguments, door, **{id_: value for id_, value in chosen.items() if value is not None}
        )
    except ProfileError as error:
        if options.format != "json":
            raise
        print(compact(error_of(error)))
        return 2 if isinstance(error, BadRequest) else 1
    sys.stdout.write(as_text(envelope) if options.format == "text" else compact(envelope) + "\n")
    return 0


def command_line(logdir: str, name: str, arguments: Mapping[str, Any]) -> str:
    """The command that asks a question."""
    from tpu_profile_plugin.answers.registry import find

    verb, where = find(name), os.fspath(logdir)
    required = [str(arguments[one.name]) for one in verb.parameters if one.required]
    first = [where, *required]
    if name == "compare":  # its runs may be of two logdirs
        first = [where, where]
    elif name == "query":
        first = [*required, f"--logdir={where}"]
    elif "run" in arguments and verb.of_run:
        first.append(arguments["run"])
    words = [command_of(name), *first]
    for id_, value in arguments.items():
        if (id_ == "run" and name != "compare") or any(one.required and one.name == id_ for one in verb.parameters):
            continue
        flag = "--base-run" if (name, id_) == ("compare", "base") else "--" + id_.replace("_", "-")
        words += [flag] if value is True else [f"{flag}={value}"]
    return "tpu-profile " + " ".join(_quoted(str(word)) for word in words)


def _quoted(word: str) -> str:
    """A word of a command line; what is not shown as it is stands there as escapes that shells read back."""
    return shlex.quote(word) if one_line(word) == word else f"$'{''.join(map(_escaped, word))}'"


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":  # a byte of a path that is no text
        return f"\\x{ord(char) - 0xDC00:02x}"
    return f"\\{char}" if char in "\\'" else one_line(char)
