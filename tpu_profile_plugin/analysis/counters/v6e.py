"""Performance counters of TPU v6e: names, ids and sets, as XProf 2.24.2 lists them; an id is a register's address."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_profile_plugin.analysis.counters.registers import Axis, Block, Register

TENSOR_CORE = Block(
    "vf_chip_tc_tcs_tc_misc_tcs_stats_tcs_stats_counters_unprivileged_count_",
    0xC2290000,
    "TensorCore",
    """
[cycle_counter_window] @8 cycles
[activity issue] @58 scalar_alu_instruction_{0-1}
@100 vector_alu_instruction_{0-3}
[activity memory_activity] @120 vst_instruction
@130 vld_instruction_{0-1}
[activity issue] @188 matmul_vreg_f32_mxu_{0-1} matmul_vreg_bf16_mxu_{0-1} matmul_vreg_f8_mxu_{0-1}
  matmul_vreg_i8_mxu_{0-1} matmul_vreg_i4_mxu_{0-1} matmul_lmr_bf16_mxu_{0-1} matmul_lmr_i8_mxu_{0-1}
  matmul_lmr_i4_mxu_{0-1}
[activity cycles] @208 mxu_busy_{0-2}
[activity issue] @230 matpush_cycles_mxu_{0-1}
@250 rotate_permute_instruction_xlu_{0-1} rotate_permute_set_instruction_xlu_{0-1} transpose_xlu_{0-1}
  packed_xlu_{0-1}
[activity cycles] @290 xlu_busy_{0-2}
[] @6a0 vpu_valu_fadd_ops_{0-3} vpu_valu_fmul_ops_{0-3} vpu_valu_misc_ops_{0-3} vpu_valu_int_ops_{0-3}
  vpu_valu_fmac_ops_{0-3}
    """,
)
HBM = Block(
    "vf_chip_hbm_{0}_hbmc_{1}_cmn_hi_freq_stats_counters_unprivileged_",
    0xB4014000,
    "HBM stack {0}, channel {1}",
    """
[data_transfer] @8 rd_req_ps{0-1} wr_req_ps{0-1} partial_write_req_ps{0-1} rd_resp_ps{0-1} wr_resp_ps{0-1}
  partial_write_resp_ps{0-1}
    """,
    (Axis(2, 0x2000000), Axis(16, 0x200000)),
)
ICI = Block(
    "vf_chip_oci_icr_perf_counters_fifo_stats_counters_unprivileged_",
    0xB0072000,
    "queue of the chip interconnect",
    """
[insertion queue_stats] @b0 bn_rd_req_0_insertion_count
[queue_stats total_occupancy] @b8 bn_rd_req_0_total_occupancy
[queue_stats threshold] @c0 bn_rd_req_0_threshold_count
[full queue_stats] @c8 bn_rd_req_0_full_count
[empty queue_stats] @d0 bn_rd_req_0_empty_count
[queue_stats total_occupancy_threshold] @d8 bn_rd_req_0_total_threshold_occupancy
[insertion_threshold queue_stats] @e0 bn_rd_req_0_insertion_threshold_count
[insertion queue_stats] @e8 bn_rd_req_1_insertion_count
[queue_stats total_occupancy] @f0 bn_rd_req_1_total_occupancy
[queue_stats threshold] @f8 bn_rd_req_1_threshold_count
[full queue_stats] @100 bn_rd_req_1_full_count
[empty queue_stats] @108 bn_rd_req_1_empty_count
[queue_stats total_occupancy_threshold] @110 bn_rd_req_1_total_threshold_occupancy
[insertion_threshold queue_stats] @118 bn_rd_req_1_insertion_threshold_count
[insertion queue_stats] @120 bn_wr_req_0_insertion_count
[queue_stats total_occupancy] @128 bn_wr_req_0_total_occupancy
[queue_stats threshold] @130 bn_wr_req_0_threshold_count
[full queue_stats] @138 bn_wr_req_0_full_count
[empty queue_stats] @140 bn_wr_req_0_empty_count
[queue_stats total_occupancy_threshold] @148 bn_wr_req_0_total_threshold_occupancy
[insertion_threshold queue_stats] @150 bn_wr_req_0_insertion_threshold_count
[insertion queue_stats] @158 bn_wr_req_1_insertion_count
[queue_stats total_occupancy] @160 bn_wr_req_1_total_occupancy
[queue_stats threshold] @168 bn_wr_req_1_threshold_count
[full queue_stats] @170 bn_wr_req_1_full_count
[empty queue_stats] @178 bn_wr_req_1_empty_count
[queue_stats total_occupancy_threshold] @180 bn_wr_req_1_total_threshold_occupancy
[insertion_threshold queue_stats] @188 bn_wr_req_1_insertion_threshold_count
    """,
)
TILE = Block(
    "vf_chip_sc_{0}_sct_{1}_sc_stats_counters_unprivileged_count_",
    0xD0080000,
    "SparseCore {0}, tile {1}",
    """
[cycle_counter_window] @8 cycles
[activity issue scalar] @1e8 tec_scalar_issue
@1f8 tec_s{0-1}_instruction tec_smisc_instruction
[activity issue vector] @3c0 vector_issue v{0-2}_instruction vld_instruction vst_instruction vres_instruction
  vex_instruction
    """,
    (Axis(2, 0x2A00000), Axis(16, 0x200000)),
)
SEQUENCER = Block(
    "vf_chip_sc_{0}_scs_sc_stats_counters_unprivileged_count_",
    0xD2890000,
    "sequencer of SparseCore {0}",
    """
[cycle_counter_window scalar] @8 cycles
[activity issue scalar] @10 scalar_issue
@20 s{0-1}_instruction smisc_instruction
    """,
    (Axis(2, 0x2A00000),),
)
BLOCKS = (TENSOR_CORE, HBM, ICI, TILE, SEQUENCER)

_SCALAR = ("tec_scalar_issue", "tec_s0_instruction", "tec_s1_instruction", "tec_smisc_instruction")
_SEQUENCED = ("scalar_issue", "s0_instruction", "s1_instruction", "smisc_instruction")
_VECTOR = (
    "vector_issue",
    "v0_instruction",
    "v1_instruction",
    "v2_instruction",
    "vld_instruction",
    "vst_instruction",
    "vres_instruction",
    "vex_instruction",
)


def listed() -> Iterator[Register]:
    """The counters in the order of the list of names."""
    yield from map(TENSOR_CORE.register, _tensor_core())
    for stack in HBM.axes[0].listed:
        for channel in HBM.axes[1].listed:
            yield from (HBM.register(name, stack, channel) for name in HBM.by_name)
    yield from map(ICI.register, ICI.by_name)
    for name in _SCALAR:
        yield from (register for core in (0, 1) for register in _tiles(name, core))
    for core in (0, 1):
        yield SEQUENCER.register("cycles", core)
        yield from _tiles("cycles", core)
    for name in _SEQUENCED:
        yield from (SEQUENCER.register(name, core) for core in (0, 1))
    for name in _VECTOR:
        yield from (register for core in (0, 1) for register in _tiles(name, core))


def _tensor_core() -> list[str]:
    """Operations of the vector unit come last, in the order of addresses."""
    return [name for name in TENSOR_CORE.by_name if not name.startswith("vpu_")] + [
        name for name in TENSOR_CORE.offsets if name.startswith("vpu_")
    ]


def _tiles(name: str, core: int) -> Iterator[Register]:
    return (TILE.register(name, core, tile) for tile in TILE.axes[1].listed)
