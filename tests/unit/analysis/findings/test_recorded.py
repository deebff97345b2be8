"""A rule that finds nothing says so only of recordings that could have shown its cause, else what to record."""

from __future__ import annotations

import pytest
from builders import planes
from builders.profiles.findings import told, tpu

from tpu_profile_plugin.analysis.findings.recorded import NEEDS
from tpu_profile_plugin.analysis.findings.rules import RULES

FRAMES = "Python functions were not recorded: `tpu-profile capture --python-tracer 1` records them."
HOST = "No events of the host were recorded: `tpu-profile capture --host-tracer 2` records them."


def working(length: int, host: str = "") -> str:
    """A TensorCore that works for so many of the 100 us of each of two steps; `host`: an event of the host."""
    device = tpu([("%fusion.1 = f32[8] fusion()", "loop fusion", length)])
    return planes.profile(device, planes.host(f"line 1 main\n0us +1us {host}") if host else "")


def test_every_need_is_of_a_rule() -> None:
    assert set(NEEDS) <= {rule.id for rule in RULES}


@pytest.mark.parametrize(
    ("length", "host", "state"),
    [
        (95, "PjitFunction(f)", "unknown"),
        (96, "PjitFunction(f)", "passed"),
        (50, "PjitFunction(f)", "unknown"),
        (50, '"$train.py:3 main"', "passed"),
    ],
)
def test_waits_for_results_show_in_python_functions(length: int, host: str, state: str) -> None:
    found = told("host_sync", working(length, host))
    reason = "No idle time follows a wait for results."
    assert found["state"] == state
    assert found["reason"] == (reason if state == "passed" else f"{reason} {FRAMES}")


@pytest.mark.parametrize(("rule", "length", "state"), [
    ("recompilation", 50, "unknown"), ("recompilation", 96, "passed"), ("output_bound", 50, "unknown"),
    ("data_movement", 50, "passed"),
])  # fmt: skip
def test_without_events_of_the_host(rule: str, length: int, state: str) -> None:
    found = told(rule, working(length))
    assert found["state"] == state
    assert found["reason"].endswith(HOST) is (state == "unknown")


def test_tensorflow_does_not_always_record_python_functions() -> None:
    found = told("host_sync", working(50, "EagerExecute:MatMul"))
    assert found["reason"].endswith("profile() in the program records them, in every version of TensorFlow.")
    # Waits for tf.data show without them.
    assert told("input_bound", working(50, "IteratorGetNext"))["state"] == "passed"
