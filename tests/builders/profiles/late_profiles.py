"""A GPU run that works at its end, for browser tests: `python -m builders.profiles.late_profiles DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from builders.logdirs import write

RECORDED_MS, WORK_MS = 9700, 9650
KERNELS = 400
PEAK_US = 5000
"""Time of the memory peak after the line of the allocating thread begins, which is `WORK_MS` into the recording."""


def late() -> str:
    """Ten seconds of Python, 12 ms of kernels at the end on one of three GPUs, memory that a thread allocates."""
    kernels = [f"{30 * i}us +{10 + 10 * (i % 2)}us {'gemm' if i % 2 else 'copy'}" for i in range(KERNELS)]
    facts = (
        "device_ordinal=0, bytes_reserved=0, bytes_allocated={0}, bytes_available={1}, allocation_bytes=100, addr={2}"
    )
    sizes = ((1, 100), (PEAK_US, 900), (9000, 300))
    memory = [
        f"{at}us +0us MemoryAllocation {{{facts.format(size, 1000 - size, i)}}}" for i, (at, size) in enumerate(sizes)
    ]
    lines = [
        'plane 5 "Task Environment" {profile_start_time=u1700000000000000000}',
        'plane 0 "/host:CPU"',
        'line 3 "worker/3"' + f" @{WORK_MS}ms",
        *memory,
        "0us +20000us launch",
        'line 7 "python" @2ms',
        f"0us +{(RECORDED_MS - 2) * 1000}us main_loop",
        "10us +1000us compile",
        'plane 1 "/device:GPU:0" {memory_size=u1000}',
        'plane 2 "/device:GPU:1"',
        f'line 14 "Stream #14" @{WORK_MS}ms',
        *kernels,
        'plane 3 "/device:GPU:2"',
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    write(Path(sys.argv[1]), {"late/plugins/profile/1/h.xplane.pb": late()})
