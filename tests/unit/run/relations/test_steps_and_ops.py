"""The tables `steps` and `ops` of typed-in runs."""

from __future__ import annotations

from builders.answers import run_of
from builders.planes import host, profile, tpu
from builders.relation_rows import rows, table

US = 10**6
ADD = "%add.1 = f32[8] add(f32[8] %x, f32[8] %y)"


def core(number: int, ops: str, begin: int = 0) -> str:
    """A TensorCore with two steps of 100 us."""
    steps = f"{begin} 100 7 {{_ct=9, _c=7}}\n{begin + 150} 100 8 {{_ct=9, _c=8}}"
    return tpu(ops, core=number, steps=steps)


TWO_CORES = profile(
    core(0, "0 40 fusion.1\n60 30 fusion.2\n150 100 fusion.1"),
    core(1, "10 50 fusion.1\n160 90 fusion.1", begin=10),
)


def test_a_step_of_a_device_is_a_row_and_its_parts_add_up_to_it() -> None:
    run = run_of(TWO_CORES)
    assert rows(run, "steps", "run", "host", "device", "step", "begin_ps", "duration_ps", "compute_ps") == [
        ("run", "h0", "TPU 0", 0, 0, 100 * US, 70 * US),
        ("run", "h0", "TPU 1", 0, 10 * US, 100 * US, 50 * US),
        ("run", "h0", "TPU 0", 1, 150 * US, 100 * US, 100 * US),
        ("run", "h0", "TPU 1", 1, 160 * US, 100 * US, 90 * US),
    ]
    steps = table(run, "steps")
    parts = [id_ for id_ in steps.ids if id_.endswith("_ps") and id_ not in ("begin_ps", "duration_ps")]
    assert len(parts) == 17
    assert sum(steps[id_] for id_ in parts).tolist() == steps["duration_ps"].tolist()
    assert set(rows(run, "steps", "takes_part", "source", "name")) == {(True, "device", None)}


def test_steps_of_hosts_are_numbered_alike() -> None:
    """The second host records one step before those that both have."""
    marker = "line 1 main\n{}us +90us train {{_r=1, step_num={}}}\n"
    texts = [
        'plane 9 "/host:CPU"\n' + "".join(marker.format(100 * i, i) for i in numbers) for numbers in ((5, 6), (4, 5, 6))
    ]
    assert rows(run_of(texts[1]), "steps", "step", "name") == [(0, "train 4"), (1, "train 5"), (2, "train 6")]
    assert rows(run_of(*texts), "steps", "host", "step", "name") == [
        ("h0", 0, "train 5"), ("h0", 1, "train 6"), ("h1", 0, "train 5"), ("h1", 1, "train 6"),
    ]  # fmt: skip


def test_a_recording_without_steps_is_one_and_says_so() -> None:
    run = run_of(tpu("5 10 fusion.1\n20 10 fusion.1"))
    assert rows(run, "steps", "step", "begin_ps", "duration_ps", "source") == [(0, 5 * US, 25 * US, "recording")]


def test_a_host_without_devices_has_steps_of_its_own() -> None:
    run = run_of(host("0 30 train {_r=1, step_num=4}\n1 5 work"))
    assert rows(run, "steps", "device", "step", "name", "duration_ps") == [("Host", 0, "train 4", 30 * US)]


def test_nothing_recorded_is_a_table_without_rows() -> None:
    for name in ("steps", "ops", "collectives", "allocations"):
        found = table(run_of(""), name)
        assert (len(found), found.ids[:2]) == (0, ["run", "host"])


FACTS = 'flops=100, bytes_accessed=10, tf_op="jit/add:Add", source="model.py:12"'
OPS = tpu(f'0 40 "{ADD}"\n60 30 "{ADD}"\n90 5 copy.2', modules="0 95 jit_step(7)", more=f", {FACTS}")


def test_ops_of_each_host_have_the_sums_of_the_page() -> None:
    run = run_of(OPS, OPS.replace("+40us", "+50us"))
    assert rows(run, "ops", "host", "name", "occurrences", "time_ps", "self_ps", "min_ps", "flops") == [
        ("h0", "add.1", 2, 70 * US, 70 * US, 30 * US, 200),
        ("h0", "copy.2", 1, 5 * US, 5 * US, 5 * US, 100),
        ("h1", "add.1", 2, 80 * US, 80 * US, 30 * US, 200),
        ("h1", "copy.2", 1, 5 * US, 5 * US, 5 * US, 100),
    ]
    assert rows(run, "ops", "backend", "category", "framework_op", "source_file", "source_line", "source_of", "core")[
        0
    ] == ("device", "add", "jit/add:Add", "model.py", 12, None, "TensorCore")
    found, page = table(run, "ops"), run.ops()
    for id_ in ("occurrences", "time_ps", "self_ps", "flops", "bytes"):
        assert found[id_].sum() == getattr(page, id_).sum()
    # Each host's own; the page has the sum.
    assert sum(dict(rows(run, "ops", "host", "device_ps")).values()) == page.total_ps


def test_ops_of_the_cpu_and_of_tensorflow() -> None:
    on_cpu = host('0 40 dot.1 {hlo_op="dot.1", device_ordinal=0, program_id=7, run_id=1}')
    assert rows(run_of(on_cpu), "ops", "backend", "name", "self_ps", "source_line") == [("cpu", "dot.1", 40 * US, None)]
    tensorflow = host('0 40 "model/MatMul:MatMul"')
    assert rows(run_of(tensorflow), "ops", "backend", "program", "name", "category", "hbm_bytes") == [
        ("tensorflow", None, "model/MatMul", "MatMul", None)
    ]


def test_device_times_of_centuries_are_left_out() -> None:
    damaged = "\n".join(tpu("0 40 add.1", core=core).replace("+40us", f"+{2**62}ps") for core in range(4))
    assert rows(run_of(damaged), "ops", "device_ps") == [], "no op has a possible time"
