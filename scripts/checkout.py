"""Starts a script of this folder again in the checkout's environment, which scripts/setup makes."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv"
READY = ". scripts/setup && need_python && need_rust && ready_package"


def enter(name: str) -> None:
    """Returns only inside the environment; call it with `__name__`, before anything of the package is imported."""
    is_bench = Path(sys.argv[0]).resolve().parent.name == "bench"
    if is_bench and name == "__main__":
        # Modules are compiled, as those of an installed package are: their imports are a part of first answers.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
    if name != "__main__" or Path(sys.prefix).resolve() == HOME.resolve():
        return
    # What is measured is compiled as for a release.
    core = {"CORE_PROFILE": "release"} if is_bench else {}
    subprocess.run(["bash", "-c", READY], cwd=ROOT, env=os.environ | core, check=True)
    path = os.pathsep.join([str(HOME / "bin"), os.environ.get("PATH", "")])
    python = str(HOME / "bin" / "python")
    os.execve(python, [python, *sys.argv], os.environ | {"PATH": path, "VIRTUAL_ENV": str(HOME)})
