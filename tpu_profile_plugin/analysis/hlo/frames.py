"""Call stack of an HLO instruction with the functions that it goes through."""

from __future__ import annotations

import re

from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.source import DEEPEST_STACK

Frame = tuple[str, str, int]
"""A call: file, function ("" if unknown), line."""
_WRITTEN = re.compile(r"^\s*(.+?):(\d{1,9})(?::\d{1,9})?(?: \((.*)\))?\s*$")


def call_stack(program: Program, row: int, deepest: int = DEEPEST_STACK) -> tuple[Frame, ...]:
    """The calls that lead to an instruction, innermost first, at most `deepest`; empty if the compiler kept none.

    An instruction with a line but without a stack has a stack of this line. The innermost call has the instruction's
    own file and line, and the function of the call there.
    """
    stack = _recorded(program, row, deepest)
    file, line = program.source_files[row], int(program.columns["source_line"][row])
    if not file or (stack and (stack[0][0], stack[0][2]) == (file, line)):
        return stack
    at = next((i for i, frame in enumerate(stack) if (frame[0], frame[2]) == (file, line)), None)
    return stack[at:] if at is not None else ((file, "", line), *stack)


def _recorded(program: Program, row: int, deepest: int) -> tuple[Frame, ...]:
    frame, frames, parents = int(program.columns["stack_frame"][row]), program.frames, program.columns["frame_parent"]
    stack: list[Frame] = []
    seen = set()
    while 0 < frame <= len(frames) and frame not in seen and len(stack) < deepest:
        seen.add(frame)  # a ring of frames ends where it began
        file, function, line = frames[frame - 1]
        if not file and not line:
            break
        stack.append((file, function, line))
        frame = int(parents[frame - 1])
    return tuple(stack)


def written_stack(text: str) -> tuple[Frame, ...]:
    """The calls of a stack that was recorded as text, innermost first.

    Each is a line `file:line:column`, or of PyTorch `file:line (function)`.
    """
    found = (_WRITTEN.match(line) for line in text.splitlines()[:DEEPEST_STACK])
    return tuple((match[1], match[3] or "", int(match[2])) for match in found if match)
