"""Processes to which file permissions apply even when the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

_CAPABILITIES = "-dac_override,-dac_read_search"


def without_privileges() -> tuple[str, ...]:
    """A command prefix that drops root's privileges; skips the test where that is impossible."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("as root, this needs setpriv (util-linux)")
    prefix = ("setpriv", f"--bounding-set={_CAPABILITIES}", f"--inh-caps={_CAPABILITIES}")
    if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("setpriv cannot drop rights here")
    return prefix
