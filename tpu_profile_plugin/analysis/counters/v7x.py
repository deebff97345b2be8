"""Performance counters of TPU v7x: names, ids and sets, as XProf 2.24.2 lists them; an id is a register's address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpu_profile_plugin.analysis.counters.registers import Axis, Block, Register

DIES = Axis(2, 0x20000000)
CORES = Axis(2, 0x1A00000)
"""SparseCores of a die."""

TENSOR_CORE = Block(
    "vf_chip_die{0}_tc_tcs_tc_misc_tcs_stats_tcs_stats_counters_unprivileged_count_",
    0xA668A000,
    "TensorCore {0}",
    """
[cycle_counter_window] @8 cycles
[activity issue] @10 scalar_issue taken_branch
[activity memory_activity] @20 smem_instruction_reads smem_instruction_writes
[activity issue] @30 scalar_fence dma_simple_instruction dma_strided_instruction dma_general_instruction
  dma_desc_instruction scalar_alu_instruction_{0-1} bundles_into_vif
[scalar stall] @70 xn_reserved yn_reserved dn_reserved vif_full
[memory stall] @90 smem_reserved
[memory_path stall] @98 dma_staging_fifo_full
[scalar stall] @a0 scalar_fence_wait branch_sreg_reserved scalar_delay_wait v2s_result_wait
  predicate_register_reserved breakpoints drf_result_wait sfrf_result_wait ibr_replace_wait
[activity issue] @e8 vector_issue
[misc stall] @f0 hold_vector_issue
[activity issue] @f8 eup_instruction vector_alu_instruction_{0-3}
[activity memory_activity] @120 vst_instruction vmisc_vst_instruction vld_instruction_{0-1} vmisc_vld_instruction
  vmisc_msc_instruction
[activity issue] @150 vres_instruction_{0-1} set_add_sync_flag sync_waited sync_no_wait write_remote
[activity interrupt] @180 core_interrupt
[activity issue] @188 matmul_vreg_f32_mxu_{0-1} matmul_vreg_bf16_mxu_{0-1} matmul_vreg_f8_mxu_{0-1}
  matmul_lmr_bf16_mxu_{0-1}
[activity cycles] @1c8 mxu_busy_{0-2}
[activity issue] @1e0 matpush_mxu_{0-1} matpush_cycles_mxu_{0-1} matpush_matrices_mxu_{0-1}
  rotate_permute_instruction_xlu_{0-1} rotate_permute_set_instruction_xlu_{0-1} transpose_xlu_{0-1} packed_xlu_{0-1}
[activity cycles] @250 xlu_busy_{0-2}
[issue stall] @268 v_x_reserved v_y_reserved v_accumulator_reserved eup_reserved vst_reserved misc_vst_reserved
  vex_reserved
[execution_unit stall] @2a0 matmul_path_reserved msr_reserved_for_lgmr msr_reserved_for_vlxmr lmr_reserved
  vllmr_vlgmr_reserved fused_load_reserved msr_path_reserved matmul_accumulation_pipe_reserved
  vpop_mrb_bank_conflict_wait mrb_raw_hazard_wait vmatpush_xpose_after_vmatpush_reserved mrb_result_wait
  xlu_path_reserved trf_path_reserved trf_result_wait xlu_operation_change_reserved transpose_shape_reserved
  prng_reserved prng_load_reserved erf_result_wait remote_message_fifo_full
[memory_path stall] @348 vector_delay_wait
[stall sync_flag] @350 sync_wait
[memory_path stall] @358 vmem_store_queue_full vmem_read_after_write_wait vmem_read_to_busy_bank
  vmem_load_slot_conflict vstore_dma_starvation misc_vstore_dma_starvation vstore_begin_starve_cycle
  store_fence_wait
[execution_unit stall] @398 iar_reserved
[stall sync_flag] @3a0 v2s_path_reserved
[memory_path stall] @3a8 vreg_address_fifo_full
[alarm threshold] @3b0 ppm_self_throttle
[memory_path stall] @3b8 dma_request_delay dma_vector_address_delay
[activity memory_activity] @3c8 imem_writes smem_oci_writes smem_oci_write_32bytes smem_oci_reads
  smem_oci_read_32bytes oci_amos_completed
