"""Source line and call stack of an HLO instruction in the user's program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.columns.tables import NO_TEXT

DEEPEST_STACK = 256
"""Default limit on the number of calls, more than a person reads."""

Frame = tuple[str, str, int]
"""A call: file, function ("" if unknown), line."""
_WRITTEN = re.compile(r"^\s*(.+?):(\d{1,9})(?::\d{1,9})?(?: \((.*)\))?\s*$")


@dataclass(frozen=True, slots=True)
class Source:
    """A file and line, and the call stack: `file:line:column`, innermost first."""

    file: str
    line: int
    stack: tuple[str, ...]


def source_of(program: Program, row: int, deepest: int = DEEPEST_STACK) -> Source | None:
    """Source of the instruction in a row, with at most `deepest` calls; None if the compiler did not keep it.

    An instruction without a file takes the file of the innermost call.
    """
    file, line = program.source_files[row], int(program.columns["source_line"][row])
    columns = program.columns["frame_column"]
    stack: list[str] = []
    for frame, (frame_file, _, frame_line) in _recorded(program, row, deepest):
        if not file and not stack:
            file, line = frame_file, frame_line
        stack.append(f"{frame_file}:{frame_line}:{int(columns[frame])}")
    return Source(file, line, tuple(stack)) if file else None


def call_stack(program: Program, row: int, deepest: int = DEEPEST_STACK) -> tuple[Frame, ...]:
    """The calls that lead to an instruction, innermost first, at most `deepest`; empty if the compiler kept none.

    An instruction with a line but without a stack has a stack of this line. The innermost call has the instruction's
    own file and line, and the function of the call there.
    """
    stack = tuple(frame for _, frame in _recorded(program, row, deepest))
    file, line = program.source_files[row], int(program.columns["source_line"][row])
    if not file or (stack and (stack[0][0], stack[0][2]) == (file, line)):
        return stack
    innermost = next((i for i, frame in enumerate(stack) if (frame[0], frame[2]) == (file, line)), None)
    return stack[innermost:] if innermost is not None else ((file, "", line), *stack)


def _recorded(program: Program, row: int, deepest: int) -> Iterator[tuple[int, Frame]]:
    """The instruction's stack frames by index, innermost first."""
    frame, frames, parents = int(program.columns["stack_frame"][row]), program.frames, program.columns["frame_parent"]
    seen: set[int] = set()
    while 0 < frame <= len(frames) and frame not in seen and len(seen) < deepest:
        seen.add(frame)  # a ring of frames ends where it began
        file, _, line = frames[frame - 1]
        if not file and not line:
            break
        yield frame - 1, frames[frame - 1]
        frame = int(parents[frame - 1])


def has_whole_stack(program: Program, row: int) -> bool:
    """Whether the instruction's stack is complete: the outermost call is known, and every call has file and function.

    XLA drops incomplete stacks when it loads a program.
    """
    frame, seen = int(program.columns["stack_frame"][row]), set[int]()
    files, functions = program.columns["frame_file"], program.columns["frame_function"]
    while frame:
        if not 0 < frame <= len(files) or frame in seen or NO_TEXT in (files[frame - 1], functions[frame - 1]):
            return False
        seen.add(frame)
        frame = int(program.columns["frame_parent"][frame - 1])
    return True


def written_stack(text: str) -> tuple[Frame, ...]:
    """The calls of a stack that was recorded as text, innermost first.

    Each is a line `file:line:column`, or of PyTorch `file:line (function)`.
    """
    matches = (_WRITTEN.match(line) for line in text.splitlines()[:DEEPEST_STACK])
    return tuple((match[1], match[3] or "", int(match[2])) for match in matches if match)
