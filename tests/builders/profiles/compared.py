"""Runs to compare, TensorCores whose steps run given ops: `python -m builders.profiles.compared DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from builders.logdirs import write
from builders.profiles import op_profiles, step_profiles
from builders.profiles.recompiled import recompiled

DEMO = Path(__file__).parents[3] / "demo"
HOST = 'plane 1 "/host:CPU"\nline 1 main\n0us +5us train\n'
PERIOD_US, STEP_US = 1000, 900

Op = tuple[str, int]
"""Name of the instruction and length in us."""


def core(*steps: list[Op] | int, step_us: int = STEP_US, period_us: int = PERIOD_US) -> str:
    """A TensorCore; per step its ops, one after the other, or the length of the one op `fusion.1`."""
    runs = [[("fusion.1", step)] if isinstance(step, int) else step for step in steps]
    lines = ['plane 1 "/device:TPU:0" {device_type_string="TPU v4"}', "line 1 Steps"]
    lines += [f"{period_us * i}us +{step_us}us {i} {{_ct=9, _c={i}}}" for i in range(len(runs))]
    lines.append('line 2 "XLA Ops"')
    for i, ops in enumerate(runs):
        at = period_us * i
        for name, length in ops:
            lines.append(f'{at}us +{length}us "{_text(name)}"')
            at += length
    names = list(dict.fromkeys(name for ops in runs for name, _ in ops))
    lines += [_metadata(number, name) for number, name in enumerate(names, 1)]
    return "\n".join(lines) + "\n"


def _kind(name: str) -> str:
    return name.partition(".")[0]


def _text(name: str) -> str:
    return f"%{name} = f32[8,128] fusion(f32[8,128] %p), kind=kLoop, calls=%fused_{_kind(name)}"


def _metadata(number: int, name: str) -> str:
    kind = _kind(name)
    return (
        f'metadata "{_text(name)}" {{program_id=u7, symbol_id=u{number}, hlo_category="{kind} fusion", '
        f'tf_op="jit(train)/{kind}", source="model.py:{len(kind)}"}}'
    )


BASE: tuple[list[Op], ...] = tuple([("fusion.1", 200), ("norm.2", 100 + i), ("gone.3", 50)] for i in range(4))
RUN: tuple[list[Op], ...] = tuple([("fusion.11", 320), ("norm.12", 100 + i), ("fresh.13", 20)] for i in range(4))
"""A program compiled again: `fusion` takes 120 us more per step, `gone` is gone and `fresh` is new."""


def verdict(found: dict[str, Any]) -> dict[str, Any]:
    """The headline of a comparison and its tone."""
    return {"text": found["headline"], "tone": found["tone"]}


def sides(found: dict[str, Any], name: str) -> dict[str, Any]:
    """A member of both sides of a comparison."""
    return {side: found[side][name] for side in ("base", "run")}


def main(root: Path) -> None:
    """Writes pairs of runs, the base at ten and the run at eleven, and runs without steps or ops."""
    demo = next((DEMO / "jax_mlp").rglob("*.xplane.pb")).read_bytes()
    gpu = op_profiles.GPU
    pairs: dict[str, tuple[str | bytes, str | bytes]] = {
        "tpu": (core(*BASE), core(*RUN, step_us=STEP_US + 90, period_us=PERIOD_US + 100)),
        "mlp": (demo, recompiled(demo)),
        "gpu": (gpu, gpu.replace("10us +6us", "10us +8us").replace('"fusion.1"', '"fusion.9"')),
        "steps": (step_profiles.gpu(), step_profiles.gpu()),
        "host": (HOST, HOST),
    }
    for name, pair in pairs.items():
        for hour, profile in zip((10, 11), pair, strict=True):
            write(root, {f"{name}/plugins/profile/2026_11_20_{hour}_00_00/h.xplane.pb": profile})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
