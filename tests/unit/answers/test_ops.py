"""The verbs about ops on a typed-in run of two programs: ops, op, source, programs."""

from __future__ import annotations

from typing import Any

import pytest
from builders.asking import asked, page
from builders.profiles.two_programs import DEVICE, TPU, opened, programs

from tpu_profile_plugin.answers.text import as_text
from tpu_profile_plugin.errors import BadRequest, NotFound

BASE = "of the time of all devices in the recording, idle time included"
PAGE = "http://localhost:6006/data/plugin/profile/index.html?run=memory&tool="
LOGDIR = opened(TPU)
HOST_OPS = """
plane 1 "/host:CPU"
  line 7 python
    0us +30us model/dense/MatMul:MatMul
    40us +10us model/relu:Relu
    60us +10us model/relu:Relu
"""


def ask(verb: str, **arguments: Any) -> Any:
    return asked(LOGDIR, verb, **arguments)


def rows(envelope: Any, table: str, *columns: str) -> list[list[Any]]:
    return [[row[column] for column in columns] for row in envelope["answer"][table]]


def next_of(envelope: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        (one["verb"], {name: value for name, value in one["arguments"].items() if name != "run"})
        for one in envelope["next"]
    ]


def test_ops_whole_envelope() -> None:
    fusion = {"self_ms": 0.02, "share_percent": 40, "occurrences": 2, "category": "loop fusion", "bound_by": "Compute"}
    copy = {"self_ms": 0.012, "share_percent": 24, "occurrences": 2, "category": "copy", "bound_by": "HBM"}
    negate = {"self_ms": 0.008, "share_percent": 16, "occurrences": 2, "category": "loop fusion", "bound_by": ""}
    other = {"self_ms": 0.005, "share_percent": 10, "occurrences": 1, "category": "copy", "bound_by": ""}
    train, loss = "/home/me/train.py:12", "/home/me/loss.py:3"
    assert ask("ops") == {
        "answer": {
            "ops_found": 4,
            "all_ops_percent": 90,
            "ops": [
                {"id": "fusion.1@jit_step(7)", **fusion, "source": train, "framework_op": "jit(step)/max"},
                {"id": "copy.2@jit_step(7)", **copy, "source": loss, "framework_op": ""},
                {"id": "out@jit_step(7)", **negate, "source": loss, "framework_op": "jit(step)/neg"},
                {"id": "copy.2@jit_eval(8)", **other, "source": "", "framework_op": ""},
            ],
        },
        "units": {"all_ops_percent": "%", "self_ms": "ms", "share_percent": "%"},
        "base": BASE,
        "from": {"run": "memory", "hosts": ["host"], "tool": "hlo_stats"},
        "link": f"{PAGE}hlo_stats",
        "next": [
            {"verb": "op", "arguments": {"run": "memory", "name": "fusion.1@jit_step(7)"}},
            {"verb": "op", "arguments": {"run": "memory", "name": "copy.2@jit_step(7)"}},
            {"verb": "op", "arguments": {"run": "memory", "name": "out@jit_step(7)"}},
            {"verb": "source", "arguments": {"run": "memory", "place": train}},
            {"verb": "programs", "arguments": {"run": "memory"}},
        ],
        "rows": {"from": 0, "to": 4, "of": 4},
        "cursor": None,
        "cannot_answer": None,
    }


def test_ops_in_other_orders_show_what_they_are_sorted_by() -> None:
    found = ask("ops", sort="average")
    assert rows(found, "ops", "id", "average_ms")[:2] == [["fusion.1@jit_step(7)", 0.01], ["copy.2@jit_step(7)", 0.006]]
    assert "time_ms" in ask("ops", sort="time")["answer"]["ops"][0]
    assert "average_ms" not in ask("ops", sort="occurrences")["answer"]["ops"][0]


