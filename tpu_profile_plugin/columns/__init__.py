"""XSpace bytes as frozen NumPy columns.

`load` decodes a profile, `peek` says what is in it without decoding events; `stats` reads stats by name, vectorised.
"""

from tpu_profile_plugin.columns.hlo import HloModule, hlo_modules
from tpu_profile_plugin.columns.load import PlaneSummary, SpaceSummary, load, load_metadata, peek
from tpu_profile_plugin.columns.space import (
    NO_TEXT,
    EventMetadata,
    Events,
    Kind,
    Lines,
    Plane,
    StatMetadata,
    Stats,
    XSpace,
)

__all__ = [
    "NO_TEXT",
    "EventMetadata",
    "Events",
    "HloModule",
    "Kind",
    "Lines",
    "Plane",
    "PlaneSummary",
    "SpaceSummary",
    "StatMetadata",
    "Stats",
    "XSpace",
    "hlo_modules",
    "load",
    "load_metadata",
    "peek",
]
