"""XSpace bytes as frozen NumPy columns.

`load` decodes a whole profile, `load_lazily` each plane on first access; `peek` lists planes and HLO modules without
decoding events; `stats` reads stats by name, vectorised.
"""

from tpu_profile_plugin.columns.hlo import HloModule, hlo_modules
from tpu_profile_plugin.columns.load import (
    PlaneSummary,
    SpaceSummary,
    give_back_memory,
    load,
    load_lazily,
    load_metadata,
    peek,
)
from tpu_profile_plugin.columns.space import DecodeHooks, DeviceClock, EventFilter, ImpossibleTimes, Plane, XSpace
from tpu_profile_plugin.columns.tables import NO_TEXT, EventMetadata, Events, Kind, Lines, StatMetadata, Stats

__all__ = [
    "NO_TEXT",
    "DecodeHooks",
    "DeviceClock",
    "EventFilter",
    "EventMetadata",
    "Events",
    "HloModule",
    "ImpossibleTimes",
    "Kind",
    "Lines",
    "Plane",
    "PlaneSummary",
    "SpaceSummary",
    "StatMetadata",
    "Stats",
    "XSpace",
    "give_back_memory",
    "hlo_modules",
    "load",
    "load_lazily",
    "load_metadata",
    "peek",
]
