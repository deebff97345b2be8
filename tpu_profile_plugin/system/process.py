"""This process and its machine: signals, cores, threads, memory, the allocator, limits.

Where the system sets no limit, the process watches itself.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_ROOT = Path("/")
"""Directory of `proc` and `sys`."""
_STUCK_S = 1.0
"""How much later than Python's own timer the system ends a process, see `exit_on_sigterm`."""


def exit_on_sigterm(timeout_s: float = 5.0) -> None:
    """Makes SIGTERM end this process with status 0, after at most `timeout_s`; Windows never delivers it.

    SystemExit is raised in the code that is running; in a destructor, Python ignores it and the server would keep
    running. Where no thread of Python runs any more, as when the interpreter is stuck while it is torn down, the system
    ends the process `_STUCK_S` later. A second SIGTERM ends it at once.
    """

    def handler(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if sys.platform != "win32":
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, timeout_s + _STUCK_S)
        timer = threading.Timer(timeout_s, os._exit, (0,))
        timer.daemon = True
        timer.start()
        sys.exit(0)

    signal.signal(signal.SIGTERM, handler)


def end_at_once_on_signals() -> None:
    """Makes SIGTERM and Ctrl-C end this process with status 0, although threads wait for input or still answer."""

    def handler(number: int, frame: object) -> None:
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def ignore_interrupts() -> None:
    """Ignores Ctrl-C, which reaches every process of a terminal (of a console on Windows): the server handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGBREAK"):
        signal.signal(signal.SIGBREAK, signal.SIG_IGN)


def available_cores() -> int:
    """The number of cores that this process may use, at least 1: affinity, and a container's quota, rounded up."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        cores = os.cpu_count() or 1
    return max(1, min(cores, _quota() or cores))


def free_memory() -> int:
    """Bytes of memory available without swapping, within a container's limit; 0 if unknown.

    macOS reports the size of the memory only, of which half is taken as free.
    """
    if sys.platform == "win32":
        return _free_on_windows()
    try:
        available = re.search(r"^MemAvailable:\s+(\d+) kB", (_ROOT / "proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return _memory_size() // 2
    return min([int(available[1]) * 1024, *_unused_of_limits()]) if available else 0


def _memory_size() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


def _free_on_windows() -> int:
    """`ullAvailPhys` of MEMORYSTATUSEX: the second of seven 64-bit numbers after two 32-bit numbers."""
    import ctypes

    status = (ctypes.c_uint64 * 8)()
    status[0] = ctypes.sizeof(status)  # dwLength; dwMemoryLoad, in the upper half, is 0
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    return int(status[2]) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else 0


def _groups(controller: str) -> Iterator[Path]:
    """Directories of the control groups of this process, the innermost first; none outside of Linux.

    In a container without a namespace of its own, only the outermost directory exists: the container's.
    """
    for line in _text(_ROOT / "proc/self/cgroup").splitlines():
        number, names, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not names:  # version 2
            top = _ROOT / "sys/fs/cgroup"
        elif controller in names.split(","):
            top = _ROOT / "sys/fs/cgroup" / controller
        else:
            continue
        inner = top / path.lstrip("/")
        yield from (group for group in (inner, *inner.parents) if group == top or top in group.parents)


@functools.cache
def _quota() -> int | None:
    """Cores that the control groups may use, rounded up; None without a limit. Read once."""
    quotas = []
    for group in _groups("cpu"):
        quota = _text(group / "cpu.max").split()
        quota = quota or [_text(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
        if len(quota) == 2 and all(map(str.isdecimal, quota)) and int(quota[0]) and int(quota[1]):
            quotas.append(-(-int(quota[0]) // int(quota[1])))
    return min(quotas, default=None)


def _unused_of_limits() -> Iterator[int]:
    """Bytes that each control group may still take; files in its page cache that are not in use count as free."""
    for group in _groups("memory"):
        for limit, used, inactive in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most, now = _text(group / limit).strip(), _text(group / used).strip()
            if most.isdecimal() and now.isdecimal():
                cached = re.search(rf"^{inactive} (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
                yield max(0, int(most) - int(now) + (int(cached[1]) if cached else 0))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


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
    answered = kernel.K32GetProcessMemoryInfo(this_process, ctypes.byref(counters), ctypes.sizeof(counters))
    return int(counters[8 // ctypes.sizeof(ctypes.c_size_t)]) if answered else 0


_LEAST_AREAS = 2
_M_ARENA_MAX = -8
"""The name of the limit, from glibc's malloc.h."""
_CHOSEN = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
"""Variables by which the operator has chosen already."""


def few_areas(count: int | None = None) -> None:
    """Lets glibc's threads share `count` areas, by default one for each core; other allocators are left as they are.

    By default it makes eight for each core. Objects that live long, as cached answers, come from all of them; what is
    freed around them can hardly be given back, and each area grows to the most that its threads ever needed at once.
    """
    if sys.platform != "linux" or any(name in os.environ for name in _CHOSEN):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        if library.gnu_get_libc_version:
            library.mallopt(_M_ARENA_MAX, count or max(_LEAST_AREAS, os.cpu_count() or 0))


S = TypeVar("S")
T = TypeVar("T")
_MAX_THREADS = 8
_LEAST_THREADED_BYTES = 8 << 20
"""Of a profile; with fewer, threads take longer to start than they save."""


def map_threads(fn: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """`fn` of every item, in order, on at most one thread per core; raises the first error."""
    items = list(items)
    threads = min(len(items), available_cores(), _MAX_THREADS)
    if threads < 2:
        return [fn(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # late: commands start without it

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fn, items))


def threads_for(size: int) -> Callable[[Callable[[S], T], Iterable[S]], Iterable[T]]:
    """`map_threads` for the analysis of a profile of `size` bytes; `map` for a small one, or on one core."""
    return map_threads if size >= _LEAST_THREADED_BYTES and available_cores() > 1 else map