[memory stall] @3f8 smem_dma_hold
[stall sync_flag] @400 sync_flag_update_hold
[activity memory_path] @408 smem_dma_active imem_dma_active
[alarm stall] @418 smem_starvation imem_starvation
[activity issue] @428 sync_flag_updates
[stall sync_flag] @430 watched_sync_flag_wait_cycles
[activity issue] @438 watched_sync_flag_updates watched_syncs_waited watched_syncs_no_wait watched_sync_flag_set_add
[alarm stall] @458 sync_flag_starvation
[activity issue] @460 sync_compare
[alarm stall] @468 vmem_dma_bank_queue_starvation vmem_dma_read_queue_starvation vmem_dma_write_queue_starvation
  vmem_dma_read_write_queue_starvation dma_starvation_load_hold dma_starvation_store_hold
  dma_starvation_misc_store_hold dma_starvation_store_flush dma_starvation_no_priority_inversion
[alarm threshold] @4b0 ppm_didt_brake_level_0_{0-2} ppm_didt_brake_level_1_4_{0-2} ppm_didt_brake_level_5_15_{0-2}
  ppm_didt_brake_level_16_26_{0-2} ppm_didt_brake_level_27_30_{0-2} ppm_didt_brake_level_31_{0-2}
  ppm_overshoot_brake_level_0_{0-2} ppm_overshoot_brake_level_1_4_{0-2} ppm_overshoot_brake_level_5_15_{0-2}
  ppm_overshoot_brake_level_16_26_{0-2} ppm_overshoot_brake_level_27_30_{0-2} ppm_overshoot_brake_level_31_{0-2}
  ppm_sustained_brake_level_0_{0-2} ppm_sustained_brake_level_1_4_{0-2} ppm_sustained_brake_level_5_15_{0-2}
  ppm_sustained_brake_level_16_26_{0-2} ppm_sustained_brake_level_27_30_{0-2} ppm_sustained_brake_level_31_{0-2}
[activity issue] @660 vpu_vreg_read_access_{0-3} vpu_vreg_write_access_{0-3} vpu_valu_fadd_ops_{0-3}
  vpu_valu_fmul_ops_{0-3} vpu_valu_misc_ops_{0-3} vpu_valu_int_ops_{0-3} vpu_valu_fmac_ops_{0-3}
    """,
    (DIES,),
)
THROTTLE = Block(
    "vf_chip_die{0}_pwrmgr_pwrmgr_tc_throttle_core_debug_stats_unprivileged_",
    0xA9B94000,
    "clock of TensorCore {0}",
    """
[activity misc] @8 cycle_count clocks_skipped
@28 ext_throttle_clocks_skipped
@40 ldidt_droop_clocks_skipped
    """,
    (DIES,),
)
HBM = Block(
    "vf_chip_die{0}_hbm_{1}_ss_hbmc_{2}_cmn_hi_freq_stats_counters_unprivileged_",
    0xA1461400,
    "HBM of die {0}, stack {1}, channel {2}",
    """
[data_transfer] @18 wr_req_ps{0-1} partial_write_req_ps{0-1} rd_resp_ps{0-1}
    """,
    (DIES, Axis(4, 0x200000), Axis(16, 0x20000)),
)
ICI = Block(
    "vf_chip_die{0}_oci_icr_{1}_perf_counters_fifo_stats_counters_unprivileged_",
    0xA106D000,
    "queue {1} of the chip interconnect, die {0}",
    """
[insertion queue_stats] @120 bn_rd_req_0_insertion_count
@158 bn_wr_req_0_insertion_count
    """,
    (DIES, Axis(4, 0x8000)),
)
SEQUENCER = Block(
    "vf_chip_die{0}_sc_{1}_scs_sc_stats_counters_unprivileged_count_",
    0xA7F61000,
    "sequencer of SparseCore {1} of die {0}",
    """
