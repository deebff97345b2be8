"""Planes of a lazy profile are decoded on first access, and only then."""

import gc
import importlib
import weakref

import numpy as np
import pytest
from builders.xspace_text import build

from tpu_profile_plugin.columns import DecodeHooks, EventFilter, load, load_lazily
from tpu_profile_plugin.errors import CorruptProfile

TEXT = """
plane 1 "/device:TPU:0"
  line 1 "XLA Ops" @10ns
    1us +2us fusion.1 {flops=3}
    4us +1us copy
  line 2 "XLA Modules" @20ns
    0us +9us jit_f
plane 2 "/host:CPU" {cores=8}
  line 7 "main" @5ns
    1us +1us MemoryAllocation {addr=5}
    2us +1us other {tf_op="a:B"}
    3us +1us other
"""


def test_a_plane_is_decoded_on_first_access():
    data, told = build(TEXT), []
    space = load_lazily(data, hooks=DecodeHooks("f", lambda: told.append(space.nbytes)))
    device, host = space.planes
    assert [plane.name for plane in space.planes] == ["/device:TPU:0", "/host:CPU"]
    assert (device.decoded, host.decoded, space.nbytes) == (False, False, 0)
    assert device.lines.name == ("XLA Ops", "XLA Modules")
    assert (device.decoded, host.decoded) == (True, False)
    assert told == [device.nbytes]
    assert device.nbytes > 0
    space.decode()
    assert host.decoded
    assert told == [device.nbytes, device.nbytes + host.nbytes]
    whole = load(data)
    for lazy, eager in zip(space.planes, whole.planes, strict=True):
        assert np.array_equal(lazy.events.begin_ps, eager.events.begin_ps)
        assert lazy.event_metadata.names == eager.event_metadata.names
    assert space.nbytes == whole.nbytes


def test_metadata_without_events():
    space = load_lazily(build(TEXT))
    host = space.planes[1].declared
    assert sorted(host.event_metadata.names) == ["MemoryAllocation", "other"]
    assert host.stat_metadata.row("addr") is not None
    assert len(host.events) == 0
    assert not space.planes[1].decoded
    space.decode([space.planes[1]])
    assert space.planes[1].declared is space.planes[1]


def test_metadata_of_a_file_with_too_many_planes(monkeypatch):
    monkeypatch.setattr(importlib.import_module("tpu_profile_plugin.columns.load"), "MAX_PLANES", 1)
    space = load_lazily(build(TEXT))
    assert [plane.name for plane in space.planes] == ["/device:TPU:0"]
    assert sorted(space.planes[0].declared.event_metadata.names) == ["copy", "fusion.1", "jit_f"]


def test_filtered_events():
    space = load_lazily(build(TEXT))
    device, host = space.planes
    begin = lambda *filters: [plane.events.begin_ps.tolist() for plane in space.filtered(*filters)]  # noqa: E731
    assert begin(EventFilter(host, event="MemoryAllocation".__eq__)) == [[1_005_000]]
    assert begin(EventFilter(host, event=lambda _: False, stats=("tf_op",))) == [[2_005_000]]
    assert begin(EventFilter(host, event="MemoryAllocation".__eq__, stats=("tf_op", "absent"))) == [
        [1_005_000, 2_005_000]
    ]
    both = begin(EventFilter(host, event=lambda _: False), EventFilter(device, lines=("XLA Modules",)))
    assert both == [[], [20_000]]
    assert not host.decoded
    assert not device.decoded
    space.decode([host])
    assert space.filtered(EventFilter(host, event=lambda _: False)) == [host], "what is decoded is given whole"


def test_selecting_events_counts_as_decoding():
    """The cache then gives back the pages of the file."""
    passes = []
    space = load_lazily(build(TEXT), hooks=DecodeHooks(on_decoded=lambda: passes.append("decoded")))
    (host,) = (plane for plane in space.planes if plane.name == "/host:CPU")
    found = space.filtered(EventFilter(host, event=lambda _: False))[0]
    assert passes == ["decoded"]
    assert (len(found.events), found.lines.filled.tolist()) == (0, [True] * len(found.lines))
    space.filtered()
    assert passes == ["decoded"], "without a pass over the file there is nothing to give back"


PARTS = """
plane 1 "/device:TPU:0"
  line 1 "XLA Ops" @10ns
    1us +2us fusion.1 {flops=3, kind=&"loop", flops=4}
    4us +1us copy
  line 2 "XLA Modules" @20ns
    0us +9us jit_f {run_id=7, kind=&"a", run_id=8}
plane 2 "/device:TPU:1"
  line 1 "XLA Ops" @10ns
    1us +2us fusion.1 {flops=5}
  line 2 Steps @10ns
    0us +9us "1" {group_id=1}
plane 3 "/host:CPU"
  line 7 "main" @5ns
    1us +1us other {addr=5}
"""


