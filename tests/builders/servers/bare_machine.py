"""A machine with Python and the tools that every machine has, as a directory to use as the whole PATH."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

# The tools that every machine has.
TOOLS = (
    *("bash", "sh", "env", "basename", "dirname", "cat", "sed", "sort", "find", "xargs", "sha256sum", "grep"),
    *("ls", "ln", "mkdir", "chmod", "rm", "printf", "id", "uname"),
)


def make_bare_path(folder: Path) -> Path:
    """Fills a new directory with links to the tools and a command `python3`; neither Rust, C nor Node.js."""
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    put(folder, "python3", f'exec "{sys.executable}" "$@"')
    return folder


def put(folder: Path, name: str, script: str) -> None:
    """Adds a command."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
