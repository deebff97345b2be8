"""The pure parts of scripts/bench/kinds: ratios, what became worse, the tables of the page."""

from __future__ import annotations

import importlib.util
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "bench" / "kinds"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    loader = SourceFileLoader("bench_kinds", str(SCRIPT))
    spec = importlib.util.spec_from_loader("bench_kinds", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def figures(cold: float, warm: float, mib: float, zoom: float | None = None) -> dict[str, Any]:
    return {"start": 1.0, "cold": cold, "warm": warm, "zoom": zoom, "mib": mib, "size": 1000}


@pytest.fixture
def kind() -> dict[str, Any]:
    """A profile of 50 MiB: a tool of all servers, one that XProf fails, one of ours, one that needs more parameters."""
    return {
        "bytes": 50 * 2**20,
        "limit": 0.01,
        "trials": 3,
        "cores": 2,
        "month": "November 2026",
        "versions": {"ours": "0.1.0", "xprof": "2.24.2", "xprof-rs": ""},
        "idle": {"ours": 100.0, "xprof": 200.0, "xprof-rs": 20.0},
        "tools": {
            "trace_viewer@": {
                "ours": figures(0.5, 0.002, 150, 0.01),
                "xprof": figures(5.0, 2.0, 1200, 0.5),
                "xprof-rs": figures(0.6, 0.001, 170, 0.04),
            },
            "op_profile": {
                "ours": figures(0.0404, 0.001, 125),
                "xprof": {"failed": "HTTPError HTTP Error 500"},
                "xprof-rs": figures(0.0606, 0.0005, 120),
            },
            "time_budget": {"ours": figures(0.1, 0.001, 90)},
            "graph_viewer": {"ours": {"failed": "HTTPError HTTP Error 400"}, "xprof": figures(1, 1, 1)},
        },
    }


def test_ratios(bench, kind):
    assert bench.ratios(kind) == {
        "trace_viewer@": {
            "cold/limit": 50.0,
            "mib/idle": 1.5,
            "cold/xprof": 0.1,
            "warm/xprof": 0.001,
            "zoom/xprof": 0.02,
            "mib/xprof": 0.125,
            "cold/xprof-rs": 0.8333,
            "warm/xprof-rs": 2.0,
            "zoom/xprof-rs": 0.25,
            "mib/xprof-rs": 0.8824,
        },
        "op_profile": {
            "cold/limit": 4.04,
            "mib/idle": 1.25,
            "cold/xprof-rs": 0.6667,
            "warm/xprof-rs": 2.0,
            "mib/xprof-rs": 1.042,
        },
        "time_budget": {"cold/limit": 10.0, "mib/idle": 0.9},
    }


def test_worse_than_15_percent(bench):
    before = {"a": {"cold/xprof": 0.1, "warm/xprof": 0.2, "mib/idle": 1.0}, "gone": {"cold/limit": 3.0}}
    now = {"a": {"cold/xprof": 0.1151, "warm/xprof": 0.2299, "mib/idle": 0.5}, "new": {"cold/limit": 9.0}}
    assert bench.worse(before, now) == ["a: cold/xprof was 0.1, is 0.1151"]


def test_a_server_that_is_not_installed_keeps_its_ratios(bench):
    before = {"a": {"cold/xprof": 0.1, "cold/xprof-rs": 0.5}, "gone": {"cold/xprof": 1.0}}
    assert bench.merged(before, {"a": {"cold/xprof": 0.2}, "b": {"cold/limit": 2.0}}) == {
        "a": {"cold/xprof": 0.2, "cold/xprof-rs": 0.5},
        "b": {"cold/limit": 2.0},
    }


def test_table(bench, kind):
    assert bench.table(kind) == [
        "| tool | cold ms: ours | XProf | xprof-rs | limit | warm ms: ours | XProf | xprof-rs "
        "| peak MiB: ours | XProf | xprof-rs | bytes per byte: ours | XProf | xprof-rs |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        "| trace_viewer@ | 500 | 5000 (10x) | 600 (1.2x) | 10 | 2.0 | 2000.0 (1000x) | 1.0 (0.5x) "
        "| 150 | 1200 (8.0x) | 170 (1.1x) | 1.00 | 20.00 | 3.00 |",
        "| op_profile | 40 | fails | 61 (1.5x) | 10 | 1.0 | fails | 0.5 (0.5x) "
        "| 125 | fails | 120 (1.0x) | 0.50 |  | 2.00 |",
        "| time_budget | 100 |  |  | 10 | 1.0 |  |  | 90 |  |  | 0.00 |  |  |",
        "",
        "A window of the timeline as JSON, mean of ten, in ms: ours 10.0, XProf 500.0 (50x), xprof-rs 40.0 (4.0x).",
    ]


def test_table_of_the_servers_that_were_measured(bench, kind):
    kind["tools"] = {"time_budget": kind["tools"]["time_budget"]}
    assert bench.table(kind) == [
        "| tool | cold ms: ours | limit | warm ms: ours | peak MiB: ours | bytes per byte: ours |",
        "|---|--:|--:|--:|--:|--:|",
        "| time_budget | 100 | 10 | 1.0 | 90 | 0.00 |",
    ]


def test_caption(bench, kind):
    assert bench.caption("gpu", kind) == (
        "**GPU MI300**, 52.4 MB: ours 0.1.0, XProf 2.24.2, xprof-rs; November 2026, 2 cores, medians of 3 trials. "
        "Idle servers take, in MiB: ours 100, XProf 200, xprof-rs 20."
    )


def test_failures_in_the_output_of_the_measurement(bench):
    output = (
        "tool                       server      start s   cold s\n"
        "graph_viewer               ours       failed: HTTPError HTTP Error 400: Bad Request\n"
        "graph_viewer               xprof-rs   failed: RuntimeError server did not come up: xprof-rs --port 1\n"
        "op_profile                 ours           4.29    0.474\n"
    )
    assert bench.failures(output) == {
        "ours": "HTTPError HTTP Error 400: Bad Request",
        "xprof-rs": "RuntimeError server did not come up: xprof-rs --port 1",
    }


def test_only_the_kinds_own_block_of_the_page_changes(bench):
    page = bench.PAGE.read_text()
    changed = bench.with_block(page, "gpu", ["a", "b"])
    assert "<!-- begin: gpu (output of scripts/bench/kinds) -->\n\na\nb\n\n<!-- end: gpu -->" in changed
    assert bench.with_block(changed, "gpu", ["c"]) == bench.with_block(page, "gpu", ["c"])
    for name in bench.KINDS:
        head, rest = page.split(f"<!-- begin: {name} (", 1)
        assert bench.with_block(page, name, ["x"]).startswith(head)
        assert bench.with_block(page, name, ["x"]).endswith(rest.split(f"<!-- end: {name} -->", 1)[1])
    with pytest.raises(ValueError, match="no markers for 'vax'"):
        bench.with_block(page, "vax", [])


def test_an_interrupted_run_continues(bench, kind, monkeypatch):
    """Rows that are there are not measured again, failures of other servers included."""
    asked = {}

    def measured(tool, _, servers, __):
        asked[tool] = list(servers)
        return {"ours": figures(1, 1, 1)}

    monkeypatch.setattr(bench, "measured", measured)
    tools = dict.fromkeys([*kind["tools"], "memory_profile"], True) | {"time_budget": False, "communication": False}
    servers = dict.fromkeys(bench.TITLES, "")
    del kind["tools"]["op_profile"]["xprof-rs"]
    kind["tools"]["graph_viewer"]["xprof-rs"] = {"failed": ""}
    assert [tool for tool, _ in bench.rows(kind, tools, Path(), servers, 3)] == list(asked)
    assert asked == {"op_profile": list(servers), "memory_profile": list(servers), "communication": ["ours"]}


@pytest.fixture
def run(bench, kind, tmp_path, monkeypatch):
    """Runs the script's `main` for one kind whose measurement is replaced; returns its exit status."""
    (tmp_path / "profiles/gpu").mkdir(parents=True)
    (tmp_path / "profiles/gpu/h.xplane.pb").write_bytes(b"")
    page = tmp_path / "page.md"
    page.write_text("# Page\n<!-- begin: gpu (output of scripts/bench/kinds) -->\n<!-- end: gpu -->\n")
    tools = kind["tools"]
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "STORED", tmp_path / "kinds.json")
    monkeypatch.setattr(bench, "commands", lambda options: dict.fromkeys(options.servers, ""))
    monkeypatch.setattr(bench, "about", lambda *_: {**kind, "tools": {}})
    monkeypatch.setattr(bench, "tools_of", lambda _: dict.fromkeys(tools, True) | {"time_budget": False})
    monkeypatch.setattr(bench, "measured", lambda tool, *_: tools[tool])

    def run(*arguments):
        places = ["--profiles", tmp_path / "profiles", "--state", tmp_path / "state.json"]
        line = ["kinds", "--kinds", "gpu", *map(str, places), *arguments]
        monkeypatch.setattr("sys.argv", line)
        return bench.main()

    return run