[cycle_counter_window scalar] @8 cycles
[activity issue scalar] @10 scalar_issue branch_taken s{0-1}_instruction smisc_instruction
[activity issue memory_activity scalar] @38 scalar_load_or_scalar_load_circular_buf
  scalar_store_or_scalar_store_circular_buf read_cbreg write_or_add_cbreg move_cbreg read_dreg write_dreg
[activity issue scalar] @70 branch_and_call scalar_fence simple_dma single_strided_dma general_dma
  descriptor_based_dma linear_stream strided_stream indirect_stream indirect_vreg_stream
  indirect_stream_row_offset_list_type task_request
[activity interrupt scalar] @d0 core_interrupt
[activity issue scalar] @d8 sync_watch barrier_sync
[scalar stall] @e8 xn_reserved yn_reserved dn_reserved cbreg_path_reserved desc_path_wait dma_credit_hold_issue
[memory scalar stall] @118 remote_message_fifo_full
[scalar stall] @120 scalar_fence_wait sync_watcher_reserved scalar_delay_wait v2s_result_wait drf_result_wait
  branch_sreg_reserved branch_clear_ibuf_delay predicate_register_reserved barrier_reserved vector_stall
  barrier_wait breakpoints
[issue scalar] @180 halting
[scalar stall] @188 ibr_replace_wait vector_hold_issue
[scalar stall sync_flag] @198 sync_wait sync_watch_wait
[activity issue scalar sync_flag] @1a8 set_add_sync_flag atomic_tile_set_add_sync_flag
  atomic_remote_set_add_sync_flag
[scalar stall sync_flag] @1c0 sync_flag_external_update_hold
[activity memory_activity scalar] @1c8 smem_external_amo_completed
[memory_activity scalar stall] @1d0 smem_external_request_hold
[activity memory_activity scalar] @1d8 smem_external_reads smem_external_writes
[activity memory_activity] @1e8 smem_oci_write_request smem_oci_write_response smem_oci_read_request
  smem_oci_read_response simem_oci_write_request simem_oci_write_response simem_oci_read_request
  simem_oci_read_response timem_oci_write_request timem_oci_write_response timem_oci_read_request
  timem_oci_read_response
[activity memory_path] @248 smem_dma_write_active smem_dma_read_active simem_dma_write_active simem_dma_read_active
  timem_dma_write_active timem_dma_read_active
[memory stall] @278 smem_dma_write_stall smem_dma_read_stall simem_dma_write_stall simem_dma_read_stall
  timem_dma_write_stall timem_dma_read_stall
[activity] @2a8 oci_msg_to_scc oci_msg_from_scc oci_msg_to_sct_xbar oci_msg_from_sct_xbar sge_msg_to_scs_scc
  scc_msg_to_sct_xbar sct_xbar_msg_to_scc sct_xbar_msg_to_smem
[stall] @2e8 oci_outbound_msg_stall
[activity] @2f0 dma_descriptor
[stall] @2f8 dma_descriptor_stall
[activity fifo_stats] @300 dma_dif_total_occupancy dma_dif_full dma_dif_empty stream_dif_total_occupancy
  stream_dif_full stream_dif_empty task_dif_total_occupancy task_dif_full task_dif_empty desc_ram_total_occupancy
  desc_ram_full desc_ram_empty
[activity] @360 sge_smem_access_sampled_total sge_smem_access_latency_total xbar_spmem_read_latency_total
  xbar_read_sampled_total xbar_spmem_rmw_latency_total xbar_rmw_sampled_total xbar_spmem_write_latency_total
  xbar_write_sampled_total writes_to_smem reads_to_smem indirect_reads_to_smem stream_total_4b_to_spmem_{0-15}
  stream_32b_reqs_to_spmem_{0-15} stream_total_4b_from_spmem_{0-15} stream_32b_reqs_from_spmem_{0-15}
