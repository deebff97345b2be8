"""What notebooks show of runs, findings and comparisons: small, escaped, without script; pages in a frame."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from urllib.request import urlopen

import pytest
from builders.logdirs import SMALL, build, write
from builders.planes import tpu

import tpu_profile_plugin as tp
from tpu_profile_plugin import serving
from tpu_profile_plugin.errors import NotAvailable, NotFound
from tpu_profile_plugin.report.file import SavedReport
from tpu_profile_plugin.run.html_text import numbered, paragraphs, plain, rows

PLACE = "plugins/profile"
BAD = "<script>alert(1)</script>"


def html(value: object) -> str:
    text: str = value._repr_html_()  # type: ignore[attr-defined]
    assert len(text) < 20_000
    assert not re.search(r"<script|javascript:|\son\w+=", text)
    return text


def test_texts_are_escaped_and_shortened() -> None:
    assert plain(BAD) == "&lt;script&gt;alert(1)&lt;/script&gt;"
    assert len(plain("x" * 1000)) == 400
    assert paragraphs("a", "", "b") == "<p>a</p><p>b</p>"
    assert numbered([]) == ""
    assert numbered([("a", "", "b")]) == "<ol><li>a<br>b</li></ol>"
    assert "&lt;script&gt;" in rows(("what",), [(BAD,)])


def test_logdirs_and_runs_say_what_they_hold(tmp_path: Path) -> None:
    hosts = {f"{PLACE}/s1/h{i:02}.xplane.pb": SMALL for i in range(12)}
    write(tmp_path, {**hosts, f"{PLACE}/<b>/h.xplane.pb": SMALL})
    logdir = tp.open(tmp_path)
    assert "2 runs" in html(logdir)
    assert "&lt;b&gt;" in html(logdir)
    shown = html(logdir.run("s1"))
    assert "<b>Run s1</b>" in shown
    assert "12 hosts: h00" in shown
    assert "h09 and 2 more." in shown
    empty = tp.open(tmp_path / PLACE / "s1" / "nothing")
    assert "0 runs" in html(empty)
    assert "does not exist" in html(empty)
    assert "1 host: host. 0.0 MiB." in html(tp.open(build(SMALL)).run())


def test_findings_and_comparisons_show_their_headline(tmp_path: Path) -> None:
    steps = "\n".join(f"{1000 * i} {900 - i} step_{i}" for i in range(9))
    write(tmp_path, {f"{PLACE}/{run}/h.xplane.pb": tpu(steps) for run in ("a", "b")})
    logdir = tp.open(tmp_path)
    found = logdir.run("a").findings()
    assert f"<b>{plain(found.headline.title)}</b>" in html(found)
    assert f"{len(found.silent)} checks found nothing." in html(found)
    busy, unmarked = (one.title for one in found)
    assert repr(found) == f"<Findings: {found.headline.title}\n1. {busy}\n2. {unmarked}>"
    assert "<table>" in html(logdir.run("a").compare(logdir.run("b")))


def test_a_page_is_a_frame_of_one_server_per_logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {f"{PLACE}/s/h.xplane.pb": SMALL})
    started = []

    class Board:
        def launch(self) -> str:
            return "http://127.0.0.1:7/"

    monkeypatch.setattr(serving, "board", lambda logdir, port: started.append((logdir, port)) or Board())
    monkeypatch.setattr(serving, "_servers", {})
    run = tp.open(tmp_path).run()
    frame = run.show("trace_viewer@", window='0,1"')
    address = "http://127.0.0.1:7/data/plugin/profile/index.html?run=s&tool=trace_viewer%40&window=0%2C1%22"
    assert (frame.url, repr(frame)) == (address, f"<Frame {address}>")
    assert f'<iframe src="{address.replace("&", "&amp;")}" width="100%" height="800"' in html(frame)
    assert run.show(host="h", height=300).url.endswith("?run=s&tool=overview_page&host=h")
    file = tp.open(tmp_path / PLACE / "s" / "h.xplane.pb").run()
    assert "run=s&" in file.show().url
    assert started == [(str(tmp_path.resolve()), 0), (str((tmp_path / PLACE / "s" / "h.xplane.pb").resolve()), 0)]
    with pytest.raises(NotFound, match="no tool 'trace'"):
        run.show("trace")
    with pytest.raises(NotFound, match="no host 'x'"):
        run.show(host="x")
    assert "Shown by a server." in html(frame)
    with pytest.raises(NotAvailable, match="write the bytes"):
        tp.open(build(SMALL)).run().show(by="server")
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    with pytest.raises(NotAvailable, match="In Colab"):
        run.show(by="server")


def test_pages_are_shown_by_what_is_possible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {f"{PLACE}/s/h.xplane.pb": SMALL})
    run, in_memory = tp.open(tmp_path).run(), tp.open(build(SMALL)).run()
    monkeypatch.setattr(serving, "address", lambda logdir: "http://127.0.0.1:7/")
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delitem(sys.modules, "marimo", raising=False)
    assert isinstance(run.show(), serving.Frame)
    assert isinstance(in_memory.show(height=300), SavedReport)
    assert 'height="300"' in in_memory.show(height=300)._repr_html_()
    terminal, kernel = types.SimpleNamespace(), types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: terminal))
    assert isinstance(run.show(), serving.Frame)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
    shown = run.show("op_profile", host="h", height=300, base="other")
    assert shown.view == {"run": "s", "tool": "op_profile", "host": "h", "base": "other"}
    assert shown.height == 300
    assert "by this kernel, without a server" in repr(in_memory.show())
    assert isinstance(run.show(by="server"), serving.Frame)
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr(serving.importlib.util, "find_spec", lambda name: None)
    assert isinstance(run.show(), SavedReport)
    monkeypatch.delitem(sys.modules, "google.colab")
    assert isinstance(run.show(), serving.Frame)


def test_marimo_has_widgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {f"{PLACE}/s/h.xplane.pb": SMALL})
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    for running, door in ((True, "widget"), (False, "server")):
        marimo = types.SimpleNamespace(running_in_notebook=lambda running=running: running)
        monkeypatch.setitem(sys.modules, "marimo", marimo)
        assert serving.door(str(tmp_path)) == door


def test_the_server_answers_beside_the_program(tmp_path: Path) -> None:
    write(tmp_path, {f"{PLACE}/s/h.xplane.pb": SMALL})
    address = tp.open(tmp_path).run().show().url
    assert address.startswith("http://127.0.0.1:")
    with urlopen(address.replace("index.html", "runs")) as answer:
        assert b'"s"' in answer.read()
