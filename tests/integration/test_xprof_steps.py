"""Steps and ops of real profiles, and of profiles made of them, against numbers worked out as XProf does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.answers import summary
from builders.messages import XSpace

from tpu_profile_plugin.analysis.steps.breakdown import tpu_breakdown
from tpu_profile_plugin.analysis.steps.step_table import EventClass, TpuPart, drop_incomplete
from tpu_profile_plugin.analysis.summary.host_summary import reduce_summaries

LOGDIR = Path(__file__).parents[3] / "shared" / "traces" / "logdir"
TPU = LOGDIR / "tpu_v6e4_inference/plugins/profile/2025_03_11_19_41_39/t1v-n-0.xplane.pb"
GPU = LOGDIR / "gpu_mi300_conv/plugins/profile/2026_02_20_13_53_59/tw003.xplane.pb"
LEGACY = "gpu_mi300_conv_legacy/plugins/profile/2025_09_10_15_08_48/chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb"

pytestmark = pytest.mark.skipif(not TPU.exists(), reason="needs ../shared/traces beside the checkout")


def space(file: Path) -> Any:
    return XSpace.FromString(file.read_bytes())


def planes(message: Any, prefix: str) -> list[Any]:
    return [plane for plane in message.planes if plane.name.startswith(prefix)]


def metadata_id(plane: Any, name: str, table: str = "event_metadata") -> int:
    """The id of a name in one of the plane's tables, added if missing."""
    entries = getattr(plane, table)
    for key, entry in entries.items():
        if entry.name == name:
            return int(key)
    key = max(entries, default=0) + 1
    entries[key].id, entries[key].name = key, name
    return key


def add(plane: Any, line: Any, name: str, begin: int, duration: int, **stats: int) -> None:
    """An event that begins at `begin` ps after the line."""
    event = line.events.add(metadata_id=metadata_id(plane, name), offset_ps=begin, duration_ps=duration)
    for key, value in stats.items():
        event.stats.add(metadata_id=metadata_id(plane, key, "stat_metadata"), int64_value=value)


def runs(plane: Any, program: str) -> tuple[Any, list[Any]]:
    """The module line of a core, and its runs of the programs with this name prefix."""
    line = next(line for line in plane.lines if line.name == "XLA Modules")
    return line, [e for e in line.events if plane.event_metadata[e.metadata_id].name.startswith(program)]


def with_steps(count: int) -> Any:
    """The TPU sample with a step around every ten runs of its program."""
    message = space(TPU)
    for plane in planes(message, "/device:TPU:"):
        line, events = runs(plane, "jit_f(")
        steps = plane.lines.add(id=1, name="Steps", timestamp_ns=line.timestamp_ns)
        for i in range(count):
            block = events[10 * i : 10 * i + 10]
            begin, end = block[0].offset_ps - 10**6, block[-1].offset_ps + block[-1].duration_ps + 10**6
            add(plane, steps, str(i), begin, end - begin)
    return message


def test_op_metrics_of_the_tpu_sample() -> None:
    found = summary(TPU)
    device = found.device
    rows = {name: i for i, name in enumerate(device.name)}
    assert (len(device), device.total_ps, device.op_ps) == (17, 363729698768750, 315117903706250)
    expected = {
        "copy-done.4": (400, 77773215731250, 0, 0, 2147483648000, 4),
        "copy-done.2": (400, 77642772818750, 110173997250, 0, 2147483648000, 4),
        "broadcast_add_fusion.2": (400, 3167203858750, 7909016406, 536870912000, 4294967296000, 4),
        "all-reduce": (12, 1460345258750, 121687589844, 16106127360, 128849018880, 4),
        "broadcast.2": (1, 4443766250, 4443766328, 0, 5368709120, 1),
    }
    for name, values in expected.items():
        i = rows[name]
        columns = (device.occurrences, device.self_ps, device.min_ps, device.flops, device.bytes, device.cores)
        assert tuple(column[i] for column in columns) == values, name
    assert (found.duty.busy_ps, found.duty.recorded_ps - found.duty.busy_ps) == (315122705519396, 49077649552010)
    assert (found.host.ops.name, found.host.ops.occurrences.tolist()) == (("dummy",), [14])
    assert found.host.ops.idle_ps == 24354702705000
    assert (found.peaks.tera_flops, found.peaks.hbm) == (918.0, 1637.993152512)
    assert len(found.steps) == 0


