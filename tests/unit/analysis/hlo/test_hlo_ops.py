"""HLO programs: lookup, text, what is inside fusions, layouts of convolutions."""

import numpy as np
import pytest
from builders.programs import hlo
from builders.programs.hlo import op, program, shape
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.instructions import Dimension, used_share
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.text import attributes, device_groups, literal_text, origins
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.protos import message


def ops(**programs):
    return HloOps(load(build(hlo.metadata_plane(**programs))))


def test_instructions_are_found_by_program_and_name():
    found = ops(jit_f=(7, hlo.relu_program()))
    one = found.find(7, "fusion.1")
    assert (one.opcode, one.operand_ids, one.metadata.op_name) == ("fusion", [1 << 32], "jit(f)/max")
    expression = "%fusion.1 = f32[8,128]{1,0} fusion(f32[8,128]{1,0} %x), kind=kLoop, calls=%fused"
    assert found.text(7, one) == expression
    assert found.cost(7, one).flops == 2 * 3 * 8 * 128
    assert found.find(7, "nope") is None
    assert found.find(8, "fusion.1") is None
    assert found.source(7, "fusion.1") == ("", -1, "")
    assert found.source(7, "nope") == found.source(8, "fusion.1") == ("", -1, "")


def test_inside_of_a_fusion():
    inside = ops(jit_f=(7, hlo.relu_program())).fused(7, "fusion.1", with_cost=True)
    assert [(one.name, one.category, one.provenance, one.flops) for one in inside] == [
        ("zero", "non-fusion elementwise", ":", 0.0),
        ("add.1", "non-fusion elementwise", "jit(f)/add:", 3072.0),
        ("max.1", "non-fusion elementwise", "jit(f)/max:", 3072.0),
    ]
    assert inside[0].expression == "%zero = f32[] constant(0)"
    assert ops(jit_f=(7, hlo.relu_program())).fused(7, "x") == ()


def test_broken_programs_have_no_ops():
    found = ops(jit_f=(7, hlo.relu_program()[:-9]))
    assert found.find(7, "fusion.1") is None
    assert found.fused(7, "fusion.1") == ()


@pytest.mark.parametrize(
    ("file", "line", "frame", "expected"),
    [
        ("b.py", 7, 2, ("b.py", 7, "a.py:5:1\na.py:9:2\n")),
        ("b.py", 7, 0, ("b.py", 7, "")),
        # Newer compilers write the frame alone: the innermost call is the source.
        ("", 0, 2, ("a.py", 5, "a.py:5:1\na.py:9:2\n")),
        ("", 0, 1, ("a.py", 9, "a.py:9:2\n")),
        ("", 0, 0, ("", -1, "")),
        ("", 0, 3, ("", -1, "")),
    ],
)
def test_sources_and_stack_frames(file, line, frame, expected):
    add = op("add", "add", "f32[2]", op_name="f", source_file=file, source_line=line, stack_frame_id=frame)
    index = {
        "file_names": ["a.py"],
        "function_names": ["f", "g"],
        "file_locations": [
            {"file_name_id": 1, "function_name_id": 1, "line": 9, "column": 2},
            {"file_name_id": 1, "function_name_id": 2, "line": 5, "column": 1},
        ],
        "stack_frames": [{"file_location_id": 1}, {"file_location_id": 2, "parent_frame_id": 1}],
    }
    proto = program([add], more={"stack_frame_index": index})
    assert ops(m=(1, proto)).source(1, "add") == expected


def instruction(name, opcode, of, **fields):
    return message("xla.HloInstructionProto")(name=name, opcode=opcode, shape=shape(of), **fields)


