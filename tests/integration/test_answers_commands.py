"""The commands that answers on the command line propose can be run as they are."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path

import pytest

from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.cli import main

DEMO = Path(__file__).parents[2] / "demo"
EACH = 2
"""So many commands of a verb are run."""


def test_proposed_commands_work(capsys: pytest.CaptureFixture[str]) -> None:
    waiting, ran = [f"tpu-profile runs {DEMO} --match train_"], Counter[str]()
    while waiting:
        program, verb, *arguments = shlex.split(waiting.pop(0))
        if ran[verb] >= EACH:
            continue
        ran[verb] += 1
        assert program == "tpu-profile"
        assert main([verb, *arguments, "--format", "json"]) == 0, (verb, arguments)
        waiting += json.loads(capsys.readouterr().out)["next"]
        assert main([verb, *arguments]) == 0
        assert capsys.readouterr().out.strip()
    assert set(ran) >= {verb.name for verb in VERBS} - {"steps", "collectives", "query", "what_if"}