def test_steps_of_the_tpu_sample() -> None:
    found = summary(with_steps(8).SerializeToString())
    steps = found.steps
    assert steps.number.tolist() == list(range(8))
    assert (steps.begin_ps[:, 0] == steps.begin_ps[:, 3]).all()
    spans = {i: (int(steps.begin_ps[i, 0]), int(steps.duration_ps[i, 0])) for i in (0, 1, 6)}
    assert spans == {
        0: (19500569185500, 7997279813000),
        1: (27370850079750, 7813044208000),
        6: (66541052392250, 8018571801000),
    }
    assert steps.cores[0] == 2
    assert steps.times[TpuPart.IDLE][0, 0] == 155956464250
    step = dict(zip(steps.categories, steps.category_ps[0].tolist(), strict=True))
    assert sum(step.values()) == 31989119252000
    assert sum(step.values()) - step["IDLE"] == 31364368947500
    assert int(steps.times.sum().sum()) == 252911482645766
    breakdown = tpu_breakdown(steps)
    assert breakdown.step_time.average == pytest.approx(7899.90, abs=0.005)
    assert breakdown.step_time.deviation == pytest.approx(82.91, abs=0.005)
    assert (breakdown.compute[0], breakdown.idle[0]) == pytest.approx((7839.4374875, 157.8423255))
    assert breakdown.active.mean() == pytest.approx(7837.75, abs=0.005)


def with_roots(wait_ms: int) -> Any:
    """The TPU sample with host markers around ten executions each; the first waits for input."""
    message = space(TPU)
    host = planes(message, "/host:CPU")[0]
    name = "TfrtTpuLoadedExecutable::Execute"
    wanted = metadata_id(host, name)
    line = next(
        line
        for line in host.lines
        if line.name.startswith("main/") and any(e.metadata_id == wanted for e in line.events)
    )
    executions = [e for e in line.events if e.metadata_id == wanted]
    for i in range(10):
        block = executions[5 + 10 * i : 15 + 10 * i]
        begin, end = block[0].offset_ps - 1000, block[-1].offset_ps + block[-1].duration_ps + 1000
        add(host, line, "train", begin, end - begin, _r=1, step_num=50 + i)
        if i == 0 and wait_ms:
            add(host, line, "IteratorGetNextOp::DoCompute", begin, wait_ms * 10**9)
    ordered = sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps))
    del line.events[:]
    line.events.extend(ordered)
    for plane in planes(message, "/device:TPU:"):
        modules, _ = runs(plane, "")
        steps = plane.lines.add(id=1, name="Steps", timestamp_ns=modules.timestamp_ns)
        for i, event in enumerate(modules.events):
            add(plane, steps, str(i), event.offset_ps, event.duration_ps)
    return message


def test_steps_from_host_markers_merge_the_devices_steps() -> None:
    steps = summary(with_roots(0).SerializeToString()).steps
    op_ps = (steps.times.sum() - steps.times[TpuPart.IDLE]).sum(axis=1)
    spans = {
        n: (int(steps.begin_ps[i, 0]), int(steps.duration_ps[i, 0]), int(op_ps[i]))
        for i, n in enumerate(steps.number.tolist())
    }
    assert spans[0] == (7154522820578, 13914508289328, 7732866087500)
    assert spans[1] == (21068815087656, 3921403040250, 15682859030000)
    assert spans[3][1:] == (3927508590750, 15871938355000)
    assert spans[9] == (52428699366250, 4082106253078, 15683190651250)
    breakdown = tpu_breakdown(steps)
    assert (breakdown.compute[0], breakdown.idle[0]) == pytest.approx((1932.776625, 11981.731664328))


def test_waiting_of_the_host_becomes_input_of_the_step() -> None:
    steps = summary(with_roots(50).SerializeToString()).steps
    assert steps.times[TpuPart.INFEED][0, 0] == 49997364414
    assert steps.times[TpuPart.IDLE][0, 0] == 11931102722414
    breakdown = tpu_breakdown(steps)
    assert (breakdown.infeed[0], breakdown.idle[0]) == pytest.approx((50.0, 11931.731664328), rel=1e-5)
    percents = (breakdown.infeed_percent_average, breakdown.infeed_percent_minimum, breakdown.infeed_percent_maximum)
    assert [float(p[0]) for p in percents] == pytest.approx([0.359324, 0.359318, 0.359337], abs=1e-6)


