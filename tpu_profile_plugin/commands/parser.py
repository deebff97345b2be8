"""The parser of the command line, whose errors are JSON for programs that ask for JSON; its completion in shells."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from tpu_profile_plugin.answers import NAMES
from tpu_profile_plugin.errors import BadRequest, ProfileError
from tpu_profile_plugin.system.terminal import visible


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
        super().error(visible(message))

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


MOST_RUNS = 1000
"""Runs that one command records."""


def checked_runs(count: int) -> int:
    """The value of `--runs`. Raises BadRequest unless so many runs can be recorded."""
    if not 1 <= count <= MOST_RUNS:
        raise BadRequest(f"--runs must be 1 to {MOST_RUNS}, not {count}.", argument="runs")
    return count


def print_error(error: ProfileError) -> None:
    """Prints an error as JSON."""
    from tpu_profile_plugin.answers.envelope import compact, error_of

    print(compact(error_of(error)))


def asks_verb_for_json(options: argparse.Namespace) -> bool:
    """Whether a command that answers a question was to print JSON."""
    return getattr(options, "format", None) == "json" and options.command.replace("-", "_") in NAMES


def _asks_for_json(words: Sequence[str]) -> bool:
    return "--format=json" in words or ("--format", "json") in itertools.pairwise(words)


def _id(name: str) -> str:
    """The name of an argument as questions have it."""
    return name.rpartition("/")[2].lstrip("-").replace("-", "_").lower()


def define_run(parser: argparse.ArgumentParser, host: str | None = "one host (default: all)") -> None:
    """Adds the arguments LOGDIR and RUN, and --host with this help unless it is None."""
    parser.add_argument("logdir", metavar="LOGDIR", help="a logdir or a .xplane.pb file")
    parser.add_argument("run", metavar="RUN", nargs="?", help="the run (default: the newest)")
    if host is not None:
        parser.add_argument("--host", help=host)


def define_spreadsheet(parser: argparse.ArgumentParser) -> None:
    """Adds the option for CSV that a spreadsheet will open."""
    parser.add_argument(
        "--spreadsheet", action="store_true",
        help="CSV with an apostrophe before texts that a spreadsheet would compute; numbers stay as they are",
    )  # fmt: skip


def for_spreadsheet(options: argparse.Namespace) -> bool:
    """Whether the CSV is for a spreadsheet; raises BadRequest for it without CSV."""
    if options.spreadsheet and options.format != "csv":
        raise BadRequest("--spreadsheet needs --format csv.", parameter="spreadsheet")
    return bool(options.spreadsheet)


COMPLETION_HELP = "print a completion script for a shell"
_SHELLS = ("bash", "zsh", "fish")
_PROGRAM, _FUNCTION = "tpu-profile", "_tpu_profile"


def define_completion(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `tpu-profile completion`."""
    parser.epilog = 'bash and zsh: eval "$(tpu-profile completion SHELL)"; fish: tpu-profile completion fish | source'
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def completion_script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for bash, zsh or fish, from the parser of the whole command."""
    commands = _commands(parser)
    if shell == "fish":
        return "\n".join(_fish(commands)) + "\n"
    zsh = ["autoload -Uz bashcompinit && bashcompinit"] if shell == "zsh" else []
    return "\n".join([*zsh, *_bash(commands)]) + "\n"


Options = Mapping[str, tuple[str, ...]]
"""Option or "" for positional arguments -> possible values; empty for a path or any text."""


def _commands(parser: argparse.ArgumentParser) -> dict[str, tuple[str, Options]]:
    """Command -> its help and options."""
    from tpu_profile_plugin.tools.registry import TOOLS

    values = {"--tool": tuple(tool.id for tool in TOOLS if tool.offered)}
    chosen = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    known: dict[str, tuple[str, Options]] = {}
    for action in chosen._choices_actions:
        options: dict[str, tuple[str, ...]] = {}
        for argument in chosen.choices[action.dest]._actions:
            for name in argument.option_strings or ([""] if argument.choices else []):
                if name != "-h":
                    options[name] = values.get(name, tuple(map(str, argument.choices or ())))
        known[action.dest] = (action.help or "", options)
    return known


def _bash(commands: Mapping[str, tuple[str, Options]]) -> Iterator[str]:
    yield f"{_FUNCTION}() {{"
    yield "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} values="
    yield "  COMPREPLY=()"
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$word")); return'
    yield "  fi"
    yield '  case "${COMP_WORDS[1]} $before" in'
    for command, (_, options) in commands.items():
        for option, values in options.items():
            if option and values:
                yield f'    "{command} {option}") values="{" ".join(values)}" ;;'
    yield "  esac"
    yield '  if [ -z "$values" ]; then case "${COMP_WORDS[1]}" in'
    for command, (_, options) in commands.items():
        words = " ".join([*options.get("", ()), *(option for option in options if option)])
        yield f'    {command}) values="{words}" ;;'
    yield "  esac; fi"
    yield '  case "$word" in -*) ;; *) COMPREPLY=($(compgen -f -- "$word")) ;; esac'
    yield '  COMPREPLY+=($(compgen -W "$values" -- "$word"))'
    yield "}"
    yield f"complete -o filenames -F {_FUNCTION} {_PROGRAM}"


def _fish(commands: Mapping[str, tuple[str, Options]]) -> Iterator[str]:
    yield f"complete -c {_PROGRAM} -n __fish_use_subcommand -l version -l help"
    for command, (about, options) in commands.items():
        yield f'complete -c {_PROGRAM} -n __fish_use_subcommand -f -a {command} -d "{about}"'
        for option, values in options.items():
            word = f"-l {option.removeprefix('--')}" if option else "-f"
            given = (
                f' -x -a "{" ".join(values)}"' if option and values else f' -a "{" ".join(values)}"' if values else ""
            )
            yield f'complete -c {_PROGRAM} -n "__fish_seen_subcommand_from {command}" {word}{given}'
