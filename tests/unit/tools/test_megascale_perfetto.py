"""Traces of Perfetto, against XProf 2.24.2's, which are stored in tests/golden/xprof_megascale."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.answers import body
from builders.checks.perfetto import read
from builders.profiles import megascale_profiles
from builders.shown import profile

from tpu_profile_plugin.analysis.megascale import perfetto
from tpu_profile_plugin.analysis.megascale.flows import add_flows
from tpu_profile_plugin.analysis.megascale.trace import (
    KINDS,
    Arguments,
    Track,
    collective_parts,
    hide_tiny_events,
    load,
)
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.tools.fleet import megascale_stats
from tpu_profile_plugin.tools.fleet.megascale_stats import TOOL

STORED = json.loads((Path(__file__).parents[2] / "golden" / "xprof_megascale" / "perfetto.json").read_text())
OPS = "2. TPUs//device:TPU:0/3. XLA Ops"


def trace(profile: str, **params: str) -> dict[str, Any]:
    found = read(body(TOOL, profile, perfetto="true", **params))
    return {**found, "flows": sorted(sorted(flow) for flow in found["flows"])}


@pytest.mark.parametrize("name", list(megascale_profiles.PERFETTO))
def test_tracks_slices_arguments_flows_and_counters_are_those_of_xprof(name: str) -> None:
    assert trace(megascale_profiles.PERFETTO[name]()) == STORED[name]


US = 10**6
SEND_0, SEND_1, RECV_1, OTHER = (
    json.dumps(f'%{name} = x _xla_host_transfer_rendezvous="{of}"')
    for name, of in (("send.0", "r0"), ("send.1", "r1"), ("recv.1", "r1"), ("x", "r2"))
)
CORE = f"""
plane 2 "/device:TPU:1"
metadata {SEND_0} display="send.0"
metadata {SEND_1} display="send.1"
metadata {RECV_1} display="recv.1"
metadata {OTHER} display="send.0"
metadata "%send-done.0 = x" display="send-done.0"
line 1 "XLA Modules"
10us +90us m {{run_id=u17}}
10us +50us m {{run_id=u18}}
200us +100us m
400us +100us m
line 2 "XLA Ops"
5us +1us {SEND_0}
20us +3us {SEND_0}
20us +2us {OTHER}
30us +5us "%send-done.0 = x"
210us +1us {SEND_1}
410us +2us {RECV_1}
410us +4us {RECV_1}
420us +9us "%send-done.0 = x"
"""


def parts(text: str) -> list[tuple[int, int, str, str, int, int]]:
    """TPU, run, rendezvous, kind, begin and end in us of each part."""
    found = collective_parts(profile(text))
    columns = zip(found.device, found.run, found.rendezvous, found.kind, found.begin_ps, found.end_ps, strict=True)
    return [
        (int(device), int(run), found.names[name], KINDS[kind], int(begin) // US, int(end) // US)
        for device, run, name, kind, begin, end in columns
    ]


def test_parts_of_collectives_on_a_core() -> None:
    """Of the run of the last module, the shorter one of two; a done op is that of the last send of its number."""
    assert parts(CORE) == [
        (1, 18, "r0", "send", 20, 23),
        (1, 18, "r2", "send", 20, 22),
        (1, 1, "r1", "send", 210, 211),
        (1, 2, "r1", "recv", 410, 414),
        (1, 2, "r1", "recv", 410, 412),
        (1, 18, "r2", "send-done", 30, 35),
    ]


def runtime(*events: str) -> str:
    return "\n".join([f'{CORE}\nplane 3 "/device:CUSTOM:Megascale Trace"\nline 1 graphs', *events])


@pytest.mark.parametrize("device", [0, 2])
@pytest.mark.parametrize("sends", [True, False])
def test_copies_are_of_the_executions_of_graphs(device: int, sends: bool) -> None:
    """Of devices with numbers of their own, in order; of more than there are TPUs the rest is left out."""

    def copies(device: int, graph: str, begin: int, more: str = "") -> list[str]:
        key = f'graph_key="device_{device}_gid_{graph}$1^i0x"'
        named = f'"device_{device}_gid_{graph}"' if "_" in graph else "other"
        return [
            f"{begin}us +50us {named} {{{key}}}",
            f'{begin + 1}us +1us "DeviceToHost START" {{{key}, action_index=0{more}}}',
            f'{begin + 2}us +1us "DeviceToHost START" {{{key}, action_index=1}}',
            f'{begin + 3}us +1us "HostToDevice START" {{{key}}}',
            f'{begin + 4}us +1us "DeviceToHost END" {{{key}, action_index=0}}',
            f'{begin + 6}us +1us "DeviceToHost END" {{{key}, action_index=1}}',
            f'{begin + 60}us +1us "DeviceToHost END" {{{key}, action_index=2}}',
        ]

    unknown = '202us +1us "DeviceToHost START" {graph_key="none", action_index=0}'
    early = f'1us +1us "DeviceToHost START" {{graph_key="device_{device}_gid_g_7$1^i0x", action_index=0}}'
    graphs = ((device, "g_7", 220), (4, "h_8", 230), (device, "nameless", 240))
    text = runtime(unknown, early, *(line for graph in graphs for line in copies(*graph)))
    text = text if sends else text.replace("_xla_host_transfer_rendezvous", "other")
    assert [part for part in parts(text) if part[3].endswith(("START", "END"))] == [
        (1, 1, "g_7", "DeviceToHost START", 221, 222),
        (1, 1, "g_7", "DeviceToHost END", 226, 227),
    ]


def test_parts_of_a_track() -> None:
    plane = profile('plane 1 "/device:TPU:0"\nline 1 l\n0us +1us a\n1us +1us b').planes[0]
    numbers = np.arange(5)
    flows = (np.array([0, 2, 3, 4]), np.array([10, 12, 13, 14]))
    more = [Arguments(np.array([4, 1]), *(np.zeros(2, kind) for kind in (np.int64, np.uint8, np.uint64)))]
    rows = np.array([0, -1, 1, 0, -1])
    track = Track("t", 0, False, plane, rows, numbers, numbers, numbers, numbers, more, [flows], [flows])
    names = [plane.event_metadata.names[row] for row in track.metadata.tolist()]
    first = plane.event_metadata.names[0]
    assert names == ["a", first, "b", "a", first]
    found = list(track.parts(2))
    assert [part.label.tolist() for part in found] == [[0, 1], [2, 3], [4]]
    for one in ("leaves", "enters"):
        shown = [[column.tolist() for column in flow] for part in found for flow in getattr(part, one)]
        assert shown == [[[0], [10]], [[0, 1], [12, 13]], [[0], [14]]]
    assert [part.more[0].event.tolist() for part in found] == [[1], [], [0]]
    assert [part.label.tolist() for size in (5, 6) for part in track.parts(size)] == [[0, 1, 2, 3, 4]] * 2


def test_a_graph_is_a_track_whatever_other_events_there_are() -> None:
    """Keys without a device come first."""
    keys = ("none", "device_5_gid_g_7$1^i0x", "device_5_gid_h_8$1^i0x")
    events = [f'{at}us +1us copy {{graph_key="{key}"}}' for at, key in enumerate(keys)]
    tracks = [track for track in load(profile(runtime(*events))).tracks if track.runtime]
    assert [(track.name, track.device, len(track)) for track in tracks] == [
        ("device_5_gid_g_7", 1, 1), ("device_5_gid_h_8", 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("host", [megascale_profiles.four_slices(), megascale_profiles.two_steps()], ids=["4", "2"])
def test_each_flow_leaves_one_event_and_enters_one(hidden: bool, host: str) -> None:
    found = load(profile(host))
    if hidden:
        hide_tiny_events(found)
    add_flows(found, receives=True)
    leaves, enters = (
        sorted(number for track in found.tracks for _, numbers in getattr(track, way) for number in numbers.tolist())
        for way in ("leaves", "enters")
    )
    assert leaves == list(range(1, len(leaves) + 1))
    assert len(set(enters)) == len(enters) > 5
    assert set(enters) <= set(leaves)
    for track in found.tracks:
        assert all(len(event) == len(number) for event, number in (*track.leaves, *track.enters))


def test_flows_connect_ops_alone() -> None:
    """The first event of the plane is one, the last one too; neither a scope nor merged events are."""
    modules = 'line 1 "XLA Modules"\n10us +90us m {run_id=17}'
    tiny = "15us +100ps a\n15000200ps +100ps b\n"
    ops = f'20us +3us {SEND_0}\n30us +5us "%send-done.0 = x"\n40us +1us "%send-done.0 = x"'
    scopes = f'line 3 "XLA TraceMe"\n20us +3us {SEND_0}\n30us +5us "%send-done.0 = x"'
    first, last = (f'line 2 "XLA Ops"\n{events}' for events in (ops, tiny + ops))
    for lines in (f"{first}\n{modules}\n{scopes}", f"{modules}\n{scopes}\n{last}"):
        found = load(profile(CORE.partition("line 1")[0] + lines))
        hide_tiny_events(found)
        add_flows(found, receives=False)
        ends = [
            (track.name, track.begin_ps[event].tolist(), number.tolist())
            for track in found.tracks
            for event, number in (*track.leaves, *track.enters)
        ]
        assert ends == [("XLA Ops", [20 * US] * 3, [1, 2, 3]), ("XLA Ops", [30 * US], [1])]


def test_tiny_steps_are_shown() -> None:
    found = load(profile(f"{CORE}line 3 Steps\n200us +100ps 1\n200000200ps +100ps 2"))
    hide_tiny_events(found)
    assert [len(track) for track in found.tracks if track.name == "Steps"] == [2]


def test_batches_do_not_change_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perfetto, "_BATCH", 5)
    assert trace(megascale_profiles.four_slices()) == STORED["four_slices"]


def test_batches_have_as_many_events_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one plane; longer tracks are split."""

    class Part:
        def __init__(self, plane: str, count: int) -> None:
            self.plane, self.count = plane, count

        def __len__(self) -> int:
            return self.count

        def parts(self, size: int) -> list[Part]:
            return [Part(self.plane, min(size, self.count - at)) for at in range(0, self.count, size)]

    monkeypatch.setattr(perfetto, "_BATCH", 5)
    tracks: Any = [Part("a", 2), Part("a", 3), Part("a", 1), Part("a", 7), Part("b", 1), Part("b", 5)]
    found = [[(place, len(part)) for place, part in batch] for batch in perfetto._batches(tracks)]
    assert found == [[(0, 2), (1, 3)], [(2, 1)], [(3, 5)], [(3, 2)], [(4, 1)], [(5, 5)]]


