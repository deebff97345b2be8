"""Recognises by name GPU kernels that run on matrix units (tensor cores), and framework ops that could."""

from __future__ import annotations

import re

_NVIDIA_KERNELS = (
    "16816", "c1688", "conv1x1", "conv2d_c1_k1", "dgrad_1x1_stride_2x2", "direct_group", "first_layer_wgrad_kernel",
    "h1688", "h884", "hmma", "i16832", "i8816", "s884", "s1688", "xmma_gemm", "xmma_implicit_gemm", "xmma_sparse_conv",
    "xmma_sparse_gemm", "xmma_warp_specialized_implicit_gemm",
)  # fmt: skip
# Later libraries than those XProf knows: cuBLAS 12.8 and later (nvjet), CUTLASS, cuDNN and FlashAttention. Kernels
# before and after the products of attention (dot_do_o, convert, combine) use none.
_LATER_NVIDIA = (
    r"\bnvjet_", r"_(?:wmma_)?tensorop_", r"_tensor\d+x\d+x\d+", "wgmma", r"\bflash_fwd_(?:splitkv_)?kernel\b",
    "flash_bwd_dq_dk_dv", r"\bFlashAttn(?:Fwd|Bwd)Sm\d", r"\bfmha_cutlass[FB]_b?f16_",
)  # fmt: skip
_AMD_KERNELS = (
    "gemm_fusion", "Custom_Cijk_", "_xdl", "gtcx", "miopenSp3AsmConvRage", "moe_gemm", "moe_mxgemm", "wmma", "aiter",
    "FMHA_FWD", "attn_fwd", "bwd_kernel_", "mfma", "TileFmhaShape<", "TileFmhaBwdShape<",
)  # fmt: skip
# hipBLASLt writes the shape of the matrix instruction into the names of kernels that have one.
_AMD_INSTRUCTION = r"_MI\d+x\d+x\d+"
_MATRIX_KERNELS = {
    "Nvidia": re.compile("|".join((*map(re.escape, _NVIDIA_KERNELS), *_LATER_NVIDIA)), re.ASCII),
    "AMD": re.compile("|".join((*map(re.escape, _AMD_KERNELS), _AMD_INSTRUCTION)), re.ASCII),
}
_ELIGIBLE_ENDS = (
    "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D", "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput", "/MatMul", "FusedMatMul",
    "/CudnnRNN", "XlaDot", "XlaDotV2",
)  # fmt: skip
_ELIGIBLE_PARTS = (
    "BatchMatMul", "CudnnRNNV", "CudnnRNNForward", "CudnnRNNBackprop", "dot_general", "conv_general_dilated",
)  # fmt: skip
# Ops of PyTorch: products, convolutions, attention, and their derivatives.
_ELIGIBLE_TORCH = re.compile(
    r"aten::(?:_scaled_|_int_)?(?:linear|matmul|b?mm|addb?mm|baddbmm|mv|addmv)|aten::_addmm_activation"
    r"|aten::\w*conv(?:olution|_transpose|_depthwise|\d)\w*|\w+::\w*attention(?!_math)\w*|flash_attn\w*::\w+",
    re.ASCII,
)


def uses_tensor_core(kernel: str, vendor: str) -> bool:
    """True when the kernel's name contains a pattern that the vendor's libraries use for matrix unit kernels.

    Args:
      kernel: name of the kernel.
      vendor: `device_vendor` of its plane; without a known one no kernel is recognised.
    """
    pattern = _MATRIX_KERNELS.get(vendor)
    return pattern is not None and pattern.search(kernel) is not None


def is_eligible(op: str) -> bool:
    """True when the framework op could run on matrix units."""
    if op.endswith(_ELIGIBLE_ENDS) or any(part in op for part in _ELIGIBLE_PARTS):
        return True
    return _ELIGIBLE_TORCH.fullmatch(op.rpartition("/")[2]) is not None