@pytest.mark.parametrize(
    ("opcode", "fields", "expected"),
    [
        ("transpose", {"dimensions": [1, 0]}, "dimensions={1,0}"),
        ("get-tuple-element", {"tuple_index": 2}, "index=2"),
        ("slice", {"slice_dimensions": [{"start": 1, "limit": 4, "stride": 2}]},
         "slice={[1:4:2]}"),
        ("slice", {"slice_dimensions": [{"start": 1, "limit": 4, "stride": 2}, {"limit": 8, "stride": 1}]},
         "slice={[1:4:2], [0:8:1]}"),
        ("compare", {"comparison_direction": "LT"}, "direction=LT"),
        ("compare", {"comparison_direction": "LT", "comparison_type": "TOTALORDER"}, "direction=LT, order=TOTAL"),
        ("dot", {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}},
         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
        ("dot", {"dot_dimension_numbers": {"lhs_contracting_dimensions": [1]},
                 "precision_config": {"operand_precision": ["HIGHEST", "DEFAULT"]}},
         "lhs_contracting_dims={1}, operand_precision={highest,default}"),
        ("dot", {"precision_config": {"algorithm": "ALG_DOT_TF32_TF32_F32"}}, "algorithm=dot_tf32_tf32_f32"),
        ("ragged-dot", {"ragged_dot_dimension_numbers": {
            "dot_dimension_numbers": {"lhs_contracting_dimensions": [1]}, "lhs_ragged_dimensions": [0]}},
         "lhs_contracting_dims={1}, lhs_ragged_dims={0}"),
        ("pad", {"padding_config": {"dimensions": [{"edge_padding_low": 1, "edge_padding_high": 2}]}},
         "padding=1_2"),
        ("custom-call", {"custom_call_target": 'f"', "called_computation_ids": [8]},
         'custom_call_target="f\\"", called_computations={%c8}'),
        ("custom-call", {
            "custom_call_target": "f", "constrain_layout": True, "custom_call_has_side_effect": True,
            "operand_shapes_with_layout": [shape("bf16[4,8]{1,0}"), shape("bf16[8,2]{0,1}")],
            "output_operand_aliasing": [{"output_shape_index": [0], "operand_index": 1}],
            "custom_call_schedule": "SCHEDULE_LATEST", "custom_call_api_version": "API_VERSION_TYPED_FFI",
        }, 'custom_call_target="f", operand_layout_constraints={bf16[4,8]{1,0}, bf16[8,2]{0,1}}, '
           "custom_call_has_side_effect=true, output_to_operand_aliasing={{0}: (1, {})}, schedule=SCHEDULE_LATEST, "
           "api_version=API_VERSION_TYPED_FFI"),
        ("custom-call", {"custom_call_target": "f", "constrain_layout": True},
         'custom_call_target="f", operand_layout_constraints={}'),
        ("custom-call", {"custom_call_target": "f", "custom_call_api_version": "API_VERSION_ORIGINAL"},
         'custom_call_target="f"'),
        ("while", {"called_computation_ids": [8, 9]}, "condition=%c9, body=%c8"),
        ("all-reduce", {"called_computation_ids": [8], "replica_groups": [{"replica_ids": [0, 1]}], "channel_id": 1},
         "channel_id=1, replica_groups={{0,1}}, to_apply=%c8"),
        ("all-gather", {"dimensions": [0], "use_global_device_ids": True},
         "replica_groups={}, dimensions={0}, use_global_device_ids=true"),
        ("reduce-scatter", {"dimensions": [0], "use_global_device_ids": True, "constrain_layout": True},
         "replica_groups={}, constrain_layout=true, use_global_device_ids=true, dimensions={0}"),
        ("all-to-all", {"channel_id": 3}, "channel_id=3, replica_groups={}"),
        ("all-reduce-done", {}, ""),
        ("collective-permute", {"source_target_pairs": [{"source": 0, "target": 1}]}, "source_target_pairs={{0,1}}"),
        ("send", {"channel_id": 2, "is_host_transfer": True}, "channel_id=2, is_host_transfer=true"),
        ("cholesky", {"cholesky_options": {"lower": True}}, "lower=true"),
        ("triangular-solve", {"triangular_solve_options": {"left_side": True, "transpose_a": "ADJOINT"}},
         "left_side=true, transpose_a=ADJOINT"),
        ("batch-norm-training", {"epsilon": 0.1, "feature_index": 1}, "epsilon=0.1, feature_index=1"),
        ("rng", {"distribution": "RNG_NORMAL"}, "distribution=rng_normal"),
        ("rng-bit-generator", {"rng_algorithm": "RNG_PHILOX"}, "algorithm=rng_philox"),
        ("rng-get-and-update-state", {"delta": 1}, "delta=1"),
        ("topk", {"k": 8, "largest": True}, "k=8, largest=true, is_stable=false"),
        ("sort", {"dimensions": [1], "is_stable": True, "called_computation_ids": [8]},
         "dimensions={1}, is_stable=true, to_apply=%c8"),
        ("outfeed", {"outfeed_shape": shape("f32[2]{0}")}, "outfeed_shape=f32[2]{0}"),
        ("copy-start", {"cross_program_prefetch_index": 0}, "cross_program_prefetch_index=0"),
        ("copy-start", {}, ""),
        ("scatter", {"indices_are_sorted": True, "unique_indices": True},
         "update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=0, "
         "indices_are_sorted=true, unique_indices=true"),
        ("convolution", {
            "window": {"dimensions": [{"size": 3, "stride": 2, "padding_low": 1, "window_dilation": 2},
                                      {"size": 1, "base_dilation": 4, "window_reversal": True}]},
            "convolution_dimension_numbers": {
                "input_feature_dimension": 3, "input_spatial_dimensions": [1, 2],
                "kernel_input_feature_dimension": 2, "kernel_output_feature_dimension": 3,
                "kernel_spatial_dimensions": [0, 1], "output_feature_dimension": 3, "output_spatial_dimensions": [1, 2],
            }},
         "window={size=3x1 stride=2x1 pad=1_0x0_0 lhs_dilate=1x4 rhs_dilate=2x1 "
         "rhs_reversal=0x1}, dim_labels=b01f_01io->b01f"),
        ("fft", {"fft_type": "IRFFT", "fft_length": [8]}, "fft_type=IRFFT, fft_length={8}"),
        ("fft", {"fft_type": 77, "fft_length": [8]}, "fft_type=77, fft_length={8}"),
        ("gather", {"gather_dimension_numbers": {"operand_batching_dims": [0], "start_indices_batching_dims": [2]}},
         "offset_dims={}, collapsed_slice_dims={}, start_index_map={}, operand_batching_dims={0}, "
         "start_indices_batching_dims={2}, index_vector_dim=0, slice_sizes={}"),
        ("gather", {"gather_dimension_numbers": {"offset_dims": [1], "index_vector_dim": 1}, "gather_slice_sizes": [4]},
         "offset_dims={1}, collapsed_slice_dims={}, start_index_map={}, index_vector_dim=1, "
         "slice_sizes={4}"),
    ],
)  # fmt: skip
def test_attributes(opcode, fields, expected):
    assert ", ".join(attributes(instruction("b", opcode, "f32[2]{0}", **fields), lambda i: f"%c{i}")) == expected


