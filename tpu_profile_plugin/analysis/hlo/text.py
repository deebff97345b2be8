"""HLO programs as text, as XLA prints them and parses them; made from the proto, computation by computation."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.hlo.instructions import Instruction, Instructions, replica_groups
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.shapes import LaidOut, is_tuple, laid_out, marked_list, read_shape, type_name
from tpu_profile_plugin.protos import enum_values, message, read
from tpu_profile_plugin.protos.wire import MalformedMessage, fields

_DEEPEST_SHARDING = 8


def _sharding_kind(number: int) -> str:
    return enum_values("xla.OpSharding.Type").get(number, f"type{number}").lower()


def _commas(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def _braces(values: Iterable[object]) -> str:
    return f"{{{_commas(values)}}}"


def _iota(reshape: Sequence[int], order: Sequence[int]) -> str:
    """Device numbers in order, folded and turned."""
    turned = f"T({_commas(order)})" if list(order) != sorted(order) else ""
    return f"<=[{_commas(reshape)}]{turned}"


def sharding(proto: Any, depth: int = 0) -> str:
    """An OpSharding."""
    kind = _sharding_kind(proto.type)
    if kind == "tuple" and depth < _DEEPEST_SHARDING:
        return "{" + ", ".join(sharding(part, depth + 1) for part in proto.tuple_shardings) + "}"
    if kind == "maximal":
        return f"{{maximal device={_commas(proto.tile_assignment_devices)}}}"
    if kind != "other":
        return f"{{{kind}}}"
    reshape = proto.iota_reshape_dims
    listed = _iota(reshape, proto.iota_transpose_perm) if reshape else _commas(proto.tile_assignment_devices)
    tail = " last_tile_dim_replicate" if proto.replicate_on_last_tile_dim else ""
    if proto.last_tile_dims:
        tail = f" last_tile_dims={{{', '.join(map(_sharding_kind, proto.last_tile_dims))}}}"
    return f"{{devices=[{_commas(proto.tile_assignment_dimensions)}]{listed}{tail}}}"


def device_groups(instruction: Instruction) -> str:
    """Groups of devices that work together in a collective instruction; "" for other instructions."""
    iota, groups = replica_groups(instruction)
    if iota is not None:
        shape = _commas((iota.num_replica_groups, iota.num_devices_per_group))
        return f"replica_groups=[{shape}]{_iota(iota.iota_reshape_dims, iota.iota_transpose_perm)}"
    listed = _commas(_braces(group.replica_ids) for group in groups)
    return f"replica_groups={{{listed}}}" if groups else ""


_MOST_ELEMENTS = 10
"""Maximum number of elements of constants that are written out."""
_MOST_DIMENSIONS = 16
"""Maximum number of dimensions of constants that are written out."""
_ELSEWHERE = "{...}"
_REPEATED = frozenset(("pred", "s32", "s64", "u32", "u64", "f32", "f64", "c64", "c128"))
"""Types with elements in a repeated field; elements of other types are raw bytes."""
_RAW = {"u8": "u1", "s8": "i1", "u16": "<u2", "s16": "<i2", "f16": "<f2", "bf16": "<u2"}
_DIGITS = {"f32": (6, 9), "c64": (6, 9), "f64": (15, 17), "c128": (15, 17), "f16": (5,), "bf16": (4,)}
"""Numbers of significant digits to try for a float: the first that reads back as the same value, else the last."""
_MINI = re.compile(r"f[48]e(\d)m(\d)(b11)?(fn)?(u?z?)")
"""Floats of 8 and 4 bits: exponent and mantissa bits, special bias, missing infinities, missing negative zero."""


def literal_text(literal: Any) -> str:
    """A LiteralProto, e.g. `1` or `{1, 2}` or `{ { 1, 2 }, { 3, 4 } }`; `{...}` when it is large or unknown."""
    sizes, kind = list(literal.shape.dimensions), type_name(literal.shape.element_type)
    count = math.prod(sizes)
    if not 0 <= count <= _MOST_ELEMENTS or len(sizes) > _MOST_DIMENSIONS or (len(sizes) > 1 and not count):
        return _ELSEWHERE
    values = _values(literal, kind, count)
    texts = None if values is None else [_element_text(value, kind, scalar=not sizes) for value in values]
    if texts is None or len(texts) != count:
        return _ELSEWHERE
    if not sizes:
        return texts[0]
    # The elements lie in the message in the order of the layout.
    order = list(literal.shape.layout.minor_to_major)[::-1]
    if sorted(order) != list(range(len(sizes))):
        order = list(range(len(sizes)))
    elements = np.array(texts, object).reshape([sizes[dimension] for dimension in order]).transpose(np.argsort(order))
    return f"{{{', '.join(texts)}}}" if len(sizes) == 1 else _nested(elements.tolist())


def _nested(elements: list[Any]) -> str:
    if elements and isinstance(elements[0], list):
        return f"{{ {', '.join(map(_nested, elements))} }}"
    return f"{{{elements[0]}}}" if len(elements) == 1 else f"{{ {', '.join(elements)} }}"


def _values(literal: Any, kind: str, count: int) -> Sequence[Any] | None:
    """The elements of a small constant; None for unknown types and for elements that do not fit the shape."""
    if kind in _REPEATED:
        values = list(getattr(literal, f"{kind}s")[: 2 * _MOST_ELEMENTS + 2])
        return list(zip(values[::2], values[1::2], strict=False)) if kind.startswith("c") else values
    raw: bytes = getattr(literal, f"{kind}s", b"")
    if element := _RAW.get(kind):
        if len(raw) != count * np.dtype(element).itemsize:
            return None
        numbers: Any = np.frombuffer(raw, element)
        return list((numbers.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else numbers)
    if len(raw) != count:
        return None
    if small_float := _MINI.fullmatch(kind):
        exponent, mantissa = int(small_float[1]), int(small_float[2])
        bias = 11 if small_float[3] else (1 << exponent - 1) - (0 if small_float[5] == "uz" else 1)
        return [_mini(bits, exponent, mantissa, bias, finite=bool(small_float[4]), kind=small_float[5]) for bits in raw]
    if width := re.fullmatch(r"([su])([124])", kind):
        half = 1 << int(width[2]) - 1
        return [bits - 2 * half if width[1] == "s" and bits >= half else bits for bits in raw]
    return None


def _mini(bits: int, exponent: int, mantissa: int, bias: int, *, finite: bool, kind: str) -> float:
    """Value of a float of few bits; `finite` and `kind` determine the bit patterns of NaN."""
    if kind == "u":  # unsigned powers of two
        return math.nan if bits == 255 else 2.0 ** (bits - 127)
    top, fraction = (1 << exponent) - 1, (1 << mantissa) - 1
    sign, power, part = bits >> exponent + mantissa & 1, bits >> mantissa & top, bits & fraction
    if kind == "uz" and sign and not power and not part:
        return math.nan
    if not finite and power == top:
        return math.nan if part else -math.inf if sign else math.inf
    if finite and not kind and exponent + mantissa == 7 and power == top and part == fraction:
        return math.nan
    value = (part / (fraction + 1) + (power > 0)) * 2.0 ** (max(power, 1) - bias)
    return -value if sign else value


def _element_text(value: Any, kind: str, *, scalar: bool) -> str:
    if kind == "pred":
        return str(bool(value)).lower() if scalar else str(int(value))
    if isinstance(value, tuple):
        return f"({', '.join(_float(part, _DIGITS[kind]) for part in value)})"
    if isinstance(value, int | np.integer):
        return str(value)
    mini = _MINI.fullmatch(kind)
    return _float(value, _DIGITS.get(kind) or (math.ceil(1 + (int(mini[2]) + 1) * math.log10(2)) if mini else 9,))


def _float(value: float, digits: Sequence[int]) -> str:
    short = f"{value:.{digits[0]}g}"
    single = digits[-1] == 9
    same = np.float32(short) == np.float32(value) if single else float(short) == value
    return short if same or len(digits) == 1 or math.isnan(value) else f"{value:.{digits[-1]}g}"


_METADATA = (
    "op_type", "op_name", "source_file", "source_line", "source_end_line", "source_column", "source_end_column",
    "profile_type", "deduplicated_name", "scheduling_name", "stack_frame_id",
)  # fmt: skip
_ESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)}
_ESCAPES |= {ord("\\"): "\\\\", ord('"'): '\\"', ord("'"): "\\'", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
"""Escapes of C; letters of other scripts stay readable."""


def quoted(value: str) -> str:
    """A text in quotes, as in HLO text."""
    return f'"{value.translate(_ESCAPES)}"'


def backend_config(instruction: Instruction) -> str:
    """The backend configuration of the instruction; "" if absent."""
    raw: bytes = instruction.backend_config
    return raw.decode("utf-8", "replace")


def notes(instruction: Instruction, name_of: Callable[[int], str], *, order: bool = True) -> list[str]:
    """Compiler notes on an instruction of any opcode.

    `name_of` spells an instruction by its id; `order` includes instructions that must run earlier.
    """
    out = [f"sharding={sharding(instruction.sharding)}"] if instruction.HasField("sharding") else []
    if attributes := instruction.frontend_attributes.map:
        out.append(frontend_attributes(attributes))
    if order and (before := instruction.control_predecessor_ids):
        out.append(f"control-predecessors={{{', '.join(map(name_of, before))}}}")
    if accuracy := _accuracy(instruction.result_accuracy):
        out.append(f"result_accuracy={{{accuracy}}}")
    if instruction.HasField("original_value"):
        out.append(f"origin={{{_original(instruction.original_value, instruction.shape)}}}")
    return out


def frontend_attributes(values: Mapping[str, str]) -> str:
    """Framework notes on an instruction or a module."""
    return f"frontend_attributes={{{','.join(f'{key}={_spelled(value)}' for key, value in sorted(values.items()))}}}"


def origins(instruction: Instruction, name_of: Callable[[int], str], *, order: bool, metadata: bool) -> list[str]:
    """Compiler notes, the instruction's origin if `metadata`, and the backend configuration."""
    out = notes(instruction, name_of, order=order)
    if metadata and (source := _metadata(instruction.metadata)):
        out.append(f"metadata={{{source}}}")
    if config := backend_config(instruction):
        out.append(f"backend_config={_spelled(config)}")
    return out


