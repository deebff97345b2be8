"""What steps usually lose on CPUs: threads that wait for a processor make single steps many times as long."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import F64, I64

USUAL_STEP = 2.0
"""A step counts as so many times the median of those with any such time, at most: single steps of healthy programs take
tens of times as long on busy processors, and what a program does in each step varies less. Work that only some steps do
has a rule of its own (`periodic_work`)."""
LEAST_STEPS = 5
"""With fewer steps the median tells little."""


def usual_shares(host: HostView, of_step: I64) -> F64:
    """Per step, the share of some time of it that counts; `of_step`: that time."""
    if not host.on_cpus or len(of_step) < LEAST_STEPS or not of_step.any():
        return np.ones(len(of_step))
    most = USUAL_STEP * float(np.median(of_step[of_step > 0]))
    return np.minimum(1.0, most / np.maximum(of_step, 1))
