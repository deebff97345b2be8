from types import ModuleType
from typing import Any

from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.profile_data import Given
from tpu_profile_plugin.profile_data import ProfileData as ProfileData
from tpu_profile_plugin.recording import profile as profile
from tpu_profile_plugin.recording import steps as steps
from tpu_profile_plugin.version import __version__ as __version__

__all__ = ["ProfileData", "__version__", "capture", "open", "profile", "steps"]

capture: ModuleType

def open(source: Given, executor: str = "") -> OpenLogdir: ...
def load_ipython_extension(shell: Any) -> None: ...
