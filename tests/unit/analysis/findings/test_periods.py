"""Shares of the time from step to step."""

from types import SimpleNamespace

import numpy as np

from tpu_profile_plugin.analysis.findings.periods import covered


def run_with(duration_ps, between_ps):
    return SimpleNamespace(budget=SimpleNamespace(duration_ps=np.array(duration_ps), between_ps=np.array(between_ps)))


def test_what_steps_cover():
    assert covered(run_with([[30, 20], [10, 20]], [20, 100])) == 0.4
    assert covered(run_with(np.zeros((0, 0), np.int64), [0])) == 1.0


def test_steps_of_a_damaged_profile_that_are_longer_than_integers_can_add():
    assert covered(run_with([[2**62]], [2**62] * 3)) == 0.25