def some_stats(space, **names):
    space.decode_with_some_stats(space.planes[:2], **({"lines": ("XLA Modules",), "unless": ("Steps",)} | names))


def test_stats_of_some_lines_and_the_others_on_access(monkeypatch):
    data, passes = build(PARTS), []
    lazy = importlib.import_module("tpu_profile_plugin.columns.space")
    original = lazy.LazyDecoder._decode
    monkeypatch.setattr(lazy.LazyDecoder, "_decode", lambda *args: (passes.append(args[1]), original(*args))[1])
    space, whole = load_lazily(data), load(data)
    some_stats(space)
    one, stepped, host = space.planes
    assert [plane.decoded for plane in space.planes] == [False, True, False], "a plane with steps has all of its stats"
    assert [plane.in_memory for plane in space.planes] == [True, True, False]
    assert 0 < space.nbytes < whole.nbytes - whole.planes[2].nbytes
    assert len(space.arrays()) == 2 * len(whole.arrays()) // 3
    assert one.declared is one
    events = one.events
    assert events.begin_ps.tolist() == whole.planes[0].events.begin_ps.tolist() == [1_010_000, 4_010_000, 20_000]
    few = events.stats_on("XLA Modules")
    assert (few.start.tolist(), few.value[[0, 2]].tolist()) == ([0, 0, 0, 3], [7, 8])
    names = one.stat_metadata.names
    assert [names[key] for key in few.key] == ["run_id", "kind", "run_id"]
    assert names[few.value[1]] == "a"
    assert stepped.events.stats_on("XLA Ops") is stepped.events.stats
    some_stats(space, lines=())
    assert passes == [[0, 1]], "what is in memory is decoded no further"
    full = events.stats
    assert passes == [[0, 1], [0]]
    assert (full.start.tolist(), full.value[[0, 2, 3, 5]].tolist()) == ([0, 3, 3, 6], [3, 4, 7, 8])
    assert (one.decoded, host.decoded) == (True, False)
    assert one.events.stats is full
    assert events.stats_on("XLA Modules", "XLA Ops") is full
    assert np.array_equal(full.key, whole.planes[0].events.stats.key)


def test_planes_that_lack_stats_are_completed_in_one_pass():
    space = load_lazily(build(PARTS))
    some_stats(space, unless=())
    assert [plane.decoded for plane in space.planes] == [False, False, False]
    assert space.planes[1].events.stats.value.tolist() == [5, 1]
    assert [plane.decoded for plane in space.planes] == [True, True, False]
    space.unload()
    some_stats(space, unless=())
    events, reference = space.planes[0].events, weakref.ref(space.planes[0])
    del space
    assert reference() is None, "tables do not keep their plane"
    assert events.stats.start.tolist() == [0, 3, 3, 6]


def test_damage_is_reported_on_access():
    data = bytearray(build(TEXT))
    at = data.index(b"\x22", data.index(b"main"))
    data[at + 1] = 0x7F  # the first event now extends beyond its line
    space = load_lazily(bytes(data), hooks=DecodeHooks("h.xplane.pb"))
    assert len(space.planes[0].events) == 3
    with pytest.raises(CorruptProfile) as caught:
        _ = space.planes[1].events
    assert caught.value.details["file"] == "h.xplane.pb"
    assert caught.value.details["offset"] > 0
    with pytest.raises(CorruptProfile):
        space.decode()


def test_profiles_with_an_origin_are_decoded_eagerly():
    far = TEXT.replace("@5ns", f"@{2**60}ns").replace("@10ns", f"@{2**60 + 7}ns")
    space = load_lazily(build(far))
    assert space.origin_ns == 2**60
    assert all(plane.decoded for plane in space.planes)
    assert space.planes[1].events.begin_ps.tolist() == [1_000_000, 2_000_000, 3_000_000]


def test_unreferenced_planes_are_freed_immediately():
    """Freed by reference counting: until the next garbage collection, a server might open more large profiles."""
    gc.collect()
    gc.disable()
    try:
        space = load_lazily(build(TEXT), hooks=DecodeHooks("f"))
        space.decode()
        assert space.planes[0].declared is space.planes[0]
        left = [weakref.ref(space.planes[0]), weakref.ref(space.decoder)]
        del space
        assert [one() for one in left] == [None, None]
    finally:
        gc.enable()
