"""Attributes of HLO instructions as XLA prints them after the operands: those of the opcode, then what it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.shapes import laid_out
from tpu_profile_plugin.analysis.hlo.text.attributes import quoted
from tpu_profile_plugin.analysis.hlo.text.sharding import device_groups
from tpu_profile_plugin.protos import enum_values


def attributes(instruction: Instruction, name_of: Callable[[int], str]) -> list[str]:
    """Attributes after the operands: dimensions, windows, devices, called computations (named by `name_of`), ..."""
    texts = [*_window(instruction), *_convolution(instruction)]
    if specific := _BY_OPCODE.get(instruction.opcode):
        texts += specific(instruction)
    return [*texts, *_slices(instruction), *_calls(instruction, name_of)]


def _braces(values: Iterable[object]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


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
        lambda one: [f"epsilon={one.epsilon:g}", f"feature_index={one.feature_index}"]),
    "cholesky": lambda one: _flags(one.cholesky_options, "lower"),
    "compare": _compare,
    "copy-start": _copy_start,
    "custom-call": _custom_call,
    "dot": _dot,
    "dynamic-slice": lambda one: [f"dynamic_slice_sizes={_braces(one.dynamic_slice_sizes)}"],
    "fft": lambda one: [f"fft_type={_enum('xla.FftType', one.fft_type)}", f"fft_length={_braces(one.fft_length)}"],
    "fusion": lambda one: [f"kind={one.fusion_kind}"],
    "gather": _gather,
    "get-tuple-element": lambda one: [f"index={one.tuple_index}"],
    "iota": lambda one: [f"iota_dimension={one.dimensions[0] if one.dimensions else 0}"],
    "outfeed": lambda one: [f"outfeed_shape={laid_out(one.outfeed_shape).text}"],
    "pad": _pad,
    "parameter": _parameter,
    "ragged-dot": _dot,
    "reduce-precision": lambda one: [f"exponent_bits={one.exponent_bits}", f"mantissa_bits={one.mantissa_bits}"],
    "rng": lambda one: [f"distribution={_enum('xla.RandomDistribution', one.distribution).lower()}"],
    "rng-bit-generator": lambda one: [f"algorithm={_enum('xla.RandomAlgorithm', one.rng_algorithm).lower()}"],
    "rng-get-and-update-state": lambda one: [f"delta={one.delta}"],
    "scatter": _scatter,
    "sort": lambda one: [*_dimensions(one), *_flags(one, "is_stable")],
    "topk": lambda one: [f"k={one.k}", *(f"{name}={str(bool(getattr(one, name))).lower()}"
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
