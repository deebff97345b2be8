"""A TPU run and a GPU run for tests of the op tools: `python -m builders.profiles.op_profiles DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from builders.logdirs import write
from builders.messages import traffic
from builders.programs import hlo

PEAKS = (
    'device_type_string="TPU v9", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=10d, '
    "peak_sram_rd_bw_gigabytes_per_second=20d, peak_sram_wr_bw_gigabytes_per_second=20d"
)
TRAFFIC = traffic(("READ", 1, 1000))
TPU = f"""{hlo.metadata_plane(jit_f=(7, hlo.relu_program()))}
plane 2 "/device:TPU:0" {{{PEAKS}}}
  metadata "%fusion.1 = f32[8] fusion()" {{program_id=7, symbol_id=1, hlo_category="loop fusion", flops=100, tf_op="jit(f)/a/max:", memory_access_breakdown={TRAFFIC}}} display=fusion.1
  metadata "%copy.2 = f32[8] copy()" {{program_id=7, symbol_id=2, hlo_category="copy", flops=10, memory_access_breakdown={TRAFFIC}}} display=copy.2
  line 5 "XLA Ops" @0ns
    1us +5us "%fusion.1 = f32[8] fusion()"
    7us +1us "%copy.2 = f32[8] copy()"
    9us +5us "%fusion.1 = f32[8] fusion()"
"""  # noqa: E501
LAUNCH = "regs:32 static_shared:16 dynamic_shared:48 grid:4,2,1 block:128,1,1 occ_pct:37.5"
GPU = f"""{hlo.metadata_plane(jit_f=(7, hlo.relu_program()))}
plane 3 "/device:GPU:0"
  line 5 "Stream #1"
    0us +4us ampere_h16816gemm {{kernel_details="{LAUNCH}", tf_op="model/dense/MatMul:MatMul"}}
    10us +6us ampere_h16816gemm {{kernel_details="{LAUNCH}", tf_op="model/dense/MatMul:MatMul"}}
    20us +3us fusion_1 {{kernel_details="grid:1,1,1", hlo_op="fusion.1", hlo_module="jit_f", program_id=7}}
    30us +2us nameless {{kernel_details="grid:1,1,1"}}
"""

if __name__ == "__main__":
    write(
        Path(sys.argv[1]),
        {f"{name}/plugins/profile/1/h.xplane.pb": text for name, text in (("tpu", TPU), ("gpu", GPU))},
    )
