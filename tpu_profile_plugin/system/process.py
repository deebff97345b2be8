"""This process and its machine: signals, pipes, cores and memory that it may use."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

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
