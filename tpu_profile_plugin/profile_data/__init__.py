"""`ProfileData`: an XSpace with the classes and methods of `jax.profiler.ProfileData`, with exact times and as columns.

    data = tpu_profile_plugin.ProfileData.from_file("host.xplane.pb")
    for plane in data.planes:
        for line in plane.lines:
            for event in line.events:
                event.name, event.start_ns, event.duration_ns, event.duration_ps, dict(event.stats)
            line.columns.duration_ps.sum()          # the same events as arrays: much faster

Where JAX's class gives floats in nanoseconds, these give the same floats, bit for bit; `start_ps` and `duration_ps` are
exact. JAX is not needed.
"""

from tpu_profile_plugin.profile_data.columns import LineColumns
from tpu_profile_plugin.profile_data.data import ProfileData
from tpu_profile_plugin.profile_data.plane import ProfileEvent, ProfileLine, ProfilePlane

__all__ = ["LineColumns", "ProfileData", "ProfileEvent", "ProfileLine", "ProfilePlane"]
