"""Source lines beside their code: the figures of the page Source with the findings, and the four forms."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from builders.answers import run_of
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, trace
from builders.programs.hlo import metadata_plane, op, program
from builders.snapshots import dumped, training

from tpu_profile_plugin.analysis.findings.rules import RULES
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.export.annotations import FORMS, written
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.logdir.source_files import SourceRoot
from tpu_profile_plugin.run.figures.annotations import Annotations, run_annotations
from tpu_profile_plugin.run.figures.findings import Cause

FILE = "/src/job/train.py"
ENTRY = [
    op("p", "parameter", "f32[16]", op_name="params['w']"),
    op("a", "add", "f32[16]", "p", "p", op_name="jit(f)/add", source_file=FILE, source_line=3),
    op("b", "negate", "f32[16]", "a", op_name="jit(f)/neg", source_file=FILE, source_line=9),
    op("c", "exponential", "f32[16]", op_name="jit(f)/exp", source_file="other <b>.py", source_line=1),
]
HELD = assignment(
    buffer(1, 3 << 20, instruction_id(1)),
    buffer(2, 1 << 20, instruction_id(2)),
    allocation(0, 4 << 20, [(1, 0, 3 << 20), (2, 3 << 20, 1 << 20)]),
    trace("alloc 1 a", "alloc 2 b", "free 1 c", "free 2 c"),
)
PROFILE = (
    metadata_plane(jit_f=(7, program(ENTRY, module="jit_f") + HELD))
    + """
plane 2 "/device:GPU:0"
  line 5 "Stream #1"
    0us +6us k1 {hlo_op="a", hlo_module="jit_f", program_id=7}
    10us +3us k2 {hlo_op="b", hlo_module="jit_f", program_id=7}
    20us +1us k3 {hlo_op="c", hlo_module="jit_f", program_id=7}
