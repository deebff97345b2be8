"""The Chrome export: the trace viewer's whole form, host after host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.answers import body, run_of
from builders.planes import gpu

from tpu_profile_plugin.analysis.timeline import window
from tpu_profile_plugin.compat.xprof.trace_viewer import LEGACY
from tpu_profile_plugin.export.timelines import CHROME
from tpu_profile_plugin.export.write import Options

HOST = """
plane 1 "/host:CPU"
line 7 "python" @1us
0us +10us outer {_r=1, step_num=3}
2us +3us work {x=1}
plane 2 "/device:TPU:0"
line 1 "XLA Ops"
1us +5us fusion.1 {_a=1}
2us +0us mark
"""


def made(tmp_path: Path, *profiles: str, align: bool = False) -> bytes:
    path = tmp_path / "made.json"
    path.unlink(missing_ok=True)
    CHROME.write(run_of(*profiles), path, Options(align=align), lambda _: None)
    return path.read_bytes()


def events(data: bytes) -> list[dict[str, Any]]:
    return list(json.loads(data)["traceEvents"])


@pytest.mark.parametrize("text", [HOST, gpu("0 20 gemm\n30 20 other"), 'plane 1 "/host:CPU"'])
def test_one_host_is_what_the_trace_viewer_answers(tmp_path: Path, text: str) -> None:
    assert made(tmp_path, text) == body(LEGACY, text)


def test_several_hosts_have_the_same_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "_PART", 1)
    found, answer = events(made(tmp_path, HOST, HOST)), events(body(LEGACY, HOST, HOST))
    assert sorted(found, key=json.dumps) == sorted(answer, key=json.dumps)
    assert {event["args"]["name"] for event in found if event.get("name") == "process_name"} == {
        "h0 /device:TPU:0",
        "h0 /host:CPU",
        "h1 /device:TPU:0",
        "h1 /host:CPU",
    }


def test_clocks_are_aligned_on_request(tmp_path: Path) -> None:
    ranks = [gpu("\n".join(f"{at + shift} 20 ncclDevKernel_AllReduce" for at in (0, 100, 230))) for shift in (0, 700)]
    for align, begins in ((False, [[0, 100, 230], [700, 800, 930]]), (True, [[0, 100, 230]] * 2)):
        found = events(made(tmp_path, *ranks, align=align))
        kernels = [event for event in found if event.get("name") == "ncclDevKernel_AllReduce"]
        pids = sorted({event["pid"] for event in kernels})
        assert [[event["ts"] for event in kernels if event["pid"] == pid] for pid in pids] == begins
