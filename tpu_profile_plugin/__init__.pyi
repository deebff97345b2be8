import os
from types import ModuleType

from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.version import __version__ as __version__

__all__ = ["__version__", "capture", "open"]

capture: ModuleType

def open(path: str | os.PathLike[str], executor: str = "") -> OpenLogdir: ...
