"""Texts of a mapped file that another program writes to: always texts, never a failure of the core."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tpu_profile_plugin import _native
from tpu_profile_plugin.system import files as system

WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
contents = [open(name, "rb").read() for name in sys.argv[1:]]
while True:
    for content in contents:
        os.pwrite(file, content, 0)
"""
COUNT = 2000


@pytest.mark.skipif(system.maps_hinder_writers(), reason="mapped files cannot change here")
def test_texts_whose_bytes_change(tmp_path: Path) -> None:
    whole = "é" * 60
    size = len(whole.encode()) + 1
    torn = b"a" * (size - 2) + b"\xc3"  # the last letter is cut off
    for name, text in (("whole", whole.encode()), ("torn", torn)):
        (tmp_path / name).write_bytes(bytes([size - 1, *text]) * COUNT)
    values = np.arange(COUNT, dtype=np.uint64) * size
    with (tmp_path / "whole").open("rb") as file:
        data = _native.map_file(file.fileno(), COUNT * size)
    assert data is not None
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "whole", tmp_path / "torn"])
    try:
        seen: set[str] = set()
        end = time.monotonic() + 20
        while time.monotonic() < end and len(seen) < 6:
            texts = _native.texts(data, values)
            seen.update(texts)
            codes, firsts = _native.text_codes(data, values)
            assert (len(texts), len(codes), int(codes.max()) + 1) == (COUNT, COUNT, len(firsts))
    finally:
        writer.kill()
        writer.wait()
    assert whole in seen
    assert len(seen) >= 2
