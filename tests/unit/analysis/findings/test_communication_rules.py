"""Exposed communication and stragglers: waits for a late device are its fault, not the collective's."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told, window


def cores(*work: int, host: int = 0, talk: int = 20, ranks: int = 0, begins: tuple[int, ...] = (0, 100)) -> str:
    """TensorCores that compute for so long in each step of 100 us and then reduce until the last has done so.

    The reduction is of `ranks` devices, without a number of these.
    """
    end = max(work) + talk
    group = ",".join(map(str, range(ranks or len(work))))
    reduce = f"%all-reduce.2 = f32[1000000] all-reduce(f32[1000000] %y), replica_groups={{{{{group}}}}}"
    lines = []
    for number, own in enumerate(work):
        lines += [f'plane {number + 1} "/device:TPU:{number}" {{device_type_string="TPU v5p"}}', "line 1 Steps"]
        lines += [f"{at}us +100us {i} {{_ct=9, _c={i}}}" for i, at in enumerate(begins)]
        lines.append('line 2 "XLA Ops"')
        for at in begins:
            lines += [f"{at}us +{own}us fusion.1", f'{at + own}us +{end - own}us "{reduce}"']
        lines.append('metadata "fusion.1" {program_id=7, symbol_id=1, hlo_category="loop fusion"}')
        lines.append(
            f'metadata "{reduce}" {{program_id=7, symbol_id=2, hlo_category="all-reduce"}} display=all-reduce.2'
        )
    return "\n".join([f"host h{host}", *lines])


def test_communication_with_its_bandwidth_and_its_longest_run() -> None:
    found = told("exposed_communication", cores(40, 40))
    assert found["title"] == ("20.0% of the step is exposed communication, most of it in all-reduce.2")
    assert (found["saving_ps_per_step"], found["share"]) == (20_000_000, 0.2)
    shown = evidence(found)
    assert shown["Exposed communication, of the step"] == (pytest.approx(20), "%", "time_budget")
    assert shown["Exposed communication per step"] == (0.02, "ms", "time_budget")
    assert shown["Time of this collective hidden by computation"] == (0, "%", "communication")
    assert shown["Bytes per device and run"] == (4_000_000, "bytes", "communication")
    # 4 MB in 20 us are 200 GB/s; between two ranks the bus carries 2 (2 - 1) / 2 times as much.
    assert shown["Bus bandwidth"] == (pytest.approx(200), "GB/s", "communication")
    assert shown["Longest run of all-reduce.2"] == (0.02, "ms", "trace_viewer@")
    assert window(found) == {"host": "h0", "window": "20000000,80000000", "find": "all-reduce.2"}


@pytest.mark.parametrize(("talk", "finds"), [(10, True), (9, False)])
def test_communication_from_a_tenth_of_the_step_on(talk: int, finds: bool) -> None:
    found = told("exposed_communication", cores(50, 50, talk=talk))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Exposed communication takes 9.0% of the step."


def test_waits_for_a_late_core_are_not_communication() -> None:
    found = told("exposed_communication", cores(10, 80, 10, 10, talk=5))
    assert found["reason"] == "Exposed communication takes 5.0% of the step."
    found = told("straggler", cores(10, 80, 10, 10, talk=5))
    # Three of four cores wait 70 us.
    assert found["title"] == (
        "TPU 1 is late: the others wait 52.5% of the step; it has 8.0 times the work of the others"
    )
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (52_500_000, 0.525, "high")
    shown = evidence(found)
    assert shown["Waits for late devices, of the step"] == (pytest.approx(52.5), "%", "time_budget")
    assert shown["Work of the late device per step"] == (0.08, "ms", "communication")
    assert shown["Work of the others per step (median)"] == (0.01, "ms", "")
    assert shown["The others wait in"] == ("all-reduce.2", "", "communication")
    assert shown["Longest wait in this collective"] == (0.07, "ms", "communication")
    assert window(found) == {"host": "h0", "window": "0,160000000", "find": "all-reduce.2"}


@pytest.mark.parametrize(
    ("late", "talk", "title"),
    [
        (61, 1, "TPU 0 is late: the others wait 15.8% of the step; it has 1.5 times the work of the others"),
        (59, 1, "TPU 0 arrives late at collectives: the others wait 14.2% of the step"),
        # The others spend less than twice its time in the collective.
        (62, 30, "TPU 0 arrives late at collectives: the others wait 16.5% of the step"),
    ],
)
def test_half_more_work_than_the_median(late: int, talk: int, title: str) -> None:
    assert told("straggler", cores(late, 40, 40, 40, talk=talk))["title"] == title


@pytest.mark.parametrize(("late", "finds"), [(60, True), (59, False)])
def test_half_more_work_on_cpus(late: int, finds: bool) -> None:
    slow = [("dot.1", 40), ("dot.3", late - 40), ("all-reduce.2", 1)]
    quick = [("dot.1", 40), ("all-reduce.2", late - 39)]
    found = told("straggler", cpu(slow, quick, quick, quick))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == (
            "Devices wait 14.2% of the step for others; the busiest has 1.48 times the median work."
        )


def arriving(late: int, later: int) -> str:
    """Two TensorCores with 30 us of work each; in each of four steps one of them begins `late` or `later` us late."""
    lines = []
    for number in range(2):
        lines += [f'plane {number + 1} "/device:TPU:{number}" {{device_type_string="TPU v5p"}}', "line 1 Steps"]
        lines += [f"{100 * i}us +100us {i} {{_ct=9, _c={i}}}" for i in range(4)]
        lines.append('line 2 "XLA Ops"')
        for step in range(4):
            wait = (late if step < 3 else 0) if number == 0 else (later if step == 3 else 0)
            at = 100 * step + wait
            lines += [f"{at}us +30us fusion.1", f"{at + 30}us +{65 - wait}us all-reduce.2"]
        lines.append('metadata "fusion.1" {program_id=7, symbol_id=1, hlo_category="loop fusion"}')
        lines.append('metadata "all-reduce.2" {program_id=7, symbol_id=2, hlo_category="all-reduce"}')
    return "\n".join(lines)


@pytest.mark.parametrize(("late", "later", "finds"), [(40, 30, True), (40, 31, False), (20, 0, False)])
def test_a_device_that_comes_late_without_more_work(late: int, later: int, finds: bool) -> None:
    found = told("straggler", arriving(late, later))
    assert ("share" in found) is finds
    if finds:
        # Waits of 3 * 40 + 30 us over two devices and four steps; 120 of them for the first device.
        assert found["title"] == ("TPU 0 arrives late at collectives: the others wait 18.8% of the step")
        assert (found["saving_ps_per_step"], found["confidence"]) == (18_750_000, "medium")
        shown = evidence(found)
        assert shown["Waits for this device, of all in collectives"] == (80.0, "%", "")
        assert shown["Largest idle part of this device per step: Unexplained"] == (0.035, "ms", "time_budget")


def coming(*devices: tuple[int, int], steps: int = 4) -> str:
    """TensorCores with (delay, work) in us each; in each step of 100 us all reduce until the last has come."""
    end = max(delay + work for delay, work in devices) + 5
    lines = []
    for number, (delay, work) in enumerate(devices):
        lines += [f'plane {number + 1} "/device:TPU:{number}" {{device_type_string="TPU v5p"}}', "line 1 Steps"]
        lines += [f"{100 * i}us +100us {i} {{_ct=9, _c={i}}}" for i in range(steps)]
        lines.append('line 2 "XLA Ops"')
        for i in range(steps):
            at = 100 * i + delay
            lines += [f"{at}us +{work}us fusion.1", f"{at + work}us +{end - delay - work}us all-reduce.2"]
        lines.append('metadata "fusion.1" {program_id=7, symbol_id=1, hlo_category="loop fusion"}')
        lines.append('metadata "all-reduce.2" {program_id=7, symbol_id=2, hlo_category="all-reduce"}')
    return "\n".join(lines)


def test_who_is_waited_for_is_late_and_not_who_works_most() -> None:
    """Device 3 has 1.7 times the work and comes 53 us before device 7, for which all wait."""
    devices = [(0, 10)] * 3 + [(0, 17)] + [(0, 10)] * 3 + [(60, 10)]
    found = told("straggler", coming(*devices))
    assert found["title"].startswith("TPU 7 arrives late at collectives: the others wait ")
    assert found["confidence"] == "medium"
    shown = evidence(found)
    assert shown["Waits for this device, of all in collectives"] == (100.0, "%", "")
    # 85 us idle before each but the first step, of which no op before is known.
    assert shown["Its work before it arrives"] == (0.01, "ms", "")
    assert shown["Work of the others before they arrive"] == (0.011, "ms", "")
    assert shown["Idle before it arrives, on average"] == (pytest.approx(0.06375), "ms", "")
    assert shown["The others, idle before they arrive"] == (pytest.approx(0.01875), "ms", "")
    for rule in ("uneven_work", "slow_device"):
        assert "share" not in told(rule, coming(*devices))


def test_waits_for_different_devices_in_turn_are_nobody_s_fault() -> None:
    found = told("straggler", turns(4))
    assert found["reason"].startswith("Devices wait 37.5% of the step for others, for different ones in turn; ")


def turns(count: int) -> str:
    """TensorCores with 10 us of work in each step of 100 us; in each step another one begins 50 us late."""
    lines = []
    for number in range(count):
        lines += [f'plane {number + 1} "/device:TPU:{number}" {{device_type_string="TPU v5p"}}', "line 1 Steps"]
        lines += [f"{100 * i}us +100us {i} {{_ct=9, _c={i}}}" for i in range(count)]
        lines.append('line 2 "XLA Ops"')
        for step in range(count):
            at = 100 * step + (50 if step == number else 0)
            lines += [f"{at}us +10us fusion.1", f"{at + 10}us +{100 * step + 65 - at - 10}us all-reduce.2"]
        lines.append('metadata "fusion.1" {program_id=7, symbol_id=1, hlo_category="loop fusion"}')
        lines.append('metadata "all-reduce.2" {program_id=7, symbol_id=2, hlo_category="all-reduce"}')
    return "\n".join(lines)


def test_waits_that_take_little_of_the_step() -> None:
    found = told("straggler", cores(8, 2, 2, 2, talk=1))
    assert found["reason"].startswith("Devices wait 4.5% of the step for others; the busiest has 4.00 times")


def test_the_wait_for_a_device_to_start_happens_once() -> None:
    """Core 1 starts 1.5 ms late: core 0 waits in the first reduction, which takes 20 us in each later step of 5 ms."""
    lines = []
    for number, late in enumerate((0, 1500)):
        lines += [f'plane {number + 1} "/device:TPU:{number}" {{device_type_string="TPU v5p"}}', "line 1 Steps"]
        lines.append("0us +6500us 0 {_ct=9, _c=0}")
        lines += [f"{5000 * i + 1500}us +5000us {i} {{_ct=9, _c={i}}}" for i in (1, 2, 3)]
        lines += ['line 2 "XLA Ops"', f"{late}us +4900us fusion.1", f"{late + 4900}us +{1520 - late}us all-reduce.2"]
        lines += [f"{at}us +4900us fusion.1\n{at + 4900}us +20us all-reduce.2" for at in (6500, 11_500, 16_500)]
        lines.append('metadata "fusion.1" {program_id=7, symbol_id=1, hlo_category="loop fusion"}')
        lines.append('metadata "all-reduce.2" {program_id=7, symbol_id=2, hlo_category="all-reduce"}')
    assert told("straggler", "\n".join(lines))["reason"] == (
        "Devices wait 0.0% of the step for others; the busiest has 1.00 times the median work."
    )


def test_devices_without_work_have_no_busiest_one() -> None:
    assert told("straggler", cpu([("all-reduce.2", 10)], [("all-reduce.2", 10)]))["reason"] == (
        "Devices wait 0.0% of the step for others; the busiest has 0.00 times the median work."
    )


def test_a_device_of_the_cpu_backend() -> None:
    slow, quick = [*[("dot.1", 10)] * 6, ("all-reduce.2", 5)], [("dot.1", 10), ("all-reduce.2", 55)]
    found = told("straggler", cpu(slow, quick, quick))
    assert (
        found["title"]
        == "CPU device 0 is late: the others wait 33.3% of the step; it has 6.0 times the work of the others"
    )


def test_a_device_of_the_cpu_backend_that_is_only_slower() -> None:
    slow, quick = [("dot.1", 60), ("all-reduce.2", 5)], [("dot.1", 10), ("all-reduce.2", 55)]
    found = told("straggler", cpu(slow, quick, quick))
    assert found["reason"] == ("Devices wait 33.3% of the step for others; the busiest has 6.00 times the median work.")


def test_a_device_of_several_hosts_and_a_whole_host() -> None:
    one = told("straggler", cores(10, 80, talk=5, ranks=4), cores(10, 10, host=1, talk=75, ranks=4))
    assert (one["title"].partition(": the others")[0], one["hosts"]) == ("h0: TPU 1 is late", ["h0"])
    # Clocks of hosts are compared by collectives that do not follow each other regularly.
    begins = (0, 107, 228, 363, 512)
    others = (cores(10, 10, host=i, talk=75, ranks=6, begins=begins) for i in (1, 2))
    both = told("straggler", cores(80, 80, talk=5, ranks=6, begins=begins), *others)
    assert (both["title"].partition(": the others")[0], both["hosts"]) == ("Host h0 is late", ["h0"])


def test_a_single_device_waits_for_none() -> None:
    found = told("straggler", cpu([("dot.1", 60)]))
    assert (found["reason"], found["state"]) == ("No collectives of several devices recorded.", "unknown")


def virtual(*ends: int, since: int = 55, times: int = 1) -> str:
    """Devices of a CPU in steps of 100 us: all reduce so often from then on, each until its end, and then compute."""
    lines = ['plane 9 "/host:CPU"', "line 1 main"]
    lines += [f"{100 * step}us +99us train {{_r=1, step_num={step}}}" for step in range(4)]
    for device, end in enumerate(ends):
        lines.append(f"line {device + 2} worker")
        each = (end - since) // times
        talk = [(since + each * i, since + each * (i + 1), "all-reduce.2") for i in range(times)]
        for step in range(4):
            lines += [
                f'{100 * step + first}us +{last - first}us {op} {{hlo_op="{op}", device_ordinal={device}, '
                f"program_id=7, run_id={step}}}"
                for first, last, op in ((0, since, "dot.1"), *talk, (end, 99, "dot.3"))
            ]
    return "\n".join(lines)


def test_devices_that_share_cores_lose_nothing_while_others_compute() -> None:
    assert told("exposed_communication", virtual(95, 95, since=45))["share"] == pytest.approx(50 / 100, abs=0.001)
    found = told("exposed_communication", virtual(65, 95, since=60))
    # (5 + 35) / 2 of 99 us; 30 of the 40 while device 0 computes.
    assert found["reason"] == (
        "Exposed communication takes 20.0% of the time from step to step; "
        "5.0% while no other device uses the same cores."
    )


@pytest.mark.parametrize(("since", "times", "finds"), [(51, 1, False), (50, 1, True), (59, 3, False), (59, 4, True)])
def test_few_collectives_of_cpus_from_45_percent_of_the_step_on(since: int, times: int, finds: bool) -> None:
    found = told("exposed_communication", virtual(95, 95, since=since, times=times))
    assert found["share"] == (pytest.approx((95 - since) / 100, abs=0.02) if finds else 0.0)


def test_few_collectives_of_cpus_below_a_quarter_of_the_step_are_not_told() -> None:
    found = told("exposed_communication", virtual(95, 95, since=72, times=1))
    assert found["reason"].endswith(" of the time from step to step, in 1.0 collectives per step of CPUs.")