def _spelled(value: str) -> str:
    """A text in quotes, unless it is in braces."""
    return value if value.startswith("{") else quoted(value)


def _accuracy(accuracy: Any) -> str:
    if accuracy.HasField("tolerance"):
        tolerance = accuracy.tolerance
        return f"tolerance={{atol={tolerance.atol:g},rtol={tolerance.rtol:g},ulps={tolerance.ulps}}}"
    return f"mode={enum_values('xla.ResultAccuracy.Mode').get(accuracy.mode, '').lower()}" if accuracy.mode else ""


def _original(value: Any, shape: Any) -> str:
    """The value before optimization that each part of a result represents."""
    if value.is_synthetic_call:
        return "()"
    elements = (element for element in value.elements if element.HasField("original_array"))
    arrays = {tuple(element.shape_index): element.original_array for element in elements}

    def part(shape: Any, shape_index: tuple[int, ...]) -> str:
        if is_tuple(shape):
            return f"({', '.join(part(inner, (*shape_index, i)) for i, inner in enumerate(shape.tuple_shapes))})"
        if shape_index not in arrays:
            return "{}"
        index = _commas(arrays[shape_index].shape_index)
        return f'{{"{arrays[shape_index].instruction_name}"{f" {{{index}}}" if index else ""}}}'

    return part(shape, ())


