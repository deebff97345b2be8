"""Runs to compare: TensorCores whose steps run given ops; a logdir of them: `python -m builders.compared DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from builders import op_profiles, step_profiles
from builders.logdirs import write

PERIOD_US, STEP_US = 1000, 900

Op = tuple[str, int]
"""Name of the instruction and length in us."""


def core(*steps: list[Op] | int) -> str:
    """A TensorCore; per step its ops, one after the other, or the length of the one op `fusion.1`."""
    runs = [[("fusion.1", step)] if isinstance(step, int) else step for step in steps]
    lines = ['plane 1 "/device:TPU:0" {device_type_string="TPU v4"}', "line 1 Steps"]
    lines += [f"{PERIOD_US * i}us +{STEP_US}us {i} {{_ct=9, _c={i}}}" for i in range(len(runs))]
    lines.append('line 2 "XLA Ops"')
    for i, ops in enumerate(runs):
        at = PERIOD_US * i
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
"""The same program compiled again: `fusion` takes 120 us more per step, `gone` is gone and `fresh` is new."""


def main(root: Path) -> None:
    """Writes pairs of runs: `tpu/base` and `tpu/run`, and two profiles with more in them."""
    texts = {
        "tpu/plugins/profile/2026_11_20_10_00_00": core(*BASE),
        "tpu/plugins/profile/2026_11_20_11_00_00": core(*RUN),
        "ops/plugins/profile/2026_11_20_10_00_00": op_profiles.TPU,
        "gpu/plugins/profile/2026_11_20_10_00_00": step_profiles.gpu(),
        "host/plugins/profile/2026_11_20_10_00_00": 'plane 1 "/host:CPU"\nline 1 main\n0us +5us train\n',
    }
    write(root, {f"{name}/h.xplane.pb": text for name, text in texts.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
