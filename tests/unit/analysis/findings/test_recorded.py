"""A rule that finds nothing says so only of recordings that could have shown its cause, else what to record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from builders import planes
from builders.profiles.findings import told, tpu

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES, NO_FRAMES, NO_HOST_EVENTS, Reason
from tpu_profile_plugin.analysis.findings.model import Silence
from tpu_profile_plugin.analysis.findings.recorded import NEEDS, qualified
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


BUSY = (0.5, 0.3125, 0.125)
"""Shares of computation, transfers between devices and collectives, with waits of a sixteenth."""


@pytest.mark.parametrize(
    ("rule", "more", "silence", "missing"),
    [
        # Devices, then events of the host, then Python functions, and for some rules those of input.
        ("host_sync", {"has_devices": False}, {}, NO_DEVICES),
        ("host_sync", {}, {}, NO_HOST_EVENTS),
        ("host_sync", {"host": True}, {}, NO_FRAMES),
        ("host_sync", {"host": True, "frames": True}, {}, None),
        ("host_sync", {"frames": True}, {}, NO_HOST_EVENTS),
        ("input_bound", {"host": True}, {}, NO_FRAMES),
        ("input_bound", {"host": True, "input": True}, {}, None),
        ("input_bound", {"host": True, "frames": True}, {}, None),
        ("recompilation", {"has_devices": False}, {}, NO_HOST_EVENTS),
        ("data_movement", {"has_devices": False}, {}, None),
        # A rule that failed, or that knows itself that there are no devices.
        ("host_sync", {}, {"failed": True}, None),
        ("host_sync", {"has_devices": False}, {"looked": False}, None),
        ("host_sync", {}, {"looked": False}, NO_HOST_EVENTS),
        ("barrier", {"has_devices": False}, {}, NO_DEVICES),
        ("barrier", {"has_devices": False}, {"looked": False}, None),
        # Where devices wait for less than a twentieth nothing else can be found.
        ("host_sync", {"shares": BUSY}, {}, NO_HOST_EVENTS),
        ("host_sync", {"shares": (*BUSY[:2], 0.140625)}, {}, None),
        ("host_sync", {"shares": (*BUSY[:2], 0.140625), "base_ps": 0}, {}, NO_HOST_EVENTS),
        ("recompilation", {"shares": (*BUSY[:2], 0.140625), "has_devices": False}, {}, NO_HOST_EVENTS),
        ("host_sync", {"shares": (1.0, 0.0, 0.0)}, {}, None),
    ],
)
def test_what_a_silent_rule_lacks(rule: str, more: dict[str, Any], silence: dict[str, Any], missing: Any) -> None:
    given = {"shares": (0.0, 0.0, 0.0), "has_devices": True, "base_ps": 100, **more}
    names = "device_compute", "device_to_device", "collectives"
    run: Any = SimpleNamespace(
        has_devices=given["has_devices"], base_ps=given["base_ps"], frameworks=("JAX",),
        group_shares=lambda: {**dict(zip(names, given["shares"], strict=True)), "idle": 0.0},
        summary=SimpleNamespace(
            host_events=given.get("host", False), python_frames=given.get("frames", False),
            input_events=given.get("input", False),
        ),
    )  # fmt: skip
    before = Silence("It is fine.", **silence)
    found = qualified(rule, run, before)
    if missing is None:
        assert found is before
        return
    assert isinstance(found.missing, Reason)
    assert (found.looked, found.missing.code) == (False, missing.code)
    assert found.reason.startswith("It is fine. ")