def test_tracks_come_in_the_order_of_the_viewer() -> None:
    tracks = list(trace(megascale_profiles.four_slices())["tracks"])
    assert tracks[:9] == [
        *("1. Global Counters", "1. Global Counters/Network", "1. Global Counters/Megascale", "2. TPUs"),
        "2. TPUs//device:TPU:0",
        *(f"2. TPUs//device:TPU:0/{name}" for name in ("2. XLA Modules", "3. XLA Ops", "4. XLA TraceMe", "1. Steps")),
    ]


def test_tiny_events_are_shown_if_wanted() -> None:
    hidden, shown = (
        [one[2] for one in trace(megascale_profiles.four_slices(), group_tiny_events=flag)["tracks"][OPS]]
        for flag in ("true", "false")
    )
    assert (hidden.count("2 events are hidden"), hidden.count("fusion.1")) == (6, 4)
    assert (shown.count("2 events are hidden"), shown.count("fusion.1")) == (0, 16)


def test_an_event_of_a_nanosecond_is_shown() -> None:
    longer = megascale_profiles.four_slices().replace('ps +500 "%fusion', 'ps +1000 "%fusion')
    names = [one[2] for one in trace(longer)["tracks"][OPS]]
    assert (names.count("2 events are hidden"), names.count("fusion.1")) == (3, 10)


