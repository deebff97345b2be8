"""The Perfetto export: processes, tracks, slices, arguments, flows, counters and clocks of typed-in profiles."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from builders.answers import body, run_of
from builders.checks.pftrace import Read, Slice, read
from builders.logdirs import write
from builders.planes import gpu

from tpu_profile_plugin.analysis.timeline import packets
from tpu_profile_plugin.analysis.timeline.packets import DAY_NS
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import NoData, TooLarge
from tpu_profile_plugin.export.timelines import PERFETTO
from tpu_profile_plugin.export.write import Options
from tpu_profile_plugin.tools.time.trace_viewer import trace_events
from tpu_profile_plugin.tools.time.trace_viewer.tool import TOOL as TRACE_VIEWER

US = 1000
"""Nanoseconds."""


def made(tmp_path: Path, *profiles: str | bytes, align: bool = False) -> Read:
    path = tmp_path / "made.pftrace"
    path.unlink(missing_ok=True)
    PERFETTO.write(run_of(*profiles), path, Options(align=align), lambda _: None)
    return read(path)


def times(slices: list[Slice]) -> list[tuple[int, int | None, str, int]]:
    """Begin and end since time 0, name and depth."""
    return [
        (one.begin_ns - DAY_NS, None if one.end_ns is None else one.end_ns - DAY_NS, one.name, one.depth)
        for one in slices
    ]


def test_events_nest_and_overlapping_ones_are_on_a_track_of_the_same_name(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        """
        plane 1 "/host:CPU"
        line 7 "python" @1us
        0us +10us outer
        0us +4us first
        4us +6us second
        4us +0us mark
        8us +5us across
        9us +1us under
        13us +1us behind
        """,
    )
    process, thread, further = found.lanes.values()
    assert (process.descriptor.process.process_name, process.descriptor.process.pid) == ("Host Threads", 701)
    assert list(process.descriptor.process.process_labels) == ["h0"]
    assert (thread.descriptor.thread.tid, thread.descriptor.thread.thread_name) == (7, "python")
    assert (further.descriptor.name, further.descriptor.parent_uuid) == ("python", thread.descriptor.uuid)
    assert times(thread.slices) == [
        (1 * US, 11 * US, "outer", 0),
        (1 * US, 5 * US, "first", 1),
        (5 * US, 11 * US, "second", 1),
        (5 * US, None, "mark", 2),
        (10 * US, 11 * US, "under", 2),
        (14 * US, 15 * US, "behind", 0),
    ]
    assert times(further.slices) == [(9 * US, 14 * US, "across", 0)]
    assert {one.category for one in thread.slices} == {"host"}


OPS = """
plane 3 "/device:TPU:0"
line 2 "XLA Ops"
1us +2us "%fusion.1 = f32[8] fusion(x)" {note="own", left=-7, bits=0x01}
4us +2us "%fusion.1 = f32[8] fusion(x)" {flops=9, ratio=0.5d, count=u18446744073709551615}
7us +1us plain {note=&"shared"}
line 3 "XLA Ops"
1us +1us other
metadata "%fusion.1 = f32[8] fusion(x)" {hlo_category="convolution fusion", flops=5, tf_op="a/b"} display="fusion.1"
"""


def test_arguments_are_the_stats_of_the_event_and_of_its_metadata(tmp_path: Path) -> None:
    found = made(tmp_path, OPS)
    first, second, plain = found.lines()["TPU 0", "XLA Ops"][:3]
    shared: dict[str, Any] = {"long_name": "%fusion.1 = f32[8] fusion(x)", "tf_op": "a/b"}
    assert (first.name, first.category) == ("fusion.1", "convolution fusion")
    assert first.args == {**shared, "flops": 5, "note": "own", "left": -7}
    assert second.category == "convolution fusion"
    assert second.args == {**shared, "flops": 9, "ratio": 0.5, "count": 2**64 - 1}
    assert (plain.category, plain.args) == ("device", {"note": "shared"})


def test_lines_of_the_same_name_stay_apart_and_in_order(tmp_path: Path) -> None:
    found = made(tmp_path, OPS)
    tracks = [lane.descriptor for lane in found.lanes.values() if lane.slices and lane.descriptor.name == "XLA Ops"]
    assert [track.sibling_order_rank for track in tracks] == sorted(track.sibling_order_rank for track in tracks)
    assert len({track.sibling_merge_key for track in tracks}) == 2
    assert not any(track.HasField("thread") for track in tracks)


def test_times_are_rounded_down_and_exact_durations_kept(tmp_path: Path) -> None:
    text = (
        'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n1500ps +700ps a\n2200ps +1800ps b\n4000ps +2000ps c\n6ns +1ps d'
    )
    found = made(tmp_path, text).lines()["GPU 0", "Stream #1"]
    assert times(found) == [(1, 2, "a", 0), (2, 4, "b", 0), (4, 6, "c", 0), (6, 6, "d", 0)]
    assert [one.args.get("duration_ps") for one in found] == [700, 1800, None, 1]


def test_a_stat_with_the_name_of_the_exact_duration_is_kept(tmp_path: Path) -> None:
    text = 'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n0ps +1ps a {duration_ps=5}'
    (one,) = made(tmp_path, text).lines()["GPU 0", "Stream #1"]
    assert one.args == {"duration_ps": 5}


def test_groups_and_derived_rows(tmp_path: Path) -> None:
    text = 'plane 1 "/host:CPU"\nline 1 "a"\n0us +9us train {_r=1, step_num=4}\n1us +1us work\n'
    found = made(tmp_path, text).lines()["Host Threads", "a"]
    assert [(one.name, one.args["group_id"]) for one in found] == [("train 4", 0), ("work", 0)]
    text = 'plane 1 "/device:TPU:0"\nline 1 "XLA Ops"\n1us +1us gemm {tf_op="jit(f)/dot:dot"}'
    lines = made(tmp_path, text).lines().items()
    categories = {track: {one.category for one in slices} for (_, track), slices in lines}
    assert categories == {"XLA Ops": {"device"}, "Framework Name Scope": {"derived"}, "Framework Ops": {"derived"}}


GPU = gpu("0 20 gemm\n100 20 ncclDevKernel_AllReduce")
FLOW = """
plane 1 "/host:CPU"
line 1 "a"
0us +1us out {_pt=12, _p=77}
line 2 "b"
2us +1us in {_ct=12, _c=77}
5us +1us again {_ct=12, _c=77}
"""


def test_flows_link_events_of_one_host(tmp_path: Path) -> None:
    ends = [(DAY_NS, "out"), (DAY_NS + 2 * US, "in"), (DAY_NS + 5 * US, "again")]
    assert made(tmp_path, FLOW).flows() == {1: ends}
    assert made(tmp_path, FLOW, FLOW).flows() == {1: ends, 2: ends}


def test_counters_have_units_and_all_samples(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        """
        plane 0 "/device:GPU:0"
        line 1 "_counters_"
        1us +0us "used bytes" {value=7}
        2us +0us "used bytes" {value=9}
        3us +0us "busy (%)" {value=0.5d}
        3us +0us power {watts=-1}
        line 2 "Stream #1"
        0us +1us kernel
        """,
    )
    counters = [lane for lane in found.lanes.values() if lane.descriptor.HasField("counter")]
    assert [
        (one.descriptor.name, one.descriptor.counter.unit, one.descriptor.counter.unit_name) for one in counters
    ] == [
        ("busy (%)", 0, "%"),
        ("power watts", 0, ""),
        ("used bytes", 3, ""),
    ]
    assert [[(time - DAY_NS, value) for time, value in one.samples] for one in counters] == [
        [(3 * US, 0.5)],
        [(3 * US, -1)],
        [(1 * US, 7), (2 * US, 9)],
    ]
    assert all(lane.process.process.process_name == "GPU 0" for lane in counters)


START = 'plane 9 "Task Environment" {profile_start_time=u1700000000000000000}\n'


def test_times_are_those_of_the_calendar_if_the_start_is_known(tmp_path: Path) -> None:
    found = made(tmp_path, START + 'plane 1 "/host:CPU"\nline 1 "a"\n3us +1us work')
    assert found.clocks == {1: 17 * 10**17, 6: 17 * 10**17}
    assert found.lines()["Host Threads", "a"][0].begin_ns == 17 * 10**17 + 3 * US
    assert made(tmp_path, 'plane 1 "/host:CPU"\nline 1 "a"\n3us +1us work').clocks == {}


def test_hosts_are_processes_of_their_own(tmp_path: Path) -> None:
    found = made(tmp_path, OPS, OPS)
    processes = [lane.descriptor.process for lane in found.lanes.values() if lane.descriptor.HasField("process")]
    assert [(one.pid, one.process_name, list(one.process_labels)) for one in processes] == [
        (1004, "h0 TPU 0", ["h0"]),
        (2004, "h1 TPU 0", ["h1"]),
    ]
    lines = found.lines()
    assert times(lines["h0 TPU 0", "XLA Ops"]) == times(lines["h1 TPU 0", "XLA Ops"])


def _rank(shift: int) -> str:
    return gpu("\n".join(f"{at + shift} 20 ncclDevKernel_AllReduce" for at in (0, 100, 230)))


def begins(found: Read) -> list[list[int]]:
    lines = [slices for (_, track), slices in sorted(found.lines().items()) if track == "Stream #1"]
    return [[(one.begin_ns - DAY_NS) // US for one in slices] for slices in lines]


def test_clocks_are_aligned_on_request(tmp_path: Path) -> None:
    assert begins(made(tmp_path, _rank(0), _rank(700))) == [[0, 100, 230], [700, 800, 930]]
    assert begins(made(tmp_path, _rank(0), _rank(700), align=True)) == [[0, 100, 230]] * 2
    assert begins(made(tmp_path, _rank(0), align=True)) == [[0, 100, 230]]


def test_clocks_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="clock of host h1 cannot be compared with that of h0"):
        made(tmp_path, FLOW, FLOW, align=True)


def test_parts_make_the_same_file_as_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slices(found: Read) -> list[list[Slice]]:
        return [lane.slices for lane in found.lanes.values()]

    whole = made(tmp_path, OPS, GPU)
    monkeypatch.setattr(packets, "_EVENTS", 1)
    assert slices(made(tmp_path, OPS, GPU)) == slices(whole)


def test_a_name_with_gz_makes_a_compressed_file(tmp_path: Path) -> None:
    for name in ("a.pftrace", "a.pftrace.gz"):
        PERFETTO.write(run_of(OPS), tmp_path / name, Options(), lambda _: None)
    packed = (tmp_path / "a.pftrace.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "a.pftrace").read_bytes()


def test_a_profile_without_events_is_an_empty_trace(tmp_path: Path) -> None:
    assert made(tmp_path, 'plane 1 "/host:CPU"').lanes == {}


def test_any_number_of_overlapping_events_is_written(tmp_path: Path) -> None:
    rows = "\n".join(f"{at}ns +1ms e{at % 3}" for at in range(500))
    found = made(tmp_path, f'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n{rows}')
    lanes = [lane for lane in found.lanes.values() if lane.slices]
    assert [len(lane.slices) for lane in lanes] == [1] * 500
    assert {(lane.descriptor.name, lane.descriptor.sibling_merge_key) for lane in lanes} == {("Stream #1", "0")}


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "logs", {f"plugins/profile/s/{host}.xplane.pb": _rank(at) for host, at in (("a", 0), ("b", 700))})
    for name in ("perfetto", "chrome"):
        out = tmp_path / name
        options = ["export", str(tmp_path / "logs"), "s", "--format", name, "-o", str(out), "--align"]
        assert main(options) == 0
        assert capsys.readouterr().out == f"{out}  {out.stat().st_size:,} bytes\n"
        assert main([*options, "--tables", "events"]) == 2
        assert "--tables has no effect" in capsys.readouterr().err
    assert begins(read(tmp_path / "perfetto")) == [[0, 100, 230]] * 2


def test_the_page_saves_what_touches_its_window(tmp_path: Path) -> None:
    text = """
    plane 1 "/host:CPU"
    line 7 "python"
    0us +3us before
    2us +9us across
    4us +1us within
    9us +1us behind
    plane 0 "/device:GPU:0"
    line 1 "_counters_"
    1us +0us power {watts=1}
    5us +0us power {watts=2}
    """

    def saved(**params: str) -> Read:
        path = tmp_path / "window.pftrace"
        path.write_bytes(body(TRACE_VIEWER, text, page=True, format="perfetto", **params))
        return read(path)

    part, whole, exported = saved(start_time_ms="0.004", end_time_ms="0.006"), saved(), made(tmp_path, text)
    track = "Host Threads", "python"
    assert [one.name for one in part.lines()[track]] == ["across", "within"]
    assert [time - DAY_NS for lane in part.lanes.values() for time, _ in lane.samples] == [5 * US]
    assert times(whole.lines()[track]) == times(exported.lines()[track])
    assert len(whole.lanes) == len(exported.lanes)


def test_the_page_refuses_a_window_of_too_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_events, "MOST_WITH_ARGS", 1)
    with pytest.raises(TooLarge, match="shorter window"):
        body(TRACE_VIEWER, FLOW, page=True, format="perfetto")