ORIGIN = {"elements": [{"shape_index": [1], "original_array": {"instruction_name": "b"}}]}


def test_texts_of_whole_instructions():
    call = op("k", "custom-call", "f32[2]{0}", "p", custom_call_target="foo")
    start = op("s", "async-start", ["f32[2]{0}", "f32[2]{0}"], "a", called=["wrapped"])
    entry = [
        op("a", "parameter", "f32[2]{0}"),
        op("chosen", "parameter", "pred[]", parameter_number=1),
        start,
        op("u", "async-update", ["f32[2]{0}", "f32[2]{0}"], "s"),
        op("d", "async-done", "f32[2]{0}", "u"),
        op("t", "async-start", ["f32[2]{0}", "f32[2]{0}"], "a", called=["other"]),
        op("either", "conditional", "f32[2]{0}", "chosen", "a", "a", called=["wrapped", "other"]),
        op(
            "t2",
            "tuple",
            ["f32[2]{0}", "f32[2]{0}"],
            "a",
            "a",
            original_value=ORIGIN,
            control_predecessor_ids=[1 << 32],
        ),
        op("one", "conditional", "f32[2]{0}", "a", "a", called=["wrapped"]),
    ]
    other = [
        op("q", "parameter", "f32[2]{0}"),
        op("n", "negate", "f32[2]{0}", "q"),
        op("r", "negate", "f32[2]{0}", "n"),
    ]
    found = ops(m=(1, program(entry, wrapped=[op("p", "parameter", "f32[2]{0}"), call], other=other)))
    pair = "(f32[2]{0}, f32[2]{0})"
    expected = {
        # An asynchronous instruction is spelled as the one that it wraps, if that is all it does.
        "s": f'{pair} custom-call-start(f32[2]{{0}} %a), custom_call_target="foo"',
        "u": f"{pair} custom-call-update({pair} %s)",
        "d": f"f32[2]{{0}} custom-call-done({pair} %u)",
        "t": f"{pair} async-start(f32[2]{{0}} %a), calls=%other",
        "either": "f32[2]{0} conditional(pred[] %chosen, f32[2]{0} %a, f32[2]{0} %a), true_computation=%wrapped, "
        "false_computation=%other",
        "t2": f'{pair} tuple(f32[2]{{0}} %a, f32[2]{{0}} %a), control-predecessors={{%a}}, origin={{({{}}, {{"b"}})}}',
        "one": "f32[2]{0} conditional(f32[2]{0} %a, f32[2]{0} %a), branch_computations={%wrapped}",
    }
    texts = {name: found.text(1, found.find(1, name)) for name in expected}
    assert texts == {name: f"%{name} = {text}" for name, text in expected.items()}


