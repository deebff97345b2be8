"""`tpu-profile completion`: prints a script that completes commands, options and their values in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

HELP = "print a completion script for a shell"
SHELLS = ("bash", "zsh", "fish")
_PROGRAM, _FUNCTION = "tpu-profile", "_tpu_profile"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = 'bash and zsh: eval "$(tpu-profile completion SHELL)"; fish: tpu-profile completion fish | source'
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for one of `SHELLS`, from the parser of the whole command."""
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
