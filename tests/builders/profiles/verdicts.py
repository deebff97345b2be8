"""Profiles for the verbs about a run as a whole: one that waits for host code, and one with nothing to tell of."""

from __future__ import annotations

LOADER = """
plane 1 "/device:TPU:0" {device_type_string="TPU v5 lite"}
line 1 Steps
0us +100us 1 {_ct=9, _c=1}
200us +100us 2 {_ct=9, _c=2}
400us +150us 3 {_ct=9, _c=3}
line 2 "XLA Ops"
0us +100us fusion.1
200us +40us fusion.1
290us +10us fusion.1
400us +40us fusion.1
540us +10us fusion.1
metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u1}
plane 2 "/host:CPU"
line 1 main
0us +90us train {_r=1, step_num=0}
200us +90us train {_r=1, step_num=1}
240us +45us "$train.py:9 load_batch"
400us +145us train {_r=1, step_num=2}
440us +95us "$train.py:9 load_batch"
"""
"""A TensorCore that waits 50 us of its second step and 100 us of its third for `load_batch`."""
NOTHING = 'plane 0 "/other"\nline 1 a\n0us +1us x'
UNMARKED = "\n".join(line for line in LOADER.splitlines() if "_c=" not in line and " train {" not in line).replace(
    "line 1 Steps\n", ""
)
"""`LOADER` without markers of steps."""