IOTA = {
    "num_replica_groups": 2, "num_devices_per_group": 4, "iota_reshape_dims": [4, 2], "iota_transpose_perm": [1, 0],
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ""),
        ({"replica_groups": [{"replica_ids": [0, 2]}, {"replica_ids": [1, 3]}]}, "replica_groups={{0,2},{1,3}}"),
        ({"collective_device_list": {"replica_groups": [{"replica_ids": [5]}]}}, "replica_groups={{5}}"),
        ({"collective_device_list": {"iota_replica_group_list": IOTA}}, "replica_groups=[2,4]<=[4,2]T(1,0)"),
        ({"iota_collective_device_list": IOTA}, "replica_groups=[2,4]<=[4,2]T(1,0)"),
    ],
)
def test_groups_of_devices(fields, expected):
    assert device_groups(instruction("a", "all-gather", "f32[]", **fields)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sharding": {}}, ["sharding={replicated}"]),
        ({"sharding": {"type": "MAXIMAL", "tile_assignment_devices": [3]}}, ["sharding={maximal device=3}"]),
        ({"sharding": {"type": "TUPLE", "tuple_shardings": [{}, {"type": 9}]}}, ["sharding={{replicated}, {type9}}"]),
        (
            {"sharding": {"type": "OTHER", "tile_assignment_dimensions": [2, 2], "iota_reshape_dims": [4],
                          "last_tile_dims": ["MANUAL"]}},
            ["sharding={devices=[2,2]<=[4] last_tile_dims={manual}}"],
        ),
        ({"control_predecessor_ids": [4, 5]}, ["control-predecessors={i4, i5}"]),
        ({"frontend_attributes": {"map": {"b": "2", "a": 'x"'}}}, ['frontend_attributes={a="x\\"",b="2"}']),
        ({"metadata": {"op_name": "f", "source_line": 3, "stack_frame_id": 2}},
         ['metadata={op_name="f" source_line=3 stack_frame_id=2}']),
        ({"backend_config": b"{}"}, ["backend_config={}"]),
        (
            {"sharding": {}, "control_predecessor_ids": [4], "frontend_attributes": {"map": {"a": "{1}"}},
             "result_accuracy": {"mode": "HIGHEST"},
             "original_value": {"elements": [{"original_array": {"instruction_name": "q", "shape_index": [0, 1]}}]}},
            ["sharding={replicated}", "frontend_attributes={a={1}}", "control-predecessors={i4}",
             "result_accuracy={mode=highest}", 'origin={{"q" {0,1}}}'],
        ),
        ({"result_accuracy": {"tolerance": {"atol": 0.1, "ulps": 3}}},
         ["result_accuracy={tolerance={atol=0.1,rtol=0,ulps=3}}"]),
        ({"original_value": {"elements": []}}, ["origin={{}}"]),
    ],
)  # fmt: skip
def test_where_instructions_come_from(fields, expected):
    one = instruction("a", "add", "f32[]", **fields)
    assert origins(one, lambda i: f"i{i}", order=True, metadata=True) == expected


