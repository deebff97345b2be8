"""Communication by names: of libraries, serving engines and experts; and kernels that only sound like it."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.common.collective_names import (
    collective_kind,
    computes_only,
    kernel_collective,
    op_collective,
    range_of,
    runs_on_host,
)


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
