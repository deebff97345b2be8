"""What names of ops, kernels and host events tell."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.op_names import (
    collective_kind,
    compiles_torch,
    computes_only,
    dataset_display,
    in_gradient,
    input_category,
    is_outside_compilation,
    kernel_collective,
    memcpy_kind,
    op_collective,
    parse_op,
    range_of,
    runs_on_host,
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
        ("at::native::gemm<int>(float) const", "gemm"),
        ("loop(x) tail", "loop(x) tail"),
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


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all-reduce"),
        ("ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs)", "all-gather"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send/recv"),
        ("void ncclGenericKernel<1>", "collective"),
        ("rcclGenericKernel_Broadcast", "collective-broadcast"),
        ("hcom_allReduce__503_0_1", "all-reduce"),
        ("oneccl_allreduce_pcie", "all-reduce"),
        ("mscclKernel_Sum_half_Simple_false(ncclDevComm*)", "collective"),
        ("void mscclpp::collective::allreducePacket<__half>(__half*)", "all-reduce"),
        ("void nvshmemi_transfer_rma<1>(nvshmemi_args)", "collective"),
        ("void barrier_on_stream_kernel_threadgroup<(threadgroup_t)1>(int, int)", "barrier"),
        # Serving engines.
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)", "all-reduce"),
        ("void sglang::cross_device_reduce_2stage<__nv_bfloat16, 8>", "all-reduce"),
        ("void aiter::ar_ll_gfx1250<__hip_bfloat16, 8>(aiter::RankData*, aiter::RankSignals, int)", "collective"),
        ("void quickreduce::allreduce_prototype_twoshot<quickreduce::CodecFP, half>(half const*)", "all-reduce"),
        ("void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8>(tensorrt_llm::AllReduceParams)", "all-reduce"),
        ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<half>(x)", "all-reduce"),
        ("void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8, half>(half*)", "all-reduce"),
        ("userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)", "collective"),
        ("two_shot_all_reduce_bias_rms_norm_kernel", "all-reduce"),
        # Symmetric memory of PyTorch.
        ("multimem_all_reduce_kernel<c10::BFloat16, 16>", "all-reduce"),
        ("void c10d::symmetric_memory::(anonymous namespace)::barrier_kernel(unsigned int**, int)", "barrier"),
        # Experts.
        ("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "all-to-all"),
        ("void deep_ep::internode_ll::combine<true>(void*)", "all-to-all"),
        ("void mori::moe::EpDispatchIntraNodeKernel<bf16>(mori::moe::EpDispatchCombineArgs<bf16>)", "all-to-all"),
        ("void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8>(int)", "all-to-all"),
        ("a2a_combine_recv_kernel<true, 16>(unsigned long)", "all-to-all"),
        ("dispatch_impl<8, 4>(void*, ncclDevComm_t, int)", "all-to-all"),
        # Names as the compiler writes them, and AMD's suffix.
        ("_ZN4vllm26cross_device_reduce_1stageI13__nv_bfloat16Li8EEEvPNS_8RankDataE", "all-reduce"),
        ("_ZN7deep_ep9intranode8dispatchILi8EEEvP4int4", "all-to-all"),
        ("allgather_vec.kd", "all-gather"),
    ],
)
def test_kernels_that_communicate(kernel: str, kind: str) -> None:
    assert kernel_collective(kernel) == kind


@pytest.mark.parametrize(
    "kernel",
    [
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float>>>(int)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 4>(int)",
        "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float>>(float*)",
        "void splitKreduce_kernel<32, 16, int>(cublasSplitKParams<float>, float const*)",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_all_reduce>(int)",
        "gemm_nccl_like",
        "void gemm_all_reduce_kernel<half>(half*)",
        # Words within words: small_reduce is no all_reduce.
        "void small_reduce_kernel<float>(float*)",
        "smallGatherKernel",
        "vectorized_small_gather(int)",
        # Experts without communication.
        "moe_combine_kernel",
        "fused_moe_dispatch_kernel",
        "dispatchTokensKernel",
        "void vllm::moe::moe_align_block_size_kernel<int>(int*)",
        # Local parts of libraries that communicate.
        "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)",
        "dispatch_copy_epilogue_impl<8>(void*, ncclDevComm_t)",
        "void flashinfer::trtllm_allreduce::rms_norm_kernel<half>(half*)",
        "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<half>(half*)",
        # Inductor names kernels after all ops whose results they use.
        "triton_poi_fused_all_reduce_add_0",
        "triton_red_fused__to_copy_all_gather_into_tensor_1",
        "broadcast_add_kernel",
        "index_gather_kernel",
        "gloo_kernel",
        "",
    ],
)
def test_kernels_that_compute(kernel: str) -> None:
    assert kernel_collective(kernel) == ""


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("c10d::allreduce_", "all-reduce"),
        ("c10d::_allgather_base_", "all-gather"),
        ("c10d::barrier", "barrier"),
        ("_c10d_functional::reduce_scatter_tensor", "reduce-scatter"),
        ("_C_custom_ar::all_reduce", "all-reduce"),
        ("vllm::all_reduce", "all-reduce"),
        ("symm_mem::multimem_all_gather_out", "all-gather"),
        ("trtllm::allreduce", "all-reduce"),
        ("record_param_comms", "collective"),
        ("nccl:all_to_all", "all-to-all"),
        ("gloo:recvAnySource", "recv"),
        ("symm_mem::fused_all_gather_matmul", ""),
        ("aten::scatter_reduce", ""),
        ("fsdp::all_gather_copy_in", ""),
        ("aten::add", ""),
        ("torch::distributed::reducer::mul_out", ""),
        ("stage:all_reduce", ""),
        ("nccl: all_reduce of gradients", ""),
    ],
)
def test_ops_and_ranges(op: str, kind: str) -> None:
    assert op_collective(op) == kind


def test_ranges_of_libraries() -> None:
    assert range_of("gloo:all_reduce ") == ("gloo", "all_reduce")
    assert range_of("step:all_reduce") == range_of("c10d::barrier") == ("", "")
    assert [runs_on_host(library) for library in ("gloo", "mpi", "ucc", "nccl", "xccl")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_kinds() -> None:
    assert collective_kind("_reduce_scatter_base") == "reduce-scatter"
    assert collective_kind("ALLTOALL_BASE") == "all-to-all"
    assert collective_kind("wait") == ""


def test_what_an_op_of_a_collective_computes_itself() -> None:
    assert computes_only("void at::native::vectorized_elementwise_kernel<4>(int)")
    assert computes_only("ampere_gemm_128x64_tn")
    assert computes_only("lamport_initialize_kernel<half>(half*)")
    assert not computes_only("one_shot_kernel")


@pytest.mark.parametrize(
    "name",
    [
        "dynamo:PyTorch",
        "entire_frame_compile:PyTorch",
        "Net_0/_compile.compile_inner (dynamo_timed):PyTorch",
        "_compile.<locals>.compile_inner",
        "compile_fx.<locals>.fw_compiler_base (dynamo_timed)",
        "compile_fx_inner (dynamo_timed)",
        "OutputGraph.call_user_compiler",
        "create_aot_dispatcher_function (dynamo_timed)",
        "GraphLowering.compile_to_fn",
        "inductor_codecache_torch_key (dynamo_timed)",
        "async_compile.wait (dynamo_timed)",
        "backward._backward_impl (dynamo_timed)",
        "Inductor: compiling kernel",
        "AOTAutograd tracing",
        "triton_poi_fused_add_0 Triton compile",
        "TritonCompile",
        "CompiledFxGraph compile_kernel",
        "$torch/_dynamo/convert_frame.py:599 _compile",
        "$torch/_inductor/compile_fx.py:1528 compile_fx",
        "$triton/compiler/compiler.py:230 compile",
    ],
)
def test_compilation(name: str) -> None:
    assert compiles_torch(name)
    assert activity(name) == Activity.COMPILE


@pytest.mark.parametrize(
    "name",
    [
        "Torch-Compiled Region: 0/0:PyTorch",
        "TorchDynamo Cache Lookup:PyTorch",
        "CompiledFunction:PyTorch",
        "autograd::engine::evaluate_function: CompiledFunctionBackward:PyTorch",
        "## Call CompiledFxGraph fxyz ##",
        "inductor::_alloc_from_pool:PyTorch",
        "AOTDispatcher Runtime Wrapper Prologue:PyTorch",
        "Scheduler.step",
        "triton_poi_fused_add_0:PyTorch",
        "my_compiled_step",
        "$torch/_dynamo/eval_frame.py:540 _fn",
        "$torch/_inductor/output_code.py:463 __call__",
        "$train.py:3 compile",
    ],
)
def test_running_what_was_compiled(name: str) -> None:
    assert not compiles_torch(name)