def test_the_source_and_the_order_are_left_out_on_request():
    fields = {"control_predecessor_ids": [4], "metadata": {"op_name": "f"}, "backend_config": b"{}"}
    one = instruction("a", "add", "f32[]", **fields)
    assert origins(one, str, order=False, metadata=False) == ["backend_config={}"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"op_type": "T", "op_name": "n", "source_file": "f.py", "source_line": 3, "source_end_line": 4,
             "source_column": 5, "source_end_column": 6, "profile_type": [1], "deduplicated_name": "d",
             "scheduling_name": "s", "stack_frame_id": 1},
            'op_type="T" op_name="n" source_file="f.py" source_line=3 source_end_line=4 source_column=5 '
            'source_end_column=6 profile_type={1} deduplicated_name="d" scheduling_name="s" stack_frame_id=1',
        ),
        ({"scheduling_name": "s"}, 'scheduling_name="s"'),
        ({"op_name": "a'b\t\r\x01é"}, "op_name=\"a\\'b\\t\\r\\001é\""),
    ],
)  # fmt: skip
def test_metadata(fields, expected):
    one = instruction("a", "add", "f32[]", metadata=fields)
    assert origins(one, str, order=True, metadata=True) == [f"metadata={{{expected}}}"]


@pytest.mark.parametrize("fields", [{"deduplicated_name": "d"}, {"stack_frame_id": 1}, {"source_line": 3}])
def test_metadata_without_a_name_or_a_file_is_left_out_as_xla_does(fields):
    assert origins(instruction("a", "add", "f32[]", metadata=fields), str, order=True, metadata=True) == []


