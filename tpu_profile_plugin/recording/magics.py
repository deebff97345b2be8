"""The magic `%%profile`: records a cell, then shows what limits it and its pages."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from tpu_profile_plugin.errors import BadRequest, ProfileError
from tpu_profile_plugin.opening import prepare
from tpu_profile_plugin.recording.profilers import PROFILERS
from tpu_profile_plugin.recording.recording import MOST, SKIPPED, marked, profile


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise BadRequest(f"%%profile: {message}. {self.format_usage().strip()}")

    def exit(self, status: int = 0, message: str | None = None) -> Any:
        raise BadRequest(message or self.format_help())


def _parser() -> _Parser:
    parser = _Parser("%%profile", description="Records a cell, then shows what limits it.", add_help=False)
    parser.add_argument("logdir", nargs="?", help="directory of the recording; default: one that ends with the kernel")
    parser.add_argument("--step", metavar="FUNCTION", help="each call of this function is a step")
    parser.add_argument("--skip", type=int, default=SKIPPED, help="steps that are left out (default: %(default)s)")
    parser.add_argument("--most", type=int, default=MOST, help="steps that are recorded (default: %(default)s)")
    parser.add_argument("--no-python", dest="python", action="store_false", help="without Python functions")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="without allocations")
    parser.add_argument("--framework", choices=[kind.module for kind in PROFILERS], help="whose profiler records")
    parser.add_argument("--page", default="overview_page", help="the page that is shown (default: %(default)s)")
    return parser


def profile_cell(shell: Any, line: str, cell: str) -> Any:
    """Runs a cell within `profile`; shows findings and pages. Returns the recording; None if the cell failed.

    Raises BadRequest for wrong arguments, NoData if nothing was recorded.
    """
    given = vars(_parser().parse_args(shlex.split(line)))
    step, page = given.pop("step"), given.pop("page")
    functions = shell.user_ns
    if step is not None and not callable(functions.get(step)):
        raise BadRequest(f"%%profile --step {step}: there is no function of this name before the cell runs.")
    function = functions.get(step)
    if step is not None:
        functions[step] = marked(function, step)
    wrapped = functions.get(step)
    recording = profile(**given)
    try:
        with recording:
            ran = shell.run_cell(cell)
    finally:
        if step is not None and functions.get(step) is wrapped:
            functions[step] = function
    if not ran.success:
        return None
    from IPython.display import display

    try:
        findings = recording.run.findings()
        display(findings)  # type: ignore[no-untyped-call]
        told = " ".join(one.title for one in findings)
    except ProfileError as error:
        told = str(error)
        print(told)
    for file, number in getattr(shell.compile, "_filename_map", {}).items():
        if f"{Path(file).name}:" in told:
            print(f"{Path(file).name} is the cell [{number}].")
    display(recording.run.show(page))  # type: ignore[no-untyped-call]
    return recording


def register(shell: Any) -> None:
    """Makes `%%profile` known to IPython, and prepares the first one."""
    prepare()

    def cell_magic(line: str, cell: str) -> None:
        shell.user_ns["_profile"] = profile_cell(shell, line, cell)

    shell.register_magic_function(cell_magic, "cell", "profile")
