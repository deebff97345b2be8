"""Elementwise instructions: each element of the result depends on the same element of each operand."""

from __future__ import annotations

from tpu_profile_plugin.analysis.hlo.instructions import Instruction, Instructions

COMPUTING = frozenset(
    (
        "abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan2", "atanh", "bitcast-convert", "cbrt", "ceil",
        "clamp", "compare", "complex", "convert", "cosh", "cosine", "count-leading-zeros", "divide", "erf",
        "exponential", "exponential-minus-one", "floor", "imag", "is-finite", "log", "log-plus-one", "logistic",
        "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "power", "real", "reduce-precision",
        "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "shift-left",
        "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sinh", "sqrt", "stochastic-convert",
        "subtract", "tan", "tanh", "xor",
    )
)  # fmt: skip
"""Opcodes that compute each element with the same operation."""
_OTHERS = frozenset(("constant", "copy", "rng"))


def is_elementwise(instruction: Instruction, program: Instructions | None = None) -> bool:
    """True if the instruction works element by element; a fusion only if all it fuses does, found in `program`."""
    if instruction.opcode == "map":
        return list(instruction.dimensions) in ([], list(range(len(instruction.shape.dimensions))))
    if instruction.opcode == "fusion" and program is not None:
        inner = program.called(instruction)
        fused = inner.instructions if inner is not None else []
        return all(i.opcode in COMPUTING or i.opcode in _OTHERS or i.opcode == "parameter" for i in fused)
    return instruction.opcode in COMPUTING or instruction.opcode in _OTHERS
