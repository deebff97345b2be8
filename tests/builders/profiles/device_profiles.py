"""A run of two hosts with two TensorCores each: collectives, a late core, idle time with host code behind it.

PYTHONPATH=tests python -m builders.profiles.device_profiles DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

from builders.logdirs import write

SESSION = "plugins/profile/2026_11_20_10_00_00"
STEPS, PERIOD = 6, 2000
GROUPS = "replica_groups={{0,1,2,3}}"
GATHER = f"%all-gather-start.1 = (f32[262144], f32[1048576]) all-gather-start(f32[262144] %p), {GROUPS}"
GATHERED = "%all-gather-done.1 = f32[1048576] all-gather-done((f32[262144], f32[1048576]) %all-gather-start.1)"
REDUCE = f"%all-reduce.2 = f32[1048576] all-reduce(f32[1048576] %fusion.2), {GROUPS}"


def host(number: int, shift: int = 0) -> str:
    """One host; its clock is `shift` us ahead. Core 1 of host 1 computes longer, and the others wait for it."""
    lines = [core(2 * number + i, i, number == i == 1, shift) for i in range(2)]
    lines += ['plane 9 "/host:CPU"', "line 1 main"]
    for step in range(STEPS):
        at = shift + PERIOD * step
        lines += [
            f"{at}us +1900us train {{_r=1, step_num={step}}}",
            f'{at + 1205}us +540us "$train.py:42 load_batch"',
            f'{at + 1210}us +520us "$augment.py:7 random_crop"',
        ]
    return "\n".join(lines)


def core(device: int, ordinal: int, late: bool, shift: int) -> str:
    """A TensorCore: a gather that computation partly hides, a reduction, and a wait for the host."""
    work = 900 if late else 300
    lines = [f'plane {ordinal + 1} "/device:TPU:{ordinal}" {{device_type_string="TPU v4"}}', "line 1 Steps"]
    begins = [shift + PERIOD * step for step in range(STEPS)]
    lines += [f"{at}us +1900us {step} {{_ct=9, _c={step}}}" for step, at in enumerate(begins)]
    lines.append('line 2 "XLA Ops"')
    for at in begins:
        lines += [
            f'{at}us +10us "{GATHER}"',
            f'{at + 10}us +140us "%fusion.1"',
            f'{at + 150}us +60us "{GATHERED}"',
            f'{at + 210}us +{work}us "%fusion.2"',
            f'{at + 210 + work}us +{990 - work}us "{REDUCE}"',
            f'{at + 1750}us +100us "%fusion.3"',
        ]
    for number, name in enumerate((GATHER, GATHERED, REDUCE, "%fusion.1", "%fusion.2", "%fusion.3"), 1):
        category = "loop fusion" if "fusion" in name.partition("=")[0] else name.partition(".")[0][1:]
        lines.append(f'metadata "{name}" {{program_id=u7, symbol_id=u{number}, hlo_category="{category}"}}')
    return "\n".join(lines)


def main(root: Path) -> None:
    """Writes the run `tpu_collectives` below `root`."""
    write(root, {f"tpu_collectives/{SESSION}/h{i}.xplane.pb": host(i, 500 * i) for i in range(2)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
