"""Random profiles of a few devices and their host, short enough to look at every picosecond of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

LENGTH = 120
"""Profiles last this many picoseconds, so that every point can be looked at."""
HOST_EVENTS = {
    "backend_compile": "compile",
    "np.asarray(jax.Array)": "transfer",
    "IteratorGetNext": "input",
    "$x.py:1 device_put": "upload",
    "PjitFunction(f)": "launch",
    "$train.py:9 load": "host",
    "$random.py:3 shuffle": "host",
    "Runtime::Noise": "",
}
OPS = {
    "fusion.1": "compute",
    "dot.2": "compute",
    "infeed.1": "input",
    "outfeed.1": "output",
    "while.1": "control",
    "copy-start.7": "copy",
    "copy-done.7": "copy",
    "copy-start.8": "move_wait",
    "copy-done.8": "move_wait",
    "copy.3": "move",
}
GPU_COPIES = {"MemcpyH2D": "upload", "MemcpyD2H": "download", "MemcpyP2P": "peer_copy", "MemcpyD2D": "move"}
"""Launched by the host: no op of a program."""


@dataclass
class Profile:
    """A random profile: its text, and what is in it as (name, begin, end)."""

    kind: str
    devices: list[list[tuple[str, int, int]]] = field(default_factory=list)
    programs: list[list[tuple[int, int, int]]] = field(default_factory=list)
    main: list[tuple[str, int, int]] = field(default_factory=list)
    other: list[tuple[str, int, int]] = field(default_factory=list)
    launches: dict[int, int] = field(default_factory=dict)
    keys: list[list[int]] = field(default_factory=list)


def span(rng, longest=30):
    begin = rng.randrange(LENGTH - 1)
    return begin, min(LENGTH, begin + 1 + rng.randrange(longest))


def nested(rng, begin, end, depth):
    """Events of one thread that nest, in order."""
    events = []
    at = begin
    while depth and at < end - 1:
        at += rng.randrange(12)
        until = min(end, at + 1 + rng.randrange(40))
        if at < until:
            events.append((rng.choice(list(HOST_EVENTS)), at, until))
            events += nested(rng, at, until, depth - 1)
        at = max(at + 1, until)
    return events


def random_profile(seed):
    rng = random.Random(seed)
    one = Profile(rng.choice(("tpu", "gpu", "cpu")))
    collectives = [(f"all-reduce.{i}", rng.randrange(1, 3)) for i in range(rng.randrange(3))]
    collectives += [("send.5", 1)] * (rng.random() < 0.3)
    for number in range(rng.randrange(1, 4)):
        names = list(OPS) if one.kind == "tpu" else ["fusion.1", "dot.2", "copy.3"]
        names += {"cpu": ["while.1"], "gpu": [*GPU_COPIES]}.get(one.kind, [])
        ops = [(rng.choice(names), *span(rng)) for _ in range(rng.randrange(1, 9))]
        for name, runs in collectives:
            ops += [(name, *span(rng)) for _ in range(runs)]
        ops.sort(key=lambda op: (op[1], -op[2]))
        one.devices.append(ops)
        one.keys.append([100 * number + i for i in range(len(ops))])
        runs = [(*span(rng, 60), 1000 * number + i) for i in range(rng.randrange(4))] if one.kind == "tpu" else []
        one.programs.append(sorted(runs))
    one.main = nested(rng, 0, LENGTH, 3)
    one.other = nested(rng, 0, LENGTH, 1)
    for key in (key for keys in one.keys for key in keys) if one.kind == "gpu" else ():
        if rng.random() < 0.7:
            one.launches[key] = rng.randrange(LENGTH)
    for _, _, key in (run for runs in one.programs for run in runs):
        if rng.random() < 0.7:
            one.launches[key] = rng.randrange(LENGTH)
    return one


def text_of(one):
    lines = []
    for number, ops in enumerate(one.devices if one.kind != "cpu" else []):
        lines.append(f'plane {number + 1} "/device:{one.kind.upper()}:{number}"')
        if one.kind == "tpu":
            lines += ["line 1 Steps", "0ps +50ps 1 {_ct=9, _c=1}", "55ps +40ps 2 {_ct=9, _c=2}"]
            lines += ['line 2 "XLA Modules"'] + [
                f"{b}ps +{e - b}ps jit_f {{run_id={k}}}" for b, e, k in one.programs[number]
            ]
            lines.append('line 3 "XLA Ops"')
            lines += [f"{begin}ps +{end - begin}ps {event(name)}" for name, begin, end in ops]
        else:
            lines.append('line 1 "Stream #1"')
            named = zip(ops, one.keys[number], strict=True)
            lines += [
                f"{begin}ps +{end - begin}ps {kernel(name)} {{correlation_id={key}{hlo_op(name)}}}"
                for (name, begin, end), key in named
            ]
    lines += ['plane 9 "/host:CPU"', "line 1 main"]
    stat = "run_id" if one.kind == "tpu" else "correlation_id"
    events = [(begin, -end, f'"{name}"') for name, begin, end in one.main]
    lines += ["0ps +50ps train {_r=1, step_num=0}"]
    lines += [f"{begin}ps +{-end - begin}ps {name}" for begin, end, name in sorted(events)]
    lines += ["55ps +40ps train {_r=1, step_num=1}"]
    lines += ["line 2 worker"] + [f'{begin}ps +{end - begin}ps "{name}"' for name, begin, end in one.other]
    lines += ["line 3 launcher"] + [
        f"{at}ps +{call_length(key)}ps x {{{stat}={key}}}" for key, at in sorted(one.launches.items())
    ]
    if one.kind == "cpu":
        for number, ops in enumerate(one.devices):
            lines.append(f"line {number + 4} pool")
            lines += [
                f"{begin}ps +{end - begin}ps {name} "
                f'{{hlo_op="{name}", device_ordinal={number}, run_id=5, program_id=3}}'
                for name, begin, end in ops
            ]
    return "\n".join(lines)


def call_length(key):
    """How long the call of a launch takes."""
    return 1 + key % 5


def kernel(name):
    return f"nccl{name}" if role(name) == "communication" else name


def event(name):
    """The name of a TPU's event: the HLO text of copies between the device's own memories."""
    return f'"%{name} = f32[8]{{0:S(1)}} {name[:-2]}(f32[8]{{0}} %x)"' if role(name) == "move_wait" else name


def hlo_op(name):
    return "" if name in GPU_COPIES else f', hlo_op="{name}"'


def role(name):
    return {**OPS, **GPU_COPIES}.get(name, "communication")
