"""The command `explain`: headline, findings and silent rules as text, JSON and Markdown."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest
from builders.logdirs import SMALL, write

import tpu_profile_plugin
from tpu_profile_plugin.analysis.findings.find import Report, RuleFinding
from tpu_profile_plugin.analysis.findings.headline import Headline
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, OpOf, Rule, Silence
from tpu_profile_plugin.analysis.findings.rules import RULES
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.commands.explain import as_markdown, as_text
from tpu_profile_plugin.run.figures.findings import Findings
from tpu_profile_plugin.units import duration

TPU = """
plane 1 "/device:TPU:0"
line 1 Steps
0us +100us 1 {_ct=9, _c=1}
200us +100us 2 {_ct=9, _c=2}
line 2 "XLA Ops"
0us +100us fusion.1
200us +40us fusion.1
290us +10us fusion.1
metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u1}
plane 2 "/host:CPU"
line 1 main
0us +90us train {_r=1, step_num=0}
200us +90us train {_r=1, step_num=1}
240us +45us "$train.py:9 load_batch"
"""
BUSY = "\n".join(line for line in TPU.splitlines() if "load_batch" not in line).replace("+40us", "+100us")
NEWEST = "z/2026_11_20_10_00_00"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    files = {f"plugins/profile/{name}/a.xplane.pb": SMALL for name in ("2026_11_19_00_00_00", "zz")}
    files["plugins/profile/2026_11_19_00_00_00/a.xplane.pb"] = BUSY
    files["z/plugins/profile/2026_11_20_10_00_00/a.xplane.pb"] = TPU
    logdir = write(tmp_path / "logs", files)
    os.utime(logdir / "plugins/profile/zz/a.xplane.pb", (0, 0))
    return logdir


def ask(place: Path) -> dict:
    """The tool's answer for the newest run."""
    return tpu_profile_plugin.open(place).run(NEWEST).document("smart_suggestion")


