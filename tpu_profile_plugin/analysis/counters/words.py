"""What a counter counts, in words made of its name."""

from __future__ import annotations

from functools import lru_cache

from tpu_profile_plugin.analysis.counters.registers import Register
from tpu_profile_plugin.analysis.counters.units import CHIPS

_WORDS = {
    "alu": "ALU",
    "bf16": "BF16",
    "cbreg": "circular-buffer register",
    "cmn": "memory network",
    "desc": "descriptor",
    "didt": "di/dt",
    "dif": "descriptor queue",
    "dma": "DMA",
    "eup": "EUP",
    "ext": "external",
    "f32": "F32",
    "f8": "FP8",
    "fadd": "float add",
    "fifo": "FIFO",
    "fmac": "float multiply-add",
    "fmul": "float multiply",
    "hbm": "HBM",
    "i4": "INT4",
    "i8": "INT8",
    "int": "integer",
    "lmr": "LMR",
    "misc": "miscellaneous",
    "mxu": "MXU",
    "oci": "on-chip interconnect",
    "ops": "operations",
    "ps0": "on pseudo-channel 0",
    "ps1": "on pseudo-channel 1",
    "rd": "read",
    "req": "request",
    "reqs": "requests",
    "resp": "response",
    "rmw": "read-modify-write",
    "rsp": "response",
    "s0": "scalar slot 0",
    "s1": "scalar slot 1",
    "sge": "scatter-gather engine",
    "smem": "SMEM",
    "smisc": "miscellaneous scalar slot",
    "spmem": "SPMEM",
    "tec": "tile core",
    "v0": "vector slot 0",
    "v1": "vector slot 1",
    "v2": "vector slot 2",
    "vex": "vector extended slot",
    "vld": "vector load",
    "vmem": "VMEM",
    "vpu": "VPU",
    "vreg": "vector register",
    "vres": "vector result",
    "vst": "vector store",
    "wr": "write",
    "xbar": "crossbar",
    "xlu": "XLU",
}


def find(device_type: str, id: int) -> Register | None:
    """The register with this id on this type of device, if it is known."""
    chip = CHIPS.get(device_type)
    return None if chip is None else _find(device_type, id)


@lru_cache(maxsize=1 << 14)
def _find(device_type: str, id: int) -> Register | None:
    return next((found for block in CHIPS[device_type].blocks if (found := block.find(id))), None)


def describe(register: Register) -> str:
    """A phrase such as "Vector load instruction 0 (TensorCore)."."""
    words = " ".join(_WORDS.get(word, word) for word in register.counts.split("_"))
    return f"{words[:1].upper()}{words[1:]} ({register.place})."
