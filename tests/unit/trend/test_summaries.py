"""Summaries of runs: made of profiles, kept, written and read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from builders.histories import profile, summary
from builders.logdirs import write

import tpu_profile_plugin
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NotFound
from tpu_profile_plugin.trend import summaries
from tpu_profile_plugin.trend.baselines import baseline, baselines, delete_baseline, set_baseline
from tpu_profile_plugin.trend.summaries import chosen, decoded, encoded, label_of, labels_in, read_file, write_file

OPS = {"fusion": 300, "copy": 100}


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(summaries, "user_directory", lambda name: tmp_path / "cache" / name)
    files: dict[str, str | bytes | None] = {
        f"logs/plugins/profile/r{row}/h.xplane.pb": profile({**OPS, "copy": 100 + 20 * (row >= 4)}) for row in range(8)
    }
    files["logs/plugins/profile/r4/labels.json"] = b'{"commit": "abc", "batch": 32, "nested": {}}'
    files["logs/plugins/profile/r8/h.xplane.pb"] = b"\x0a\xff\xff\xff\xff\x0f"
    return write(tmp_path, files) / "logs"


def test_a_summary_has_the_figures_of_the_run(logdir: Path):
    found = {one.run: one for one in tpu_profile_plugin.open(str(logdir)).trend().runs}
    one = found["r4"]
    assert (one.step_ps, one.step_sd_ps, one.steps, one.single_ps) == (430e6, 0.0, 8, 0.0)
    assert one.labels == {"commit": "abc", "batch": "32"}
    assert [(each.part, each.name, each.ps, each.runs) for each in one.places] == [
        ("op", "fusion", 300e6, 1.0),
        ("op", "copy", 120e6, 1.0),
        ("between_steps", "unknown", 10e6, 0.0),
    ]
    assert (one.conditions.device, one.conditions.devices, one.conditions.unit) == (
        *("TPU v6 Lite", 1, "time from step to step"),
    )
    assert sum(one.parts.values()) == one.step_ps


def test_a_damaged_run_has_its_reason_and_loses_no_other(logdir: Path):
    found = tpu_profile_plugin.open(str(logdir)).trend()
    assert [(one.run, bool(one.problem)) for one in found.runs] == [
        *((f"r{i}", False) for i in range(8)),
        ("r8", True),
    ]
    [series] = found.series
    assert [one.run for one in series.runs] == [f"r{i}" for i in range(8)]
    [event] = series.events
    assert (series.runs[event.index].run, event.step.delta, event.parts[0].place.name) == ("r4", 20e6, "copy")


def test_runs_are_read_once_and_reading_can_go_on_later(logdir: Path):
    opened = tpu_profile_plugin.open(str(logdir))
    read: list[str] = []
    few = opened.trend(on_run=lambda known, whole, name: read.append(name), most_read=3)
    assert (len(read), len(few.runs), few.unread) == (3, 3, 6)
    rest = tpu_profile_plugin.open(str(logdir)).trend(on_run=lambda known, whole, name: read.append(name))
    assert (len(read), len(set(read)), rest.unread) == (9, 9, 0)
    again = tpu_profile_plugin.open(str(logdir)).trend(on_run=lambda *_: pytest.fail("nothing is left to read"))
    assert again.runs == rest.runs


def test_labels_that_change_are_seen(logdir: Path):
    tpu_profile_plugin.open(str(logdir)).trend()
    (logdir / "plugins/profile/r2/labels.json").write_text('{"commit": "new"}')
    found = {one.run: one for one in tpu_profile_plugin.open(str(logdir)).trend().runs}
    assert found["r2"].labels == {"commit": "new"}


def test_a_damaged_kept_summary_is_read_anew(logdir: Path, tmp_path: Path):
    first = tpu_profile_plugin.open(str(logdir)).trend()
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-7] + b"damaged")
    assert tpu_profile_plugin.open(str(logdir)).trend().runs == first.runs


def test_a_summary_survives_its_file(tmp_path: Path):
    runs = [replace(summary("r\n1", 5, {"a": 1e9}), labels={"k": "v"}), replace(summary("x", 6, {}), problem="Why.")]
    path = tmp_path / "some.runs.jsonl"
    assert write_file(path, runs) == 2
    assert read_file(path) == runs
    assert [each.name for each in tmp_path.iterdir()] == ["some.runs.jsonl"]


GOOD = json.loads(encoded(summary("r", 1, {"a": 1e9})))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("[", "line 1 is no summary of a run: Expecting value: line 1 column 2 (char 1)."),
        ("[]", "line 1 is no summary of a run: it is no object."),
        ({"format": 9}, "line 1 is no summary of a run: its format is 9, and this version reads 1."),
        ({"step_ps": -1}, "line 1 is no summary of a run: step_ps is no number from 0 on."),
        ({"step_ps": float("nan")}, "line 1 is no summary of a run: step_ps is no number from 0 on."),
        ({"run": 5}, "line 1 is no summary of a run: run is no text."),
        ({"places": [{}]}, "line 1 is no summary of a run: its PlaceTime has other fields."),
        ({"conditions": {"a": 1}}, "line 1 is no summary of a run: its Conditions has other fields."),
        ({"labels": {"a": 1}}, "line 1 is no summary of a run: a is no text."),
        ("[" * 100_000, "line 1 is no summary of a run: "),
    ],
)  # fmt: skip
def test_what_is_no_summary(change: object, message: str):
    line = change if isinstance(change, str) else json.dumps({**GOOD, **change})
    with pytest.raises(CorruptProfile) as raised:
        decoded(line, "line 1")
    assert raised.value.message.startswith(message)


def test_a_missing_field_is_named():
    with pytest.raises(CorruptProfile, match="steps is missing"):
        decoded(json.dumps({key: value for key, value in GOOD.items() if key != "steps"}), "x")


def test_which_runs_a_text_names():
    runs = [replace(summary(f"r{i}", i, {"a": 1e9}), labels={"commit": "ab" if i < 3 else "cd"}) for i in range(1, 6)]
    assert [one.run for one in chosen(runs, "latest:2")] == ["r4", "r5"]
    assert [one.run for one in chosen(runs, "commit=ab")] == ["r1", "r2"]
    assert [one.run for one in chosen(runs, "r3")] == ["r3"]
    with pytest.raises(NotFound, match="r1, r2, r3, r4, r5"):
        chosen(runs, "r9")
    for wrong in ("latest:0", "latest:x", "latest:"):
        with pytest.raises(BadRequest, match="latest:N"):
            chosen(runs, wrong)


def test_labels():
    assert label_of("commit=a=b") == ("commit", "a=b")
    for wrong in ("commit", "=x", "k=" + "v" * 201):
        with pytest.raises(BadRequest, match="KEY=VALUE"):
            label_of(wrong)
    assert labels_in(b'{"a": 1, "b": true, "c": null, "d": ["x"]}') == {"a": "1", "b": "True"}
    for text in (b"", b"[]", b"{" * 10_000, b"\xff", b'{"a": "' + b"x" * 70_000):
        assert labels_in(text) == {}


def test_baselines_stay_under_their_name(tmp_path: Path):
    path = tmp_path / "baselines.json"
    first, second = summary("r1", 1, {"a": 1e9}), summary("r2", 2, {"a": 2e9})
    assert baselines(path) == {}
    set_baseline(path, "main", [first])
    set_baseline(path, "v1", [first, second])
    set_baseline(path, "main", [second])
    assert baselines(path) == {"main": [second], "v1": [first, second]}
    delete_baseline(path, "main")
    assert baselines(path) == {"v1": [first, second]}
    with pytest.raises(NotFound, match="there are: v1"):
        baseline(path, "main")
    for name in ("", "latest:3", "a=b", "a\nb", "n" * 101):
        with pytest.raises(BadRequest, match="A baseline needs a name"):
            set_baseline(path, name, [first])


@pytest.mark.parametrize("text", ["{", "[]", '{"baselines": 3}', '{"baselines": {"a": [1]}}', "[" * 100_000])
def test_a_damaged_file_of_baselines(tmp_path: Path, text: str):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(CorruptProfile, match=r"b\.json"):
        baselines(path)


def test_a_step_is_with_the_time_until_the_next_however_little_that_is(logdir: Path):
    """10 us are 2 % of one run's step and 0.4 % of the other's."""
    for name, length in (("x500", 500), ("x2500", 2500)):
        write(logdir, {f"plugins/profile/{name}/h.xplane.pb": profile({"dot": length})})
    found = tpu_profile_plugin.open(str(logdir)).trend("x*").runs
    assert {one.run: (one.step_ps, one.conditions.unit) for one in found} == {
        "x500": (510e6, "time from step to step"),
        "x2500": (2510e6, "time from step to step"),
    }


def test_a_run_whose_clock_was_wrong_is_placed_by_when_it_was_written(logdir: Path):
    """Clocks of 1970 and of the year 2096; the third one is right, and its file was copied later."""
    for name, start in (("x1970", 86_400), ("x2096", 4_000_000_000), ("x2023", 1_700_000_000)):
        clock = f'plane 9 "Task Environment" {{profile_start_time=u{start}000000000}}\n'
        write(logdir, {f"plugins/profile/{name}/h.xplane.pb": profile(OPS) + clock})
    trend = tpu_profile_plugin.open(str(logdir)).trend("x*")
    assert trend.runs[0].run == "x2023"
    assert {one.run for one in trend.series[0].runs} == {"x1970", "x2023", "x2096"}
    assert sorted(trend.problems) == [
        "x1970: Its clock was wrong: it is placed by when its profile was written.",
        "x2096: Its clock was wrong: it is placed by when its profile was written.",
    ]
    assert all(one == decoded(encoded(one), "x") for one in trend.runs)