def test_two_hosts_with_different_start_times() -> None:
    first, second = with_steps(8), with_steps(7)
    for plane in second.planes:
        for line in plane.lines:
            for event in line.events:
                event.offset_ps += 9 * 10**12
    second.hostnames[:] = ["hostB"]
    run = reduce_summaries([summary(first.SerializeToString()), summary(second.SerializeToString())])
    steps = run.steps
    assert (len(steps), steps.cores) == (7, (2, 10, 18, 26, 1002, 1010, 1018, 1026))
    assert (int(steps.begin_ps[0, 0]), int(steps.begin_ps[0, 4])) == (27370850079750, 28500569185500)
    totals = dict(zip(steps.categories, steps.category_ps[0].tolist(), strict=True))
    assert (sum(totals.values()), sum(totals.values()) - totals["IDLE"]) == (63354519354500, 62729769050000)
    assert (run.environment.device_cores, len(run.environment.hostnames), run.environment.tasks) == (8, 2, 2)
    # XProf counts its derived lines, which are on the host's clock, into the total as well; we do not.
    assert run.device.op_ps == 630235807412500


def test_op_metrics_of_gpus() -> None:
    found = summary(GPU)
    device = found.device
    table = {n: (int(o), int(s), float(f), float(b)) for n, o, s, f, b in zip(
        device.name, device.occurrences, device.self_ps, device.flops, device.bytes, strict=True)}  # fmt: skip
    assert (device.total_ps, device.op_ps) == (832149873000, 27550676000)
    assert table["input_transpose_fusion"] == (40, 14344140000, 0, 45762150400)
    assert table["cudnn-conv.1"] == (79, 12531616000, 2584530124800, 45746688000)
    assert table["input_transpose_fusion.1"] == (39, 481400000, 0, 498401280)
    assert table["loop_transpose_fusion"] == (40, 193520000, 0, 52428800)
    assert found.peaks.tera_flops == pytest.approx(1307.4432)
    assert found.peaks.bandwidths == pytest.approx((2662.4, 81715.2, 81715.2))
    assert found.environment.device_type == "AMD GPU - gfx942"
    assert (found.host.ops.name, found.host.ops.occurrences.tolist()) == (("XlaModule",), [198])
    assert found.host.ops.idle_ps == 768474133000
    legacy = summary(LOGDIR / LEGACY).device
    assert (legacy.total_ps, legacy.op_ps) == (43629029000, 3586493000)


def gpu_steps(rename: dict[int, str]) -> Any:
    """The GPU sample with markers around blocks of three events of a host thread; kernels of groups may be renamed."""
    message = space(GPU)
    host = planes(message, "/host:CPU")[0]
    line = next(line for line in host.lines if line.name == "Host Threads/583")
    events = list(line.events)
    for i in range(7):
        block = events[3 * i : 3 * i + 3]
        begin, end = block[0].offset_ps - 1000, block[-1].offset_ps + block[-1].duration_ps + 1000
        add(host, line, "train", begin, end - begin, _r=1, step_num=i)
    ordered = sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps))
    del line.events[:]
    line.events.extend(ordered)
    return message


def test_steps_of_gpus() -> None:
    steps = summary(gpu_steps({}).SerializeToString()).steps
    assert steps.number.tolist() == list(range(7))
    spans = {i: (int(steps.begin_ps[i, 0]), int(steps.duration_ps[i, 0])) for i in (0, 1, 5)}
    assert spans == {0: (45356577000, 139360000), 1: (45540898000, 17157501000), 5: (92732973000, 45429099000)}
    compute = steps.times[EventClass.DEVICE_COMPUTE_32][:, 0]
    assert [int(compute[i]) for i in (0, 1, 5)] == [28520000, 784960000, 771801000]
    assert steps.times[EventClass.UNKNOWN][0, 0] == 110840000
    assert drop_incomplete(steps).number.tolist() == [1, 2, 3, 4, 5]
    assert np.array_equal(steps.times.sum(), steps.duration_ps)
