"""Source line and call stack of an HLO instruction in the user's program."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.columns.tables import NO_TEXT

DEEPEST_STACK = 256
"""Default limit on the number of calls, more than a person reads."""


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
    frame = int(program.columns["stack_frame"][row])
    frames, columns, parents = program.frames, program.columns["frame_column"], program.columns["frame_parent"]
    stack: list[str] = []
    seen = set()
    while 0 < frame <= len(frames) and frame not in seen and len(stack) < deepest:
        seen.add(frame)  # a ring of frames ends where it began
        at_file, _, at_line = frames[frame - 1]
        if not at_file and not at_line:
            break
        if not file and not stack:
            file, line = at_file, at_line
        stack.append(f"{at_file}:{at_line}:{int(columns[frame - 1])}")
        frame = int(parents[frame - 1])
    return Source(file, line, tuple(stack)) if file else None


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