@pytest.mark.parametrize(
    ("of", "fields", "expected"),
    [
        ("f32[]", {"f32s": [0.5]}, "0.5"),
        ("f32[]", {"f32s": [0.1]}, "0.1"),
        ("f32[]", {"f32s": [1 / 3]}, "0.333333343"),
        ("f32[]", {"f32s": [1e-4]}, "0.0001"),
        ("f32[]", {"f32s": [2.0**24]}, "16777216"),
        ("f32[]", {"f32s": [1e6]}, "1e+06"),
        ("f32[]", {"f32s": [float("nan")]}, "nan"),
        ("f32[]", {"f32s": [float("-inf")]}, "-inf"),
        ("f64[]", {"f64s": [0.1]}, "0.1"),
        ("f64[]", {"f64s": [1 / 3]}, "0.33333333333333331"),
        ("f16[]", {"f16s": np.float16(0.1).tobytes()}, "0.099976"),
        ("f16[]", {"f16s": np.float16(65504).tobytes()}, "65504"),
        ("bf16[]", {"bf16s": b"\xcd\x3d"}, "0.1001"),
        ("bf16[]", {"bf16s": b"\x80\x3f"}, "1"),
        ("c64[]", {"c64s": [1, 0.1]}, "(1, 0.1)"),
        ("c128[2]", {"c128s": [1, 2, 3, 4]}, "{(1, 2), (3, 4)}"),
        ("f8e4m3fn[]", {"f8e4m3fns": b"\x7e"}, "448"),
        ("f8e4m3fn[]", {"f8e4m3fns": b"\x7f"}, "nan"),
        ("f8e4m3fn[]", {"f8e4m3fns": b"\x80"}, "-0"),
        ("f8e4m3fn[]", {"f8e4m3fns": b"\x01"}, "0.00195"),
        ("f8e5m2[]", {"f8e5m2s": b"\xfc"}, "-inf"),
        ("f8e5m2[]", {"f8e5m2s": b"\x35"}, "0.31"),
        ("f8e4m3fnuz[]", {"f8e4m3fnuzs": b"\x80"}, "nan"),
        ("f8e4m3fnuz[]", {"f8e4m3fnuzs": b"\x40"}, "1"),
        ("f8e8m0fnu[]", {"f8e8m0fnus": b"\x80"}, "2"),
        ("s32[]", {"s32s": [-1]}, "-1"),
        ("s8[2]", {"s8s": b"\xff\x05"}, "{-1, 5}"),
        ("s16[]", {"s16s": b"\xd4\xfe"}, "-300"),
        ("s4[2]", {"s4s": b"\x0e\x03"}, "{-2, 3}"),
        ("pred[]", {"preds": [True]}, "true"),
        ("pred[2]", {"preds": [True, False]}, "{1, 0}"),
        ("f32[2]", {"f32s": [1, 2]}, "{1, 2}"),
        ("f32[2,2]", {"f32s": [1, 2, 3, 4]}, "{ { 1, 2 }, { 3, 4 } }"),
        ("f32[2,2]{0,1}", {"f32s": [1, 3, 2, 4]}, "{ { 1, 2 }, { 3, 4 } }"),
        ("f32[2,1,2]", {"f32s": [1, 2, 3, 4]}, "{ { { 1, 2 } }, { { 3, 4 } } }"),
        ("f32[1,1]", {"f32s": [7]}, "{ {7} }"),
        ("f32[0]", {}, "{}"),
        ("f32[99]", {"f32s": [0.0] * 99}, "{...}"),
        ("f32[2]", {"f32s": [0.0] * 99}, "{...}"),
        ("f32[2]", {"f32s": [0.0]}, "{...}"),
        ("u8[99]", {"u8s": bytes(99)}, "{...}"),
        (f"f32[{1 << 60},0]", {}, "{...}"),
        ("f32[" + ",".join("1" * 99) + "]", {"f32s": [1]}, "{...}"),
    ],
)
def test_literals(of, fields, expected):
    assert literal_text(message("xla.LiteralProto")(shape=shape(of), **fields)) == expected


def convolution(batch, feature):
    dims = {"output_batch_dimension": 0, "output_feature_dimension": 2, "output_spatial_dimensions": [1]}
    of = f"f32[{batch},4,{feature}]{{2,0,1:T(8,128)}}"
    return op("conv.1", "convolution", of, op_name="conv", convolution_dimension_numbers=dims)


def test_layout_of_convolutions():
    dimensions = ops(m=(1, program([convolution(6, 128)]))).layout(1, "conv.1")
    assert dimensions == (Dimension(128, 128, "feature"), Dimension(6, 8, "batch"), Dimension(4, 1, "spatial"))
    assert [d.padded for d in dimensions] == [128, 8, 4]
    assert used_share(dimensions) == 0.75


def test_layout_of_a_fused_convolution():
    outer = op("fusion", "fusion", "f32[8]", called=["fused"], fusion_kind="kOutput")
    found = ops(m=(1, program([outer], fused=[convolution(8, 100)])))
    assert found.layout(1, "fusion")[0] == Dimension(100, 128, "feature")
