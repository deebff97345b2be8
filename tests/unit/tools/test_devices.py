"""The devices of a host and their steps are found once for all tools."""

from __future__ import annotations

from builders.answers import host_of

from tpu_profile_plugin.columns import space
from tpu_profile_plugin.run.figures import budget as module
from tpu_profile_plugin.run.figures.budget import budget, communication
from tpu_profile_plugin.run.figures.comparison import host_side

TEXT = """
plane 1 "/device:TPU:0"
line 2 "XLA Ops"
0us +5us fusion.1
line 3 "XLA Modules"
0us +10us jit_f
"""


def test_tools_share_devices_and_steps(monkeypatch):
    calls = []
    for name in ("devices_of", "step_windows"):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, of=original, name=name: (calls.append(name), of(*args))[1])
    one = host_of(TEXT)
    parts, sums = budget(one), communication(one)
    assert parts.steps is sums.steps
    assert parts.devices == sums.devices == (("TPU 0", "tpu"),)
    assert calls == ["devices_of", "step_windows"]


def test_a_host_without_devices_has_no_steps_and_its_events_are_not_read():
    one = host_of('plane 7 "/host:CPU"\nline 1 python\n0us +10us train {step_num=1}')
    assert (module.host_devices(one), module.device_steps(one)) == ((), None)
    assert not any(plane.decoded for plane in one.lazy.planes)


def test_ops_of_tpus_without_steps_are_read_without_their_stats():
    one = host_of(TEXT.replace("fusion.1", "fusion.1 {flops=3}").replace("jit_f", "jit_f {run_id=5}"))
    assert budget(one).devices == communication(one).devices == (("TPU 0", "tpu"),)
    (plane,) = one.lazy.planes
    host_side(one)
    assert (plane.decoded, plane.in_memory) == (False, True)
    assert [device.launch_key.tolist() for device in module.host_devices(one)] == [[5]]
    assert plane.events.stats.value.tolist() == [3, 5]
    assert plane.decoded


def test_planes_with_steps_are_decoded_once(monkeypatch):
    passes = []
    decode = space.LazyDecoder._decode
    monkeypatch.setattr(space.LazyDecoder, "_decode", lambda *args: (passes.append(args[1]), decode(*args))[1])
    steps = 'line 4 Steps\n0us +10us "1" {group_id=1}\n'
    one = host_of(TEXT.replace("fusion.1", "fusion.1 {flops=3}") + steps)
    assert budget(one).steps is not None
    assert one.lazy.planes[0].decoded
    assert passes == [[0]]
