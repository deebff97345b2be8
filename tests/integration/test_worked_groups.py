"""Groups, merged steps and derived counts of real profiles, and of the same profiles with steps and roots added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.messages import XSpace as Message

from tpu_profile_plugin.analysis.common.planes import Preprocessed
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns import XSpace, load

LOGDIR = Path(__file__).parents[3] / "shared" / "traces" / "logdir"
TPU = "tpu_v6e4_inference/plugins/profile/2025_03_11_19_41_39/t1v-n-0.xplane.pb"
GPU = "gpu_mi300_conv/plugins/profile/2026_02_20_13_53_59/tw003.xplane.pb"
JAX = "jax_mlp/plugins/profile/2026_11_20_09_09_17/vm.xplane.pb"
KERAS = "tf_keras/train/plugins/profile/2026_11_20_09_11_54/vm.xplane.pb"

pytestmark = pytest.mark.skipif(not LOGDIR.exists(), reason="needs ../shared/traces beside the checkout")


def message(file: str) -> Any:
    return Message.FromString((LOGDIR / file).read_bytes())


def columns(file: str) -> XSpace:
    return load(np.fromfile(LOGDIR / file, dtype=np.uint8))


def processed(space: Any) -> tuple[XSpace, Preprocessed]:
    found = load(space.SerializeToString())
    return found, preprocess(found)


def cores(space: Any) -> list[Any]:
    return [plane for plane in space.planes if plane.name.startswith("/device:TPU:")]


def line(plane: Any, name: str) -> Any:
    return next(line for line in plane.lines if line.name.startswith(name))


def id_of(table: Any, name: str) -> int:
    """The id of a metadata entry of that name, added if missing."""
    for number, entry in table.items():
        if entry.name == name:
            return int(number)
    number = max(table, default=0) + 1
    table[number].id, table[number].name = number, name
    return int(number)


def longest_steps(space: XSpace, result: Preprocessed) -> dict[int, tuple[int, int]]:
    """Per group the longest step of any core: (begin, duration); the first core's among equals."""
    out: dict[int, tuple[int, int]] = {}
    for extras in result.planes:
        for steps in extras.lines:
            if steps.name != "Steps" or steps.group_id is None:
                continue
            columns = steps.group_id.tolist(), steps.begin_ps.tolist(), steps.duration_ps.tolist()
            for group, begin, duration in zip(*columns, strict=True):
                if duration > out.get(group, (0, -1))[1]:
                    out[group] = (begin, duration)
    return out


def test_module_runs_of_an_inference_count_in_lock_step() -> None:
    space = columns(TPU)
    result = preprocess(space)
    assert len(result.group_names) == 105
    counts, joined = [], []
    for plane, extras in zip(space.planes, result.planes, strict=True):
        if plane.name.startswith("/device:TPU:"):
            assert extras.group_id is not None
            runs = plane.lines.events_of(plane.lines.name.index("XLA Modules"))
            counts.append(runs.stop - runs.start)
            groups = extras.group_id[runs].tolist()
            joined.append([run for run, group in enumerate(groups) if group != run])
    # A run that begins when the previous one ends joins its group.
    assert joined == [[82], [29], [], [20]]
    assert counts == [105, 103, 103, 103]


def test_derived_events_of_an_inference() -> None:
    result = preprocess(columns(TPU))
    found = [
        tuple(len(line.begin_ps) for line in extras.lines if not line.name.startswith("Host Offload"))
        for extras in result.planes[:4]
    ]
    assert found == [(208, 104, 104), (206, 103, 103), (206, 103, 103), (206, 103, 103)]
    offload = [sum(len(line.begin_ps) for line in e.lines if line.name.startswith("Host")) for e in result.planes[:4]]
    assert offload == [600, 600, 600, 600]


def test_launches_of_an_inference_meet_their_module_runs() -> None:
    space = columns(TPU)
    result = preprocess(space)
    launch = 12
    ends: dict[int, set[int]] = {1: set(), 2: set()}
    for plane, extras in zip(space.planes, result.planes, strict=True):
        values = extras.flow_value[extras.flow_value >> np.uint64(58) == launch]
        for value in values.tolist():
            if plane.name == "/host:CPU" and value & 3 == 2:
                ends[2].add(value >> 2)
            if plane.name.startswith("/device:TPU:"):
                ends[1].add(value >> 2)
    assert (len(ends[1]), ends[1]) == (414, ends[2])


def test_steps_added_to_an_inference() -> None:
    space = message(TPU)
    for plane in cores(space):
        runs = line(plane, "XLA Modules")
        program = [event for event in runs.events if plane.event_metadata[event.metadata_id].name.startswith("jit_f(")]
        steps = plane.lines.add(id=1, name="Steps", timestamp_ns=runs.timestamp_ns)
        for number in range(8):
            first, last = program[10 * number], program[10 * number + 9]
            begin, end = first.offset_ps - 10**6, last.offset_ps + last.duration_ps + 10**6
            metadata = id_of(plane.event_metadata, str(number))
            steps.events.add(metadata_id=metadata, offset_ps=begin, duration_ps=end - begin)
    found = longest_steps(*processed(space))
    assert sorted(found) == list(range(8))
    assert found[0] == (19500569185500, 7997279813000)
    assert found[1] == (27370850079750, 7813044208000)
    assert found[6] == (66541052392250, 8018571801000)


