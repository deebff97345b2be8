"""Uploads that nothing hides: CPU and GPU, thresholds, and what is known of the data."""

from __future__ import annotations

import pytest
from builders.planes import gpu, host, marked, profile
from builders.profiles.planted import cpu, evidence, finding, findings, reason
from builders.programs.hlo import metadata_plane, op, program

PROGRAM = program(
    [
        op("w", "parameter", "f32[128,128]", parameter_number=0, op_name="weights"),
        op("t", "parameter", "f32[4096,1024]", parameter_number=1, op_name="table"),
        op("dot.1", "dot", "f32[8]", "w", "t"),
    ],
    module="jit_score",
)  # fmt: skip


def uploading(us, *, per_step=None, programs="", frame=""):
    """Uploads at the begin of each step of 1 ms; the device computes afterwards."""
    lengths = per_step or [us] * 5
    uploads = "\n".join(f"{1000 * i} {length} DevicePut" for i, length in enumerate(lengths) if length)
    return cpu(f"{frame}\n0 1 start", "900 99 dot.1", steps=5, once=uploads) + "\n" + programs


def test_names_the_argument_and_its_size():
    found = finding("repeated_transfer", uploading(400, programs=metadata_plane(jit_score=(7, PROGRAM))))
    assert found["title"] == "40.0% of the step waits for uploads that nothing hides: f32[4096,1024] table"
    assert found["saving_ps_per_step"] == 400 * 10**6
    assert evidence(found) == {
        "Exposed uploads, of the step": pytest.approx(40.04, abs=0.01),
        "Exposed uploads per step": 0.4,
        "Steps with uploads, of 5": 5,
        "Uploads per step, median": 1,
        "Median of the steps' uploads": 0.4,
        "Largest argument of the program": "f32[4096,1024] table",
        "Size of this argument": 16.0,
        "Arrays that the program takes": 2,
        "Event": "DevicePut",
    }
    assert "jax.device_put on arrays that do not change once" in found["advice"]
    assert "input_bound" not in [one["id"] for one in findings(uploading(400))["findings"]]
    silence = reason("input_bound", uploading(400))
    assert silence.startswith("Input takes 40.0% of the step, nearly all of it in uploads.")


def test_an_argument_is_not_named_if_another_could_be_what_is_sent():
    both = program(
        [
            op("x", "parameter", "f32[1024,1024]", parameter_number=0, op_name="batch"),
            op("t", "parameter", "f32[4096,1024]", parameter_number=1, op_name="table"),
            op("dot.1", "dot", "f32[8]", "x", "t"),
        ],
        module="jit_score",
    )
    found = finding("repeated_transfer", uploading(400, programs=metadata_plane(jit_score=(7, both))))
    assert found["title"].endswith("uploads that nothing hides")


def test_names_the_function_that_sends():
    found = finding("repeated_transfer", uploading(400, frame="0 500 $search.py:12 nearest"))
    assert found["title"].endswith("uploads that nothing hides, in search.py:12 nearest")


@pytest.mark.parametrize(
    ("lengths", "fires"),
    [
        ([99] * 5, False),
        ([101] * 5, True),
        ([200, 200, 200, 200, 0], True),
        ([300, 300, 300, 0, 0], False),  # in 60% of the steps
        ([300, 310, 120, 300, 800], True),
        ([101, 400, 150, 600, 250], True),  # on a busy machine the same upload takes longer
        ([1000, 10, 10, 10, 10], True),  # every step has one: how long it takes decides what it costs, not what it is
    ],
)
def test_long_and_often(lengths, fires):
    text = uploading(0, per_step=lengths)
    assert (finding("repeated_transfer", text) is not None) == fires
    if not fires:
        assert reason("repeated_transfer", text)


def test_uploads_that_computation_hides_cost_nothing():
    text = cpu("0 400 DevicePut", "0 999 dot.1", steps=5)
    assert reason("repeated_transfer", text) == "Input takes less than 10% of the step."


@pytest.mark.parametrize(("us", "fires"), [(99, False), (101, True), (600, True)])
def test_an_upload_on_another_thread_that_the_host_waits_for(us, fires):
    """The CPU backend sends NumPy arrays on a thread of its own, while the program waits for the result of the step."""
    main = "0 5 PjitFunction(f)\n5 990 $api.py:2479 block_until_ready"
    text = cpu(main, f"{us + 5} {990 - us} dot.1", other=f"5 {us} H2D Dispatch")
    found = finding("repeated_transfer", text)
    assert (found is not None) == fires
    if fires:
        assert found["saving_ps_per_step"] == us * 10**6
        assert found["segments"][0]["id"] == "input"


def test_two_steps_do_not_show_a_repetition():
    assert "Fewer than 3 steps" in reason("repeated_transfer", cpu("0 400 DevicePut", "900 99 dot.1", steps=2))


def uploading_to_gpu(us, sizes):
    """In each step of 1 ms an upload of `us` and a kernel."""
    upload = 'MemcpyH2D {{correlation_id=1{step}, memcpy_details="kind_src:pageable size:{size}"}}'
    stream = []
    for step, size in enumerate(sizes):
        stream.append(f"{1000 * step + 10} {us} {upload.format(step=step, size=size)}")
        stream.append(f"{1000 * step + 10 + us} {900 - us} kernel {{correlation_id=2{step}}}")
    launches = "0 1 cuLaunch {correlation_id=1$N}\n1 1 cuLaunch {correlation_id=2$N}"
    return profile(gpu("\n".join(stream)), host(marked(launches, steps=len(sizes), length=999)))


def test_a_gpu_records_the_size():
    found = finding("repeated_transfer", uploading_to_gpu(300, [8 << 20] * 4))
    assert evidence(found)["Sent per step and device"] == 8.0
    assert found["confidence"] == "high"
    assert found["saving_ps_per_step"] == 300 * 10**6
    assert "before the loop" in found["advice"]


@pytest.mark.parametrize(
    ("sizes", "new"),
    [
        ([8 << 20] * 5, False),
        ([8 << 20] * 4 + [4 << 20], False),  # the last batch is smaller
        ([8 << 20] * 3 + [4 << 20] * 2, True),
        ([10_000_000, 10_100_000, 9_900_000, 10_000_000, 10_000_000], False),
        ([10_000_000, 10_100_001, 9_899_999, 10_000_000, 10_000_000], True),
    ],
)
def test_other_numbers_of_bytes_are_new_data(sizes, new):
    found = finding("repeated_transfer", uploading_to_gpu(300, sizes))
    assert ("so the data is new" in found["advice"]) == new
