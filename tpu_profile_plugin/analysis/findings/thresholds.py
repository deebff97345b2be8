"""From where on a rule speaks; every threshold with its reason."""

from __future__ import annotations

LEAST_SHARE = 0.05
"""Share of the step from which on a cause is worth a finding: below, measurement noise and other causes weigh more."""
CLEAR_SHARE = 0.10
"""Share of the step from which on a finding is the headline; a program without any such finding is called healthy."""
EXPOSED_SHARE = 0.10
"""Exposed communication: below, overlapping more gains less than a tenth."""

ARRIVAL_SHARE = 0.8
"""Share of all waits in collectives that are for one device, from which on it is named: waits for devices that are late
by chance spread over all of them."""
MOVEMENT_SHARE, MATRIX_SHARE = 0.5, 0.2
"""Data movement takes at least the one share of the ops' time and matrix products less than the other: programs made of
matrix products need some movement, and on real captures these bounds told the two kinds apart with a wide margin."""
SHUFFLE_SHARE = 0.3
"""Share of the step that data movement takes on TPUs: the original's bound."""

MOST_PROGRAMS = 8
"""Programs whose memory is looked at, those that ran longest: others are not what a run needs memory for."""
KEPT_BUFFER_SHARE, KEPT_SHARE = 0.1, 0.25
"""What one line of a program keeps for the backward pass counts from a tenth of the peak on, and is worth a finding
from a quarter of it on, together: every training program keeps some, and recomputing it costs time."""
NEEDED_SHARE = 0.25
"""Share of a device's memory below which a program's peak leaves room to grow, so that freeing memory gains little."""
KEPT_LEAST_PEAK = 32 << 20
"""Bytes: a program whose peak is smaller fits into any device many times over."""

DOUBLE_SHARE, WIDE_SHARE = 0.1, 0.2
"""Share of the ops' time: float64 is rarely meant, so a tenth is worth a word; float32 products often are."""
PADDING_SHARE = 0.2
"""Share of a product's padded work from which on its sizes count: below, rounding up is hard to avoid."""

MEMORY_SHARE = 0.9
"""Share of a device's memory in use at the peak: fragmentation and a longer batch easily take the rest."""
BUSY_PERCENT, FREE_PERCENT = 70.0, 50.0
"""Percent of a peak above which a resource limits a program, and below which the other one does not: the original's."""

EXPOSED_COPY_SHARE = 0.1
"""Copies between memories that nothing hides: below, starting them earlier gains less than a tenth."""

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

PROGRAMS_PER_STEP = 30
"""Not compiled: program runs per step and device from which on launching them is the work of the host. Two layers that
are trained without compilation run about as many; compiled loops run fewer than ten."""
STEPS_OF_RECORDING = 10
"""Not compiled: steps that a recording without any is taken for; people record about as many."""
EAGER_CALLS_PER_STEP = 50
"""Not compiled: eager ops per step; compiled Keras loops make fewer than 20, and each costs tens of microseconds."""
DISTINCT_PROGRAMS = 8
"""Not compiled: kinds of programs or eager ops in the steps; a loop that calls a few compiled functions has fewer."""
TINY_OP_PS = 20_000_000
"""Not compiled: median op; a call costs the host about as long (20 us)."""
MOSTLY_BUSY = 0.50
"""Not compiled: devices that compute for more than half of the step are fed fast enough."""
SHORT_GAP_PS = 2_000_000_000
"""Not compiled: idle time between two runs that is longer (2 ms) has another cause than the next call, ..."""
GAP_SHARE = 0.05
"""... if it is also longer than this share of the step: a library may do much in Python for each of its operations."""
LAUNCHES_OF_FUNCTION = 2
"""Not compiled: operations from which on a function launches them; one may belong to the code before it."""

UPLOAD_SHARE = 0.10
"""Uploads: share of the step from which on they matter; the input of a step takes less than that."""
UPLOAD_STEPS = 0.80
"""Uploads: share of the steps that must have them, as they are not repeated otherwise (81% seen)."""
UPLOADS_SEEN = 3
"""Uploads: fewer steps do not show a repetition."""
SLOWEST_UPLOAD = 200_000_000
"""Uploads: bytes per second; copies are faster, so that fewer bytes cannot be what took so long."""
UPLOAD_EVEN = 0.50
"""Uploads: interquartile range over median of a step's upload time up to which it counts as the same upload; single
steps take much longer where the processors have other work."""
SAME_SIZE = 0.01
"""Uploads: the largest deviation from the median number of bytes that still counts as the same, where it is known."""

LAUNCH_SHARE = 0.15
"""Launches: steps of a few milliseconds always lose about a tenth to them."""
SYNCED_LAUNCHES = 0.50
"""Launches: share of them whose results the host waits for; above, it cannot launch ahead: the waits are the cause."""
TINY_KERNELS = 0.50
"""Launches: share of kernels below 10 us from which on they are called the reason."""

CUT_STEPS = 0.20
"""Cut recordings: share of the steps, the last ones, in which a device that worked before has no event at all."""
