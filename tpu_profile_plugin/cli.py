"""The command `tpu-profile`: serve a logdir, capture into one, list runs and events, answer tools and SQL, diagnose."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Protocol, TextIO, cast

from tpu_profile_plugin.answers import NAMES
from tpu_profile_plugin.commands import (
    annotate,
    answer,
    capture,
    compare,
    doctor,
    events,
    explain,
    export,
    gate,
    mcp,
    query,
    report,
    runs,
    tools,
    trend,
)
from tpu_profile_plugin.commands.parser import (
    COMPLETION_HELP,
    Parser,
    asks_verb_for_json,
    completion_script,
    define_completion,
    print_error,
)
from tpu_profile_plugin.errors import BadRequest, ProfileError
from tpu_profile_plugin.system.process import exit_on_sigterm
from tpu_profile_plugin.system.terminal import Shown, one_line
from tpu_profile_plugin.version import __version__
from tpu_profile_plugin.workers import EXECUTOR_HELP


class Command(Protocol):
    """A module of `commands`, or what acts like one."""

    @property
    def HELP(self) -> str:  # noqa: N802 - a constant of modules
        """One sentence, without a capital and a full stop."""

    def define(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Runs it; returns the exit status."""


_COMMANDS: dict[str, Command] = {
    "capture": capture,
    **{answer.command_of(name): answer.VerbCommand(name) for name in NAMES},
    # Commands of verbs that do more than ask.
    **{"runs": runs, "explain": explain, "compare": compare, "query": query, "trend": trend},
    "summarize": trend.SummarizeCommand(),
    "gate": gate,
    "baseline": gate.BaselineCommand(),
    "tools": tools,
    "events": events,
    "annotate": annotate,
    "report": report,
    "export": export,
    "mcp": mcp,
    "agents": mcp.GuideCommand(),
    "doctor": doctor,
}
_RUNNING = ("gate",)
"""Commands that run a program."""


def make_parser(command: str | None = None) -> Parser:
    """The parser of the command line; with the arguments of one command only if it is given, which imports less."""
    parser = Parser(prog="tpu-profile", description="Browse and capture XSpace profiles.")
    parser.add_argument("--version", action="version", version=__version__, help="print the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve a logdir or a profile, on this machine or with --host to others")
    serve.epilog = "TPU_PROFILE_TOKEN sets the access token; without it, servers that others reach make a new one"
    where = serve.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "logdir", nargs="?", metavar="LOGDIR", help="directory or URL with plugins/profile/<session>, or a profile file"
    )
    where.add_argument("--logdir", dest="logdir_flag", metavar="LOGDIR", help="LOGDIR as a flag, as in TensorBoard")
    serve.add_argument("--port", type=int, default=6006, help="TCP port; 0 selects a free port (default: 6006)")
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to bind to; others than this machine's own need the printed token"
    )
    serve.add_argument("--executor", metavar="WHERE", default="", help=EXECUTOR_HELP)
    serve.add_argument(
        "--source-root", "--profile_source_root", metavar="DIR", default="",
        help="directory whose source files the page Source shows; none are by default",
    )  # fmt: skip
    for name, module in _COMMANDS.items():
        if command in (None, name):
            module.define(commands.add_parser(name, help=module.HELP))
        else:
            commands.add_parser(name)
    define_completion(commands.add_parser("completion", help=COMPLETION_HELP))
    commands.add_parser("version", help="print the version")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a sub-command and returns its exit status."""
    words, program = _divided(sys.argv[1:] if argv is None else argv)
    alone = words and words[0] in (*_COMMANDS, "serve", "version")
    parser = make_parser(words[0] if alone else None)
    options = parser.parse_args(words)
    options.behind = program
    if options.command == "version":
        print(__version__)
        return 0
    if options.command == "completion":
        print(completion_script(options.shell, parser), end="")
        return 0
    if options.command == "serve":
        logdir = options.logdir or options.logdir_flag
        return _serve(logdir, options.port, options.executor, options.host, options.source_root)
    # Not around `serve`: TensorBoard colours what it prints.
    with redirect_stdout(cast("TextIO", Shown(sys.stdout))), redirect_stderr(cast("TextIO", Shown(sys.stderr))):
        return _run(options)


def _divided(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of the command, and behind `--` those of the program that it runs; argparse cannot divide them."""
    if "--" not in words or words[0] not in _RUNNING:
        return words, ()
    at = list(words).index("--")
    return words[:at], words[at + 1 :]


def _run(options: argparse.Namespace) -> int:
    try:
        status: int = _COMMANDS[options.command].run(options)
        return status
    except ProfileError as error:
        if asks_verb_for_json(options):
            print_error(error)
        print(one_line(f"tpu-profile: {error.message}"), file=sys.stderr)
        return 2 if isinstance(error, BadRequest) else 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the pipe has closed it
        return 0


def _serve(logdir: str, port: int, executor: str, host: str, source_root: str) -> int:
    """Runs TensorBoard with this plugin only; other machines need a token."""
    from tpu_profile_plugin.serving import board, token_for

    made = board(logdir, port, executor, host, token_for(host), source_root)
    # TensorBoard's own handler writes to stderr before it exits. To a closed pipe, that raises BrokenPipeError, which
    # socketserver catches where it accepts a connection: the process would keep running.
    made._install_signal_handler = lambda number, name: None
    exit_on_sigterm()
    return int(made.main() or 0)


if __name__ == "__main__":
    sys.exit(main())
