"""Whether a program computes gradients."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.op_names import PYTORCH, in_gradient, parse_op
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, hlo_programs
from tpu_profile_plugin.columns import XSpace


def is_training(space: XSpace) -> bool:
    """True if an HLO module of the profile, or PyTorch on the host, has an op made by automatic differentiation."""
    if _pytorch_trains(space):
        return True
    programs = hlo_programs(space)
    return any(_has_gradient(programs, program_id) for program_id in programs.modules)


def _has_gradient(programs: HloPrograms, program_id: int) -> bool:
    """The bytes are searched first: most modules can be ruled out without being decoded."""
    proto = programs.blob(program_id)
    if b"transpose(" not in proto and b"gradient" not in proto:
        return False
    program = programs.program(program_id)
    if program is None:
        return False
    return any(in_gradient(*op) for op in set(zip(program.op_names, program.op_types, strict=True)))


def _pytorch_trains(space: XSpace) -> bool:
    """Whether the host's events name an op of the backward pass."""
    host = host_plane(space)
    if host is None:
        return False
    ops = (parse_op(name) for name in host.declared.event_metadata.names if "Backward" in name)
    return any(op.category == PYTORCH and in_gradient(op.name, op.type) for op in ops)
