"""Few areas of the C library's allocator, counted by the library itself."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, threading
from tpu_profile_plugin.system.process import few_areas
{call}
together = threading.Barrier(12)
def work():
    together.wait()
    kept = [bytes(700 + i) for i in range(5000)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
ctypes.CDLL(None).malloc_stats()
"""


def areas(call: str, **environ: str) -> int:
    program = [sys.executable, "-c", PROGRAM.format(call=call)]
    kept = {name: value for name, value in os.environ.items() if name not in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")}
    done = subprocess.run(program, env={**kept, **environ}, capture_output=True, text=True, check=True)
    return done.stderr.count("Arena ")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="another C library")
def test_threads_share_few_areas_unless_the_operator_chose() -> None:
    assert areas("few_areas(2)") <= 2
    assert areas("") > 4
    assert areas("few_areas(2)", MALLOC_ARENA_MAX="5") > 2