[stall] @5b8 xbar_address_unroller_desc_fifo_stall_{0-1}
[activity] @5c8 xbar_indirect_stream_filtered_addrs
[stall] @5d0 xbar_address_unroller_address_fifo_stall_{0-1} address_generator_map_stall
  xbar_gather_sync_flag_tracker_tag_stall xbar_gather_sync_flag_tracker_id_stall
  xbar_scatter_sync_flag_tracker_tag_stall xbar_scatter_sync_flag_tracker_id_stall
  xbar_outbound_data_fifo_stall_{0-1} xbar_scatter_sync_flag_phy_block_stall xbar_gather_sync_flag_phy_block_stall
  xbar_gather_sync_flag_update_stall xbar_scatter_sync_flag_update_stall
  wide_xbar_destination_lane_credit_stall_{0-15} rd_req_xbar_destination_lane_credit_stall_{0-15}
  xbar_gather_sync_flag_tail_ptr_stall xbar_scatter_sync_flag_tail_ptr_stall
    """,
    (DIES, CORES),
)
VECTOR_TILE = Block(
    "vf_chip_die{0}_sc_{1}_sctc_{2}_sc_stats_counters_unprivileged_count_",
    0xA7724000,
    "vector part of tile {2}, SparseCore {1} of die {0}",
    """
[cycle_counter_window] @8 cycles
[activity issue vector] @10 vector_issue v{0-2}_instruction vld_instruction vst_instruction vres_instruction
  vex_instruction vex_bf16_instruction vex_int16_instruction vector_standard_alu_ops vector_compare vector_select
  vector_pack vector_unpack vector_cross_lane extended_unary_pipeline vector_modify_mask
  vector_standard_alu_quantized_integer_ops vector_int16_compare vector_quantized_cross_lane vector_modify_mask_pack
  vector_standard_alu_bf16_ops vector_bf16_compare bf16_extended_unary_pipeline push_v2s
[activity issue memory_activity vector] @e0 vector_store_circular_buffer vector_store_add vector_fetch_add
  vector_bf16_store_add vector_bf16_fetch_add vector_int16_store_add vector_int16_fetch_add vector_store_indexed
  vector_load_circular_buffer vector_indexed_load
[stall vector] @130 v_x_reserved v_y_reserved v_dest_reserved vex_source_reserved erf_dest_reserved erf_result_wait
  xrf_dest_reserved xrf_result_wait vst_source_reserved vst_idx_reserved vst_vmsk_reserved vld_dest_reserved
  vld_idx_reserved vld_vmsk_reserved desc_vld_idx_reserved desc_vst_idx_reserved stream_vmsk_reserved
  vector_load_queue_full vector_store_queue_full sge_read_or_write_starvation eup_reserved xpu_reserved
  cbreg_path_reserved
[activity vector] @1e8 load_per_bank_{0-31}
[activity fifo_stats vector] @2e8 load_queue_total_occupancy_{0-31} load_queue_full_{0-31} load_queue_empty_{0-31}
[activity vector] @5e8 load_coalesced_{0-31} store_per_bank_{0-31} store_add_per_bank_{0-31}
  fetch_add_per_bank_{0-31}
[activity fifo_stats vector] @9e8 store_queue_total_occupancy_{0-31} store_queue_full_{0-31}
  store_queue_empty_{0-31}
[activity vector] @ce8 store_coalesced_{0-31} load_noop_per_bank_{0-31}
[stall vector] @ee8 load_store_addr_buffer_backpressure load_store_addr_buffer_any_conflict_backpressure
[activity fifo_stats vector] @ef8 load_store_addr_buffer_total_occupancy load_store_addr_buffer_full
[activity vector] @f08 load_inflight_total load_latency_total load_latency_histogram_{0-11}
[activity] @f78 writes_to_spmem reads_to_spmem rmw_to_spmem sge_write_starvation_cycles sge_read_starvation_cycles
  store_starvation_cycles sge_spmem_xbar{0-1}_read_latency_total sge_spmem_cmn{0-1}_read_latency_total
  sge_spmem_indirect_read_latency_total sge_spmem_xbar{0-1}_write_latency_total
  sge_spmem_cmn{0-1}_write_latency_total sge_spmem_xbar{0-1}_rmw_latency_total sge_spmem_cmn{0-1}_rmw_latency_total
  sge_spmem_indirect_read_sampled_total sge_spmem_xbar{0-1}_read_sampled_total sge_spmem_cmn{0-1}_read_sampled_total
  sge_spmem_xbar{0-1}_write_sampled_total sge_spmem_cmn{0-1}_write_sampled_total
  sge_spmem_xbar{0-1}_rmw_sampled_total sge_spmem_cmn{0-1}_rmw_sampled_total tmc_xbar_read_req_conflict_total
  tmc_cmn_read_req_conflict_total tmc_indirect_read_req_conflict_total tmc_xbar_write_req_conflict_total
  tmc_cmn_write_req_conflict_total tmc_bank_read_req_queue_full_stall tmc_bank_write_req_queue_full_stall
    """,
    (DIES, CORES, Axis(16, 0x80000)),
)
SCALAR_TILE = Block(
    "vf_chip_die{0}_sc_{1}_sctd_{2}_sc_stats_counters_unprivileged_count_",
    0xA6726000,
    "scalar part of tile {2}, SparseCore {1} of die {0}",
    """
