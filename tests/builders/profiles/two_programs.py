"""A TPU that runs two programs: with source lines and call stacks, rates and peaks, buffers and allocations."""

from __future__ import annotations

from builders.messages import traffic
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, trace
from builders.programs.hlo import metadata_plane, op, program
from builders.xspace_text import build
from tpu_profile_plugin.opening import OpenLogdir

MIB = 1 << 20
OF = "f32[8,128]{1,0}"
FUSED = [
    op("p0", "parameter", OF),
    op("add.1", "add", OF, "p0", "p0", op_name="jit(step)/add", source_file="/home/me/train.py", source_line=12),
    op("max.1", "maximum", OF, "add.1", "p0", op_name="jit(step)/max", source_file="/home/me/train.py", source_line=12),
]
STEP = [
    op("x", "parameter", OF, op_name="batch"),
    op("fusion.1", "fusion", OF, "x", called=["fused"], fusion_kind="kLoop", op_name="jit(step)/max"),
    op("copy.2", "copy", OF, "fusion.1"),
    op("out", "negate", OF, "copy.2", op_name="jit(step)/neg", source_file="/home/me/loss.py", source_line=3),
]
BUFFERS = (
    buffer(1, 8 * MIB, instruction_id(0)),
    buffer(2, 4 * MIB, instruction_id(1)),
    buffer(3, 2 * MIB, instruction_id(2)),
    allocation(0, 8 * MIB, [(1, 0, 8 * MIB)], "parameter"),
    allocation(1, 6 * MIB, [(2, 0, 4 * MIB), (3, 4 * MIB, 2 * MIB)]),
    trace("alloc 2 fusion.1", "alloc 3 copy.2", "free 2 copy.2", "free 3 out"),
)


def programs(second: str = "jit_eval") -> str:
    """The plane with both programs; the name of the second module."""
    other = program([op("x", "parameter", OF), op("copy.2", "copy", OF, "x")], module=second)
    step = program(STEP, module="jit_step", main="main", fused=FUSED) + assignment(*BUFFERS)
    return metadata_plane(first=(7, step), second=(8, other))


PROGRAMS = programs()
READ = traffic(("READ", 1, 2_000_000))
TRAIN = 'source="/home/me/train.py:12", source_stack="/home/me/train.py:12:5\\n/home/me/main.py:40:1\\n"'
LOSS = 'source="/home/me/loss.py:3"'
PEAKS = 'device_type_string="TPU v6 Lite", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=1000d'
FUSION, COPY, NEGATE = "%fusion.1 = f32[8] fusion()", "%copy.2 = f32[8] copy()", "%out = f32[8] negate()"
OTHER = "%copy.2 = f32[9] copy()"
DEVICE = f"""
plane 2 "/device:TPU:0" {{{PEAKS}}}
  metadata "{FUSION}" {{program_id=7, symbol_id=1, hlo_category="loop fusion", flops=5000000, bytes_accessed=2000000, tf_op="jit(step)/max:", memory_access_breakdown={READ}, {TRAIN}}} display=fusion.1
  metadata "{COPY}" {{program_id=7, symbol_id=2, hlo_category="copy", bytes_accessed=1000000}} display=copy.2
  metadata "{NEGATE}" {{program_id=7, symbol_id=3, hlo_category="loop fusion", tf_op="jit(step)/neg:", {LOSS}}} display=out
  metadata "{OTHER}" {{program_id=8, symbol_id=4, hlo_category="copy"}} display=copy.2
  line 1 "XLA Modules"
    0us +20us jit_step(7)
    20us +5us jit_eval(8)
    30us +20us jit_step(7)
  line 2 "XLA Ops"
    0us +10us "{FUSION}"
    10us +6us "{COPY}"
    16us +4us "{NEGATE}"
    20us +5us "{OTHER}"
    30us +10us "{FUSION}"
    40us +6us "{COPY}"
    46us +4us "{NEGATE}"
"""  # noqa: E501
ALLOCATIONS = """
plane 9 "/host:CPU"
  line 5 pool
    1us +0us MemoryAllocation {allocator_name="0", bytes_reserved=1000000, bytes_allocated=5000000, bytes_available=4000000, peak_bytes_in_use=6500000, allocation_bytes=5000000, requested_bytes=5000000, addr=1, tf_op="params", region_type="persist", data_type=1, shape="[8,128]"}
    2us +0us MemoryAllocation {allocator_name="0", bytes_reserved=1000000, bytes_allocated=8500000, bytes_available=500000, peak_bytes_in_use=9500000, allocation_bytes=3500000, requested_bytes=3500000, addr=2, tf_op="grads", region_type="temp", data_type=1, shape="[8,64]"}
    3us +0us MemoryDeallocation {allocator_name="0", bytes_reserved=1000000, bytes_allocated=5000000, bytes_available=4000000, peak_bytes_in_use=9500000, allocation_bytes=3500000, requested_bytes=3500000, addr=2}
"""  # noqa: E501
TPU = f"{PROGRAMS}{DEVICE}"


def opened(text: str) -> OpenLogdir:
    """The logdir of a typed-in profile."""
    return OpenLogdir(build(text))
