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
