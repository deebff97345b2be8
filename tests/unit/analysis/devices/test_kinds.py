"""Kinds of work by opcode, category and name."""

import pytest

from tpu_profile_plugin.analysis.devices.kinds import async_role, gpu_work, hlo_work, opcode_in, stem
from tpu_profile_plugin.analysis.devices.model import Work

COMPUTE, COMMUNICATION, COPY = Work.COMPUTE, Work.COMMUNICATION, Work.COPY


@pytest.mark.parametrize(
    ("opcode", "category", "name", "work", "collective"),
    [
        ("fusion", "loop fusion", "all-reduce_fusion.1", COMPUTE, ""),
        ("fusion", "all-reduce fusion", "fusion.3", COMMUNICATION, "all-reduce"),
        ("fusion", "all-reduce-scatter fusion", "fusion.4", COMMUNICATION, "reduce-scatter"),
        ("all-gather-start", "async-start", "ag.1", COMMUNICATION, "all-gather"),
        ("ragged-all-to-all", "", "r", COMMUNICATION, "ragged-all-to-all"),
        ("", "all-to-all", "all-to-all.12.remat2", COMMUNICATION, "all-to-all"),
        ("", "", "collective-permute-done.5", COMMUNICATION, "collective-permute"),
        ("send", "host send", "send.1", COPY, ""),
        ("send-done", "send-done", "send-done.1", COMMUNICATION, "send"),
        ("infeed", "infeed", "infeed.1", Work.INPUT, ""),
        ("", "outfeed", "op7", Work.OUTPUT, ""),
        ("while", "while", "while.5", Work.CONTROL, ""),
        ("", "", "conditional.2", Work.CONTROL, ""),
        ("copy", "data formatting", "copy.1", Work.MOVE, ""),
        ("copy-done", "copy-done", "copy-done.1", COPY, ""),
        ("async-done", "async-done", "slice-done.1", COPY, ""),
        ("async-start", "async-start", "all-to-all-start.1", COMMUNICATION, "all-to-all"),
        ("async-start", "", "async-collective-start", COMMUNICATION, "collective"),
        ("async-done", "async-done", "fusion.7.call-done", COMPUTE, ""),
        ("custom-call", "custom-call", "custom-call.1", COMPUTE, ""),
    ],
)
def test_hlo_ops(opcode, category, name, work, collective):
    assert hlo_work(opcode, category, name) == (work, collective)


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("%copy-done.1 = f32[8]{0:T(256)} copy-done((f32[8]{0:T(256)}, f32[8]{0:T(256)S(5)}, u32[]) %c)", COPY),
        (
            "%copy-start.1 = (f32[8]{0:T(256)S(1)}, f32[8]{0:T(256)}, u32[]{:S(2)}) copy-start(f32[8]{0} %p)",
            Work.MOVE_WAIT,
        ),
        ("%copy-done.1 = f32[8]{0} copy-done((f32[8]{0}, f32[8]{0}, u32[]) %c)", Work.MOVE_WAIT),
        ("copy-done.1", COPY),
    ],
)
def test_the_memories_of_a_copy_are_in_its_text(text, work):
    assert hlo_work("copy-done", "copy-done", "copy-done.1", text) == (work, "")


@pytest.mark.parametrize(
    ("kernel", "hlo_op", "work", "collective"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "", COMMUNICATION, "all-reduce"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_float", "", COMMUNICATION, "reduce-scatter"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "", COMMUNICATION, "send/recv"),
        ("ncclDevKernel_Generic", "all-gather-start.2", COMMUNICATION, "all-gather"),
        ("rcclGenericKernel", "", COMMUNICATION, "collective"),
        ("one_shot_kernel", "all-reduce-start.1", COMMUNICATION, "all-reduce"),
        ("MemcpyD2H", "", Work.DOWNLOAD, ""),
        ("Memcpy HtoD (Pinned -> Device)", "", Work.UPLOAD, ""),
        ("MemcpyH2D", "copy-start.3", COPY, ""),
        ("MemcpyH2H", "", COPY, ""),
        ("Memcpy DtoD (Device -> Device)", "", Work.MOVE, ""),
        ("Memcpy PtoP (Device -> Device)", "", Work.PEER_COPY, ""),
        ("CopyHostToDevice", "", Work.UPLOAD, ""),
        ("CopyDeviceToDevice", "", Work.MOVE, ""),
        ("Memset", "", Work.MOVE, ""),
        ("__amd_rocclr_copyBuffer.kd", "copy.1", Work.MOVE, ""),
        ("__amd_rocclr_copyBuffer.kd", "", COPY, ""),
        ("loop_copy_kernel", "copy.2", Work.MOVE, ""),
        ("memcpy_kernel_of_mine", "", COMPUTE, ""),
        ("sgemm_128", "dot.1", COMPUTE, ""),
    ],
)
def test_gpu_kernels(kernel, hlo_op, work, collective):
    assert gpu_work(kernel, hlo_op) == (work, collective)


def test_names():
    assert opcode_in("%c.4 = (f32[5]{0:T(8,128)}, u32[]{:S(2)}) copy-start(f32[5]{0:T(8,128)S(5)} %x)") == "copy-start"
    assert opcode_in("fusion.1") == ""
    assert (stem("all-reduce.3.remat2"), stem("dot")) == ("all-reduce", "dot")
    assert async_role("all-gather-start.3") == ("all-gather.3", True)
    assert async_role("send-done.1") == ("send.1", False)
    assert async_role("recv.1") == ("recv.1", True)
    assert async_role("all-gather.3") is None


def test_waiting_for_input_is_told_by_the_category_or_the_op():
    for opcode, category, name in (("infeed", "", "x"), ("fusion", "infeed", "x"), ("", "", "infeed.3")):
        assert hlo_work(opcode, category, name) == (Work.INPUT, "")


@pytest.mark.parametrize(
    ("kernel", "hlo_op", "launched_by", "work", "collective"),
    [
        ("my_kernel", "", "all-reduce", COMMUNICATION, "all-reduce"),
        ("at::native::vectorized_elementwise_kernel", "", "all-reduce", COMPUTE, ""),
        ("at::native::vectorized_elementwise_kernel", "all-gather.1", "all-reduce", COMMUNICATION, "all-gather"),
        ("ncclDevKernel_Generic", "", "all-gather", COMMUNICATION, "all-gather"),
        ("ncclDevKernel_Generic", "", "", COMMUNICATION, "collective"),
        ("ncclDevKernel_AllReduce_Sum_f32", "", "barrier", COMMUNICATION, "all-reduce"),
        ("my_kernel", "", "", COMPUTE, ""),
    ],
)
def test_kernels_that_ops_of_a_collective_launch(kernel, hlo_op, launched_by, work, collective):
    assert gpu_work(kernel, hlo_op, launched_by) == (work, collective)
