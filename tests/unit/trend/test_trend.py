"""The order of runs."""

from builders.histories import summary

from tpu_profile_plugin.trend.trend import of_summaries

TOLD = "Its time does not fit its label build: the clock was wrong, or the label is."


def notes(times: list[int], builds: list[object]) -> list[tuple[str, str]]:
    runs = [
        summary(f"b{build}", 1000 * at, {"dot": 1e9}, labels={"build": str(build)})
        for at, build in zip(times, builds, strict=True)
    ]
    return [(run.run, run.note) for run in of_summaries(runs).runs if run.note]


def test_a_clock_that_went_back_is_told_by_a_label_that_counts():
    times = list(range(100, 120))
    assert notes(times, list(range(20))) == []
    assert notes([*times[:12], 95, *times[13:]], list(range(20))) == [("b12", TOLD)]
    assert notes([*times[:12], 150, 95, *times[14:]], list(range(20))) == [("b13", TOLD), ("b12", TOLD)]


def test_runs_without_the_label_hide_no_wrong_clock():
    runs = [summary(f"b{row}", 1000 * row, {"dot": 1e9}, labels={"build": str(row)}) for row in range(1, 12)]
    runs += [summary("plain", 500, {"dot": 1e9}), summary("late", 2500, {"dot": 1e9}, labels={"build": "0"})]
    assert [(run.run, run.note) for run in of_summaries(runs).runs if run.note] == [("late", TOLD)]


def test_labels_that_do_not_count_tell_nothing_of_clocks():
    times = list(range(100, 120))
    assert notes(times, [7 * row % 20 for row in range(20)]) == []  # such as seeds
    assert notes(times, [row // 2 for row in range(20)]) == []
    assert notes([*times[:19], 95], [*range(19), "last"]) == []
    assert notes([100, 101, 90], [1, 2, 3]) == []