def _metadata(metadata: Any) -> str:
    """Metadata as XLA writes it; "" if it has only a name shared by equal instructions or a stack frame."""
    if not (metadata.op_type or metadata.op_name or metadata.source_file or metadata.scheduling_name):
        return ""
    values = ((name, getattr(metadata, name)) for name in _METADATA)
    return " ".join(
        f"{name}={quoted(value) if isinstance(value, str) else value if isinstance(value, int) else _braces(value)}"
        for name, value in values
        if value
    )


def attributes(instruction: Instruction, name_of: Callable[[int], str]) -> list[str]:
    """Attributes after the operands: dimensions, windows, devices, called computations (named by `name_of`), ..."""
    texts = [*_window(instruction), *_convolution(instruction)]
    if specific := _BY_OPCODE.get(instruction.opcode):
        texts += specific(instruction)
    return [*texts, *_slices(instruction), *_calls(instruction, name_of)]


def _enum(name: str, value: int) -> str:
    return enum_values(name).get(value, str(value))


def _flags(message: Any, *names: str) -> list[str]:
    """The flags that are set."""
    return [f"{name}=true" for name in names if getattr(message, name)]


def _dimensions(instruction: Instruction) -> list[str]:
    return [f"dimensions={_braces(instruction.dimensions)}"]


def _window(instruction: Instruction) -> list[str]:
    dims = instruction.window.dimensions
    if not dims:
        return []

    def listed(label: str, values: list[int], default: int) -> list[str]:
        return [f"{label}={'x'.join(map(str, values))}"] if any(value != default for value in values) else []

    texts = [f"size={'x'.join(str(dim.size) for dim in dims)}", *listed("stride", [dim.stride or 1 for dim in dims], 1)]
    if any(dim.padding_low or dim.padding_high for dim in dims):
        texts.append("pad=" + "x".join(f"{dim.padding_low}_{dim.padding_high}" for dim in dims))
    texts += listed("lhs_dilate", [dim.base_dilation or 1 for dim in dims], 1)
    texts += listed("rhs_dilate", [dim.window_dilation or 1 for dim in dims], 1)
    texts += listed("rhs_reversal", [int(dim.window_reversal) for dim in dims], 0)
    return [f"window={{{' '.join(texts)}}}"]


def _convolution(instruction: Instruction) -> list[str]:
    """Attributes of convolutions, and of library calls that are convolutions."""
    texts = []
    if instruction.HasField("convolution_dimension_numbers"):
        texts.append(f"dim_labels={_dim_labels(instruction.convolution_dimension_numbers)}")
    for label in ("feature_group_count", "batch_group_count"):
        if (groups := getattr(instruction, label)) > 1:
            texts.append(f"{label}={groups}")
    return texts + (_precision(instruction) if instruction.opcode in ("convolution", "custom-call") else [])


