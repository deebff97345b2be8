"""Requests and batches: what they are, how their time splits, and the pages about them."""

import re

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.xspace_text import build, build_message

from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.serving import (
    ALL_MODELS,
    COMPLETE,
    D2H,
    EXECUTE,
    LAUNCH,
    Phase,
    RequestEvents,
    _Links,
    _models,
    at_percentile,
    combine_inference,
    inference,
    may_have_requests,
    sample,
    split_times,
)
from tpu_profile_plugin.analysis.serving import (
    DEVICE as ON_DEVICE,
)
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.tools.summary import inference_profile, overview_page

US = 1_000_000
DEVICE = 'plane 0 "/device:TPU:0" {device_type_string="TPU v4"}\nline 2 "XLA Modules"\n'


def request(at, length, model='"m:1"', context=1):
    """A request of `length` us that begins at `at` us, with everything in it, and its program on the device."""
    host = [
        f"{at}us +{length}us SessionRun {{id={at}, _r=1, model_id={model}}}",
        f"{at + 100}us +50us WriteHbm",
        f'{at + 200}us +20us "tpu::System::Execute" {{_pt=9, _p={context}}}',
        f"{at + 250}us +10us DoEnqueueProgram",
        f"{at + 720}us +30us ReadHbm",
        f"{at + 760}us +5us CompleteCallbacks",
    ]
    return "\n".join(host), f'{at + 300}us +400us "jit_f(7)" {{_ct=9, _c={context}}}'


def serving(*requests):
    parts = [request(*one, context=i) for i, one in enumerate(requests, 1)]
    host = "\n".join(part[0] for part in parts)
    return f'plane 99 "/host:CPU"\nline 1 main\n{host}\n{DEVICE}' + "\n".join(part[1] for part in parts)


def found(text):
    space = load(np.frombuffer(build(text), np.uint8))
    return inference(space, preprocess(space, derive=False))


