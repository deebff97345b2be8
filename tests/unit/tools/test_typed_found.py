"""Small profiles that made a tool fail once, found with random typed ones; every tool answers or refuses them."""

from __future__ import annotations

import contextlib
import json

import pytest
from builders.answers import answer
from builders.profiles import step_profiles

from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NoData, NotFound
from tpu_profile_plugin.tools.registry import TOOLS

TPU = 'plane 2 "/device:TPU:0" {device_type_string="TPU v4"}\n'
INPUT = 'plane 9 "/host:CPU"\nline 1 main\n0us +90us train {_r=1, step_num=0}\n5us +20us IteratorGetNext\n'
STEPS = 'line 1 Steps\n0us +1500us "0"\n2000us +1500us "1"\n4000us +1500us "2"\nline 2 "XLA Ops"\n100us +10us a\n'
FOUND: dict[str, tuple[str, ...]] = {
    "hosts with TPUs and with GPUs": (TPU + STEPS, step_profiles.gpu()),
    "a line of modules without events, beside events with runs and queues": (
        f'{TPU}line 1 "XLA Modules"\nline 2 "XLA Ops"\n0us +1us a {{run_id=1, queue_id=2}}',
    ),
    "steps of a SparseCore alone, and input from the host": (
        f'{INPUT}plane 3 "/device:TPU:0 SparseCore 0"\nline 1 "Sparse Core Steps"\n0us +100us "0" {{group_id=0}}\n'
        'line 2 "Sparse Core Ops"\n10us +5us a {group_id=0}',
    ),
    "an infinite time scale of an op that took no time": (
        f'{TPU}metadata a {{program_id=7, symbol_id=1}}\nline 1 "XLA Ops"\n0us +0us a {{"Time Scale Multiplier"=inf}}',
    ),
}


REFUSALS = (BadRequest, CorruptProfile, NoData, NotFound)
NO_JSON = (UnicodeDecodeError, json.JSONDecodeError)
"""Binary answers, and drawings."""


@pytest.mark.parametrize("name", FOUND)
def test_every_tool_answers_or_refuses(name: str) -> None:
    answered = 0
    for tool in TOOLS:
        with contextlib.suppress(*REFUSALS, *NO_JSON):
            answer(tool, *FOUND[name], page=True)
            answered += 1
    assert answered > 5