def test_a_whole_run_writes_the_page_and_the_ratios(bench, kind, run, capsys):
    assert run() == 0
    assert bench.load(bench.STORED) == {"gpu": bench.ratios(kind)}
    assert "| time_budget | 100 |" in bench.PAGE.read_text()
    assert "0 ratios are more than 15% worse" in capsys.readouterr().out


@pytest.mark.parametrize("part", [["--check"], ["--tools", "op_profile"], ["--servers", "ours,xprof"]])
def test_a_partial_run_writes_nothing(bench, run, tmp_path, part):
    before = bench.PAGE.read_text()
    assert run(*part) == 0
    assert bench.PAGE.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md", "profiles"]


def test_check_fails_when_a_ratio_became_worse(bench, kind, run, capsys):
    run()
    kind["tools"]["op_profile"]["ours"] = figures(0.0404 * 1.2, 0.001, 125)
    assert run("--check") == 1
    assert capsys.readouterr().out.endswith(
        "2 ratios are more than 15% worse than in kinds.json\n"
        "gpu op_profile: cold/limit was 4.04, is 4.848\n"
        "gpu op_profile: cold/xprof-rs was 0.6667, is 0.8\n"
    )
    assert run() == 0, "a run that stores the new ratios only reports"


def test_profiles_are_made_once_and_as_a_whole(bench, tmp_path, monkeypatch):
    maker = tmp_path / "samples/bench/profiles.sh"
    maker.parent.mkdir(parents=True)
    monkeypatch.setenv("PROFILE_SAMPLES", str(tmp_path / "samples"))
    target = tmp_path / "cache/kinds"
    maker.write_text('touch "$1/half"; exit 1\n')
    with pytest.raises(subprocess.CalledProcessError):
        bench.profiles(target)
    assert not target.exists()
    maker.write_text('touch "$1/whole"\n')
    assert bench.profiles(target) == target
    maker.write_text("exit 1\n")
    assert [path.name for path in bench.profiles(target).iterdir()] == ["whole"]
