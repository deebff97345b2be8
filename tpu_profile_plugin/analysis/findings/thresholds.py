"""From where on a rule speaks; every threshold with its reason."""

from __future__ import annotations

LEAST_SHARE = 0.05
"""Share of the step from which on a cause is worth a finding: below, measurement noise and other causes weigh more."""
CLEAR_SHARE = 0.10
"""Share of the step from which on a finding is the headline; a program without any such finding is called healthy."""
EXPOSED_SHARE = 0.10
"""Exposed communication: below, overlapping more gains less than a tenth."""

GLUE_PS = 200_000_000
"""Code between two calls into the runtime that is shorter (0.2 ms) is what it costs to call it, not slow code."""
BLOCKED_SHARE = 0.30
"""Waiting for results: share of the step that the host must spend in it. Healthy programs wait as well."""
AFTER_CALLS_SHARE = 0.10
"""Waiting for results: idle time after the calls, which tells a harmful wait from one while the devices work."""
COMPILE_SHARE = 0.05
"""Compilation: share of the time of steps from which on it is worth a finding even if it is in a single step."""
COMPILE_STEPS = 2
"""Compilation: steps from which on it is not the first call of a program, which every run has once."""
COMPILE_LEAST = 0.01
"""Compilation: share below which it costs nothing that could be noticed, in however many steps."""
BARRIER_PERCENT = 10.0
"""Barriers: percent of the step, as in XProf's rule BarrierCoresRule."""

INPUT_SHARE = 0.05
"""Waiting for input: from here on the input pipeline analyzer calls a run moderately input-bound."""
INPUT_SHARE_HIGH = 0.20
"""Waiting for input: from here on it calls a run highly input-bound, and its confidence is high."""
BOTTLENECK_SHARE = 0.30
"""Share of a slow call of a pipeline that its slowest transformation must take itself to be named as the cause."""

PROGRAMS_PER_STEP = 100
"""Not compiled: program runs per step and device from which on launching them is the work of the host."""
EAGER_CALLS_PER_STEP = 50
"""Not compiled: eager ops per step; compiled Keras loops make fewer than 20, and each costs tens of microseconds."""
DISTINCT_PROGRAMS = 8
"""Not compiled: kinds of programs or eager ops in the steps; a loop that calls a few compiled functions has fewer."""
TINY_OP_PS = 20_000_000
"""Not compiled: median op; a call costs the host about as long (20 us)."""
MOSTLY_BUSY = 0.50
"""Not compiled: devices that compute for more than half of the step are fed fast enough."""
SHORT_GAP_PS = 2_000_000_000
"""Not compiled: idle time between two runs that is longer (2 ms) has another cause than the call of the next one."""

UPLOAD_SHARE = 0.10
"""Uploads: share of the step from which on they matter; the input of a step takes less than that."""
UPLOAD_STEPS = 0.80
"""Uploads: share of the steps that must have them, as they are not repeated otherwise (81% seen)."""
UPLOADS_SEEN = 3
"""Uploads: fewer steps do not show a repetition."""
SLOWEST_UPLOAD = 200_000_000
"""Uploads: bytes per second; copies are faster, so that fewer bytes cannot be what took so long."""
UPLOAD_EVEN = 0.50
"""Uploads: the largest deviation of a step's upload time from the median that still counts as the same upload."""

LAUNCH_SHARE = 0.15
"""Launches: steps of a few milliseconds always lose about a tenth to them."""
SYNCED_LAUNCHES = 0.50
"""Launches: share of them whose results the host waits for; above, it cannot launch ahead: the waits are the cause."""
TINY_KERNELS = 0.50
"""Launches: share of kernels below 10 us from which on they are called the reason."""

CUT_STEPS = 0.20
"""Cut recordings: share of the steps, the last ones, in which a device that worked before has no event at all."""
