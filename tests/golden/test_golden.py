"""Small profiles, tool by tool: decode, analyse, serialise, and compare with the answers stored beside this file.

The demo's are captures of programs on a CPU; typed-in ones have TPUs, GPUs and requests, for the tools that need them.
What a tool says of an empty profile is stored once, in `empty/`; runs of which it says the same have no file.
After an intended change: `UPDATE_GOLDEN=1 pytest tests/golden`, then read the difference before committing it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from builders import kineto
from builders.logdirs import write
from builders.profiles import counter_profiles, megascale_profiles, op_profiles, step_profiles
from builders.servers.board import Board

from tpu_profile_plugin.compat import xprof
from tpu_profile_plugin.system import process
from tpu_profile_plugin.tools.registry import TOOLS

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "demo"
SESSION = "2026_11_20_10_00_00"
CAPTURES = HERE.parent / "captures"
SUMMARIES = ("overview_page", "smart_suggestion", "time_budget", "trace_viewer@")
OP_TOOLS = ("op_profile", "hlo_stats", "roofline_model", "framework_op_stats")
TYPED_IN = {
    "tpu_ops": (op_profiles.TPU, (*OP_TOOLS, "graph_viewer", "overview_page")),
    "gpu_ops": (op_profiles.GPU, (*OP_TOOLS, "kernel_stats")),
    "gpu_steps": (
        step_profiles.gpu(),
        ("input_pipeline_analyzer", "pod_viewer", "trace_viewer@", "time_budget", "communication", "smart_suggestion"),
    ),
    "counters": (counter_profiles.ODD, ("perf_counters", "utilization_viewer", "kernel_utilization")),
    "megascale": (megascale_profiles.two_steps(), ("megascale_stats",)),
    "serving": (step_profiles.serving(), ("inference_profile", "overview_page")),
}
"""Profiles, and the tools that have more to show for them than for the demo."""
TORCH = {
    "torch_mlp": (CAPTURES / "torch_mlp.pt.trace.json.gz", (*SUMMARIES, "framework_op_stats", "memory_profile")),
    "torch_gpu": (
        kineto.training(3),
        (*SUMMARIES, "framework_op_stats", "op_profile", "roofline_model", "kernel_stats", "communication"),
    ),
}
"""Traces of PyTorch's profiler, and the tools that show most of them."""
EMPTY = f"empty/{SESSION}"
DEMO_RUNS = sorted(f"{path.parents[2].name}/{path.name}" for path in DEMO.glob("*/plugins/profile/*"))
SHOWN = [tool.id for tool in TOOLS if tool.id != "query"]
"""All but the tables of SQL, which are the same for every run."""
CASES = [
    *((run, tool) for run in (*DEMO_RUNS, EMPTY) for tool in SHOWN),
    *((f"{name}/{SESSION}", tool) for name, (_, tools) in TYPED_IN.items() for tool in tools),
    *((f"{name}/{SESSION}", tool) for name, (_, tools) in TORCH.items() for tool in tools),
]
"""Each run and tool whose answer is compared with a stored one."""
GRAPHS = {
    "jax_mlp": {"module_name": "jit_train_step(36)", "node_name": "wrapped_log", "graph_width": "1"},
    "jax_scan": {"module_name": "jit_true_divide(6)"},
    "train_prefetched": {"module_name": "jit_convert_element_type(0)"},
    "train_slow_input": {"module_name": "jit_convert_element_type(0)"},
}
"""What graph viewer draws: the whole entry computation of the demo's programs would be too much to read."""
FOLLOWS = {
    "jax_mlp": "jax_scan",
    "jax_scan": "tf_input",
    "tf_input": "jax_mlp",
    "train_prefetched": "train_slow_input",
    "train_slow_input": "train_prefetched",
}
BASES = {run: next(one for one in DEMO_RUNS if one.startswith(FOLLOWS[run.split("/")[0]])) for run in DEMO_RUNS}
"""What runs of the demo are compared with; others with themselves."""
XPROFS = HERE / "xprof.json"
"""Digests of the answers in XProf's form: they change only with a correction that is meant."""
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


_ROUTE = {"trace_viewer@": "data"}
"""The page asks for the timeline in binary forms."""


