"""Cores, memory and signals, on made-up machines."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tpu_profile_plugin.system import process

GIB = 1 << 30


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty file system instead of `/`, on Linux with eight cores."""
    monkeypatch.setattr(process, "_ROOT", tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    process._quota.cache_clear()
    monkeypatch.setattr(process, "_quota", process._quota.__wrapped__)
    return tmp_path


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_machine_without_limits(root: Path) -> None:
    put(root, {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    4194304 kB\n"})
    assert (process.available_cores(), process.free_memory()) == (8, 4 * GIB)


def test_a_group_limits_cores_and_memory(root: Path) -> None:
    group = "sys/fs/cgroup/user/job"
    put(
        root,
        {
            "proc/meminfo": "MemAvailable: 67108864 kB\n",
            "proc/self/cgroup": "0::/user/job\n",
            "sys/fs/cgroup/user/cpu.max": "max 100000\n",
            "sys/fs/cgroup/user/memory.max": "max\n",
            f"{group}/cpu.max": "250000 100000\n",
            f"{group}/memory.max": f"{4 * GIB}\n",
            f"{group}/memory.current": f"{3 * GIB}\n",
            f"{group}/memory.stat": f"anon 5\ninactive_file {GIB // 2}\n",
        },
    )
    assert (process.available_cores(), process.free_memory()) == (3, GIB + GIB // 2)


def test_the_strictest_group_counts(root: Path) -> None:
    put(
        root,
        {
            "proc/meminfo": "MemAvailable: 67108864 kB\n",
            "proc/self/cgroup": "0::/user/job\n",
            "sys/fs/cgroup/user/job/cpu.max": "400000 100000\n",
            "sys/fs/cgroup/user/cpu.max": "100000 100000\n",
            "sys/fs/cgroup/user/memory.max": f"{2 * GIB}\n",
            "sys/fs/cgroup/user/memory.current": f"{3 * GIB}\n",
        },
    )
    assert (process.available_cores(), process.free_memory()) == (1, 0)


def test_groups_of_the_first_version_in_a_container(root: Path) -> None:
    put(
        root,
        {
            "proc/meminfo": "MemAvailable: 67108864 kB\n",
            "proc/self/cgroup": "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB // 2}\n",
            "sys/fs/cgroup/memory/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB // 4}\n",
        },
    )
    assert (process.available_cores(), process.free_memory()) == (2, GIB // 2 + GIB // 4)


@pytest.mark.parametrize("text", ["", "nonsense", "0::\n", "1:memory\n", "max 0\n"])
def test_odd_texts_limit_nothing(root: Path, text: str) -> None:
    put(root, dict.fromkeys(("proc/self/cgroup", "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.max"), text))
    put(root, {"proc/meminfo": "MemAvailable: 4 kB\n"})
    assert (process.available_cores(), process.free_memory()) == (8, 4096)


def test_macos_has_neither_affinity_nor_proc(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1 << 20, "SC_PAGE_SIZE": 16384}.get, raising=False)
    assert (process.available_cores(), process.free_memory()) == (10, 8 * GIB)


def test_windows_is_asked_for_its_memory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class MemoryStatus(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            ("total", ctypes.c_uint64),
            ("available", ctypes.c_uint64),
            ("others", ctypes.c_uint64 * 5),
        ]

    def answer(pointer: object) -> int:
        status = ctypes.cast(pointer, ctypes.POINTER(MemoryStatus)).contents  # type: ignore[arg-type]
        assert (status.length, ctypes.sizeof(MemoryStatus)) == (64, 64)
        status.total, status.available = 32 * GIB, 6 * GIB
        return 1

    windll = SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=answer))
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "windll", windll, raising=False)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert (process.available_cores(), process.free_memory()) == (1, 6 * GIB)
    windll.kernel32.GlobalMemoryStatusEx = lambda _: 0
    assert process.free_memory() == 0


def test_a_worker_ignores_interrupts_also_those_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, object]] = []
    monkeypatch.setattr(signal, "SIGBREAK", 21, raising=False)
    monkeypatch.setattr(signal, "signal", lambda number, action: asked.append((number, action)))
    process.ignore_interrupts()
    assert asked == [(signal.SIGINT, signal.SIG_IGN), (21, signal.SIG_IGN)]
