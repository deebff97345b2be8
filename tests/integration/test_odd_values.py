"""Profiles with absurd values: the step and op tools answer or return a clean error."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest
from builders.answers import answer_of, hosts_of
from builders.messages import XSpace
from builders.rings import many

from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.tools.registry import find

DEMO = Path(__file__).parents[2] / "demo"
TOOLS = ("overview_page", "framework_op_stats", "input_pipeline_analyzer", "pod_viewer", "inference_profile")
OP_TOOLS = ("op_profile", "hlo_stats", "roofline_model", "kernel_stats", "smart_suggestion")
ODD = (0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63), 10**9)
ROUNDS = many(4, 25)


def spoil(space: Any, rng: random.Random) -> None:
    """Changes some times, ids and stats."""
    lines = [line for plane in space.planes for line in plane.lines if line.events]
    for _ in range(rng.choice((1, 5, 50))):
        event, value = rng.choice(rng.choice(lines).events), rng.choice(ODD)
        match rng.randrange(4):
            case 0:
                event.duration_ps = value
            case 1:
                event.offset_ps = value
            case 2:
                event.metadata_id = value
            case _ if event.stats:
                rng.choice(event.stats).int64_value = value
    for plane in space.planes:
        if plane.stats:
            rng.choice(plane.stats).double_value = rng.choice((float("nan"), float("inf"), -1e300))


@pytest.mark.parametrize("file", sorted(DEMO.rglob("*.xplane.pb")), ids=lambda file: file.parts[-5])
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_tools_survive(file: Path, seed: int) -> None:
    space = XSpace.FromString(file.read_bytes())
    spoil(space, random.Random(seed))
    hosts = hosts_of(space.SerializeToString())
    wanted = {"backend": "auto", "unattributed": "true"}
    for name in (*TOOLS, *OP_TOOLS):
        tool = find(name)
        params = {param.name: wanted[param.name] for param in tool.params if param.name in wanted}
        with contextlib.suppress(ProfileError):
            answer_of(tool, hosts, **params)
