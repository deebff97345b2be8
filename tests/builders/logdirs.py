"""Logdirs for tests: files as path -> content, profiles in the text notation (see xspace_text)."""

from __future__ import annotations

import base64
import json
import os
import re
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builders.xspace_text import build

SMALL = """
plane 1 "/host:CPU"
  line 7 "python" @1000ns
    0us +10us step {step_num=1}
    2us +3us work
    4us +2us work
plane 2 "/device:TPU:0" {device_type_string="TPU v6 Lite"}
  line 1 "XLA Ops" @2000ns
    1us +5us fusion.1 {flops=123}
"""


def write(root: Path, files: Mapping[str, str | bytes | None], age_s: float = 3600.0) -> Path:
    """Creates files below `root`: bytes unchanged, text as a profile, None as an empty directory.

    Everything is given a time of change `age_s` ago, as if the capture had ended then.
    """
    for name, content in files.items():
        path = root / name
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(build(content) if isinstance(content, str) else content)
    settle(root, age_s)
    return root


def settle(root: Path, age_s: float = 3600.0) -> None:
    """Sets modification times below `root` to `age_s` seconds ago."""
    then = time.time() - age_s
    for directory, _, names in os.walk(root, topdown=False):
        for name in names:
            if not Path(directory, name).is_symlink():
                os.utime(Path(directory, name), (then, then))
        os.utime(directory, (then, then))


def report_parts(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The index of a report, and its answers by key."""
    text = data.decode()
    found = {name: re.search(rf'id="report-{name}">(.*?)</script>', text, re.S) for name in ("index", "data")}
    assert all(found.values())
    index = json.loads(found["index"][1])  # type: ignore[index]
    stream = base64.b64decode(found["data"][1])  # type: ignore[index]
    answers = {key: zlib.decompress(stream[at : at + size]) for key, (at, size, _) in index["answers"].items()}
    return index, answers