def _dim_labels(dims: Any) -> str:
    def labels(spatial: Iterable[int], **places: int) -> str:
        by_dim = {dim: str(i) for i, dim in enumerate(spatial)}
        count = len(by_dim) + 2
        by_dim |= {place: label for label, place in places.items()}
        return "".join(by_dim.get(i, "?") for i in range(count))

    inputs = labels(dims.input_spatial_dimensions, b=dims.input_batch_dimension, f=dims.input_feature_dimension)
    kernel = labels(
        dims.kernel_spatial_dimensions, i=dims.kernel_input_feature_dimension, o=dims.kernel_output_feature_dimension
    )
    output = labels(dims.output_spatial_dimensions, b=dims.output_batch_dimension, f=dims.output_feature_dimension)
    return f"{inputs}_{kernel}->{output}"


def _precision(instruction: Instruction) -> list[str]:
    config, texts = instruction.precision_config, []
    if any(config.operand_precision):
        listed = (_enum("xla.PrecisionConfig.Precision", value).lower() for value in config.operand_precision)
        texts.append(f"operand_precision={_braces(listed)}")
    if config.algorithm:
        algorithm = _enum("xla.PrecisionConfig.Algorithm", config.algorithm)
        texts.append(f"algorithm={algorithm.removeprefix('ALG_').lower()}")
    return texts


def _dot(instruction: Instruction) -> list[str]:
    ragged = instruction.ragged_dot_dimension_numbers
    dims = ragged.dot_dimension_numbers if instruction.opcode == "ragged-dot" else instruction.dot_dimension_numbers
    labels = ("lhs_batch_dims", "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims")
    listed = [(label, getattr(dims, label.replace("dims", "dimensions"))) for label in labels]
    listed += [("lhs_ragged_dims", ragged.lhs_ragged_dimensions), ("rhs_group_dims", ragged.rhs_group_dimensions)]
    return [*(f"{label}={_braces(values)}" for label, values in listed if values), *_precision(instruction)]


def _collective(instruction: Instruction) -> list[str]:
    """Channel and groups of devices; the rest of the order depends on the opcode."""
    texts = [f"channel_id={instruction.channel_id}"] if instruction.channel_id > 0 else []
    if instruction.opcode.startswith("collective-permute"):
        if instruction.source_target_pairs:
            pairs = (_braces((pair.source, pair.target)) for pair in instruction.source_target_pairs)
            texts.append(f"source_target_pairs={_braces(pairs)}")
        return texts
    if not instruction.opcode.endswith("-done"):
        texts.append(device_groups(instruction) or "replica_groups={}")
    texts += _flags(instruction, "constrain_layout")
    dimensions, devices = (
        _dimensions(instruction) if instruction.dimensions else [],
        _flags(instruction, "use_global_device_ids"),
    )
    return [*texts, *(dimensions + devices if "gather" in instruction.opcode else devices + dimensions)]


def _transfer(instruction: Instruction) -> list[str]:
    texts = [f"channel_id={instruction.channel_id}"] if instruction.channel_id > 0 else []
    return [*texts, *_flags(instruction, "is_host_transfer")]


def _custom_call(instruction: Instruction) -> list[str]:
    texts = [f"custom_call_target={quoted(instruction.custom_call_target)}"]
    if instruction.constrain_layout:
        shapes = ", ".join(laid_out(shape).text for shape in instruction.operand_shapes_with_layout)
        texts.append(f"operand_layout_constraints={{{shapes}}}")
    texts += _flags(instruction, "custom_call_has_side_effect")
    if instruction.output_operand_aliasing:
        texts.append(f"output_to_operand_aliasing={{{', '.join(map(_aliasing, instruction.output_operand_aliasing))}}}")
    if instruction.custom_call_schedule:
        texts.append(f"schedule={_enum('xla.CustomCallSchedule', instruction.custom_call_schedule)}")
    if instruction.custom_call_api_version > _ORIGINAL_API:
        texts.append(f"api_version={_enum('xla.CustomCallApiVersion', instruction.custom_call_api_version)}")
    return texts


_ORIGINAL_API = 1
"""Version of custom calls that is not printed."""


def _aliasing(alias: Any) -> str:
    output, operand = (", ".join(map(str, index)) for index in (alias.output_shape_index, alias.operand_shape_index))
    return f"{{{output}}}: ({alias.operand_index}, {{{operand}}})"


def _slices(instruction: Instruction) -> list[str]:
    if not instruction.slice_dimensions:
        return []
    strided = any(part.stride not in (0, 1) for part in instruction.slice_dimensions)
    parts = (
        f"[{part.start}:{part.limit}{f':{part.stride or 1}' if strided else ''}]"
        for part in instruction.slice_dimensions
    )
    return [f"slice={{{', '.join(parts)}}}"]