def test_ops_with_a_text() -> None:
    found = ask("ops", find="LOSS.py")
    assert rows(found, "ops", "id") == [["copy.2@jit_step(7)"], ["out@jit_step(7)"]]
    assert "all_ops_percent" not in found["answer"]  # the page has no sum of some ops
    assert found["link"] == f"{PAGE}hlo_stats"  # whose filter does not look into sources
    assert ask("ops", find="fusion.1")["link"] == f"{PAGE}hlo_stats&op=fusion.1"
    nothing = ask("ops", find="nowhere")
    assert (nothing["answer"]["ops"], next_of(nothing)[-1]) == ([], ("ops", {}))


def test_op_whole_answer() -> None:
    found = ask("op", name="fusion.1")
    fused = found["answer"].pop("fused")
    assert found["answer"] == {
        "op": "fusion.1@jit_step(7)",
        "category": "loop fusion",
        "share_percent": 40,
        "self_ms": 0.02,
        "time_ms": 0.02,
        "occurrences": 2,
        "average_self_ms": 0.01,
        "rank": 1,
        "bound_by": "Compute",
        "source": "/home/me/train.py:12",
        "stack": ["/home/me/train.py:12:5", "/home/me/main.py:40:1"],
        "framework_op": "jit(step)/max",
        "rate_gflops_per_s": 500,
        "memory_gib_per_s": 186.265,
        "hbm_gib_per_s": 186.265,
        "flops_per_byte": 2.5,
        "peak_gflops_per_s": 1000,
        "peak_hbm_gib_per_s": 931.323,
        "hlo": "%fusion.1 = f32[8] fusion()",
    }
    assert [one["id"] for one in fused] == ["add.1", "max.1"]
    assert fused[0]["framework_op"] == "jit(step)/add"
    assert found["base"] == {"share_percent": BASE}
    assert found["link"] == f"{PAGE}hlo_stats&row=hlo_op_name~fusion.1;program_id~7"
    assert next_of(found) == [
        ("source", {"place": "/home/me/train.py:12"}),
        ("hlo", {"op": "fusion.1@jit_step(7)"}),
        ("timeline", {"find": "fusion.1"}),
        ("ops", {"find": "loop fusion"}),
    ]


def test_op_without_work_has_no_rates_of_zero() -> None:
    found = ask("op", name="copy.2@jit_eval(8)")["answer"]
    assert not {"rate_gflops_per_s", "memory_gib_per_s", "bound_by", "source", "fused"} & set(found)


def test_op_with_the_source_of_its_neighbour() -> None:
    found = ask("op", name="copy.2@jit_step(7)")["answer"]
    assert (found["source"], found["source_of"]) == ("/home/me/loss.py:3", "out")


@pytest.mark.parametrize("name", ["copy.2@jit_step(7)", "copy.2@jit_step", "copy.2@7", "%copy.2@7"])
def test_ways_to_name_an_op(name: str) -> None:
    assert ask("op", name=name)["answer"]["op"] == "copy.2@jit_step(7)"


def test_op_of_several_programs_is_asked_for_with_its_program() -> None:
    with pytest.raises(BadRequest, match="2 programs have an op") as caught:
        ask("op", name="copy.2")
    assert caught.value.details == {"argument": "name", "choices": ["copy.2@jit_step(7)", "copy.2@jit_eval(8)"]}


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("fusion.9", "fusion.1@jit_step(7)"),
        ("cpoy.2", "copy.2@jit_step(7)"),
        ("usion", "fusion.1@jit_step(7)"),
        ("copy.2@jit_other(9)", "copy.2@jit_step(7)"),
        ("", "fusion.1@jit_step(7)"),
        ("@" * 5000, "fusion.1@jit_step(7)"),
    ],
)
def test_unknown_op_gets_similar_ones(name: str, first: str) -> None:
    with pytest.raises(NotFound) as caught:
        ask("op", name=name)
    assert (caught.value.details["argument"], caught.value.details["choices"][0]) == ("name", first)


def test_ops_of_a_framework_are_on_its_page() -> None:
    logdir = opened(HOST_OPS)
    found = asked(logdir, "ops")
    assert rows(found, "ops", "id", "self_ms", "occurrences") == [
        ["model/dense/MatMul", 0.03, 1],
        ["model/relu", 0.02, 2],
    ]
    assert found["from"]["tool"] == "framework_op_stats"
    assert "bound_by" not in found["answer"]["ops"][0]
    one = asked(logdir, "op", name="model/relu")
    assert one["answer"]["average_self_ms"] == 0.01
    assert one["link"].endswith("t1.row=operation~model/relu")


