"""What this process may use: memory, processor time, files. Where the system sets no limit, it watches itself."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_LOOK_S = 0.05


def write_no_files() -> None:
    """Makes every write to a file fail, and leaves no core dump; without effect on Windows."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_processor_time(seconds: float) -> None:
    """The system ends this process after so much more processor time; without effect on Windows."""
    if resource is not None:
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, resource.RLIM_INFINITY))


class MemoryGuard:
    """Limits the memory of this process: allocations beyond fail on Linux, and everywhere a thread looks after it."""

    def __init__(self, on_excess: Callable[[], object]) -> None:
        """Limits nothing yet; `on_excess` is called on another thread."""
        self._on_excess = on_excess
        self._most = 0
        self._thread: threading.Thread | None = None

    def limit(self, most_bytes: int) -> None:
        """The process may take `most_bytes` from now on; a later call changes the number."""
        self._most = most_bytes
        if resource is not None and sys.platform == "linux":
            # Private memory, written or not; the address space would count mapped libraries and files too.
            resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, resource.RLIM_INFINITY))
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="memory-guard", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        while peak_memory() <= self._most:
            time.sleep(_LOOK_S)
        self._on_excess()


def peak_memory() -> int:
    """The most bytes of memory that this process ever had, 0 if unknown."""
    if sys.platform == "linux":
        # ru_maxrss of a program begins with the memory of the process that started it.
        with contextlib.suppress(OSError, ValueError), Path("/proc/self/status").open() as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
    if resource is not None:
        unit = 1 if sys.platform == "darwin" else 1024
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit
    return _peak_on_windows()


def _peak_on_windows() -> int:
    """`PeakWorkingSetSize` of PROCESS_MEMORY_COUNTERS: after two 32-bit numbers, the first of eight sizes."""
    import ctypes

    counters = (ctypes.c_size_t * 10)()
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    this_process = ctypes.c_void_p(-1)
    known = kernel.K32GetProcessMemoryInfo(this_process, ctypes.byref(counters), ctypes.sizeof(counters))
    return int(counters[8 // ctypes.sizeof(ctypes.c_size_t)]) if known else 0
