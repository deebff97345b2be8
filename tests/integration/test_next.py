"""Every further question that an answer proposes can be asked: as a command, as text and as JSON, and as a call."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from builders.rings import many

import tpu_profile_plugin
from tpu_profile_plugin.agents.calls import Calls
from tpu_profile_plugin.cli import main

ROOT = Path(__file__).parents[2]
MOST = many(3, 4)
"""Questions of a verb that are asked."""


@pytest.mark.night  # test_answers_commands.py runs fewer
def test_commands(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    waiting, seen = ["tpu-profile runs demo"], Counter()
    while waiting:
        program, verb, *words = shlex.split(waiting.pop(0))
        if seen[verb] == MOST:
            continue
        seen[verb] += 1
        assert program == "tpu-profile"
        assert main([verb, *words]) == 0, words
        assert capsys.readouterr().out, words
        assert main([verb, *words, "--format", "json"]) == 0, words
        answer = json.loads(capsys.readouterr().out)
        assert len(answer["next"]) <= 6
        waiting += answer["next"]
    assert {"overview", "explain", "budget", "ops", "op", "source", "timeline"} < set(seen)


def test_calls():
    calls = Calls({"demo": tpu_profile_plugin.open(ROOT / "demo")})
    waiting: list[tuple[str, dict[str, Any]]] = [("runs", {})]
    seen: Counter[str] = Counter()
    while waiting:
        tool, arguments = waiting.pop(0)
        if seen[tool] == MOST:
            continue
        seen[tool] += 1
        answer, failed = calls.call(tool, arguments)
        assert not failed, (tool, arguments, answer)
        assert all(set(one) == {"tool", "arguments", "why"} for one in answer["next"])
        waiting += [(one["tool"], one["arguments"]) for one in answer["next"]]
    assert {"overview", "explain", "budget", "ops", "op", "source", "timeline"} < set(seen)
