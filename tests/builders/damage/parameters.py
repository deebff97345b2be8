"""Random requests about a run: every tool and route, each parameter absent, usual, of another form, or absurd."""

from __future__ import annotations

import random

from builders.fuzzing.typed_stats import ODD_NUMBERS, ODD_TEXTS, XLA_OPS
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.registry import TOOLS

_NAMES = (
    "fusion.1",
    "n1",
    "c1",
    "jit_f(7)",
    "jit_f",
    "7",
    "main",
    "Host:0",
    "Latency",
    "Batch",
    "step",
    *XLA_OPS.events,
)
_PATTERNS = ("TPU", ".*", "(", "[a-", "a{99999}", "(a+)+$", "^$", r"\d+", "(?i)xla", "\\")
_LISTS = (
    "1.1.0.5",
    "501.1.0.9,1.2.0.0",
    "0.0.0.0",
    "1.1.5.0",
    "1.1",
    "a.b.c.d",
    ",",
    "h:5",
    "h:-5,h1:9",
    "h:1e9",
    "name,line",
    "plane",
)
_USUAL = {"int": ("0", "1", "3", "20", "100", "2000"), "float": ("0", "0.001", "1", "5.5", "1000")}
_HOSTS = ("h", "h1", "h2", "h,h1", "ALL_HOSTS", "nope", "", "h,h")
_ROUTES = ("page", "page", "data", "data", "data_csv", "progress")


def random_request(rng: random.Random, run: str) -> tuple[str, dict[str, str]]:
    """A route and its query, of a tool with some of its parameters; `run` may become the base of a comparison."""
    tool = rng.choice(TOOLS)
    query = {"tag": rng.choice((tool.id, tool.id, *tool.aliases))}
    query |= {param.name: _value(rng, param) for param in tool.params if rng.random() < 0.5}
    if tool.compares and rng.random() < 0.9:
        query["base"] = rng.choice((run, run, run, "nope", "../" + run, ""))
    if rng.random() < 0.3:
        query[rng.choice(("host", "hosts"))] = rng.choice(_HOSTS)
    if rng.random() < 0.1:
        query["use_saved_result"] = rng.choice(("false", "true", "x"))
    return rng.choice(_ROUTES), query


def _value(rng: random.Random, param: Param) -> str:
    if rng.random() < 0.1:
        return rng.choice((*ODD_TEXTS, *ODD_NUMBERS))
    if param.type == "bool":
        return rng.choice(("true", "false", "TRUE", "1"))
    if param.type in _USUAL:
        return rng.choice(_USUAL[param.type] if rng.random() < 0.6 else ODD_NUMBERS)
    if param.choices:
        return rng.choice(param.choices)
    return rng.choice(rng.choice((_NAMES, _PATTERNS, _LISTS)))
