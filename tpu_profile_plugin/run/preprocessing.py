"""Groups and derived lines of one host, computed on several threads if it is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.derived import preprocess as analysis
from tpu_profile_plugin.columns import give_back_memory
from tpu_profile_plugin.system.process import threads_for

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.common.planes import Preprocessed
    from tpu_profile_plugin.columns import XSpace


def preprocess(space: XSpace, *, derive: bool = True) -> Preprocessed:
    """Groups one host's events; see `analysis.derived.preprocess`."""
    made = analysis.preprocess(space, derive=derive, mapper=threads_for(len(space.data)))
    if derive:
        give_back_memory()  # about as much was freed as the results take, and the timeline needs more than other tools
    return made