def test_source_lines_by_time() -> None:
    found = ask("source")
    assert rows(found, "lines", "id", "self_ms", "share_percent", "ops") == [
        ["/home/me/loss.py:3", 0.02, 40, 2],
        ["/home/me/train.py:12", 0.02, 40, 1],
    ]
    assert found["base"] == BASE
    assert next_of(found)[-1] == ("op", {"name": "copy.2@jit_step(7)"})
    assert found["link"] == f"{PAGE}hlo_stats&chart=source"


@pytest.mark.parametrize("place", ["loss.py", "loss.py:3", "/home/me/loss.py:3", "me/loss.py"])
def test_source_of_one_place(place: str) -> None:
    found = ask("source", place=place)
    assert rows(found, "ops", "id", "self_ms") == [["copy.2@jit_step(7)", 0.012], ["out@jit_step(7)", 0.008]]
    assert (found["answer"]["self_ms"], found["answer"]["share_percent"]) == (0.02, 40)
    assert found["link"] == f"{PAGE}hlo_stats&chart=source&filter=source_info~{place}"


def test_source_of_a_caller() -> None:
    found = ask("source", place="main.py:40")
    assert found["answer"]["found_by"] == "call stack: the place calls the lines of these ops"
    assert rows(found, "ops", "id", "source") == [["fusion.1@jit_step(7)", "/home/me/train.py:12"]]


def test_paths_with_blanks() -> None:
    logdir = opened(TPU.replace("/home/me/", "/home/me and you/"))
    assert asked(logdir, "op", name="fusion.1")["answer"]["stack"][0] == "/home/me and you/train.py:12:5"
    assert asked(logdir, "source", place="me and you/main.py:40")["answer"]["ops_found"] == 1


def test_a_long_path_keeps_its_line_in_a_terminal() -> None:
    folder = "/home/me/" + "folder/" * 20
    shown = as_text(asked(opened(TPU.replace("/home/me/", folder)), "source"))
    assert f"{folder}loss.py:3 " in shown


@pytest.mark.parametrize("place", ["oss.py", "loss.py:33", "train.py:1", "../loss.py", "/etc/passwd"])
def test_source_elsewhere(place: str) -> None:
    with pytest.raises(NotFound) as caught:
        ask("source", place=place)
    assert caught.value.details["argument"] == "place"
    assert caught.value.details["choices"]


def test_source_without_lines_says_what_to_record() -> None:
    told = asked(opened(HOST_OPS), "source")["cannot_answer"]
    assert told["reason"] == "No op has a source line: the profile has no HLO program with them."
    assert told["how_to_record"].startswith("Record programs that XLA compiles")


def test_programs_by_time() -> None:
    found = ask("programs")
    assert found["answer"] == {
        "programs_found": 2,
        "programs_that_ran": 2,
        "observed_ms": 0.05,
        "compiled_more_than_once": [],
        "programs": [
            {"id": "jit_step(7)", "time_ms": 0.04, "ops": 3, "hlo_in_profile": True},
            {"id": "jit_eval(8)", "time_ms": 0.005, "ops": 1, "hlo_in_profile": True},
        ],
    }
    profile = page(LOGDIR, found)
    assert profile["total_ps"] == 50_000_000
    assert [(program["name"], program["time_ps"]) for program in profile["ops"]["children"]] == [
        ("jit_step(7)", 40_000_000),
        ("jit_eval(8)", 5_000_000),
    ]


def test_programs_compiled_again_and_without_ops() -> None:
    found = asked(opened(programs("jit_step") + DEVICE), "programs")
    assert found["answer"]["compiled_more_than_once"] == ["jit_step: 2 programs"]
    silent = asked(opened(programs()), "programs")["answer"]
    assert [one["time_ms"] for one in silent["programs"]] == [None, None]
    assert (silent["programs_that_ran"], "observed_ms" in silent) == (0, False)
