"""The verb `timeline`: what ran in a window, by name and kind of line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders.asking import asked
from builders.logdirs import write
from builders.planes import host, tpu
from builders.shown import profile

import tpu_profile_plugin
from tpu_profile_plugin.analysis.timeline.listing import in_window, main_thread
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.opening import OpenLogdir

STEPS = "0 100 0 {_ct=9, _c=0}\n100 300 1 {_ct=9, _c=1}"
CORE = "10 30 dot\n90 60 dot\n160 20 add"
MAIN = """
    0us +400us "$train.py:5 main"
    100us +100us "$train.py:9 step"
    110us +40us "$<unknown> read"
    160us +10us "$<unknown> read"
    20us +5us MemoryAllocation
"""
PROFILE = "\n".join([tpu(CORE, steps=STEPS), tpu(CORE.replace("160 20", "160 40"), core=1, steps=STEPS), host(MAIN)])


def test_lines_that_limit_the_program_and_titles_that_tell_lines_apart() -> None:
    threads = "\n".join(f"line {number} w\n0us +9us work" for number in (5, 7))
    core = tpu(CORE, steps=STEPS, modules="0 400 jit_f(7)")
    space = profile(f"{core}\n{host(MAIN)}\n{threads}\nline 8 steps\nline 9 main\n0us +1us x")
    found = in_window(space, 0, 500 * 10**6, lambda name: True)
    assert dict(zip(found.line, found.busy.tolist(), strict=True)) == {
        "TPU 0/XLA Modules": False, "TPU 0/XLA Ops": True,
        "CPU/main (1)": True, "CPU/w (5)": False, "CPU/w (7)": False, "CPU/main (9)": False,
    }  # fmt: skip
    assert "MemoryAllocation" not in found.name
    core = f"{tpu(CORE, steps=STEPS)}\nline 9 more\n0us +1us MemoryAllocation\n1us +1us x"
    assert set(in_window(profile(core), 0, 500 * 10**6, lambda name: True).line) == {"TPU 0/XLA Ops", "TPU 0/more"}


@pytest.mark.parametrize(
    ("names", "events", "thread"),
    [
        (["worker", "main", "main/7"], [9, 5, 6], 2),
        (["main", "python3.11"], [0, 5], 1),
        (["python", "MainThread"], [9, 1], 1),
        (["worker"], [9], None),
    ],
)
def test_the_main_thread(names: list[str], events: list[int], thread: int | None) -> None:
    assert main_thread(names, events) == thread


def logdir(root: Path, **runs: str) -> OpenLogdir:
    return tpu_profile_plugin.open(
        write(root, {f"plugins/profile/{run}/h.xplane.pb": text for run, text in runs.items()})
    )


def rows(envelope: Any) -> list[tuple[Any, ...]]:
    """Id, lines, count, self time, share, time and longest in us, and where the longest was."""
    return [
        (
            *(row["id"], row["lines"], row["count"], round(1e3 * row["self_ms"], 3), row["percent"]),
            *(round(1e3 * row["total_ms"], 3), round(1e3 * row["longest_ms"], 3), row["longest_on"]),
        )
        for row in envelope["answer"]["events"]
    ]


def test_the_slowest_step_by_name(tmp_path: Path) -> None:
    found = asked(logdir(tmp_path, a=PROFILE), "timeline")
    facts = {name: value for name, value in found["answer"].items() if name != "events"}
    assert facts == {
        "window": "step 1, the slowest",
        "from_ms": 0.1,
        "to_ms": 0.4,
        "window_ms": 0.3,
        "names_found": 5,
    }
    assert rows(found) == [
        # Of 300 us: main without the step; 50 of 60 us of each core's dot are in the window, which begins at 100.
        ("$train.py:5 main @ main thread", 1, 1, 200, 66.6667, 300, 400, "CPU/main"),
        ("dot @ TPU/XLA Ops", 2, 2, 100, 16.6667, 100, 60, "TPU 0/XLA Ops"),
        ("add @ TPU/XLA Ops", 2, 2, 60, 10, 60, 40, "TPU 1/XLA Ops"),
        ("$train.py:9 step @ main thread", 1, 1, 50, 16.6667, 100, 100, "CPU/main"),
        ("$<unknown> read @ main thread", 1, 2, 50, 16.6667, 50, 40, "CPU/main"),
    ]
    assert found["base"].startswith("of the length of the window")
    assert found["link"].endswith("?run=a&tool=trace_viewer@&window=100000000,400000000")
    assert [(one["verb"], one["arguments"]) for one in found["next"]] == [
        ("op", {"run": "a", "name": "dot@7"}),
        ("op", {"run": "a", "name": "add@7"}),
        ("gaps", {"run": "a"}),
        ("budget", {"run": "a"}),
    ]


def test_a_window_and_a_text(tmp_path: Path) -> None:
    found = asked(logdir(tmp_path, a=PROFILE), "timeline", from_=0.105, to=0.165, find="READ")
    assert rows(found) == [("$<unknown> read @ main thread", 1, 2, 45, 75, 45, 40, "CPU/main")]
    assert found["link"].endswith("&window=105000000,165000000&find=READ")
    nothing = asked(logdir(tmp_path, a=PROFILE), "timeline", from_=0.105, to=0.165, find="nothing")
    assert (nothing["answer"]["names_found"], nothing["answer"]["events"]) == (0, [])
    assert ("timeline", {"run": "a", "from": 0.105, "to": 0.165}) in [
        (one["verb"], one["arguments"]) for one in found["next"]
    ]


def test_events_that_touch_the_window_are_not_in_it(tmp_path: Path) -> None:
    found = asked(logdir(tmp_path, a=tpu("0 10 a\n10 10 b\n20 10 c")), "timeline", from_=0.01, to=0.02)
    assert rows(found) == [("b @ TPU/XLA Ops", 1, 1, 10, 100, 10, 10, "TPU 0/XLA Ops")]


def test_without_steps_the_longest_gap_else_the_recording(tmp_path: Path) -> None:
    place = logdir(tmp_path, gaps=tpu("0 10 a\n90 10 b") + "\n" + host("20 50 read"), host=host("20 50 read"))
    found = asked(place, "timeline", run="gaps")
    assert (found["answer"]["window"], found["answer"]["from_ms"], found["answer"]["to_ms"]) == (
        "the longest gap, of TPU 0",
        0.01,
        0.09,
    )
    assert rows(found) == [("read @ main thread", 1, 1, 50, 62.5, 50, 50, "CPU/main")]
    found = asked(place, "timeline", run="host")
    assert found["answer"]["window"] == "the whole recording"
    assert (found["answer"]["from_ms"], found["answer"]["to_ms"]) == (0.02, 0.07)


def test_threads_of_a_name_and_hosts_are_one_kind(tmp_path: Path) -> None:
    threads = host("0 100 main", "0 10 work") + '\nline 3 "pool/12"\n0us +20us job\nline 4 "pool/34"\n50us +30us job'
    files = {f"plugins/profile/a/{name}.xplane.pb": threads for name in ("x", "y")}
    place = tpu_profile_plugin.open(write(tmp_path, files))
    found = asked(place, "timeline")
    assert "own clock" in found["answer"]["note"]
    assert asked(place, "timeline", host="y")["answer"]["events"][0]["longest_on"] == "CPU/main"
    assert rows(found) == [
        ("main @ main thread", 2, 2, 200, 100, 200, 100, "x CPU/main"),
        ("job @ CPU/pool", 4, 4, 100, 25, 100, 30, "x CPU/pool/34"),
        ("work @ CPU/worker", 2, 2, 20, 10, 20, 10, "x CPU/worker"),
    ]


@pytest.mark.parametrize(
    ("arguments", "argument", "message"),
    [
        ({"from_": 2.0, "to": 1.0}, "to", "to must be after from (2 ms), not 1."),
        ({"from_": 5.0}, "from", "The window is empty: the recording is from 0.000000 to 0.400000 ms."),
        ({"to": -5.0}, "to", "to must be after from (0 ms), not -5."),
        ({"from_": 1e12}, "from", "from is beyond the longest possible profile."),
    ],
)
def test_wrong_windows(tmp_path: Path, arguments: dict[str, Any], argument: str, message: str) -> None:
    with pytest.raises(BadRequest) as raised:
        asked(logdir(tmp_path, a=PROFILE), "timeline", **arguments)
    assert raised.value.details["argument"] == argument
    assert message in raised.value.message


def test_a_profile_without_events_cannot_answer(tmp_path: Path) -> None:
    found = asked(logdir(tmp_path, a='plane 1 "/host:CPU"'), "timeline")
    assert found["cannot_answer"]["reason"] == "The profile has no event."