def answers(board: Board, order: list[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """The answer of each (run, tool), asked for in this order as pages do; an error counts as an answer."""
    return {
        (run, tool): summary(board.get(_ROUTE.get(tool, "page"), run=run, tag=tool, **params(run, tool)).json)
        for run, tool in order
    }


def params(run: str, tool: str) -> dict[str, str]:
    """What else the request names; graph viewer and compare answer only if it does."""
    if tool == "compare":
        return {"base": BASES.get(run, run)}
    if tool != "graph_viewer":
        return {}
    return {"type": "json", "merge_fusion": "true", **GRAPHS.get(run.split("/")[0], {})}


def summary(answer: Any) -> Any:
    """The answer itself; of a trace, with its thousands of events, figures per thread."""
    if not isinstance(answer, dict) or "traceEvents" not in answer:
        return answer
    events = [event for event in answer["traceEvents"] if event]
    names = {
        (event["name"], event["pid"], event.get("tid")): event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] in ("process_name", "thread_name")
    }
    threads: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for event in events:
        if event["ph"] != "M":
            process = names.get(("process_name", event["pid"], None))
            thread = names.get(("thread_name", event["pid"], event.get("tid")))
            figures = threads[f"{process} | {thread}"]
            figures[f"events {event['ph']}"] += 1
            figures["duration us"] += event.get("dur", 0)
            figures["arguments"] += len(event.get("args", {}))
    return {**answer, "traceEvents": {name: dict(figures) for name, figures in sorted(threads.items())}}


def digest(answer: Any) -> str:
    """A short name of an answer, equal for floating-point numbers that agree up to their last digits."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.9g}")
        if isinstance(value, dict):
            return {name: rounded(member) for name, member in value.items()}
        return list(map(rounded, value)) if isinstance(value, list) else value

    return hashlib.sha256(json.dumps(rounded(answer)).encode()).hexdigest()[:16]


def same(a: Any, b: Any) -> bool:
    """Equality, of floating-point numbers up to their last digits."""
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def figures(answer: Any) -> Iterator[tuple[str, float]]:
    """The numbers in an answer, except 0, with the name of the field or column that they stand in."""
    if isinstance(answer, dict) and "cols" in answer:
        names = [column["id"] for column in answer["cols"]]
        for row in answer["rows"]:
            yield from figures(dict(zip(names, (cell["v"] for cell in row["c"]), strict=True)))
        return
    for name, value in answer.items() if isinstance(answer, dict) else enumerate(answer):
        if isinstance(value, (dict, list)):
            yield from figures(value)
        else:
            with suppress(TypeError, ValueError):
                number = float(value)
                if number and not isinstance(value, bool):
                    yield str(name), number


def written(value: Any, indent: str = "") -> str:
    """JSON with one line per object or list that fits into it, so that a row of a table is a line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= 300 or not isinstance(value, (dict, list)):
        return line
    inner = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + written(one, inner) for one in value) + f"\n{indent}]"
    members = (f"{inner}{json.dumps(name)}: {written(one, inner)}" for name, one in value.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, the typed-in runs, and one with nothing in it."""
    root = tmp_path_factory.mktemp("golden") / "logs"
    shutil.copytree(DEMO, root)
    texts = {"empty": 'plane 1 "/host:CPU"', **{name: text for name, (text, _) in TYPED_IN.items()}}
    for name, (trace, _) in TORCH.items():
        content = trace if isinstance(trace, bytes) else trace.read_bytes()
        path = root / name / "plugins/profile" / SESSION / f"h.pt.trace.json{'' if trace is content else '.gz'}"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return write(root, {f"{name}/plugins/profile/{SESSION}/h.xplane.pb": text for name, text in texts.items()})


@pytest.fixture(scope="module")
def given(logdir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    return answers(Board(logdir, tmp_path_factory.mktemp("home")), CASES)


def stored_at(run: str, tool: str) -> Path:
    return HERE / run.split("/")[0] / f"{tool.replace('@', '_streaming')}.json"


@pytest.mark.parametrize(("run", "tool"), CASES)
def test_answers_are_the_stored_ones(run: str, tool: str, given: dict[tuple[str, str], Any]) -> None:
    path, ours = stored_at(run, tool), given[run, tool]
    says_nothing = run != EMPTY and ours == given[EMPTY, tool]
    if UPDATE and says_nothing:
        path.unlink(missing_ok=True)
    elif UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(ours) + "\n")
    if not path.is_file():
        assert says_nothing, "no stored answer: UPDATE_GOLDEN=1 pytest tests/golden makes one"
        return
    stored = json.loads(path.read_text())
    assert same(ours, stored) or ours == stored, path


def test_the_order_of_questions_and_threads_do_not_change_answers(
    given: dict[tuple[str, str], Any], logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_LEAST_THREADED_BYTES", 0)  # as for large profiles
    assert answers(Board(logdir, tmp_path), CASES[::-1]) == given


@pytest.mark.parametrize("tool", SHOWN)
def test_some_stored_answer_has_something_to_show(tool: str, given: dict[tuple[str, str], Any]) -> None:
    nothing = set(figures(given[EMPTY, tool]))
    stored = [given[run, asked] for run, asked in CASES if asked == tool and stored_at(run, tool).is_file()]
    assert max(len(set(figures(answer)) - nothing) for answer in stored if "error" not in answer) >= 5


def test_xprofs_answers_are_those_of_before(logdir: Path, tmp_path: Path) -> None:
    board = Board(logdir, tmp_path)
    ours: dict[str, dict[str, str]] = defaultdict(dict)
    for run, tool in (*CASES, *((run, "trace_viewer") for run in (*DEMO_RUNS, EMPTY))):
        if tool in (*xprof.ORDER, "tf_data_bottleneck_analysis"):
            # XProf draws no graph as JSON.
            asked = {**params(run, tool), **({"type": "short_txt"} if tool == "graph_viewer" else {})}
            answered = board.get("data", run=run, tag=tool, **asked)
            ours[run][tool] = digest(answered.text if tool == "graph_viewer" else answered.json)
    if UPDATE:
        XPROFS.write_text(written(ours) + "\n")
    assert ours == json.loads(XPROFS.read_text())
