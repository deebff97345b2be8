"""What a run offers, seen without decoding its events."""

import re

import pytest
from builders.logdirs import SMALL
from builders.xspace_text import build

from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.run.facts import PlaneFact, RunFacts, combine_facts, file_facts
from tpu_profile_plugin.tools import registry


def facts(text, host="h"):
    return file_facts(host, unpack(build(text)))


def test_planes_and_device_types():
    found = facts(SMALL)
    assert found.hosts == ("h",)
    assert [(p.host, p.name, p.lines) for p in found.planes] == [("h", "/host:CPU", 1), ("h", "/device:TPU:0", 1)]
    assert all(p.bytes > 0 for p in found.planes)
    assert found.device_types == ("TPU v6 Lite",)
    assert found.has_plane("/device:TPU")
    assert not found.has_plane("/device:GPU:")


def test_a_device_that_does_not_say_its_type():
    assert facts('plane 1 "/device:GPU:0"').device_types == ("GPU",)
    assert facts('plane 1 "/device:CUSTOM:x"').device_types == ()
    assert combine_facts([facts('plane 1 "/host:CPU"')]).device_types == ("CPU",)
    assert combine_facts([facts('plane 1 "/host:CPU"'), facts('plane 1 "/device:GPU:0"')]).device_types == ("GPU",)


def test_counters_and_megascale():
    counters = 'plane 1 "/device:TPU:0"\n line 1 "c" @0ns\n 0us +1us x {counter_value=u5}'
    assert facts(counters).counter_values
    assert not facts(counters.replace("TPU", "GPU")).counter_values
    megascale = 'plane 1 "/host:CPU"\n line 1 "c" @0ns\n 0us +1us "MegaScale: x"'
    assert facts(megascale).megascale
    assert not facts(SMALL).counter_values
    assert not facts(SMALL).megascale


def test_iterators_of_tf_data():
    profile = 'plane 1 "/host:CPU"\n line 1 "c"\n 0us +1us "Iterator::Root" {id=1}'
    assert facts(profile).tf_data
    assert combine_facts([facts(""), facts(profile)]).tf_data
    assert not facts(profile.replace("/host:CPU", "/device:GPU:0")).tf_data
    assert not facts(profile.replace("Iterator::", "Iterate::")).tf_data


def test_executors_of_tensorflow():
    profile = 'plane 1 "/host:CPU"\n line 1 "c"\n 0us +1us "ExecutorState::Process" {id=1}'
    assert facts(profile).tf_executor
    assert combine_facts([facts(""), facts(profile)]).tf_executor
    assert not facts(profile.replace("Process", "ProcessAsync::Start")).tf_executor


def test_requests_of_model_servers():
    profile = 'plane 1 "/host:CPU"\n line 1 "c"\n 0us +1us SessionRun {id=1}'
    assert facts(profile).requests
    assert not facts(profile.replace("/host:CPU", "/device:GPU:0")).requests
    assert not facts(SMALL).requests


OPS = {
    "a TPU": 'plane 1 "/device:TPU:0"\n line 1 "XLA Ops"\n 0us +1us fusion.1',
    "programs of a TPU": 'plane 1 "/device:TPU:0"\n line 1 "XLA Modules"\n 0us +1us "jit_f(3)"',
    "a GPU with ops": 'plane 1 "/device:GPU:0"\n line 1 "Stream #1"\n 0us +1us gemm {hlo_op="dot.1"}',
    "a GPU with kernels": 'plane 1 "/device:GPU:0"\n line 1 "Stream #1"\n 0us +1us gemm',
    "an empty GPU": 'plane 1 "/device:GPU:0"\n line 1 "Stream #1"',
    "steps of a TPU": 'plane 1 "/device:TPU:0"\n line 1 "Steps"\n 0us +1us 12',
    "XLA's CPU backend": 'plane 1 "/host:CPU"\n line 1 "c"\n 0us +1us dot.1 {hlo_op="dot.1"}',
    "TensorFlow's ops": 'plane 1 "/host:CPU"\n line 1 "c"\n 0us +1us "x/MatMul:MatMul"',
    "Python": 'plane 1 "/host:CPU"\n line 1 "python"\n 0us +1us "$train.py:9 load"',
    "allocations": 'plane 1 "/host:CPU"\n line 1 "c"\n 0us +1us MemoryAllocation {allocator_name="bfc"}',
}
MENU = ("time_budget", "hlo_stats", "op_profile", "framework_op_stats", "memory_profile")
"""Tools that each need other data."""


@pytest.mark.parametrize(
    ("profile", "offered"),
    [
        ("a TPU", ("time_budget", "hlo_stats", "op_profile", "framework_op_stats")),
        ("programs of a TPU", ("time_budget",)),  # runs of programs are as good as ops for time
        ("a GPU with ops", ("time_budget", "hlo_stats", "op_profile", "framework_op_stats")),
        ("a GPU with kernels", ("time_budget",)),
        ("an empty GPU", ()),
        ("steps of a TPU", ()),
        ("XLA's CPU backend", ("hlo_stats", "op_profile", "framework_op_stats")),
        ("TensorFlow's ops", ("framework_op_stats",)),
        ("Python", ()),
        ("allocations", ("memory_profile",)),
    ],
)
def test_the_menu_offers_what_has_data(profile, offered):
    for found in (facts(OPS[profile]), combine_facts([facts(""), facts(OPS[profile])])):
        assert tuple(id for id in MENU if registry.find(id).available(found) is None) == offered


@pytest.mark.parametrize(
    ("count", "what"),
    [
        (1, r"HLO module m\d\(\d\) does not decode: "),
        (3, r"3 HLO modules \((m\d\(\d\)(, )?){3}\) do not decode: "),
        (4, r"4 HLO modules \((m\d\(\d\), ){3}\.\.\.\) do not decode: "),
    ],
)
def test_modules_that_do_not_decode_are_named(count, what):
    broken = "\n".join(f'metadata "m{i}" id={i + 1} {{"Hlo Proto"=0x0a7f}}' for i in range(count))
    (defect,) = facts(f'plane 1 "/host:metadata"\n{broken}').losses
    assert defect.code == "damaged_module"
    assert re.match(what, defect.message), defect.message
    assert facts(SMALL).losses == ()


def test_modules_are_united_over_hosts_and_sorted():
    def host(*modules):
        lines = [f'metadata "{name}({number})" id={number} {{"Hlo Proto"=0x0a00}}' for name, number in modules]
        return facts('plane 1 "/host:metadata"\n' + "\n".join(lines))

    both = combine_facts([host(("jit_step", 14), ("jit_a", 2)), host(("jit_step", 14), ("jit_b", 10))])
    assert both.module_names() == ("jit_a(2)", "jit_b(10)", "jit_step(14)")
    assert both.modules[2] == ("jit_step(14)", 14)


def test_an_empty_file():
    assert facts("") == RunFacts(hosts=("h",))
    assert combine_facts([]) == RunFacts()
    assert combine_facts([RunFacts(("a",), (PlaneFact("a", "p", 1, 2),)), RunFacts(("b",))]).hosts == ("a", "b")