def _pad(instruction: Instruction) -> list[str]:
    dimensions = instruction.padding_config.dimensions
    inner = any(part.interior_padding for part in dimensions)
    sizes = ([part.edge_padding_low, part.edge_padding_high, part.interior_padding] for part in dimensions)
    return ["padding=" + "x".join("_".join(map(str, size if inner else size[:2])) for size in sizes)]


def _compare(instruction: Instruction) -> list[str]:
    texts = [f"direction={instruction.comparison_direction}"] if instruction.comparison_direction else []
    total = instruction.comparison_order == "TOTAL" or instruction.comparison_type == "TOTALORDER"
    return [*texts, "order=TOTAL"] if total else texts


def _indexed(dims: Any, labels: Sequence[str], batching: Sequence[str]) -> list[str]:
    """Dimensions of a gather or scatter; those of batches where there are any."""
    shown = [*labels, *(label for label in batching if getattr(dims, label))]
    return [
        *(f"{label}={_braces(getattr(dims, label))}" for label in shown),
        f"index_vector_dim={dims.index_vector_dim}",
    ]


def _gather(instruction: Instruction) -> list[str]:
    labels = ("offset_dims", "collapsed_slice_dims", "start_index_map")
    batching = ("operand_batching_dims", "start_indices_batching_dims")
    return [
        *_indexed(instruction.gather_dimension_numbers, labels, batching),
        f"slice_sizes={_braces(instruction.gather_slice_sizes)}",
        *_flags(instruction, "indices_are_sorted"),
    ]


def _scatter(instruction: Instruction) -> list[str]:
    labels = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    batching = ("input_batching_dims", "scatter_indices_batching_dims")
    dims = _indexed(instruction.scatter_dimension_numbers, labels, batching)
    return [*dims, *_flags(instruction, "indices_are_sorted", "unique_indices")]


def _triangular_solve(instruction: Instruction) -> list[str]:
    options = instruction.triangular_solve_options
    side = _enum("xla.TriangularSolveOptions.Transpose", options.transpose_a)
    return [*_flags(options, "left_side", "lower", "unit_diagonal"), f"transpose_a={side}"]


def _parameter(instruction: Instruction) -> list[str]:
    replicated = instruction.parameter_replication.replicated_at_leaf_buffers
    return [f"parameter_replication={_braces(str(leaf).lower() for leaf in replicated)}"] if replicated else []


def _copy_start(instruction: Instruction) -> list[str]:
    index = "cross_program_prefetch_index"
    return [f"{index}={instruction.cross_program_prefetch_index}"] if instruction.HasField(index) else []


_BY_OPCODE: Mapping[str, Callable[[Instruction], list[str]]] = {
    **dict.fromkeys(
        ("broadcast", "concatenate", "get-dimension-size", "map", "reduce", "reverse", "set-dimension-size",
         "transpose"), _dimensions),
    **dict.fromkeys(
        ("all-gather", "all-gather-start", "all-reduce", "all-reduce-start", "all-to-all", "collective-broadcast",
         "collective-permute", "collective-permute-start", "ragged-all-to-all", "reduce-scatter"), _collective),
    **dict.fromkeys(("send", "send-done", "recv", "recv-done"), _transfer),
    **dict.fromkeys(
        ("batch-norm-grad", "batch-norm-inference", "batch-norm-training"),
        lambda i: [f"epsilon={i.epsilon:g}", f"feature_index={i.feature_index}"]),
    "cholesky": lambda i: _flags(i.cholesky_options, "lower"),
    "compare": _compare,
    "copy-start": _copy_start,
    "custom-call": _custom_call,
    "dot": _dot,
    "dynamic-slice": lambda i: [f"dynamic_slice_sizes={_braces(i.dynamic_slice_sizes)}"],
    "fft": lambda i: [f"fft_type={_enum('xla.FftType', i.fft_type)}", f"fft_length={_braces(i.fft_length)}"],
    "fusion": lambda i: [f"kind={i.fusion_kind}"],
    "gather": _gather,
    "get-tuple-element": lambda i: [f"index={i.tuple_index}"],
    "iota": lambda i: [f"iota_dimension={i.dimensions[0] if i.dimensions else 0}"],
    "outfeed": lambda i: [f"outfeed_shape={laid_out(i.outfeed_shape).text}"],
    "pad": _pad,
    "parameter": _parameter,
    "ragged-dot": _dot,
    "reduce-precision": lambda i: [f"exponent_bits={i.exponent_bits}", f"mantissa_bits={i.mantissa_bits}"],
    "rng": lambda i: [f"distribution={_enum('xla.RandomDistribution', i.distribution).lower()}"],
    "rng-bit-generator": lambda i: [f"algorithm={_enum('xla.RandomAlgorithm', i.rng_algorithm).lower()}"],
    "rng-get-and-update-state": lambda i: [f"delta={i.delta}"],
    "scatter": _scatter,
    "sort": lambda i: [*_dimensions(i), *_flags(i, "is_stable")],
    "topk": lambda i: [f"k={i.k}", *(f"{name}={str(bool(getattr(i, name))).lower()}"
                                         for name in ("largest", "is_stable"))],
    "triangular-solve": _triangular_solve,
}  # fmt: skip
_APPLIED = frozenset(
    ("reduce", "reduce-window", "scatter", "sort", "map", "all-reduce", "all-reduce-start", "reduce-scatter", "call")
)


