"""Limits of a process, tried in one of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tpu_profile_plugin.system import process

MUCH = """
import os, time
from tpu_profile_plugin.system.process import MemoryGuard
guard = MemoryGuard(lambda: os._exit(7))
guard.limit(200 << 20)
{more}
try:
    block = bytearray(400 << 20)
except MemoryError:
    os._exit(6)
time.sleep(5)
"""


def run(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode


def test_memory_beyond_the_limit_is_refused_or_ends_the_process() -> None:
    assert run(MUCH.format(more="")) in (6, 7)


@pytest.mark.skipif(process.resource is None, reason="Windows does this otherwise")
def test_where_the_system_has_no_limit_the_process_watches_itself() -> None:
    unlimited = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))"
    assert run(MUCH.format(more=unlimited)) == 7


@pytest.mark.skipif(process.resource is None, reason="Windows does this otherwise")
def test_files_and_processor_time_are_limited(tmp_path: Path) -> None:
    file = tmp_path / "x"
    code = f"""
from tpu_profile_plugin.system import process
process.write_no_files()
try:
    with open({str(file)!r}, "w") as file:
        file.write("x")
except OSError:
    process.limit_processor_time(0)
    while True:
        pass
"""
    assert run(code) < 0
    assert file.read_bytes() == b""


def test_this_process_has_memory() -> None:
    assert 1 << 20 < process.peak_memory() < 1 << 40
