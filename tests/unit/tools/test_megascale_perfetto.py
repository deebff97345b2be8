"""Traces of Perfetto, against XProf 2.24.2's, which are stored in tests/golden/xprof_megascale."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from builders.answers import body
from builders.checks.perfetto import read
from builders.profiles import megascale_profiles

from tpu_profile_plugin.analysis.megascale import perfetto
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


def test_batches_do_not_change_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perfetto, "_BATCH", 5)
    assert trace(megascale_profiles.four_slices()) == STORED["four_slices"]


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