def test_the_time_of_a_request_splits_into_parts():
    one = found(serving((1000, 2000))).requests[0]
    parts = {part: one.phases_ps[part] // US for part in Phase}
    assert parts == {
        Phase.PREPROCESS: 150,
        Phase.RUNTIME: 50,
        Phase.H2D: 50,
        Phase.D2H: 30,
        Phase.DEVICE: 400,
        Phase.POSTPROCESS: 1240,
        Phase.BATCH_FORMATION: 0,
        Phase.IDLE: 80,
    }
    assert (one.model, one.duration_ps // US) == ("m:1", 2000)


def test_without_model_ids_there_is_one_model():
    text = serving((1000, 2000)).replace(', model_id="m:1"', "")
    assert [request.model for request in found(text).requests] == [ALL_MODELS]


def test_requests_without_a_model_do_not_count_beside_those_with_one():
    text = serving((0, 1000), (2000, 1000)).replace('id=2000, _r=1, model_id="m:1"', "id=2000, _r=1")
    assert len(found(text).requests) == 1
    assert len(combine_inference([found(text), found(text)]).requests) == 2


def test_user_roots_and_profiles_without_requests():
    roots = "0us +10us ModelServerRequest_x {_r=1}\n20us +5us mine {_r=-1}\n40us +7us no {_r=1}"
    user = f'plane 0 "/host:CPU"\nline 1 a\n{roots}'
    assert [r.duration_ps // US for r in found(user).requests] == [10, 5]
    assert found('plane 0 "/host:CPU"\nline 1 a\n0us +10us x').requests == ()
    assert not may_have_requests(load(np.frombuffer(build('plane 0 "/host:CPU"\nline 1 a\n0us +10us x'), np.uint8)))


def test_latency_on_the_overview_is_a_mean_and_requests_at_percentiles():
    text = serving(*((3000 * i, length) for i, length in enumerate((1000, 1000, 1000, 1000, 6000))))
    table = answer(overview_page.TOOL, text)[4]
    shown = {row[0]: row[1:] for row in rows(table)}
    assert shown["Avg"] == pytest.approx([1.52, 0.4, 0.08, 2.0])
    assert shown["75.0%"] == pytest.approx([0.52, 0.4, 0.08, 1.0])
    assert shown["90.0%"] == pytest.approx([5.52, 0.4, 0.08, 6.0])
    mean = answer(overview_page.TOOL, text, page=True)["requests"]["percentiles"][0]
    assert (mean["label"], mean["total_ms"]) == ("Avg", pytest.approx(2.0))


def test_models_have_a_table_each_and_rows_are_sorted():
    tables = answer(inference_profile.TOOL, serving((0, 1500), (2000, 900), (4000, 1000, '"k:2"')))
    assert rows(tables[0]) == [["k:2"], ["m:1"]]
    assert rows(tables[2], "percentile", "latency_ms") == [["0.000", 0.9], ["50.000", 1.5], ["Average", 1.2]]
    assert tables[2]["p"] == {"throughput": "689.7", "averageLatencyMs": "1.200"}
    assert tables[0]["p"]["hasBatching"] == "false"
    by_latency = answer(inference_profile.TOOL, serving((0, 1500), (2000, 900)), request_column="Device compute")
    assert [row[0] for row in rows(by_latency[1], "request_id")] == ["1", "0", "N/A"]
    in_turn = answer(inference_profile.TOOL, serving((0, 900), (2000, 1500)), request_column="Device compute")
    assert [row[0] for row in rows(in_turn[1], "request_id")] == ["0", "1", "N/A"]


def test_equally_long_requests_are_in_the_order_of_their_begins():
    text = """plane 99 "/host:CPU"
    line 1 t
    1300us +5us SessionRun {group_id=1}
    1000us +5us SessionRun {group_id=7}
    1100us +5us SessionRun {group_id=3}
    1200us +4us SessionRun {group_id=9}
    plane 1 "/device:TPU:0"
    line 1 Steps
    1000us +100us 7 {group_id=7}
    """
    requests = answer(inference_profile.TOOL, text)[1]
    assert [row[0] for row in rows(requests, "request_id")] == ["9", "7", "3", "1", "N/A"]


@pytest.mark.parametrize(("name", "table"), [("ProcessBatch", 2), ("SessionRun", 1)])
def test_equal_latencies_of_more_than_16_are_in_the_order_of_an_introsort(name, table):
    lengths = (100, 291, 120, 110, 90, 111, 90, 90, 80, 110, 80, 250, 110, 120, 121, 90, 110, 100, 80, 100)
    events = "\n".join(f"{10 * i}us +{length}ns {name} {{_r=1}}" for i, length in enumerate(lengths))
    found = answer(inference_profile.TOOL, f'plane 99 "/host:CPU"\nline 1 t\n{events}')[table]
    ids = [int(row[0]) for row in rows(found, f"{'batch' if table == 2 else 'request'}_id") if row[0] != "N/A"]
    assert ids == [10, 18, 8, 4, 6, 7, 15, 0, 17, 19, 3, 16, 12, 9, 5, 2, 13, 14, 11, 1]


def test_the_events_of_both_rows_of_one_name_are_requests():
    message = build_message('plane 99 "/host:CPU"\nline 1 t\n0us +5us A\n10us +6us B\n20us +7us A')
    for row in message.planes[0].event_metadata.values():
        row.name = "BatchingSessionRun"
    space = load(np.frombuffer(message.SerializeToString(), np.uint8))
    requests = inference(space, preprocess(space, derive=False)).requests
    assert [request.duration_ps // US for request in requests] == [5, 6, 7]


BATCH = """
plane 99 "/host:CPU"
  line 10 r0
    1000us +2000us BatchingSessionRun {_r=1, id=100}
    1020us +10us ScheduleWithoutSplit {_pt=5, _p=1, batching_input_task_size=4}
  line 11 r1
    1100us +1900us BatchingSessionRun {_r=1, id=101}
    1120us +10us ScheduleWithoutSplit {_pt=5, _p=1, batching_input_task_size=5}
  line 50 batch
    1500us +1200us ProcessBatch {_ct=5, _c=1, _r=1, id=200}
    1510us +40us MergeInputTensors {padding_amount=7, batch_size_after_padding=16}
    1560us +1000us SessionRun {id=300, _r=1, model_id="m:1"}
    1600us +50us WriteHbm
    1700us +20us "tpu::System::Execute" {_pt=9, _p=1}
    1750us +10us DoEnqueueProgram
    2220us +30us ReadHbm
    2260us +5us CompleteCallbacks
"""
BATCHED = BATCH + DEVICE + '1800us +400us "jit_f(7)" {_ct=9, _c=1}\n'
METRICS = """
plane 3 "/host:tfstreamz"
  line 1 metrics
    0us +1us before
    9us +1us after {"/tensorflow/serving/batching/max_batch_size{model_name=m}"=64}
"""


def test_batches_and_the_requests_in_them():
    inferred = found(BATCHED + METRICS)
    batch = inferred.batches[0]
    assert (batch.padding, batch.size, batch.delay_ps // US, batch.programs) == (7, 16, 500, ("7",))
    assert [(r.size, r.delay_ps // US, r.batches, r.model) for r in inferred.requests] == [
        (4, 500, (batch.id,), "m:1"),
        (5, 400, (batch.id,), "m:1"),
    ]
    assert inferred.requests[0].phases_ps[Phase.BATCH_FORMATION] // US == 490
    assert inferred.parameters["m"].max_batch_size == 64


def test_the_batch_table():
    tables = answer(inference_profile.TOOL, BATCHED + METRICS)
    wanted = ("percentile", "batching_request_size", "host_batch_formation", "throughput", "host_preprocessing")
    assert rows(tables[1], *wanted)[-2:] == [
        ["Batch size 16", 4.0, pytest.approx(0.45), "1000.0", pytest.approx(0.16)],
        ["Average", 4.0, pytest.approx(0.45), "1000.0", pytest.approx(0.16)],
    ]
    assert rows(tables[2], "percentile", "padding_amount", "batching_efficiency", "program_id") == [
        ["0.000", 7.0, 0.5625, "7"],
        ["Batch size 16", 7.0, 0.5625, "7"],
        ["Aggregated", 7.0, 0.5625, "N/A"],
    ]
    assert (tables[2]["p"]["hasBatchingParam"], tables[2]["p"]["batchingParamMaxBatchSize"]) == ("true", "64")


def test_latency_of_batches():
    (model,) = answer(inference_profile.TOOL, BATCHED + METRICS, page=True)["models"]
    requests, batches = model["requests"], model["batches"]
    assert rows(batches["rows"], "percentile", "latency", "batching_delay", "device_compute", "begin", "end") == [
        ["0.000", 1.2, 0.5, 0.4, 1.5, 2.7],
        ["Batch size 16", 1.2, 0.5, 0.4, None, None],
        ["Aggregated", 1.2, 0.5, 0.4, None, None],
    ]
    assert rows(requests["rows"], "begin", "end")[:2] == [[1.1, 3.0], [1.0, 3.0]]
    assert (requests["percentiles"], requests["count"], requests["per_second"]) == ([0, 50], 2, 1000)
    assert [requests["latency_ms"], model["parameters"]["max_batch_size"]] == [1.95, 64]


def test_batches_without_a_request_count_all_the_same():
    lines = [line for line in BATCHED.splitlines() if "Schedule" not in line and "BatchingSessionRun" not in line]
    alone = found("\n".join(lines).replace("SessionRun {id=300, _r=1,", "SessionRun {id=300,"))
    assert (len(alone.requests), [batch.size for batch in alone.batches]) == (0, [16])


def test_a_program_that_was_never_handed_over_has_no_time_in_the_runtime():
    text = "\n".join(line for line in serving((1000, 2000)).splitlines() if "DoEnqueueProgram" not in line)
    one = found(text).requests[0]
    assert (one.phases_ps[Phase.RUNTIME], one.phases_ps[Phase.PREPROCESS] // US) == (0, 150)


def test_cores_without_groups_belong_to_no_request():
    other = DEVICE.replace("TPU:0", "TPU:1").replace("plane 0", "plane 1") + '2100us +300us "jit_g(8)"'
    inferred = found(f"{serving((0, 1000), (2000, 1000))}\n{other}")
    assert [request.phases_ps[Phase.DEVICE] // US for request in inferred.requests] == [400, 400]


@pytest.mark.parametrize(
    "metrics",
    [
        METRICS.replace("    0us +1us before\n", ""),
        METRICS.replace("9us", "5us +1us between\n    9us"),
        METRICS.replace("tfstreamz", "tfstreams"),
    ],
)
def test_parameters_are_read_before_and_after_the_profile(metrics):
    assert found(BATCHED + metrics).parameters == {}


def test_no_requests_one_row_of_zeros():
    tables = answer(inference_profile.TOOL, 'plane 0 "/host:CPU"\nline 1 a\n0us +10us x')
    assert (rows(tables[0]), len(tables)) == ([["ALL"]], 2)
    assert rows(tables[1], "percentile", "request_id", "latency_ms") == [["Average", "N/A", 0.0]]


LONE_BATCH = 'plane 9 "/host:CPU"\nline 1 a\n0us +100us ProcessBatch {_r=1}'


def test_a_batch_without_requests_and_size_has_rows_of_size_0():
    tables = answer(inference_profile.TOOL, LONE_BATCH)
    assert tables[0]["p"]["hasBatching"] == "true"
    assert rows(tables[1], "percentile", "throughput", "latency_ms") == [
        ["Batch size 0", "0.0", 0.0],
        ["Average", "0.0", 0.0],
    ]
    assert rows(tables[2], "percentile", "batch_id", "latency", "throughput", "program_id") == [
        ["0.000", "0", 0.1, "N/A", "N/A"],
        ["Batch size 0", "N/A", 0.1, "10000.0", "N/A"],
        ["Aggregated", "N/A", 0.1, "10000.0", "N/A"],
    ]


def test_a_batch_of_groups_saved_in_the_file_is_not_shown():
    saved = LONE_BATCH.replace("{_r=1}", "{group_id=0}") + "\n200us +10us SessionRun {group_id=1}"
    saved += DEVICE.join(["\n", "0us +1us x {group_id=0}"])
    tables = answer(inference_profile.TOOL, saved)
    assert tables[0]["p"]["hasBatching"] == "false"
    assert rows(tables[1], "percentile", "request_id", "latency_ms") == [["0.000", "1", 0.01], ["Average", "N/A", 0.01]]


SPLIT = """
plane 99 "/host:CPU"
line 1 main
10us +100us SessionRun {_r=1, _pt=5, _p=1}
20us +10us foo {_pt=5, _p=2}
200us +100us ProcessBatch {_r=1, _ct=5, _c=1}
210us +10us ConcatInputTensors {padding_amount=5, batch_size_after_padding=9}
215us +10us ConcatInputTensors {padding_amount=1, batch_size_after_padding=8}
220us +7us WriteHbm
230us +10us SessionRun {_pt=6, _p=1}
500us +100us ProcessBatch {_r=1, _ct=5, _c=2}
510us +10us ConcatInputTensors {padding_amount=2, batch_size_after_padding=8}
530us +10us SessionRun {_pt=6, _p=2}
600us +1us SessionRun {_r=1, _pt=5, _p=3}
700us +100us ProcessBatch {_r=1, _ct=5, _c=3}
710us +10us ConcatInputTensors {padding_amount=u3, batch_size_after_padding=3}
plane 0 "/device:TPU:0" {device_type_string="TPU v4"}
line 2 "XLA Modules"
240us +50us "jit_f(7)" {_ct=6, _c=1}
540us +31us "jit_f(7)" {_ct=6, _c=2}
"""


def test_a_split_request_counts_once_for_each_of_its_batches():
    tables = answer(inference_profile.TOOL, SPLIT)
    columns = ("percentile", "latency_ms", "throughput", "data_transfer_h2d", "device_compute", "idle time")
    assert rows(tables[1], *columns)[2:] == [
        ["Batch size 3", 0.2, "1265.8", 0.0, 0.0, 0.0],
        # The time on the device is that of the batches, 50 and 31 us, without the half picosecond.
        ["Batch size 8", 0.29, "2531.6", 0.007, 0.0405, 0.263],
        ["Average", 0.245, "2531.6", 0.0035, 0.0405, 0.1315],
    ]
    columns = ("percentile", "padding_amount", "batch_size_after_padding", "batching_efficiency", "throughput")
    assert rows(tables[2], *columns) == [
        ["0.000", 1.0, 8.0, 0.875, "N/A"],
        ["33.333", 2.0, 8.0, 0.75, "N/A"],
        ["66.667", 0.0, 3.0, 1.0, "N/A"],
        ["Batch size 3", 0.0, 3.0, 1.0, "1666.7"],
        ["Batch size 8", 1.0, 8.0, 13 / 16, "3333.3"],
        ["Aggregated", 1.0, 6.0, 16 / 19, "5000.0"],
    ]


def test_averages_have_no_fractions_of_picoseconds():
    text = 'plane 9 "/host:CPU"\nline 1 a\n0ps +1ps SessionRun {_r=1}\n5ps +2ps SessionRun {_r=1}'
    tables = answer(inference_profile.TOOL, text)
    assert rows(tables[1], "percentile", "latency_ms")[-1] == ["Average", 1e-9]


def test_a_batching_request_without_batches_belongs_to_the_first_model():
    alone = "line 12 r2\n5000us +500us BatchingSessionRun {_r=1, id=102}\n"
    assert [r.model for r in found(BATCH + alone + DEVICE).requests] == ["m:1"] * 3
    # One that is not batched and names no model beside others that do is left out.
    plain = 'plane 9 "/host:CPU"\nline 1 a\n0us +10us SessionRun {_r=1, model_id="m"}\n20us +10us SessionRun {_r=1}'
    assert [r.model for r in found(plain).requests] == ["m"]


def test_an_instant_at_the_end_extends_the_idle_time():
    text = 'plane 9 "/host:CPU"\nline 1 a\n0us +100us SessionRun {_r=1}\n10us +5us WriteHbm\n'
    instant = "90us +0us ReadHbm\n"
    found_idle = [
        found(text + more).requests[0].phases_ps[Phase.IDLE] // US
        for more in ("", instant, "20us +70us ReadHbm\n" + instant)
    ]
    assert found_idle == [0, 75, 5]


def test_of_several_events_of_a_kind_in_a_group_the_last_counts():
    text = """
    plane 9 "/host:CPU"
    line 1 a
    10us +1000us SessionRun {_r=1}
    20us +5us "tpu::System::Execute"
    40us +5us "tpu::System::Execute"
    60us +5us DoEnqueueProgram
    70us +5us DoEnqueueProgram
    100us +1us CompleteCallbacks
    150us +1us CompleteCallbacks
    """
    phases = found(text).requests[0].phases_ps
    measured = [phases[phase] // US for phase in (Phase.PREPROCESS, Phase.RUNTIME, Phase.POSTPROCESS, Phase.IDLE)]
    assert measured == [30, 20, 860, 90]


def test_batches_that_belong_to_no_request_are_left_out_beside_models():
    alone = "line 51 lone\n7000us +100us ProcessBatch {_r=1}\n"
    assert [batch.begin_ps // US for batch in found(BATCH + alone + DEVICE).batches if batch.model] == [1500]
    without = (BATCH + alone + DEVICE).replace(', model_id="m:1"', "")
    assert [batch.begin_ps // US for batch in found(without).batches if batch.model] == [1500, 7000]


def test_a_request_that_takes_no_time_is_none():
    text = 'plane 9 "/host:CPU"\nline 1 a\n0us +0us SessionRun {_r=1}\n5us +1ps SessionRun {_r=1}'
    assert [request.duration_ps for request in found(text).requests] == [1]


def test_a_model_is_listed_though_none_of_its_requests_took_time():
    text = 'plane 9 "/host:CPU"\nline 1 a\n10us +5us SessionRun {_r=1, model_id="b"}\n'
    text += '20us +0us SessionRun {_r=1, model_id="a"}\n30us +5us SessionRun {_r=1}\n'
    assert (found(text).models, [r.model for r in found(text).requests]) == (("a", "b"), ["b"])
    tables = answer(inference_profile.TOOL, text)
    assert (rows(tables[0], "model_name"), len(tables)) == ([["a"], ["b"]], 3)
    assert rows(tables[1], "percentile", "latency_ms") == [["Average", 0.0]]


def test_a_batch_beside_the_models_does_not_make_it_batching():
    alone = 'plane 9 "/host:CPU"\nline 1 a\n10us +5us SessionRun {_r=1, model_id="m"}\n20us +5us ProcessBatch {_r=1}\n'
    assert answer(inference_profile.TOOL, alone)[0]["p"]["hasBatching"] == "false"
    without = alone.replace(', model_id="m"', "")
    assert answer(inference_profile.TOOL, without)[0]["p"]["hasBatching"] == "true"


def test_device_time_of_a_batch_size_is_that_of_its_batches_however_many_requests_each_has():
    short = BATCH.split("line 50 batch\n")[1].replace("_c=1", "_c=2").replace("_p=1", "_p=2")
    later = re.sub(r"(\d+)us \+", lambda found: f"{int(found[1]) + 5000}us +", short)
    text = BATCH + "line 12 r2\n6000us +2000us BatchingSessionRun {_r=1, id=102}\n"
    text += "6020us +10us ScheduleWithoutSplit {_pt=5, _p=2, batching_input_task_size=4}\n"
    device = DEVICE + '1800us +400us "jit_f(7)" {_ct=9, _c=1}\n6800us +100us "jit_f(7)" {_ct=9, _c=2}\n'
    tables = answer(inference_profile.TOOL, f"{text}line 51 more\n{later}{device}")
    (of_size,) = [row for row in rows(tables[1], "percentile", "device_compute") if row[0] == "Batch size 16"]
    assert of_size == ["Batch size 16", 0.25]
    assert rows(tables[1], "percentile", "device_compute")[-1] == ["Average", pytest.approx(0.3)]


def test_of_several_batches_in_a_group_the_last_in_the_file_counts():
    text = """
    plane 9 "/host:CPU"
    line 1 a
    10us +100us ProcessBatch {_r=1}
    12us +40us ProcessBatch
    14us +20us "OrbaxServing::ProcessBatch"
    20us +5us ProcessBatch
    """
    (batch,) = found(text).batches
    assert (batch.begin_ps // US, batch.end_ps // US) == (14, 34)


def test_a_program_handed_over_before_it_was_called_is_in_the_runtime_until_something_else_ends():
    early = serving((1000, 2000)).replace("1250us +10us DoEnqueueProgram", "1150us +10us DoEnqueueProgram")
    ordered = early.replace(
        '1200us +20us "tpu::System::Execute" {_pt=9, _p=1}\n1150us +10us DoEnqueueProgram',
        '1150us +10us DoEnqueueProgram\n1200us +20us "tpu::System::Execute" {_pt=9, _p=1}',
    )
    phases = found(ordered).requests[0].phases_ps
    # From 1200 us until the device begins at 1300 us; idle are 1700 to 1720 us and 1750 to 1760 us.
    assert (phases[Phase.RUNTIME] // US, phases[Phase.IDLE] // US) == (100, 30)


def test_models_of_groups_that_were_saved_in_the_file_are_not_known():
    text = """
    plane 9 "/host:CPU"
    line 1 a
    10us +5us SessionRun {_r=1, group_id=3, model_id="m"}
    20us +5us SessionRun {_r=1, group_id=4}
    """
    assert (found(text).models, len(found(text).requests)) == ((ALL_MODELS,), 2)


def test_all_of_60_requests_are_listed_and_of_more_those_at_some_percentiles():
    assert [row for _, row in sample(range(60))] == [*range(60)]
    assert [row for _, row in sample(range(60, 0, -1))] == [*range(59, -1, -1)]
    assert sample(range(61)) == [(3100 / 61, 31), (4600 / 61, 46), (5500 / 61, 55)]
    listed = (50.0, 50.5, 75.0, 75.5, 90.0, 90.5, 99.0)
    assert sample(range(200)) == [(percentile, int(2 * percentile)) for percentile in listed]
    # Ten at most of each.
    assert [percentile for percentile, _ in sample(range(2000))][:11] == [*(50 + i / 20 for i in range(10)), 75.0]


def test_items_at_percentiles():
    assert [at_percentile([5, 6, 7], percent) for percent in (0, 33, 34, 50, 99.9, 100)] == [5, 5, 6, 6, 7, 7]


def split(*events, families, windows):
    """The phases in us of requests; events are (group, role, begin, end)."""
    ordered = sorted(events, key=lambda one: (one[0], one[2]))
    group, role, begin, end = np.array(ordered, np.int64).reshape(-1, 4).T
    number = np.arange(len(ordered))
    known = RequestEvents(number, group, role, begin * US, end * US, number, [], set(), {})
    phases = split_times(known, families, [(one * US, other * US) for one, other in windows], formation=False)
    return [{Phase(i).name: ps // US for i, ps in enumerate(of.tolist()) if ps} for of in phases]


def test_calls_and_launches_of_a_group_are_paired_in_turn():
    # Of two calls in one request each group has one; a launch without a call, or the other way round, has no partner.
    events = [(3, EXECUTE, 10, 11), (3, LAUNCH, 20, 21), (5, EXECUTE, 30, 31), (5, LAUNCH, 35, 36), (7, LAUNCH, 90, 91)]
    assert split(*events, families=[[3, 5]], windows=[(0, 100)]) == [{"IDLE": 10, "PREPROCESS": 10, "RUNTIME": 15}]
    assert split(*events, families=[[5, 7], [3]], windows=[(0, 100), (5, 50)]) == [
        {"PREPROCESS": 30, "RUNTIME": 5},
        {"PREPROCESS": 5, "RUNTIME": 10},
    ]
    # A second request whose first has no events.
    assert split(*events, (3, D2H, 40, 45), families=[[1], [3]], windows=[(0, 100), (0, 50)]) == [
        {},
        {"IDLE": 20, "PREPROCESS": 10, "RUNTIME": 10, "D2H": 5},
    ]
    # Launches of one group are none of another's call.
    launches = [(3, LAUNCH, begin, begin + 1) for begin in (20, 22, 24)]
    for families in ([[3, 5]], [[5, 3]], [[3, 4, 6, 5]], [[3, 4, 6, 7, 5]]):
        assert split(*launches, (5, EXECUTE, 10, 11), families=families, windows=[(0, 50)]) == [{"PREPROCESS": 10}]


def test_a_request_is_complete_when_the_runtime_says_so_else_after_the_device():
    device, copy = (3, ON_DEVICE, 20, 60), (3, D2H, 70, 75)
    assert split(device, copy, families=[[3]], windows=[(0, 100)]) == [{"POSTPROCESS": 35, "D2H": 5, "DEVICE": 40}]
    assert split(device, copy, (3, COMPLETE, 80, 81), families=[[3]], windows=[(0, 100)]) == [
        {"IDLE": 15, "POSTPROCESS": 20, "D2H": 5, "DEVICE": 40}
    ]


def test_a_request_of_several_models_has_none_of_them():
    none = np.zeros(0, np.int64)
    known = RequestEvents(none, none, none, none, none, none, [1, 2, 3, 4], {1, 2, 3}, {})
    links = _Links((np.array([1, 1, 2, 3]), np.array([5, 6, 7, 8])))
    named = {5: "b", 6: "a", 7: "c", 3: "own", 8: "child"}
    assert _models(named, known, [1, 2, 3, 4], links) == (
        ("a", "b", "c", "own"),
        {1: "", 2: "c", 3: "own", 4: ""},
    )
    assert _models({}, known, [4, 1], links) == ((), {4: "", 1: ""})