def _calls(instruction: Instruction, name_of: Callable[[int], str]) -> list[str]:
    names = [name_of(i) for i in instruction.called_computation_ids]
    if not names:
        return []
    if instruction.opcode == "while" and len(names) == 2:
        return [f"condition={names[1]}", f"body={names[0]}"]
    if instruction.opcode == "conditional":
        return [f"branch_computations={{{', '.join(names)}}}"]
    if instruction.opcode == "select-and-scatter" and len(names) == 2:
        return [f"select={names[0]}", f"scatter={names[1]}"]
    if instruction.opcode in _APPLIED:
        return [f"to_apply={names[0]}"]
    if instruction.opcode in ("fusion", "async-start"):
        return [f"calls={names[0]}"]
    return [f"called_computations={_braces(names)}"] if instruction.opcode == "custom-call" else []


_LONGEST = 1_000_000
"""Maximum length of an instruction's text, in characters."""


def instruction_text(
    instruction: Instruction, program: Instructions, computations: Callable[[int], str], limit: int = _LONGEST
) -> str:
    """`%name = shape opcode(operands), attributes`, as XLA prints it.

    Args:
      instruction: the instruction.
      program: the instructions of its program.
      computations: the name of a computation by its id.
      limit: longest text.
    """
    opcode, more = operation(instruction, program, lambda called: f"%{computations(called)}")
    inside = own_value(instruction)
    if inside is None:
        operands = ((id_, program.find(id_)) for id_ in instruction.operand_ids)
        inside = marked_list([f"{laid_out(i.shape).text} %{i.name}" if i else f"%{id_}" for id_, i in operands])
    more += notes(instruction, lambda id_: f"%{earlier.name if (earlier := program.find(id_)) else id_}")
    return ", ".join([f"%{instruction.name} = {laid_out(instruction.shape).text} {opcode}({inside})", *more])[:limit]


def operation(instruction: Instruction, program: Instructions, name_of: Callable[[int], str]) -> tuple[str, list[str]]:
    """Opcode and attributes of an instruction; `name_of` spells computations.

    An asynchronous instruction is named after the instruction that it runs: `slice-start`, not `async-start`.
    """
    inner = wrapped(instruction, program)
    opcode = instruction.opcode if inner is None else f"{inner.opcode}{instruction.opcode.removeprefix('async')}"
    shown = instruction if inner is None else inner if instruction.opcode == "async-start" else None
    if instruction.opcode == "conditional" and instruction.operand_ids:
        chosen = program.find(instruction.operand_ids[0])
        if chosen is not None and type_name(chosen.shape.element_type) == "pred":
            labelled = zip(_BRANCHES, instruction.called_computation_ids, strict=False)
            return opcode, [f"{label}={name_of(i)}" for label, i in labelled]
    return opcode, [] if shown is None else attributes(shown, name_of)


def own_value(instruction: Instruction) -> str | None:
    """The text of a constant or a parameter instead of operands; None for other instructions."""
    if instruction.opcode == "constant":
        return literal_text(instruction.literal) if instruction.HasField("literal") else ""
    return str(instruction.parameter_number) if instruction.opcode == "parameter" else None


_BRANCHES = ("true_computation", "false_computation")
_LONGEST_CHAIN = 100
"""Starts, updates and the end of an asynchronous instruction."""


def wrapped(instruction: Instruction, program: Instructions) -> Instruction | None:
    """The instruction that an asynchronous instruction runs: the only one in its computation."""
    if instruction.opcode not in ("async-start", "async-update", "async-done"):
        return None
    start: Instruction | None = instruction
    for _ in range(_LONGEST_CHAIN):
        if start is None or start.opcode == "async-start":
            break
        start = program.find(start.operand_ids[0]) if start.operand_ids else None
    if start is None or not start.called_computation_ids:
        return None
    inner = program.computation(start.called_computation_ids[0])
    if inner is None or inner.root is None:
        return None
    parameters = [i.id for i in inner.instructions if i.opcode == "parameter"]
    single = len(inner.instructions) == len(parameters) + 1 and list(inner.root.operand_ids) == parameters
    return inner.root if single else None


_MODULE, _BIG = "hlo_module", frozenset(("computations", "payloads", "profile_info"))
"""Field number in an HloProto; fields of its module that are skipped."""


