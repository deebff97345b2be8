"""Identity of this build of the package, a part of the key of every cached answer."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

import tpu_profile_plugin


@functools.cache
def build_identity() -> str:
    """The package version and a digest of its files' sizes and times: answers of other code are never reused."""
    package = Path(tpu_profile_plugin.__file__).parent
    state = hashlib.blake2b(digest_size=8)
    for directory, folders, names in os.walk(package):
        folders[:] = sorted(name for name in folders if name not in ("static", "__pycache__"))
        for name in sorted(names):
            if name.endswith((".py", ".so", ".pyd")):
                try:
                    status = (Path(directory) / name).stat()
                except OSError:  # the file is being replaced, by a build or a checkout
                    state.update(os.urandom(8))  # the code that this process runs is unknown
                    continue
                state.update(f"{name}:{status.st_size}:{status.st_mtime_ns};".encode())
    return f"{tpu_profile_plugin.__version__}+{state.hexdigest()}"