def with_roots() -> Any:
    """The inference with ten marked steps on the main thread, and a step line that copies the module runs."""
    space = message(TPU)
    host = next(plane for plane in space.planes if plane.name == "/host:CPU")
    root, number = id_of(host.stat_metadata, "_r"), id_of(host.stat_metadata, "step_num")
    main, train = line(host, "main/"), id_of(host.event_metadata, "train")
    execute = id_of(host.event_metadata, "TfrtTpuLoadedExecutable::Execute")
    calls = [event for event in main.events if event.metadata_id == execute]
    for step in range(10):
        first, last = calls[5 + 10 * step], calls[14 + 10 * step]
        begin, end = first.offset_ps - 1000, last.offset_ps + last.duration_ps + 1000
        event = main.events.add(metadata_id=train, offset_ps=begin, duration_ps=end - begin)
        event.stats.add(metadata_id=root, int64_value=1)
        event.stats.add(metadata_id=number, int64_value=50 + step)
    ordered = sorted(main.events, key=lambda event: (event.offset_ps, -event.duration_ps))
    copies = [type(event).FromString(event.SerializeToString()) for event in ordered]
    del main.events[:]
    main.events.extend(copies)
    for plane in cores(space):
        runs = line(plane, "XLA Modules")
        steps = plane.lines.add(id=1, name="Steps", timestamp_ns=runs.timestamp_ns)
        steps.events.extend(runs.events)
    return space


def test_roots_added_to_an_inference_merge_its_steps() -> None:
    space, result = processed(with_roots())
    assert [result.group_names[group] for group in range(10)] == [f"train {50 + group}" for group in range(10)]
    found = longest_steps(space, result)
    assert found[0] == (7154522820578, 13914508289328)
    assert found[1] == (21068815087656, 3921403040250)
    assert found[3][1] == 3927508590750
    assert found[9] == (52428699366250, 4082106253078)


def test_an_event_that_outlives_a_step_removes_the_rest_of_it() -> None:
    space = with_roots()
    host = next(plane for plane in space.planes if plane.name == "/host:CPU")
    main, train = line(host, "main/"), id_of(host.event_metadata, "train")
    place, step = [(i, event) for i, event in enumerate(main.events) if event.metadata_id == train][1]
    assert step.duration_ps < 10**9
    get_next = id_of(host.event_metadata, "IteratorGetNextOp::DoCompute")
    added = type(step)(metadata_id=get_next, offset_ps=step.offset_ps, duration_ps=10**9)
    copies = [type(event).FromString(event.SerializeToString()) for event in main.events]
    del main.events[:]
    main.events.extend([*copies[: place + 1], added, *copies[place + 1 :]])
    found = longest_steps(*processed(space))
    assert sorted(found) == [0, 2, 3, 4, 5, 6, 7, 8, 9]


def test_roots_added_to_a_gpu_profile_make_steps() -> None:
    space = message(GPU)
    host = next(plane for plane in space.planes if plane.name == "/host:CPU")
    root, number = id_of(host.stat_metadata, "_r"), id_of(host.stat_metadata, "step_num")
    thread, train = line(host, "Host Threads/583"), id_of(host.event_metadata, "train")
    launches = [type(event).FromString(event.SerializeToString()) for event in thread.events]
    del thread.events[:]
    for step in range(7):
        block = launches[3 * step : 3 * step + 3]
        begin, end = block[0].offset_ps - 1000, max(e.offset_ps + e.duration_ps for e in block) + 1000
        event = thread.events.add(metadata_id=train, offset_ps=begin, duration_ps=end - begin)
        event.stats.add(metadata_id=root, int64_value=1)
        event.stats.add(metadata_id=number, int64_value=step)
        thread.events.extend(block)
    thread.events.extend(launches[21:])
    found = longest_steps(*processed(space))
    assert sorted(found) == list(range(7))
    assert found[0] == (45356577000, 139360000)
    assert found[1] == (45540898000, 17157501000)
    assert found[5] == (92732973000, 45429099000)


def test_marked_steps_of_jax_and_runs_of_keras() -> None:
    jax = preprocess(columns(JAX))
    assert [*jax.group_names.values()] == [f"train {step}" for step in range(20)]
    keras = preprocess(columns(KERAS))
    assert [*keras.group_names.values()] == [str(step) for step in range(9, 20)]
    assert all(len(extras.step_event) == 0 for extras in keras.planes)


def test_programs_of_an_inference() -> None:
    programs = hlo_programs(columns(TPU))
    assert set(programs.names) >= {9646411105960254074, 12190760917235803885, 11287434908481120160}
    assert programs.names[12190760917235803885] == "jit_f(12190760917235803885)"
    program = programs.program(12190760917235803885 - 2**64)
    assert program is not None
    fusion = program.row_of["broadcast_add_fusion.1"]
    assert program.opcodes[fusion] == "fusion"
    assert program.entry is not None
    assert programs.program(7) is None
