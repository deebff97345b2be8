"""Process ids of planes; a device's follows from the id of its plane."""

import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.timeline.tracks import sections


@pytest.mark.parametrize(
    ("plane", "shown", "older"),
    [
        (0, 1, 1),
        (499, 500, 500),
        (500, 1, 501),
        (10**6, 1, 1_000_001),
        (-1, 0, 0),
        (-5, 1, 2**32 - 4),
        (2**32 + 3, 4, 4),
    ],
)
def test_process_ids_of_devices_wrap_and_are_limited_in_the_newer_form(plane: int, shown: int, older: int) -> None:
    space = profile(f'plane {plane} "/device:GPU:6"\nline 1 s\n0us +1us k')
    found = [sections(space, older=form)[0].pid for form in (False, True)]
    assert found == [shown, older]