def module_header(program: Program) -> Any:
    """The HloModuleProto of a program without its computations; only the sound fields if it is damaged."""
    proto = memoryview(program.space.blob(program.module.proto))
    outer = message("xla.HloProto").DESCRIPTOR.fields_by_name[_MODULE].number
    module_fields = message("xla.HloModuleProto").DESCRIPTOR.fields_by_number
    parts: list[memoryview] = []
    with suppress(MalformedMessage):
        for number, _, _, begin, end in fields(proto):
            if number == outer:
                parts += [
                    proto[start:stop]
                    for field, _, start, _, stop in fields(proto, begin, end)
                    if field in module_fields and module_fields[field].name not in _BIG
                ]
    return read("xla.HloModuleProto", b"".join(parts))


_MUST_ALIAS = 2


def header_line(name: str, header: Any) -> str:
    """`HloModule name, attribute=value, ...`, as XLA prints it."""
    parts = [f"HloModule {name}"]
    if header.HasField("schedule"):
        parts.append("is_scheduled=true")
    if entries := header.input_output_alias.entries:
        aliases = (
            f"{_braces(entry.output_shape_index)}: ({entry.parameter_number}, {_braces(entry.parameter_shape_index)}, "
            f"{'must-alias' if entry.kind == _MUST_ALIAS else 'may-alias'})"
            for entry in sorted(entries, key=lambda entry: tuple(entry.output_shape_index))
        )
        parts.append(f"input_output_alias={{ {', '.join(aliases)} }}")
    if donors := header.buffer_donor.entries:
        listed = sorted((donor.parameter_number, tuple(donor.parameter_shape_index)) for donor in donors)
        parts.append(f"buffer_donor={{ {', '.join(f'({number}, {_braces(part)})' for number, part in listed)} }}")
    if header.HasField("host_program_shape"):
        shape = header.host_program_shape
        parameters = marked_list([laid_out(parameter).text for parameter in shape.parameters])
        parts.append(f"entry_computation_layout={{({parameters})->{laid_out(shape.result).text}}}")
    if attributes := header.frontend_attributes.map:
        parts.append(frontend_attributes(attributes))
    return ", ".join(parts)


_LOCATION = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")


def frame_tables(header: Any) -> Iterator[str]:
    """The lines of the four tables that `stack_frame_id` refers to, each with its title; empty without stack frames.

    Rows are numbered from 1. XLA prints the parent of a frame plus one, so that 1 is a frame without a caller.
    """
    index = header.stack_frame_index
    if not index.stack_frames:
        return
    tables = {
        "FileNames": map(quoted, index.file_names),
        "FunctionNames": map(quoted, index.function_names),
        "FileLocations": (
            f"{{{' '.join(f'{name}={getattr(location, name)}' for name in _LOCATION)}}}"
            for location in index.file_locations
        ),
        "StackFrames": (
            f"{{file_location_id={frame.file_location_id} parent_frame_id={frame.parent_frame_id + 1}}}"
            for frame in index.stack_frames
        ),
    }
    for title, rows in tables.items():
        yield f"\n{title}\n"
        yield from (f"{number} {row}\n" for number, row in enumerate(rows, start=1))


# The order in which XLA prints computations: callees before callers.


def call_order(program: Program) -> Sequence[int]:
    """Rows of the computations, depth first in the order of the instructions that call them.

    Each uncalled computation starts a tree, in program order. Computations that only call one another in a ring follow;
    no compiler makes such rings.
    """
    columns = program.columns
    count = len(columns["computation_id"])
    called_start, start = columns["called_start"].tolist(), columns["computation_start"].tolist()
    called = [program.computation_of_id.get(id_, -1) for id_ in columns["called"].tolist()]
    calls = [
        [row for row in dict.fromkeys(called[called_start[begin] : called_start[end]]) if row >= 0]
        for begin, end in pairwise(start)
    ]
    inner = {row for rows in calls for row in rows}
    order: list[int] = []
    seen: set[int] = set()
    for root in (*(row for row in range(count) if row not in inner), *range(count)):
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(calls[root]))]  # iterative, because chains of calls may be long
        while stack:
            row, rest = stack[-1]
            following = next((callee for callee in rest if callee not in seen), None)
            if following is None:
                stack.pop()
                order.append(row)
            else:
                seen.add(following)
                stack.append((following, iter(calls[following])))
    return order


_LOCAL = (1 << 32) - 1
"""Mask of an instruction's own id: its upper half, or the schedule's, may hold the id of the computation."""


