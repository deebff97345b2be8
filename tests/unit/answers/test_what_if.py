"""The verb `what_if`: the step with a change, and what limits it then."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.asking import asked
from builders.logdirs import write
from builders.planes import gpu, host

import tpu_profile_plugin
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import BadRequest

TRAINING = gpu("20 30 k1 {correlation_id=1}\n50 30 k2 {correlation_id=2}") + "\n" + host("""
    0 100 train {_r=1, step_num=0}
    0 10 $train.py:3 prepare
    10 2 cudaLaunchKernel {correlation_id=1}
    14 2 cudaLaunchKernel {correlation_id=2}
    20 62 cudaStreamSynchronize
    82 18 $train.py:9 save
""")  # fmt: skip


@pytest.fixture
def logdir(tmp_path: Path) -> str:
    return str(write(tmp_path, {"plugins/profile/a/h.xplane.pb": TRAINING}))


def test_the_step_with_several_changes(logdir: str) -> None:
    found = asked(tpu_profile_plugin.open(logdir), "what_if", without="save; k2", scale="k1=0.5")
    assert {name: value for name, value in found["answer"].items() if name != "limits"} == {
        "shares_of": "step", "base_ms": 0.1, "after_ms": 0.037, "after_low_ms": 0.037, "after_high_ms": 0.037,
        "saving_ms": 0.063, "saving_percent": 63, "median_step_ms": 0.1, "median_after_ms": 0.037, "confidence": "high",
    }  # fmt: skip
    assert [tuple(row.values()) for row in found["answer"]["limits"]] == [
        ("op: k1", "op", "k1", 0.015, 40.5405),
        ("launch", "launch", "", 0.01, 27.027),
        ("host code: train.py:3 prepare", "host code", "train.py:3 prepare", 0.01, 27.027),
        ("wait", "wait", "", 0.002, 5.40541),
    ]
    assert found["base"] == {
        "saving_percent": "of the average step as recorded",
        "share_percent": "of the average step afterwards",
    }


def test_without_a_change_what_limits_the_recorded_step(logdir: str) -> None:
    answer = asked(tpu_profile_plugin.open(logdir), "what_if")["answer"]
    assert (answer["base_ms"], answer["saving_ms"], answer["limits"][2]["name"]) == (0.1, 0, "train.py:9 save")


def test_the_command(logdir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", logdir, "--without", "train.py:9 save"]) == 0
    assert "after: 0.082 ms" in capsys.readouterr().out
    assert main(["what-if", logdir, "--without", "train.py:9 sve", "--format", "json"]) == 1
    assert '"choices":["train.py:9 save"' in capsys.readouterr().out


def test_what_cannot_be_told(tmp_path: Path) -> None:
    text = TRAINING.replace("correlation_id", "other")
    opened = tpu_profile_plugin.open(write(tmp_path, {"plugins/profile/a/h.xplane.pb": text}))
    assert asked(opened, "what_if", without="save")["cannot_answer"] == {
        "reason": "Nothing tells which calls of the host launched the work of the devices.",
        "how_to_record": "Record host and devices in one session, with the level of host tracing at 2 (the default).",
    }


@pytest.mark.parametrize("scale", ["k1", "k1=fast", "=0.5"])
def test_a_scale_is_a_place_and_a_number(logdir: str, scale: str) -> None:
    with pytest.raises(BadRequest, match="scale must be PLACE=FACTOR"):
        asked(tpu_profile_plugin.open(logdir), "what_if", scale=scale)
