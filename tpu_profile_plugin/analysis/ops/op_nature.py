"""What an op does, by its opcode or by the instructions inside a fusion: matrix products, movement of data, or else."""

from __future__ import annotations

import re
from enum import Enum

from tpu_profile_plugin.analysis.common.op_names import GRAPH, short_kernel
from tpu_profile_plugin.analysis.hlo.products import MATRICES
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.ops.op_tables import computes


class Nature(Enum):
    """Kinds of ops."""

    MATRIX = "matrix"
    """Dots, convolutions and library calls that compute them."""
    MOVEMENT = "movement"
    """Elements are put elsewhere in memory; nothing of consequence is computed."""
    OTHER = "other"
    UNKNOWN = "unknown"
    """Neither a program nor a category says what it does."""
    EAGER = "eager"
    """TensorFlow: ops that Python launches outside of any tf.function."""
    ELEMENTWISE = "elementwise"
    """PyTorch: each element by itself, in an op of its own."""
    OPTIMIZER = "optimizer"
    """PyTorch: whatever an optimizer runs."""
    RANGE = "range"
    """PyTorch: whatever the program runs in a range that it marked and that is not its model."""
    BACKWARD_AGAIN = "backward again"
    """Matrix products of several backward passes through the same ops; of TensorFlow without those of the first."""
    RECOMPUTED = "recomputation"
    """PyTorch: what activation checkpointing computes again for the backward pass."""
    BROKEN_GRAPH = "broken graph"
    """PyTorch: ops of a compiled function that run outside of its graphs."""
    COMPILED_CALL = "compiled call"
    """PyTorch: a compiled function without its graphs and ops: guards, wrappers, bytecode."""
    NOT_COUNTED = "not counted"
    """Ops that consist of other ops, communication, and waits for copies and the host."""


MOVES = frozenset((
    "broadcast", "concatenate", "copy", "dynamic-slice", "dynamic-update-slice", "gather", "pad", "reverse", "scatter",
    "slice", "sort", "transpose",
))  # fmt: skip
_FORMS = frozenset(("bitcast", "bitcast-convert", "convert", "reshape", "get-tuple-element"))
_HEAVY = frozenset((
    "reduce", "reduce-window", "select-and-scatter", "exponential", "exponential-minus-one", "log", "log-plus-one",
    "logistic", "tanh", "power", "sine", "cosine", "tan", "erf", "cbrt", "sqrt", "rsqrt", "rng", "rng-bit-generator",
    "fft", "cholesky", "triangular-solve", "custom-call", "atan2", "map",
))  # fmt: skip
_ARITHMETIC = frozenset((
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "negate", "abs", "compare", "clamp", "remainder",
    "floor", "ceil", "round-nearest-afz", "round-nearest-even", "sign",
))  # fmt: skip
_SMALL_PART = 0.25
"""Arithmetic on less than this share of the result's bytes does not decide what an op does."""
_LIBRARY = re.compile(r"gemm|matmul|\bdot\b|conv(?!ert)", re.IGNORECASE)
_TPU_MOVES = frozenset((
    "broadcast", "concatenate", "data formatting", "dynamic-slice", "dynamic-update-slice", "gather", "pad", "reverse",
    "scatter", "select", "shuffle", "slice", "sort", "copy", "transpose",
))  # fmt: skip
_MATRIX_CATEGORY = re.compile(r"^(convolution|dot|ragged-dot)\b|MatMul|Conv[123]D|ConvNative|Einsum|CudnnRNN")
_TENSORFLOW_PRODUCT = re.compile(
    r"_?(?:Mkl)?(?:Native)?(?:Fused)?((?:Batch|Sparse)?MatMul|Conv[123]D|DepthwiseConv2[dD])(?:Native)?"
    r"(?:Backprop(?:Filter|Input))?(?:V\d)?(?:WithBias)?\Z"
)
"""TensorFlow's products and their gradients, as oneDNN and the graph's optimizer call them as well."""
_TENSORFLOW_MOVES = frozenset((
    "BroadcastTo", "ConcatV2", "ConjugateTranspose", "Gather", "GatherNd", "GatherV2", "MirrorPad", "Pack", "Pad",
    "PadV2", "Reverse", "ReverseV2", "ScatterNd", "Slice", "Sort", "Split", "SplitV", "StridedSlice", "Tile",
    "TopKV2", "Transpose", "Unpack",
))  # fmt: skip
"""Types of framework ops, which are the categories of GPU ops without a program."""
_UNKNOWN = frozenset(("", "unknown"))
_MOST_NAME = 200
"""So much of an op's name is looked at."""
_NUMBER = re.compile(r"(?:[_.]\d{1,20}){1,16}\Z")
_SCOPES = re.compile(r"^.*/(?=[^\W\d])")
_BACKWARD = re.compile(r"(\w+?)Backward\d*\Z")
_NATIVE = "aten::"
_SAME = {
    **dict.fromkeys(("addmm", "mm", "t"), "linear"),
    **dict.fromkeys(("convolution", "cudnn_convolution"), "conv2d"),
    **dict.fromkeys(("nativelayernorm", "native_layer_norm"), "layer_norm"),
    "embeddingbag": "embedding_bag",
}
"""Ops of PyTorch that are called by another name where they are run, or in their backward pass."""
_TORCH_MATRIX = re.compile(
    r"linear|(?:b|add|baddb|addb)?mm|matmul|einsum|conv\w*|bilinear|\w{0,100}(?:attention|transformer)\w{0,100}|lstm"
    r"|gru|rnn\w*|addmv|mv|dot"
)
_TORCH_MOVES = re.compile(
    r"im2col|col2im|unfold\w*|fold|clone|copy|_to_copy|to|contiguous|cat|stack|repeat\w*|tile|permute|transpose|roll|flip"
    r"|rot90|pad|\w{1,100}_pad\w{0,100}|select\w*|slice\w*|narrow|chunk|split\w*|expand|unbind"
)
"""Ops that copy; lookups in tables and writes by index are the work of many models."""
RECURRENT = re.compile(r"(?:\A|/)(?P<layer>GRU|LSTM)_\d+/\w+Backward\d*(?:/|\Z)")
"""An op of the backward pass of a recurrent layer, which is one op in the forward pass: no loop of the program."""