def test_text_of_the_newest_run(place, capsys):
    assert main(["explain", str(place)]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = ask(place)["findings"][0]
    assert "train.py:9 load_batch" in first["title"]
    assert lines[0] == f"{NEWEST}: 2 steps only: {first['title']}"
    assert lines[1] == (
        "The average time from step to step takes 200 us (100 us step, 100 us between steps): "
        "Device compute 37.5%, Host compute 12.5%, Between steps 50.0%."
    )
    assert lines[2] == "2 steps recorded."
    assert lines[4] == f"1. {first['title']}"
    assert lines[5] == (
        "   25 us of 25 us Waits for host code, 12.5% of the time from step to step; "
        f"{first['confidence']} confidence. Saving: {first['formula']}."
    )
    assert lines[6].startswith(f"   - {first['evidence'][0]['label']}: ")
    assert not any("checks clean" in line for line in lines)


def test_what_was_not_found_is_added_on_request(place, capsys):
    assert main(["explain", str(place), "--all"]) == 0
    text = capsys.readouterr().out
    silent = ask(place)["silent"]
    wanted = []
    for state, heading in (("passed", "clean"), ("unknown", "not possible with this recording")):
        rules = [one for one in silent if one["state"] == state]
        assert len(rules) > 1
        wanted += ["", f"{len(rules)} checks {heading}:"]
        wanted += [f"   - {one['looks_for']}: {one['reason']}" for one in rules]
    assert text.splitlines()[-len(wanted) :] == wanted


def test_json_is_the_small_answer(place, capsys):
    assert main(["explain", str(place), NEWEST, "--format", "json"]) == 0
    envelope = json.loads(capsys.readouterr().out)
    (first, *_), shown = envelope["answer"]["findings"], ask(place)["findings"][0]
    assert (first["id"], first["title"], first["advice"]) == (shown["id"], shown["title"], shown["advice"])
    assert envelope["from"] == {"run": NEWEST, "hosts": ["a"], "tool": "overview_page"}
    assert envelope["cannot_answer"] is None


def test_json_of_an_error_names_the_argument_and_the_choices(place, capsys):
    assert main(["explain", str(place), "--finding", "nope", "--format", "json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["argument"], error["choices"][0]) == ("finding", ask(place)["findings"][0]["id"])


def test_one_finding_as_text(place, capsys):
    first = ask(place)["findings"][0]
    assert main(["explain", str(place), "--finding", first["id"]]) == 0
    text = capsys.readouterr().out
    assert f"title: {first['title']}" in text
    assert all(one["label"] in text for one in first["evidence"])


def test_markdown_shows_names_of_the_profile_as_text(place, capsys):
    assert main(["explain", str(place), "--format", "markdown", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    escaped = ask(place)["findings"][0]["title"].replace("_", "\\_")
    assert [lines[0], lines[2]] == ["## Profile z/2026\\_11\\_20\\_10\\_00\\_00", f"**2 steps only: {escaped}**"]
    assert f"### 1. {escaped}" in lines
    assert any(line.endswith(" checks clean") for line in lines if line.startswith("### "))


def test_a_run_without_findings_is_no_error(place, capsys):
    assert main(["explain", str(place), "2026_11_19_00_00_00", "--format", "json"]) == 0
    assert [one["saving_ms"] for one in json.loads(capsys.readouterr().out)["answer"]["findings"]] == [None]
    assert main(["explain", str(place / "plugins/profile/zz/a.xplane.pb"), "--host", "a"]) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["nope"], "There is no run 'nope'"),
        (["--host", "b"], "There is no host 'b'"),
    ],
)
def test_errors_end_with_2(place, capsys, more, said):
    assert main(["explain", str(place), *more]) == 2
    assert said in capsys.readouterr().err


def test_files_and_missing_or_damaged_logdirs(place, tmp_path, capsys):
    file = place / "plugins/profile/zz/a.xplane.pb"
    assert main(["explain", str(file), "other"]) == 2
    assert "is a single file" in capsys.readouterr().err
    assert main(["explain", str(tmp_path / "missing")]) == 2
    file.write_bytes(b"\xff" * 40)
    assert main(["explain", str(file)]) == 2


class Budget:
    """A step of 1 ms: what texts read of a budget."""

    step_ps, left_out = 10**9, 0
    shares = MappingProxyType(
        {"device_compute": 0.62, "compute": 0.62, "other": 0.38, "exposed_copy": 0.3, "idle_other": 0.08}
    )

    def __len__(self) -> int:
        return 3

    def share(self, name: str) -> float:
        return self.shares.get(name, 0.0)

    def part_ps(self, name: str) -> float:
        return self.share(name) * 10**9


class Told(Findings):
    notes = ()


def findings(*entries, silent=()):
    view = SimpleNamespace(hosts=("a", "b"), frameworks=("JAX",), keras=False, budget=Budget(), coverage=None)
    view.base, view.base_ps = "step", 10**9
    report = Report(entries, tuple(silent), Headline("Healthy", "good"), healthy=False)
    return Told.of(view, report)


def rule(looks_for):
    return Rule("x", looks_for, lambda run, gathered: Silence("No."))


@pytest.mark.parametrize("write", [as_text, as_markdown])
def test_rules_that_failed_are_always_listed(write):
    silent = [
        (rule("A cause"), Silence("The rule failed: E.", looked=False, failed=True)),
        (rule("Another cause"), Silence("No.")),
    ]
    text = write("r", 1, findings(silent=silent), silent=False)
    assert "1 check failed" in text
    assert "- A cause: The rule failed: E." in text
    assert "Another cause" not in text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_explained_without_a_logdir(rule, capsys):
    assert main(["explain", "--rule", rule.id]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{rule.id}: {rule.looks_for}\n\n")
    assert " ".join(text.split()).endswith(" ".join(rule.documentation))
    assert max(map(len, text.splitlines())) <= 100


def test_an_unknown_rule_lists_the_rules(capsys):
    assert main(["explain", "--rule", "nope"]) == 2
    error = capsys.readouterr().err
    assert "'nope'" in error
    assert all(rule.id in error for rule in RULES)
    assert main(["explain"]) == 2
    assert "needs a logdir or --rule ID" in capsys.readouterr().err


OP = OpOf("add.1", 1, "add.1 = f32[8] add(x, y)", "/src/a_b.py", 3)
EVIDENCE = (
    Evidence("Size", 1536, "MiB", "memory_viewer", {"host": "a"}, OP),
    Evidence("Most of it in", "add.1", op=OP),
    Evidence("Share", 3, "%"),
)


def finding(title="A `title` of <b>", saving_ps=2 * 10**8, hosts=("a",)):
    segments = ("exposed_copy", "idle_other")
    found = Finding(title, saving_ps, "f", "low", EVIDENCE, Advice("Do it."), hosts, segments)
    return RuleFinding(rule("A cause"), found, saving_ps / 10**9)


def test_findings_of_some_hosts_and_about_no_time():
    text = as_text("r", 2, findings(finding()), silent=False)
    assert "Device compute 62.0%, All others 38.0% (host copies 30.0%, unexplained 8.0%)." in text
    assert "200 us of 380 us Host copies and Unexplained, 20.0% of the step on a; low confidence. Saving: f." in text
    assert "- Size: 1,536 MiB  [memory_viewer host=a]" in text
    assert text.count("   - add.1 = f32[8] add(x, y)  at /src/a_b.py:3\n") == 1
    text = as_text("r", 1, findings(finding(saving_ps=0)), silent=False)
    assert "No direct cost; low confidence." in text
    assert text.startswith("r: Healthy\n")


def test_markdown_of_hostile_names():
    lines = as_markdown("r", 1, findings(finding(title="a\n# b [x](http://y) <img>")), silent=False).splitlines()
    assert "- add.1 = f32\\[8\\] add(x, y) at /src/a\\_b.py:3" in lines
    assert "### 1. a \\# b \\[x\\](http://y) \\<img\\>" in lines


@pytest.mark.parametrize(
    ("ps", "text"), [(0, "0 ns"), (1500, "1.5 ns"), (10**9, "1 ms"), (34_951_234_567, "34.95 ms"), (2 * 10**12, "2 s")]
)
def test_durations(ps, text):
    assert duration(ps) == text
