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