class HloText:
    """Spells one program.

    The long form (`full`) has names with `%`, signatures of computations, operand numbers and control predecessors;
    both have backend configurations. `metadata` adds where instructions come from, with the tables of stack frames.
    """

    def __init__(self, program: Program, full: bool, metadata: bool) -> None:
        self._program, self._full, self._metadata = program, full, metadata
        self._instructions = Instructions(program)
        self._shapes: dict[bytes, LaidOut] = {}
        self._bare_shapes: dict[bytes, str] = {}

    @cached_property
    def _header(self) -> Any:
        return module_header(self._program)

    @cached_property
    def _sequences(self) -> Mapping[int, Sequence[int]]:
        """The order of execution: ids of instructions by the id of their computation; only if it has a schedule."""
        return {id_: list(order.instruction_ids) for id_, order in self._header.schedule.sequences.items()}

    def module(self) -> Iterator[str]:
        """The whole program: called computations before their callers, the entry computation marked."""
        yield header_line(self._header.name or self._program.module.name.rpartition("(")[0], self._header)
        if self._metadata and self._header.stack_frame_index.stack_frames:
            yield "\n"
            yield from frame_tables(self._header)
        yield "\n\n"
        for index in call_order(self._program):
            if int(self._program.columns["computation_id"][index]) not in self._inline:
                yield f"{self.computation(index)}\n\n"

    def computation(self, index: int) -> str:
        """One computation, by its row."""
        program = self._program
        name = self._marked(program.computation_names[index])
        entry = "ENTRY " if index == program.entry else ""
        signature = f" {self._signature(index)}" if self._full else ""
        return "\n".join([f"{entry}{name}{signature} {{", *self._lines(index), "}"])

    @cached_property
    def _inline(self) -> frozenset[int]:
        """Ids of computations that only wrap the instruction of an asynchronous one, whose text shows it inline."""
        rows = (row for row, opcode in enumerate(self._program.opcodes) if opcode == "async-start")
        starts = (self._program.instruction(row) for row in rows)
        return frozenset(
            start.called_computation_ids[0] for start in starts if wrapped(start, self._instructions) is not None
        )

    def in_order(self, index: int) -> Sequence[int]:
        """Rows in order of execution if the program has a schedule, else in program order."""
        rows = self._program.rows_in(index)
        sequence = self._sequences.get(int(self._program.columns["computation_id"][index]))
        if not sequence:
            return rows
        ids = self._program.columns["id"][rows.start : rows.stop].tolist()
        place = {id_ & _LOCAL: row for row, id_ in zip(reversed(rows), reversed(ids), strict=True)}
        scheduled = [place[id_ & _LOCAL] for id_ in dict.fromkeys(sequence) if id_ & _LOCAL in place]
        return [*scheduled, *sorted(set(rows) - set(scheduled))]

    def _lines(self, index: int) -> Iterator[str]:
        root = int(self._program.columns["computation_root"][index])
        ids = self._program.columns["id"]
        for row in self.in_order(index):
            yield ("  ROOT " if int(ids[row]) == root else "  ") + self.instruction(row)

    def _marked(self, name: str) -> str:
        return f"%{name}" if self._full else name

    def _named(self, id_: int) -> str:
        row = self._program.row_of_id.get(id_)
        return self._marked(f"unknown.{id_}" if row is None else self._program.names[row])

    def _called(self, id_: int) -> str:
        row = self._program.computation_of_id.get(id_)
        return self._marked(f"unknown.{id_}" if row is None else self._program.computation_names[row])

    def shape(self, row: int) -> LaidOut:
        """The shape of an instruction; equal ones are read once."""
        data = self._program.shape(row)
        if data not in self._shapes:
            self._shapes[data] = read_shape(data)
        return self._shapes[data]

    def instruction(self, row: int) -> str:
        """One instruction: `name = shape opcode(operands), attributes`."""
        program, instruction = self._program, self._program.instruction(row)
        opcode, more = operation(instruction, self._instructions, self._called)
        if instruction.comparison_type:  # as the compiler of this program spells it; newer ones spell the order alone
            more = [f"type={instruction.comparison_type}" if each == "order=TOTAL" else each for each in more]
        inside = own_value(instruction)
        if inside is None:
            names = [self._named(id_) for id_ in instruction.operand_ids]
            inside = marked_list(names) if self._full else ", ".join(names)
        more += origins(instruction, self._named, order=self._full, metadata=self._metadata)
        head = f"{self._marked(program.names[row])} = {self.shape(row).text} {opcode}({inside})"
        return ", ".join([head, *more])

    def _signature(self, index: int) -> str:
        rows = self._program.rows_in(index)
        opcodes, names = self._program.opcodes, self._program.names
        parameters = [row for row in rows if opcodes[row] == "parameter"]
        parameters.sort(key=lambda row: self._program.instruction(row).parameter_number)
        listed = ", ".join(f"{names[row]}: {self._bare(row)}" for row in parameters)
        root = int(self._program.columns["computation_root"][index])
        ids = self._program.columns["id"]
        result = next((self._bare(row) for row in rows if int(ids[row]) == root), "()")
        return f"({listed}) -> {result}"

    def _bare(self, row: int) -> str:
        data = self._program.shape(row)
        if data not in self._bare_shapes:
            self._bare_shapes[data] = read_shape(data, layout=False).text
        return self._bare_shapes[data]