[cycle_counter_window] @8 cycles
[activity issue scalar] @10 tec_scalar_issue tec_branch_taken tec_s{0-1}_instruction tec_smisc_instruction
[activity issue memory_activity scalar] @38 tec_scalar_load_or_scalar_load_circular_buf
  tec_scalar_store_or_scalar_store_circular_buf tec_read_cbreg tec_write_or_add_cbreg tec_move_cbreg tec_read_dreg
  tec_write_dreg
[activity issue scalar] @70 tec_branch_and_call tec_scalar_fence tec_simple_dma tec_single_strided_dma
  tec_general_dma tec_descriptor_based_dma tec_linear_stream tec_strided_stream tec_indirect_stream
  tec_indirect_vreg_stream tec_indirect_stream_row_offset_list_type tec_task_request
[activity interrupt scalar] @d0 tec_core_interrupt
[activity issue scalar] @d8 tec_sync_watch tec_barrier_sync
[scalar stall] @e8 tec_xn_reserved tec_yn_reserved tec_dn_reserved tec_cbreg_path_reserved tec_desc_path_wait
[memory scalar stall] @110 tec_remote_message_fifo_full
[scalar stall] @118 tec_scalar_fence_wait tec_sync_watcher_reserved tec_scalar_delay_wait tec_v2s_result_wait
  tec_drf_result_wait tec_branch_sreg_reserved tec_branch_clear_ibuf_delay tec_predicate_register_reserved
  tec_barrier_reserved tec_vector_stall tec_barrier_wait tec_breakpoints
[issue scalar] @178 tec_halting
[scalar stall] @180 tec_ibr_replace_wait tec_vector_hold_issue
[scalar stall sync_flag] @190 tec_sync_wait tec_sync_watch_wait
[activity issue scalar sync_flag] @1a0 tec_set_add_sync_flag tec_atomic_tile_set_add_sync_flag
  tec_atomic_remote_set_add_sync_flag
[scalar stall sync_flag] @1b8 tec_sync_flag_external_update_hold
[memory_activity scalar stall] @1c0 tec_smem_external_request_hold
[activity memory_activity scalar] @1c8 tec_smem_external_reads tec_smem_external_writes
  tec_smem_external_amo_completed
[activity fifo_stats] @1e0 tec_dma_dif_total_occupancy tec_dma_dif_full tec_dma_dif_empty
  tec_stream_dif_total_occupancy tec_stream_dif_full tec_stream_dif_empty desc_ram_total_occupancy desc_ram_full
  desc_ram_empty
[activity] @228 tec_prefetch_hit tec_prefetch_miss tec_prefetch_miss_stall tec_prefetch_req_block_allocate
  tec_prefetch_resp_block_allocate tec_prefetch_miss_req tec_prefetch_resp_drop_{0-1} tec_prefetch_skip
  xbar_spmem_read_latency_total xbar_spmem_write_latency_total xbar_spmem_rmw_latency_total xbar_read_sampled_total
  xbar_write_sampled_total xbar_rmw_sampled_total writes_to_smem reads_to_smem sge_smem_access_sampled_total
  sge_smem_access_latency_total stream_total_4b_to_spmem_{0-15} stream_32b_reqs_to_spmem_{0-15}
  stream_sub_32b_reqs_to_spmem_{0-15} stream_total_4b_from_spmem_{0-15} stream_32b_reqs_from_spmem_{0-15}
  stream_sub_32b_reqs_from_spmem_{0-15}
