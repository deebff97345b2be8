"""Files are converted once for those who ask one after the other, and kept within a limit."""

from __future__ import annotations

import gc

import numpy as np

from tpu_profile_plugin.formats.converted import Converted
from tpu_profile_plugin.formats.format import Unpacked

CONTENT, OTHER = np.zeros(3, np.uint8), np.ones(3, np.uint8)


class Counted:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Unpacked:
        self.calls += 1
        return Unpacked(np.full(10, self.calls, np.uint8))


def test_the_second_and_later_users_get_what_the_first_made() -> None:
    converted, convert = Converted(), Counted()
    first = converted.get(CONTENT, convert)
    second = converted.get(CONTENT.copy(), convert)
    third = converted.get(CONTENT, convert)
    assert first.space is second.space is third.space
    assert convert.calls == 1
    converted.get(OTHER, convert)
    assert convert.calls == 2


def test_nothing_is_kept_for_a_third_user_after_the_second_has_dropped_it() -> None:
    converted, convert = Converted(), Counted()
    converted.get(CONTENT, convert)
    converted.get(CONTENT, convert)
    gc.collect()
    converted.get(CONTENT, convert)
    assert convert.calls == 2


def test_what_exceeds_the_limit_is_not_kept() -> None:
    converted, convert = Converted(limit=15), Counted()
    converted.get(CONTENT, convert)
    converted.get(OTHER, convert)
    converted.get(CONTENT, convert)
    assert convert.calls == 3
