"""The built page stays small, and a tool's page is loaded on demand."""

import gzip
import re
from pathlib import Path

import pytest

import tpu_profile_plugin
from tpu_profile_plugin.server.http.answer import STATIC

KB = 1000
REPORT = STATIC / "report"  # Put into saved reports and frames of notebooks; no page loads it.
WIDGET = STATIC / "widget"  # What a notebook has for each widget.
PAGES = Path(tpu_profile_plugin.__file__).parents[1] / "frontend" / "src" / "tools"

pytestmark = pytest.mark.skipif(not (STATIC / "index.html").exists(), reason="the page is not built: npm run build")


def packed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 6))


def first_files() -> list[Path]:
    """The files that a browser fetches before a tool is selected: the page and its static imports."""
    page = STATIC / "index.html"
    todo = [STATIC / name for name in re.findall(r'(?:src|href)="\./(static/[^"]+)"', page.read_text())]
    found = [page]
    while todo:
        path = todo.pop()
        if path not in found:
            found.append(path)
            static = re.findall(r'(?:from|import)\s*["\']\./([^"\']+)["\']', path.read_text())
            todo += [path.parent / name for name in static]
    return found


def scripts(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.suffix in (".html", ".js", ".css")]


def test_everything_together_is_at_most_600_kilobytes():
    files = [path for path in scripts(STATIC) if not {REPORT, WIDGET} & {*path.parents}]
    assert len(files) > 20
    assert sum(map(packed, files)) <= 600 * KB


def test_the_script_of_reports_is_no_larger_than_the_pages_together():
    files = scripts(REPORT)
    assert {path.name for path in files} == {"report.js", "report.css"}
    pages = [path for path in scripts(STATIC) if not {REPORT, WIDGET} & {*path.parents}]
    assert sum(map(packed, files)) <= sum(map(packed, pages))


def test_the_module_of_a_widget_is_small():
    assert {path.name for path in scripts(WIDGET)} == {"widget.js"}
    assert packed(WIDGET / "widget.js") <= 4 * KB


def test_the_first_page_loads_neither_charts_nor_tools():
    files = first_files()
    assert any(path.name.startswith("index-") and path.suffix == ".js" for path in files)
    assert sum(map(packed, files)) <= 60 * KB
    assert not [path.name for path in files if path.name.startswith(("engine-", "page-", "table-"))]


def test_every_page_is_a_separate_chunk():
    script = next(path for path in first_files() if path.name.startswith("index-") and path.suffix == ".js")
    loaded = set(re.findall(r"import\(\s*[`\"']\./(page-[^`\"']+\.js)", script.read_text()))
    assert len(loaded) == len(list(PAGES.glob("*/page.tsx")))
    assert all((script.parent / name).exists() for name in loaded)
    assert max(packed(script.parent / name) for name in loaded) <= 60 * KB