"""
)
SOURCE = "import jax\n\nx = a + b\n# <&>\n\n\n\n\ny = -x\n"


@pytest.fixture
def found() -> Annotations:
    """The lines of the profile, with a finding at line 3 and one without a line."""
    made = run_annotations(run_of(PROFILE, name="my run"))
    about = Cause(RULES[0], "Copies & <waits>, train.py:3", 0.25, 2_000_000, (), "", "high", (), "Move it.", ("h",))
    general = replace(about, title="Something", share=0.0, saving_ps=0, confidence="low")
    lines = (replace(made.lines[0], causes=(about,)), *made.lines[1:])
    return replace(made, headline="One & two", lines=lines, others=(general,))


@pytest.fixture
def sources(tmp_path: Path) -> SourceRoot:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "train.py").write_text(SOURCE)
    return SourceRoot(str(tmp_path))


def test_lines_have_the_figures_of_the_page_source() -> None:
    made = run_annotations(run_of(PROFILE))
    assert [(one.file, one.line, one.self_ps, one.share, one.memory_bytes, one.memory_share) for one in made.lines] == [
        (FILE, 3, 6_000_000, 0.6, 3 << 20, 0.75),
        (FILE, 9, 3_000_000, 0.3, 1 << 20, 0.25),
        ("other <b>.py", 1, 1_000_000, 0.1, 0, 0.0),
    ]
    assert (made.total_ps, made.located_ps, made.memory_of, made.peak_bytes) == (10**7, 10**7, "jit_f(7)", 4 << 20)
    assert list(made.files) == [FILE, "other <b>.py"]


def test_a_memory_snapshot_has_lines_of_its_allocations() -> None:
    made = run_annotations(run_of(unpack(dumped(training())).space.tobytes()))
    assert [(one.file, one.line, one.self_ps, one.memory_bytes >> 20) for one in made.lines] == [
        ("/home/me/train.py", 4, 0, 4),
        ("/home/me/train.py", 12, 0, 14),
    ]
    assert (made.memory_of, made.peak_bytes >> 20) == ("allocator GPU_0_caching", 18)


def test_nothing_with_a_line_is_no_data() -> None:
    with pytest.raises(NoData):
        run_annotations(run_of('plane 1 "/host:CPU"\n  line 7 "python"\n    0us +10us step'))


def test_text_has_a_gutter(found: Annotations, sources: SourceRoot) -> None:
    assert written(found, "text", sources).splitlines() == [
        "my run: One & two",
        "time: self time of ops on the device, 10 us in all, 100.0% with a line; "
        "memory: at the peak of jit_f(7), 4 MiB",
        "",
        "/src/job/train.py: 90.0% of the time, 4 MiB at the peak",
        "   time     memory   line",
        "                        1  import jax",
        "                        2",
        "  60.0%      3 MiB      3  x = a + b",
        f"                         ^ Copies & <waits>, train.py:3 (up to 2 us, 25.0% of the recording) [{RULES[0].id}]",
        "                        4  # <&>",
        "                        5",
        "                      ...",
        "                        7",
        "                        8",
        "  30.0%      1 MiB      9  y = -x",
        "",
        "other <b>.py: 10.0% of the time",
        "   time     memory   line",
        "  10.0%                 1",
        "",
        "Without a line:",
        f"  Something (no direct cost) [{RULES[0].id}]",
    ]


def test_json_has_the_same_figures(found: Annotations, sources: SourceRoot) -> None:
    document = json.loads(written(found, "json", sources))
    assert [one["source"] for one in document["files"]] == ["job/train.py", None]
    first = document["files"][0]["lines"][0]
    assert [one["title"] for one in first.pop("findings")] == ["Copies & <waits>, train.py:3"]
    assert first == {
        **{"line": 3, "function": "", "self_ps": 6_000_000, "share_percent": 60.0, "ops": 1, "occurrences": 1},
        **{"memory_bytes": 3 << 20, "memory_percent": 75.0},
    }
    assert [one["title"] for one in document["findings_without_line"]] == ["Something"]


def _places(run: dict[str, Any]) -> list[tuple[str, str, str, int, str]]:
    found = []
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert 0 <= result["rank"] <= 100
        for location in result["locations"]:
            physical = location["physicalLocation"]
            artifact = physical["artifactLocation"]
            base, line = artifact.get("uriBaseId", ""), physical["region"]["startLine"]
            found.append((result["ruleId"], result["level"], artifact["uri"], line, base))
    return found


def test_sarif_has_results_at_lines(found: Annotations, sources: SourceRoot) -> None:
    log = json.loads(written(found, "sarif", sources))
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert _places(run) == [
        (RULES[0].id, "warning", "job/train.py", 3, "SRCROOT"),
        ("time_of_line", "note", "job/train.py", 3, "SRCROOT"),
        ("memory_of_line", "note", "job/train.py", 3, "SRCROOT"),
        ("time_of_line", "note", "job/train.py", 9, "SRCROOT"),
        ("memory_of_line", "note", "job/train.py", 9, "SRCROOT"),
        ("time_of_line", "note", "other%20%3Cb%3E.py", 1, ""),
    ]
    assert run["originalUriBaseIds"] == {"SRCROOT": {"uri": Path(sources.path).as_uri() + "/"}}
    texts = [result["message"]["text"] for result in run["results"]]
    assert texts[0] == "Copies & <waits>, train.py:3 (up to 2 us, 25.0% of the recording). Move it."
    assert texts[1] == "60.0% of the self time of all ops on the device (6 us)"
    assert texts[2] == "3 MiB at the peak of jit_f(7) (75.0% of it)"
    assert run["results"][-1]["locations"] == []  # the finding without a line


def test_sarif_names_recorded_files_where_no_source_is_given(found: Annotations) -> None:
    (run,) = json.loads(written(found, "sarif", SourceRoot("")))["runs"]
    assert "originalUriBaseIds" not in run
    assert {place[2] for place in _places(run)} == {"file:///src/job/train.py", "other%20%3Cb%3E.py"}
    windows = replace(found, lines=(replace(found.lines[0], file="C:\\job\\a b.py"),))
    (run,) = json.loads(written(windows, "sarif", SourceRoot("")))["runs"]
    assert {place[2] for place in _places(run)} == {"file:///C:/job/a%20b.py"}


def test_small_lines_are_no_results_of_sarif(found: Annotations) -> None:
    small = replace(found.lines[1], self_ps=9, share=0.009, memory_bytes=9, memory_share=0.009)
    (run,) = json.loads(written(replace(found, lines=(small,), others=()), "sarif", SourceRoot("")))["runs"]
    assert run["results"] == []


class _Page(HTMLParser):
    """Tags, texts and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_is_one_file_without_scripts_in_both_themes(found: Annotations, sources: SourceRoot) -> None:
    text = written(found, "html", sources)
    page = _Page(text)
    assert not {"script", "link", "img", "iframe", "b>"} & set(page.tags)
    assert {name for name, _ in page.attributes} == {
        *("lang", "charset", "name", "content", "http-equiv", "href", "id", "scope", "class", "colspan")
    }
    assert [value for name, value in page.attributes if name == "href"] == ["#f0", "#f1"]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in text
    assert "color-scheme:light dark" in style[1]
    shown = "".join(page.texts)
    assert "# <&>" in shown  # the code, and a name, are texts
    assert "other <b>.py" in shown
    assert 'class="n t20">60.0%' in text  # the hottest line has the whole bar
    assert 'class="n t10">30.0%' in text
    assert 'class="n m20">3 MiB' in text


def test_all_forms_end_with_a_line_break(found: Annotations) -> None:
    for form in FORMS:
        assert written(found, form, SourceRoot("")).endswith("\n")