[stall] @5c0 xbar_address_unroller_desc_fifo_stall_{0-1} xbar_address_unroller_address_fifo_stall_{0-1}
  address_generator_map_stall xbar_gather_sync_flag_tracker_tag_stall xbar_gather_sync_flag_tracker_id_stall
  xbar_scatter_sync_flag_tracker_tag_stall xbar_scatter_sync_flag_tracker_id_stall
  xbar_outbound_data_fifo_stall_{0-1} xbar_scatter_sync_flag_phy_block_stall xbar_gather_sync_flag_phy_block_stall
  xbar_gather_sync_flag_update_stall xbar_scatter_sync_flag_update_stall
  wide_xbar_destination_lane_credit_stall_{0-16} rd_req_xbar_destination_lane_credit_stall_{0-16}
  wr_resp_xbar_destination_lane_credit_stall_{0-16} xbar_gather_sync_flag_tail_ptr_stall
  xbar_scatter_sync_flag_tail_ptr_stall
[activity] @7e0 xbar_indirect_stream_filtered_addrs
[stall] @7e8 cmn_address_unroller_desc_fifo_stall_{0-3} cmn_address_unroller_address_fifo_stall_{0-3}
  cmn_gather_sync_flag_tracker_tag_stall cmn_gather_sync_flag_tracker_id_stall
  cmn_scatter_sync_flag_tracker_tag_stall cmn_scatter_sync_flag_tracker_id_stall cmn_east_outbound_data_fifo_stall
  cmn_west_outbound_data_fifo_stall cmn_gather_sync_flag_tail_ptr_stall cmn_scatter_sync_flag_tail_ptr_stall
  cmn_gather_sync_flag_update_stall cmn_scatter_sync_flag_update_stall cmn_scatter_sync_flag_phy_block_stall
  cmn_gather_sync_flag_phy_block_stall
[activity] @888 msgs_sent_to_xbar msgs_received_from_xbar cmn_indirect_stream_filtered_addrs
  stream_sub_32b_reqs_to_hbm stream_32_to_64b_reqs_to_hbm stream_64_to_96b_reqs_to_hbm stream_96_to_128b_reqs_to_hbm
  stream_128b_reqs_to_hbm stream_sub_32b_reqs_from_hbm stream_32_to_64b_reqs_from_hbm stream_64_to_96b_reqs_from_hbm
  stream_96_to_128b_reqs_from_hbm stream_128b_reqs_from_hbm dma_words_to_hbm dma_words_from_hbm dma_words_to_oci
  dma_words_from_oci stream_gathers_to_east_cmncr stream_gathers_to_west_cmncr stream_scatters_to_east_cmncr
  stream_scatters_to_west_cmncr
[stall] @930 cmn_spmem_read_tracker_stall cmn_spmem_write_tracker_stall cmn_dma_write_resp_fifo_stall
  cmn_gather_tracker_stall
[activity] @950 timem_prefetch_req_filtered
    """,
    (DIES, CORES, Axis(16, 0x100000)),
)
MEMORY_NETWORK = Block(
    "vf_chip_die{0}_cmn_cmnur_0_cmn_stats_debug_fixed_stats_counters_unprivileged_",
    0xA5463400,
    "memory network of die {0}",
    """
[cycle_counter_window] @8 cycle_counter_window
[activity_data_transfer] @10 rd_rsp_beat_from_hbm wr_req_beat_to_hbm
    """,
    (DIES,),
)
LINKS = Block(
    "vf_chip_chiplet_icr_icr_data_0_debug_domain_icr_data_stats_packet_counters_unprivileged_",
    0xD6438C00,
    "links to other chips",
    """