def by_category(category: str) -> tuple[Nature, str]:
    """The nature of an op of which only the HLO category or the framework's type is known, and what it does."""
    if not computes(category):
        return Nature.NOT_COUNTED, category
    if product := _TENSORFLOW_PRODUCT.match(category):
        return Nature.MATRIX, product[1]
    if _MATRIX_CATEGORY.match(category):
        return Nature.MATRIX, category
    if category in _UNKNOWN:
        return Nature.UNKNOWN, category
    if category in _TPU_MOVES or category in _TENSORFLOW_MOVES:
        return Nature.MOVEMENT, category
    return Nature.OTHER, category


def by_program(rows: ProgramRows, row: int, category: str) -> tuple[Nature, str]:
    """The nature of an op and the opcode that decides, such as `gather`."""
    opcode = rows.opcodes[row]
    if not computes(category) or not computes(opcode):
        return Nature.NOT_COUNTED, opcode
    inside = rows.inside(row)
    for part in inside:
        if rows.opcodes[part] in MATRICES or _library(rows, part):
            return Nature.MATRIX, rows.opcodes[part]
    if opcode == "custom-call":
        return Nature.OTHER, opcode
    root = _result(rows, row)
    deciding = rows.opcodes[root]
    return (Nature.MOVEMENT if _moves(rows, inside, root) else Nature.OTHER), deciding


def _library(rows: ProgramRows, row: int) -> bool:
    return rows.opcodes[row] == "custom-call" and bool(_LIBRARY.search(rows.instruction(row).custom_call_target))


def _result(rows: ProgramRows, row: int) -> int:
    """What the result of an op is made by: the root of a fusion, the largest of several, without changes of form.

    An op by itself is made by nothing else.
    """
    if rows.fused(row) is None:
        return row
    seen = set[int]()
    while row not in seen:
        seen.add(row)
        computation = rows.fused(row)
        if computation is not None:
            root = rows.root(computation)
            row = row if root is None else root
            continue
        operands = [one for one in rows.links.operands(row) if one >= 0]
        if rows.opcodes[row] == "tuple" and operands:
            row = max(operands, key=rows.bytes)
        elif rows.opcodes[row] in _FORMS and operands and rows.opcodes[operands[0]] != "parameter":
            row = operands[0]
    return row


def _moves(rows: ProgramRows, inside: tuple[int, ...], root: int) -> bool:
    """Whether a result that row `root` makes is only moved: with no more arithmetic on floats than moves.

    Arithmetic on a small part of the result does not count, such as that on the row that is written into a buffer.
    """
    deciding = rows.opcodes[root]
    least = _SMALL_PART * rows.bytes(root)
    large = [one for one in inside if _touched(rows, one) >= least]
    moves = sum(rows.opcodes[one] in MOVES for one in inside)
    if any(rows.opcodes[one] in _HEAVY for one in large):
        return False
    arithmetic = sum(rows.opcodes[one] in _ARITHMETIC and _on_floats(rows, one) for one in large)
    if deciding == "select":
        return not arithmetic and moves > 0
    return deciding in MOVES and arithmetic <= moves


def _touched(rows: ProgramRows, row: int) -> int:
    """Bytes of an instruction's result, or of its largest operand: a reduction reads more than it writes."""
    return max([rows.bytes(row), *(rows.bytes(one) for one in rows.links.operands(row) if one >= 0)])


def _on_floats(rows: ProgramRows, row: int) -> bool:
    """Whether an instruction has an operand that is an array of floating-point numbers."""
    return any(one >= 0 and rows.float_bits(one) for one in rows.links.operands(row))


def base_name(name: str) -> str:
    """The kind of a framework's op by its name: without scopes, type and number."""
    last = _SCOPES.sub("", name)[:_MOST_NAME]
    if f"## Call {GRAPH}" in last:
        return GRAPH
    return _NUMBER.sub("", last if "::" in last else last.partition(":")[0]) or name


def by_name(name: str, op_type: str = "") -> tuple[Nature, str]:
    """The nature and kind of an op without a program, by its type if it has one; an op of PyTorch and its backward pass
    are one kind.
    """
    if op_type:
        return by_category(op_type)
    if (recurrent := RECURRENT.search(name)) is not None:
        return Nature.MATRIX, _NATIVE + recurrent["layer"].lower()
    base = base_name(short_kernel(name))
    if base == GRAPH:
        return Nature.OTHER, GRAPH
    backward = _BACKWARD.match(base)
    if backward is None and not base.startswith(_NATIVE):
        return by_category(base)
    plain = backward[1].lower() if backward is not None else base.removeprefix(_NATIVE)
    plain = _SAME.get(plain, plain)
    plain = plain.removesuffix("_") or plain
    if _TORCH_MATRIX.fullmatch(plain):
        return Nature.MATRIX, _NATIVE + plain
    return (Nature.MOVEMENT if _TORCH_MOVES.fullmatch(plain) else Nature.OTHER), _NATIVE + plain
