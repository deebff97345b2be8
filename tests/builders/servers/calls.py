"""Answers questions of a test in a process of its own, which has another package or environment than the test's.

A line of JSON on the standard input is a question, `[name of a function below, arguments]`; one on the standard output
its answer, `[result, ""]` or `[None, what went wrong]`. One process answers many: most of the time goes to imports.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Caller:
    """The test's end."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, function: str, *arguments: Any) -> Any:
        """The result of a function of this module over there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([function, arguments]), file=self._process.stdin, flush=True)
        result, wrong = json.loads(self._process.stdout.readline() or '[null, "the process ended"]')
        assert not wrong, wrong
        return result


@contextlib.contextmanager
def caller(cwd: Path, environ: dict[str, str]) -> Iterator[Caller]:
    """The process, in a folder and with an environment; it ends with the context."""
    command = [sys.executable, "-m", "builders.servers.calls"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, cwd=cwd, env=environ, text=True) as process:
        yield Caller(process)


def command(*words: str) -> str:
    """What `tpu-profile` prints."""
    from tpu_profile_plugin.cli import main

    return _printed(lambda: main(words))


def code(text: str) -> str:
    """What Python code prints."""
    return _printed(lambda: exec(text, {}))


def tests(file: str, *arguments: str) -> str:
    """What pytest prints of a file whose tests pass."""
    import pytest

    return _printed(lambda: pytest.main(["-q", "-p", "no:cacheprovider", "--import-mode=importlib", *arguments, file]))


def requests(logdir: str, home: str, *requests: str) -> list[Any]:
    """The JSON of requests to a TensorBoard."""
    from builders.servers.board import Board

    board = Board(logdir, Path(home))
    return [board.client.open(f"{board.prefix}/{request}").json for request in requests]


def _printed(call: Any) -> str:
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) as out:
        with contextlib.redirect_stdout(out):
            try:
                status = call()
            except SystemExit as left:
                status = left.code
        text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert not status, f"status {status}\n{text}"
    return text


def _main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        function, arguments = json.loads(line)
        try:
            answer = [globals()[function](*arguments), ""]
        except Exception:
            answer = [None, traceback.format_exc()]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    _main()
