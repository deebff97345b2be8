"""The commands `capture`, `tools` and `doctor`, and the same from Python."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from builders.histories import profile
from builders.logdirs import SMALL, write
from builders.profiles.compared import core
from builders.servers.fake_profiler import XSPACE, serving
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import BadRequest, NoData, NotFound


@pytest.fixture
def place(tmp_path):
    files = {
        "plugins/profile/2026_01_02_00_00_00/a.xplane.pb": SMALL,
        "plugins/profile/2026_01_02_00_00_00/b.xplane.pb": SMALL,
        "plugins/profile/2026_01_01_00_00_00/one.xplane.pb": SMALL,
    }
    return write(tmp_path / "logs", files)


class TestCapture:
    def test_captures_with_options_and_reports(self, tmp_path, capsys):
        with serving() as fake:
            flags = ["--duration-ms", "50", "--python-tracer", "1", "--option", "tpu_x=3", "--session", "mine"]
            assert main(["capture", fake.address, "--logdir", str(tmp_path), *flags]) == 0
        out = capsys.readouterr().out
        assert f"{len(XSPACE)} bytes, 4 events -> plugins/profile/mine/" in out
        assert "Run: mine" in out
        assert fake.requests[0].opts.python_tracer_level == 1
        assert fake.requests[0].opts.advanced_configuration["tpu_x"].int64_value == 3

    def test_exit_codes(self, tmp_path, capsys):
        logdir = ["--logdir", str(tmp_path), "--duration-ms", "50", "--retries", "0", "--delay-ms", "0"]
        with serving() as good, serving("busy") as busy:
            assert main(["capture", f"{good.address},{busy.address}", *logdir]) == 3
            assert main(["capture", busy.address, *logdir]) == 1
            assert "Another profiling session is active" in capsys.readouterr().out
        assert main(["capture", "localhost", *logdir]) == 2
        assert "has no port" in capsys.readouterr().err
        assert main(["capture", "localhost:1", *logdir, "--option", "x"]) == 2

    def test_json(self, tmp_path, capsys):
        with serving() as fake:
            assert main(["capture", fake.address, "--logdir", str(tmp_path), "--duration-ms", "50", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["workers"][0]["state"] == "done"

    def test_several_runs_are_of_their_own(self, tmp_path, capsys):
        words = ["--logdir", str(tmp_path), "--duration-ms", "50", "--delay-ms", "0", "--label", "batch=8"]
        with serving() as fake:
            assert main(["capture", fake.address, *words, "--runs", "3"]) == 0
            capsys.readouterr()
            assert main(["capture", fake.address, *words, "--runs", "2", "--session", "mine", "--json"]) == 0
            assert [result["run"] for result in json.loads(capsys.readouterr().out)] == ["mine_1", "mine_2"]
            assert main(["capture", fake.address, *words, "--runs", "0"]) == 2
        runs = sorted(path.parent.name for path in tmp_path.rglob("labels.json"))
        assert len(runs) == 5
        assert runs[-2:] == ["mine_1", "mine_2"]
        assert len(fake.requests) == 5


class TestTools:
    def test_lists_the_tools_of_the_newest_run(self, place, capsys):
        assert main(["tools", str(place)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert any(line.split()[:2] == ["profile_contents", "yes"] for line in lines)
        assert any(line.startswith("kernel_stats") and "GPU" in line for line in lines)

    def test_prints_a_tool_as_json_and_csv(self, place, capsys):
        arguments = ["tools", str(place), "2026_01_01_00_00_00", "--tool", "profile_contents"]
        assert main(arguments) == 0
        assert json.loads(capsys.readouterr().out)["rows"]
        assert main([*arguments, "--format", "csv"]) == 0
        rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
        assert rows[0][:3] == ["Host", "Plane", "Line"]
        assert rows[1][0] == "one"

    def test_says_what_is_wrong(self, place, capsys):
        assert main(["tools", str(place), "nope"]) == 1
        assert main(["tools", str(place), "--tool", "nope"]) == 1
        assert main(["tools", str(place), "--tool", "trace_viewer@"]) == 0 or "one host" in capsys.readouterr().err
        assert main(["tools", str(place), "--tool", "profile_contents", "--param", "x=1"]) == 2
        assert main(["tools", str(place), "--tool", "profile_contents", "--host", "zz"]) == 1

    def test_options_that_have_no_effect_are_refused(self, place, capsys):
        tool = ["tools", str(place), "--tool", "profile_contents"]
        for arguments, message in (
            (["tools", str(place), "--host", "a"], "--host needs --tool"),
            (["tools", str(place), "--param", "a=1"], "--param needs --tool"),
            (["tools", str(place), "--format", "csv"], "--format needs --tool"),
            ([*tool, "--param", "a=1", "--param", "a=2"], "a is given more than once"),
            (
                ["tools", str(place), "--tool", "hlo_stats", "--param", "backend=cpu", "--param", "unattributed=true"],
                "no effect",
            ),
        ):
            assert main(arguments) == 2, arguments
            assert message in capsys.readouterr().err

    def test_a_file_has_no_other_run(self, place, capsys):
        file = str(place / "plugins/profile/2026_01_01_00_00_00/one.xplane.pb")
        assert main(["tools", file, "2026_01_02_00_00_00"]) == 1
        assert "is a single file" in capsys.readouterr().err
        assert main(["tools", file, "2026_01_01_00_00_00"]) == 0

    def test_op_tools_answer_as_the_pages_show_them(self, tmp_path, capsys):
        host = 'plane 0 "/host:CPU"\nline 1 main\n0us +5us dot {hlo_op="dot", hlo_module="jit_f", program_id=1}'
        logdir = write(tmp_path, {"plugins/profile/cpu/h.xplane.pb": host})
        arguments = ["tools", str(logdir), "--tool", "hlo_stats"]
        assert main(arguments) == 0
        assert len(json.loads(capsys.readouterr().out)["rows"]) == 1
        assert main([*arguments, "--param", "backend=device"]) == 0
        assert json.loads(capsys.readouterr().out)["rows"] == []

    def test_why_there_is_no_run(self, place, tmp_path, capsys):
        assert main(["tools", str(tmp_path / "missing")]) == 1
        assert "The logdir does not exist" in capsys.readouterr().err
        (tmp_path / "bare").mkdir()
        assert main(["tools", str(tmp_path / "bare")]) == 1
        assert "a run is a directory plugins/profile" in capsys.readouterr().err
        assert main(["tools", str(place), "2026_01_02"]) == 1
        assert "there are 2026_01_02_00_00_00" in capsys.readouterr().err


class TestEvents:
    @pytest.fixture
    def run(self, tmp_path):
        host = """
        plane 2 "/device:TPU:0"
          line 1 "XLA Ops"
            0us +5us dot {n=3}
            7us +1us dot
            9us +2us copy
        """
        return write(tmp_path, {"plugins/profile/one/h.xplane.pb": host})

    def test_lists_events_as_text(self, run, capsys):
        assert main(["events", str(run), "--name", "dot", "--stats"]) == 0
        out, err = capsys.readouterr()
        assert out.splitlines() == [
            "Plane          Line     Event  Begin (us)  Duration (us)  Self time (us)  Stats",
            "/device:TPU:0  XLA Ops  dot         0.000          5.000           5.000  n=3",
            "/device:TPU:0  XLA Ops  dot         7.000          1.000           1.000",
        ]
        assert err == ""

    def test_adds_them_up_as_csv(self, run, capsys):
        assert main(["events", str(run), "one", "--by", "name", "--format", "csv"]) == 0
        header, dots, copies = csv.reader(io.StringIO(capsys.readouterr().out))
        assert (header[1:5], dots[1:5]) == (
            ["Event", "Events", "Total", "Self time"],
            ["dot", "2.0", "6000000.0", "6000000.0"],
        )
        assert copies[1] == "copy"

    def test_says_how_many_rows_there_are(self, run, capsys):
        assert (
            main(["events", str(run), "--order", "duration", "--limit", "1", "--offset", "1", "--format", "json"]) == 0
        )
        table = json.loads(capsys.readouterr().out)
        assert ([cell["v"] for cell in table["rows"][0]["c"]][3], table["p"]["total"]) == ("copy", "3")
        assert main(["events", str(run), "--limit", "2"]) == 0
        assert "rows 1 to 2 of 3" in capsys.readouterr().err

    def test_says_what_is_wrong(self, run, capsys):
        for arguments, message in (
            (["--by", "step"], "not by 'step'"),
            (["--by", "name", "--stats"], "not to the sums of --by"),
            (["--name", "("], "not valid"),
            (["--limit", "0"], "at least 1"),
        ):
            assert main(["events", str(run), *arguments]) == 2, arguments
            assert message in capsys.readouterr().err
        file = str(run / "plugins/profile/one/h.xplane.pb")
        assert main(["events", file, "other"]) == 1
        assert "is a single file" in capsys.readouterr().err
        assert main(["events", file]) == main(["events", file, "one"]) == 0


class TestCompare:
    @pytest.fixture
    def runs(self, tmp_path):
        files = {"old": core(100, 101, 99), "new": core(300, 301, 299), "same": core(101, 100, 99)}
        files = {f"plugins/profile/{name}/h.xplane.pb": text for name, text in files.items()}
        return write(tmp_path / "logs", {**files, "plugins/profile/host/h.xplane.pb": 'plane 1 "/host:CPU"'})

    def compare(self, runs, base, run, *more):
        return main(["compare", str(runs), str(runs), "--base-run", base, "--run", run, *more])

    def test_says_what_changed(self, runs, capsys):
        assert self.compare(runs, "old", "new") == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "new against old"
        assert [line.split()[-6:] for line in lines if line.startswith("fusion.1")] == [
            ["slower", "+0.200", "0.100", "0.300", "yes", "model.py:6"]
        ]
        assert [line.split()[2:5] for line in lines if line.startswith("Unexplained")] == [["others)", "less", "time"]]

    def test_contributions_add_up_with_the_rest(self, runs, capsys):
        assert self.compare(runs, "old", "new", "--format", "json") == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["answer"]["base"], found["from"]["run"]) == ("old", "new")
        total = sum(row["delta_ms"] for row in found["answer"]["contributions"])
        assert total == pytest.approx(found["answer"]["delta_ms"])
        assert f"tpu-profile budget {runs} old" in found["next"]

    def test_the_base_of_json_may_be_in_another_logdir(self, runs, capsys):
        file = str(runs / "plugins/profile/old/h.xplane.pb")
        assert main(["compare", file, str(runs), "--run", "new", "--format", "json", "--fail-above", "5%"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["from"]["run"] == "new"
        assert found["answer"]["tone"] == "same"
        assert not any(command.endswith(" old") for command in found["next"])

    def test_markdown_is_escaped(self, tmp_path, capsys):
        files = {f"plugins/profile/{name}/h.xplane.pb": core(100, 100) for name in ("a_b|c", "d*e")}
        logdir = write(tmp_path / "logs", files)
        assert self.compare(logdir, "a_b|c", "d*e", "--format", "markdown") == 0
        out = capsys.readouterr().out
        assert "**d\\*e** against **a\\_b\\|c**\n" in out
        assert "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |" in out

    def test_a_gate_fails_only_if_the_step_is_slower_beyond_noise(self, tmp_path, capsys):
        steps = {"old": 900, "new": 990, "near": 903}
        files = {}
        for name, length in steps.items():
            text = core(100, 100, 100, step_us=length, period_us=length)
            files[f"plugins/profile/{name}/h.xplane.pb"] = text
        logdir = write(tmp_path / "logs", files)
        for base, run, allowed, status in (
            ("old", "new", "5%", 3),
            ("old", "new", "5", 3),
            ("old", "new", "0", 3),
            ("old", "new", "14%", 0),
            ("old", "near", "5%", 0),
            ("new", "old", "0%", 0),
            ("old", "new", "10.5%", 4),
            ("old", "near", "0%", 4),
            ("old", "old", "0%", 4),
        ):
            assert self.compare(logdir, base, run, "--fail-above", allowed) == status, (base, run, allowed)
            condition = f"step_time > +{allowed.rstrip('%')}%"
            assert main(["gate", str(logdir), "--base", base, "--run", run, "--fail-if", condition]) == (
                1 if base == run else status  # a run is no baseline of itself there
            )
        assert "the interval reaches from -3.3% to +3.3%; more than 100 more runs" in capsys.readouterr().err
        assert self.compare(logdir, "old", "new") == 0

    def test_one_pair_cannot_tell_a_slower_machine_from_a_slower_program(self, tmp_path, capsys):
        ops = {f"op{letter}": 100 for letter in "abcdefgh"}
        lengths = {
            "old": ops,
            "machine": dict.fromkeys(ops, 108),
            "program": {**ops, "opd": 164},
        }
        files = {f"plugins/profile/{name}/h.xplane.pb": profile(of) for name, of in lengths.items()}
        logdir = write(tmp_path / "logs", files)
        assert self.compare(logdir, "old", "machine", "--fail-above", "5%") == 4
        assert capsys.readouterr().err == (
            "tpu-profile: --fail-above is inconclusive: All ops are 8.0% slower alike, by the machine or by the "
            "program: 2 more runs a side would tell.\n"
        )
        assert self.compare(logdir, "old", "program", "--fail-above", "5%") == 3
        assert capsys.readouterr().err == ""
        assert self.compare(logdir, "machine", "old", "--fail-above", "5%") == 0

    def test_the_base_is_by_default_the_run_that_shares_most_programs(self, tmp_path, capsys):
        demo = Path(__file__).parents[2] / "demo"
        logs = tmp_path / "logs"
        for name in ("train_slow_input", "train_prefetched", "jax_scan"):
            shutil.copytree(demo / name, logs / name)
        run = "train_prefetched/2026_11_22_19_04_16"
        assert main(["compare", str(logs), str(logs), "--run", run]) == 0
        assert capsys.readouterr().out.startswith(f"{run} against train_slow_input/2026_11_22_19_04_21\n")
        # What shares little is called so above the figures, and what could be compared instead is named.
        assert self.compare(logs, "jax_scan/2026_11_20_10_31_38", run) == 0
        caution = capsys.readouterr().out.splitlines()[1]
        assert caution.endswith(
            "hardly comparable. Runs that share programs: train_slow_input/2026_11_22_19_04_21 (100%)."
        )

    def test_a_run_is_not_compared_with_itself_by_default(self, runs, capsys):
        assert main(["compare", str(runs), str(runs), "--run", "new"]) == 0
        assert not capsys.readouterr().out.startswith("new against new")

    def test_wrong_arguments(self, runs, capsys):
        file = str(runs / "plugins/profile/old/h.xplane.pb")
        assert main(["compare", file, str(runs), "--run", "new"]) == 0
        assert "new against old" in capsys.readouterr().out
        assert main(["compare", file, file, "--run", "x"]) == 1
        assert self.compare(runs, "old", "nope") == 1
        for percent in ("x", "-1", "nan", "inf", ""):
            assert self.compare(runs, "old", "new", f"--fail-above={percent}") == 2, percent
        assert main(["tools", str(runs), "new", "--tool", "compare"]) == 2
        assert "'base' is missing" in capsys.readouterr().err

    def test_runs_that_cannot_be_compared_have_no_contributions(self, runs, capsys):
        assert self.compare(runs, "host", "new") == 0
        out = capsys.readouterr().out
        assert "The base has no device with steps" in out
        assert "What changed" not in out
        assert self.compare(runs, "host", "new", "--fail-above", "1%") == 4
        assert capsys.readouterr().err == "tpu-profile: --fail-above is inconclusive: The recording has no steps.\n"


class TestRuns:
    def test_lists_runs_newest_first(self, place, capsys):
        assert main(["runs", str(place)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[:3] for line in lines] == [
            ["2026_01_02_00_00_00", "2", "hosts"],
            ["2026_01_01_00_00_00", "1", "host"],
        ]
        assert main(["runs", str(place), "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)["answer"]["runs"]
        assert [(one["id"], one["hosts"]) for one in found] == [
            ("2026_01_02_00_00_00", "a, b"),
            ("2026_01_01_00_00_00", "one"),
        ]
        assert found[0]["size_bytes"] == 2 * len(build(SMALL))

    def test_only_those_with_a_text_in_their_name(self, place, capsys):
        assert main(["runs", str(place), "--match", "01_01"]) == 0
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["2026_01_01_00_00_00"]
        assert main(["runs", str(place), "--match", "nope"]) == 1
        assert "No run has 'nope' in its name" in capsys.readouterr().err

    def test_says_why_there_are_none(self, tmp_path, place, capsys):
        assert main(["runs", str(tmp_path / "missing")]) == 1
        assert "The logdir does not exist" in capsys.readouterr().err

    def test_a_file_is_a_logdir_of_one_run(self, place, capsys):
        assert main(["runs", str(place / "plugins/profile/2026_01_01_00_00_00/one.xplane.pb")]) == 0
        assert capsys.readouterr().out.split()[:3] == ["2026_01_01_00_00_00", "1", "host"]


class TestShell:
    def test_version(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["--version"])
        assert (ended.value.code, capsys.readouterr().out.strip()) == (0, tpu_profile_plugin.__version__)

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            (["ru"], {"runs"}),
            (["tools", "x", "--tool", "kernel_"], {"kernel_stats", "kernel_utilization"}),
            (["tools", "x", "--fo"], {"--format"}),
            (["explain", "x", "--format", ""], {"text", "json", "markdown"}),
            (["tools", "x", "--format", ""], {"json", "csv"}),
            (["completion", ""], {"bash", "zsh", "fish", "--help"}),
            (["compare", "x", "y", "--f"], {"--format", "--fail-above"}),
            (["compare", "x", "y", "--format", ""], {"text", "json", "markdown"}),
        ],
    )
    def test_completion_in_bash(self, words, found, capsys, tmp_path):
        assert main(["completion", "bash"]) == 0
        quoted = " ".join(f"'{word}'" for word in words)
        asked = f"COMP_WORDS=(tpu-profile {quoted}); COMP_CWORD={len(words)}; _tpu_profile; echo ${{COMPREPLY[@]}}"
        program = f"{capsys.readouterr().out}\n{asked}"
        done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
        assert set(done.stdout.split()) == found

    def test_completion_in_other_shells(self, capsys):
        assert main(["completion", "zsh"]) == 0
        assert "bashcompinit" in capsys.readouterr().out.splitlines()[0]
        assert main(["completion", "fish"]) == 0
        assert "complete -c tpu-profile -n __fish_use_subcommand -f -a runs" in capsys.readouterr().out


class TestDoctor:
    def test_a_sound_logdir(self, place, capsys):
        assert main(["doctor", str(place)]) == 0
        out = capsys.readouterr().out
        assert "2 runs" in out
        assert "devices: TPU v6 Lite" in out
        assert "no kernel_stats:" in out

    def test_programs_are_listed(self, tmp_path, capsys):
        entries = "".join(f'metadata "jit_f{n}({n})" id={n} {{"Hlo Proto"=0x0a00}}\n' for n in range(1, 23))
        write(tmp_path, {"plugins/profile/one/h.xplane.pb": f'plane 0 "/host:metadata"\n{entries}'})
        main(["doctor", str(tmp_path)])
        out = capsys.readouterr().out
        assert "HLO modules: 22\n    jit_f1(1)\n" in out
        assert "and 2 more" in out

    def test_what_is_wrong_is_named(self, tmp_path, capsys):
        files = {
            "plugins/profile/cut/h.xplane.pb": build(SMALL)[:-7],
            "plugins/profile/empty": None,
            "plugins/profile/zero/h.xplane.pb": b"",
        }
        assert main(["doctor", str(write(tmp_path, files))]) == 1
        out = capsys.readouterr().out
        assert out.count("WRONG") >= 3
        assert "(byte " in out
        assert "This run is empty" in out

    def test_an_empty_logdir(self, tmp_path, capsys):
        assert main(["doctor", str(tmp_path)]) == 1
        assert "No profile" in capsys.readouterr().out


class TestPython:
    def test_open_a_logdir(self, place):
        opened = tpu_profile_plugin.open(place)
        assert [run.name for run in opened.runs()] == ["2026_01_02_00_00_00", "2026_01_01_00_00_00"]
        run = opened.run()
        assert (run.name, run.hosts, len(opened)) == ("2026_01_02_00_00_00", ["a", "b"], 2)
        table = run.table("profile_contents")
        assert [column.id for column in table.columns[:2]] == ["host", "plane"]
        assert set(table.column("host")) == {"a", "b"}
        assert next(iter(table))["events"] == 3
        assert run.tools()["profile_contents"] is None
        assert [plane.name for plane in run.columns("a").planes] == ["/host:CPU", "/device:TPU:0"]

    def test_open_a_file(self, place):
        run = tpu_profile_plugin.open(place / "plugins/profile/2026_01_01_00_00_00/one.xplane.pb").run()
        assert run.hosts == ["one"]
        assert len(run.columns().planes) == 2

    def test_errors_are_named(self, place):
        run = tpu_profile_plugin.open(place).run()
        with pytest.raises(NotFound, match="no tool"):
            run.answer("nope")
        with pytest.raises(BadRequest, match="no parameter"):
            run.answer("profile_contents", nope=1)
        with pytest.raises(NotFound, match="no host"):
            run.columns("zz")
        with pytest.raises(NoData):
            run.table("profile_contents", 5)
        with pytest.raises(NotFound):
            tpu_profile_plugin.open("nowhere.xplane.pb")

    def test_capture_then_open(self, tmp_path):
        seen = []
        with serving() as fake:
            result = tpu_profile_plugin.capture(fake.address, str(tmp_path), duration_ms=500, progress=seen.append)
        assert seen
        assert tpu_profile_plugin.open(tmp_path).run(result["run"]).hosts == [result["workers"][0]["host"]]

    def test_capture_that_fails(self, tmp_path):
        from tpu_profile_plugin.capture import CaptureFailed

        with serving("empty") as fake, pytest.raises(CaptureFailed, match="recorded no event"):
            tpu_profile_plugin.capture(fake.address, str(tmp_path), duration_ms=50)


def test_serve_takes_the_logdir_with_and_without_the_flag(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr("tpu_profile_plugin.cli._serve", lambda *arguments: asked.append(arguments) or 0)
    for arguments in (["logs"], ["--logdir", "logs", "--port", "0"]):
        assert main(["serve", *arguments]) == 0
    assert asked == [("logs", 6006, "", "127.0.0.1", ""), ("logs", 0, "", "127.0.0.1", "")]
    for arguments in ([], ["logs", "--logdir", "logs"]):
        with pytest.raises(SystemExit):
            main(["serve", *arguments])
    assert "one of the arguments LOGDIR --logdir is required" in capsys.readouterr().err


def test_sigterm_ends_the_server_when_python_ignores_systemexit():
    """SystemExit in the main thread has no effect in a destructor."""
    program = """
