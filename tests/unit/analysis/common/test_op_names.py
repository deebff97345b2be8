"""What op names say."""

import pytest

from tpu_profile_plugin.analysis.common.op_names import (
    dataset_display,
    in_gradient,
    input_category,
    is_outside_compilation,
    memcpy_kind,
    parse_op,
    short_kernel,
    short_kernels,
    shown_event,
)


@pytest.mark.parametrize(
    ("full", "category", "name", "op_type"),
    [
        ("MatMul:MatMul", "TensorFlow", "MatMul", "MatMul"),
        ("model/dense/MatMul:_FusedMatMul", "TensorFlow", "model/dense/MatMul", "_FusedMatMul"),
        ("jit(f)/jit(main)/add:", "Jax", "jit(f)/jit(main)/add", "add"),
        ("jit(f)/jit(main)/add:add", "Jax", "jit(f)/jit(main)/add", "add"),
        ("jit(f)/dot_general[dims=(1,)]:dot_general[dims=(1,)]", "Jax", "jit(f)/dot_general[dims=(1,)]", "dot_general"),
        ("while/add_12:", "Jax", "while/add_12", "add"),
        ("XlaModule:", "TensorFlow", "XlaModule", "XlaModule"),
        ("MemAllocated:Size 12", "Unknown", "MemAllocated:Size 12", ""),
        ("Iterator::Root::Map", "TfData", "Iterator::Root::Map", "Dataset"),
        ("MEMCPYHtoD_x", "Memcpy", "MEMCPYHtoD_x", "MemcpyHToD"),
        ("MemcpyH2D", "Unknown", "MemcpyH2D", ""),
        ("ExecutorState::Process", "Unknown", "ExecutorState::Process", ""),
        ("train 3", "Unknown", "train 3", ""),
    ],
)
def test_parse_op(full, category, name, op_type):
    op = parse_op(full)
    assert (op.category, op.name, op.type) == (category, name, op_type)


def test_short_memcpy_spelling_is_accepted_on_request_only():
    assert memcpy_kind("MemcpyD2H") == ""
    assert memcpy_kind("MemcpyD2H", short=True) == "MemcpyDToH"
    assert memcpy_kind("memcpydtod x", short=True) == "MemcpyDToD"


@pytest.mark.parametrize(
    ("name", "op_type", "category"),
    [
        ("Iterator::Prefetch::TFRecord", "Dataset", "Advanced file read"),
        ("Iterator::Interleave[0]::FlatMap::TextLine", "Dataset", "Advanced file read"),
        ("Iterator::ParallelMapV2::FixedLengthRecord", "Dataset", "Advanced file read"),
        ("Iterator::MemoryReader::TFRecord", "Dataset", "Advanced file read"),
        ("Iterator::TFRecord", "Dataset", "Demanded file read"),
        ("Iterator::Map::TFRecord", "Dataset", "Demanded file read"),
        ("Iterator::ParallelInterleaveV4::TFRecord", "Dataset", "Demanded file read"),
        ("Iterator::FixedLengthRecordV2", "Dataset", "Preprocessing"),
        ("Iterator::Batch::LMDB", "Dataset", "Preprocessing"),
        ("InfeedEnqueueTuple", "InfeedEnqueueTuple", "Enqueue"),
        ("MEMCPYHtoD", "MemcpyHToD", "Enqueue"),
        ("my stage", "Enqueue", "Enqueue"),
        ("my stage", "READ", "Demanded file read"),
        ("my stage", "unknown", "Unknown"),
        ("MatMul", "MatMul", ""),
    ],
)
def test_input_category(name, op_type, category):
    assert input_category(name, op_type) == category


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        # JAX, and ops whose type is not known: any part of the name.
        ("jit(f)/transpose(jvp(loss))/dot_general", "dot_general", True),
        ("jit(f)/transpose(jvp(loss))/dot_general", "", True),
        ("transpose(jvp(loss))", "", True),
        ("jit(f)/transpose/dot", "dot", False),
        ("jit(f)/transpose(jvp(loss))/dot_general", "mul", False),
        ("jit(f)/transpose(jvp(loss))/dot_general", "MatMul", False),
        ("a/gradients/b", "b", False),
        # TensorFlow: the scopes, which are all parts but the last.
        ("model/gradient_tape/dense/MatMul", "MatMul", True),
        ("gradients/x", "MatMul", True),
        ("gradients_2/x", "MatMul", True),
        ("gradient_tape_2/x", "MatMul", False),
        ("gradients", "MatMul", False),
        ("my_gradients/x", "MatMul", False),
        ("gradients/x", "", False),
        # PyTorch: the node of the backward pass around the op.
        ("Net_0/Linear_1/AddmmBackward0/aten::mm", "aten::mm", True),
        ("MulBackward0/aten::mul", "aten::mul", True),
        ("Backward0_0/Linear_1/aten::addmm", "aten::addmm", False),
        ("Net_0/aten::convolution_backward_test", "aten::convolution_backward_test", False),
    ],
)
def test_ops_that_differentiation_made(name, kind, found):
    assert in_gradient(name, kind) == found


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, at::Half>(int, float)", "vectorized_elementwise_kernel"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 3>(float*)", "CatArrayBatchedCopy"),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm>(cutlass_80_wmma::Params)",
            "Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm>",
        ),
        ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<a>>(a)", "device_kernel<FlashAttnFwdSm90>"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("ncclKernel_SendRecv(ncclWork*) [all-gather, 4 float]", "ncclKernel_SendRecv [all-gather, 4 float]"),
        ("fusion.1", "fusion.1"),
    ],
)
def test_kernels_in_sentences(name, short):
    assert short_kernel(name) == short


def test_kernels_of_one_function_are_told_apart():
    add, half, mul, other = (
        f"void at::vectorized_kernel<4, at::{functor}>(int, float)"
        for functor in ("Add<c>", "Add<c10::Half>", "Mul<c>", "Mul<c, d>")
    )
    assert short_kernels([add, mul, add, "fusion.1"]) == {
        add: "vectorized_kernel (Add)",
        mul: "vectorized_kernel (Mul)",
        "fusion.1": "fusion.1",
    }
    assert short_kernels([add, half])[half] == "vectorized_kernel (c10, Half)"
    assert short_kernels([mul, other]) == {mul: "vectorized_kernel", other: "vectorized_kernel (d)"}
    twice = "void at::vectorized_kernel<at::Mul, 4>(int, float, c)"
    assert short_kernels([mul, twice]) == {mul: mul, twice: twice}, "the same words in another order"


def test_small_helpers():
    assert shown_event("Linear_0/aten::addmm:PyTorch") == "Linear_0/aten::addmm"
    assert shown_event("$train.py:3 step") == "$train.py:3 step"
    assert dataset_display("Iterator::Root::Prefetch::Map") == "Iterator::Map"
    assert is_outside_compilation("x:XlaSendToHost")
    assert is_outside_compilation("", "%send-done, is_host_transfer=true")
    assert not is_outside_compilation("x:Send")


@pytest.mark.parametrize(
    ("provenance", "expression", "outside"),
    [
        ("a/b:XlaSendToHost", "", True),
        ("a/b:XlaRecvFromHost", "", True),
        ("a/b:Add", "%send-done.1 = token[] send-done(s), is_host_transfer=true", True),
        ("a/b:Add", "%send-done.1 = token[] send-done(s)", False),
        ("a/b:Add", "%recv-done.1 = f32[] recv-done(s), is_host_transfer=true", False),
        ("", "", False),
    ],
)
def test_ops_that_wait_for_the_host(provenance, expression, outside):
    assert is_outside_compilation(provenance, expression) is outside