def test_instants_behind_a_recv_done_have_its_run_alone() -> None:
    events = trace(megascale_profiles.four_slices(), recv_done="true")["tracks"][OPS]
    instants = [one[3] for one in events if one[2] == "recv-done.0 END"]
    assert instants == [{"run_id": ["int", run], "flow_in": 2} for run in (17, 1, 2)]


def test_flows_reach_the_recv_done_if_wanted() -> None:
    """From send and recv to the op, and from it and from the copy to the instant behind its end."""
    found = trace(megascale_profiles.two_steps(), recv_done="true")
    graph = "2. TPUs//device:TPU:0/Megascale/all_reduce_1 (200005)"
    done, behind = f"{OPS}/recv-done.0@301000", f"{OPS}/recv-done.0 END@451001"
    assert [flow for flow in found["flows"] if done in flow or behind in flow] == [
        [behind, done],
        [behind, f"{graph}/HostToDevice END@282000"],
        [done, f"{OPS}/recv.0@15000"],
        [done, f"{OPS}/send.0@11000"],
    ]


def test_a_trace_is_of_one_host() -> None:
    with pytest.raises(BadRequest, match="choose it"):
        body(TOOL, megascale_profiles.two_steps(), megascale_profiles.two_steps(), perfetto="true")


def test_more_tracks_than_any_host_has_are_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(megascale_stats, "MAX_TRACKS", 1)
    with pytest.raises(NoData, match="at most 1 can be shown"):
        body(TOOL, megascale_profiles.two_steps(), perfetto="true")


def test_a_profile_without_tpus_has_an_empty_trace() -> None:
    assert gzip.decompress(body(TOOL, 'plane 1 "/host:CPU"', perfetto="true")) == b""


def test_the_first_packet_begins_the_sequence() -> None:
    data = gzip.decompress(body(TOOL, megascale_profiles.two_steps(), perfetto="true"))
    flags = [packet.sequence_flags for packet in message("perfetto.protos.Trace").FromString(data).packet]
    assert (flags[0], set(flags[1:])) == (1, {2})