[activity data_transfer] @8 link0_egress_control_packet_sent link0_egress_data_packet_sent
  link0_ingress_control_packet_received link0_ingress_data_packet_received link1_egress_control_packet_sent
  link1_egress_data_packet_sent link1_ingress_control_packet_received link1_ingress_data_packet_received
  link2_egress_control_packet_sent link2_egress_data_packet_sent link2_ingress_control_packet_received
  link2_ingress_data_packet_received link3_egress_control_packet_sent link3_egress_data_packet_sent
  link3_ingress_control_packet_received link3_ingress_data_packet_received link4_egress_control_packet_sent
  link4_egress_data_packet_sent link4_ingress_control_packet_received link4_ingress_data_packet_received
  link5_egress_control_packet_sent link5_egress_data_packet_sent link5_ingress_control_packet_received
  link5_ingress_data_packet_received
    """,
)
BLOCKS = (TENSOR_CORE, THROTTLE, HBM, ICI, SEQUENCER, VECTOR_TILE, SCALAR_TILE, MEMORY_NETWORK, LINKS)

_MXU = ("matmul_lmr_", "matmul_vreg_", "matpush_cycles_", "mxu_busy_")
_XLU = ("packed_xlu_", "rotate_permute_", "transpose_xlu_", "xlu_busy_")
_OTHER = ("cycles", "scalar_alu_instruction_", "vector_alu_instruction_", "vld_instruction_", "vst_instruction")
_OPERATIONS = ("vpu_valu_fadd_", "vpu_valu_fmul_", "vpu_valu_misc_", "vpu_valu_int_", "vpu_valu_fmac_")
_SEQUENCED = ("cycles", "s0_instruction", "s1_instruction", "scalar_issue", "smisc_instruction")
_SCALAR = ("tec_s0_instruction", "tec_s1_instruction", "tec_scalar_issue", "tec_smisc_instruction")
_VECTOR = (
    "v0_instruction",
    "v1_instruction",
    "v2_instruction",
    "vector_issue",
    "vex_instruction",
    "vld_instruction",
    "vres_instruction",
    "vst_instruction",
)
_QUEUES = ("bn_rd_req_0_insertion_count", "bn_wr_req_0_insertion_count")


def listed() -> Iterator[Register]:
    """The counters in the order of the list of names: those of both dies in part, of die 0 in full."""
    for die in (0, 1):
        yield from (THROTTLE.register(name, die) for name in THROTTLE.by_name)
        yield from (TENSOR_CORE.register(name, die) for name in _tensor_core())
    for die in (0, 1):
        for stack in HBM.axes[1].listed:
            for channel in HBM.axes[2].listed:
                yield from (HBM.register(name, die, stack, channel) for name in HBM.by_name)
        for core in (0, 1):
            yield from _sparse_core(die, core)
    for name in _QUEUES:
        yield from (ICI.register(name, 1, queue) for queue in range(4))
    yield VECTOR_TILE.register("cycles", 0, 0, 0)
    yield from _others(TENSOR_CORE, _tensor_core(), 0)
    yield from _others(SEQUENCER, _SEQUENCED, 0, 0)
    yield from _others(SCALAR_TILE, ("cycles", *_SCALAR), 0, 0, 0)
    yield from _others(VECTOR_TILE, ("cycles", *_VECTOR), 0, 0, 0)
    yield from _others(MEMORY_NETWORK, (), 0)
    yield from _others(LINKS, ())


def _tensor_core() -> list[str]:
    """What both dies list: the counters of units by name, then operations of the vector unit by address."""
    units = [name for name in TENSOR_CORE.by_name if name.startswith(_MXU + _XLU + _OTHER)]
    return units + [name for name in TENSOR_CORE.offsets if name.startswith(_OPERATIONS)]


def _sparse_core(die: int, core: int) -> Iterator[Register]:
    yield from (SEQUENCER.register(name, die, core) for name in _SEQUENCED)
    for tile in VECTOR_TILE.axes[2].listed:
        yield from (VECTOR_TILE.register(name, die, core, tile) for name in _VECTOR)
    for tile in SCALAR_TILE.axes[2].listed:
        names = _SCALAR if tile else ("cycles", *_SCALAR)
        yield from (SCALAR_TILE.register(name, die, core, tile) for name in names)


def _others(block: Block, without: Iterable[str], *index: int) -> Iterator[Register]:
    """The registers of a block that are not listed before."""
    return (block.register(name, *index) for name in block.by_name if name not in without)
