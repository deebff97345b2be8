"""The devices of a host and their steps are found once for all tools."""

from __future__ import annotations

from builders.answers import host_of, run_of

from tpu_profile_plugin.columns import space
from tpu_profile_plugin.run.figures import budget as module
from tpu_profile_plugin.run.figures.budget import budget, communication
from tpu_profile_plugin.run.figures.comparison import host_side
from tpu_profile_plugin.tools.fleet import pod_viewer
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.summary import time_budget
from tpu_profile_plugin.tools.time import communication as communication_page
from tpu_profile_plugin.tools.time.trace_viewer.timelines import page_titles

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


CORES = "\n".join(
    f"""plane {core + 1} "/device:TPU:{core}" {{device_type_string="TPU v4", core_details=0x18{core:02x}2802}}
line 2 "XLA Ops"
0us +5us fusion.1
20us +{10 + core}us all-reduce.1
line 3 "XLA Modules"
0us +40us jit_f
line 4 Steps
0us +40us "1" {{group_id=1}}"""
    for core in (0, 1)
)


def test_a_device_has_one_name():
    """Chip 2 with its two cores, of the details: field 3 is the core, field 5 the chip."""
    names = ["Chip 2, TPU core 0", "Chip 2, TPU core 1"]
    run = run_of(CORES)
    assert [one.name for one in time_budget.build(run, Query()).devices] == names
    assert pod_viewer.build(run, Query()).steps.labels == names
    assert communication_page.build(run, Query()).ranks.column("device") == names
    assert sorted(set(run.gaps().device)) == names
    events = run.timeline().table
    assert {on.rpartition("/")[0] for on in events.column("longest_on")} <= set(names)
    (host,) = run.profiles
    assert [title for _, title in sorted(page_titles(host, own=True).sections.items())] == names