import signal, time
from tpu_profile_plugin.cli import exit_on_sigterm
exit_on_sigterm(0.2)
class Dropping:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
Dropping()
print("still here", flush=True)
time.sleep(60)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.returncode) == ("still here\n", 0)


def test_a_second_sigterm_ends_the_server_at_once():
    program = """
import atexit, signal, time
from tpu_profile_plugin.cli import exit_on_sigterm
exit_on_sigterm(60)
@atexit.register
def slow():
    signal.raise_signal(signal.SIGTERM)
    time.sleep(60)
signal.raise_signal(signal.SIGTERM)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=30, check=False)
    assert done.returncode == -signal.SIGTERM


def test_sigterm_ends_the_server_when_python_is_stuck_while_it_exits():
    """A destructor of the last objects that waits for ever: no thread of Python runs any more."""
    program = """
import os, signal, sys, time
from tpu_profile_plugin.cli import exit_on_sigterm
from tpu_profile_plugin.system import process
process._STUCK_S = 0.2
exit_on_sigterm(3.0)  # a busy machine takes a while to get to the destructor
class Last:
    def __del__(self, write=os.write, sleep=time.sleep):
        write(1, b"stuck")
        sleep(60)
sys.last = Last()
signal.raise_signal(signal.SIGTERM)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.returncode) == ("stuck", -signal.SIGALRM)
