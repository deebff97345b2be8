"""The widget: its traits are the keys of the page's address; its messages are answered by threads, in parts."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, write

import tpu_profile_plugin as tp
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.widget import view as module
from tpu_profile_plugin.widget.pages import Answered

FILE = "plugins/profile/s/h.xplane.pb"

Sent = list[tuple[dict[str, Any], bytes]]


@pytest.fixture
def widget(tmp_path: Path) -> module.ProfileWidget:
    write(tmp_path, {FILE: SMALL})
    made: module.ProfileWidget = tp.open(tmp_path).run().widget("trace_viewer@", window="0,1000")
    return made


def listening(widget: module.ProfileWidget, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Sent]:
    """Records what the widget sends; the function waits for the last part of an answer."""
    sent: Sent = []
    ended: dict[str, threading.Event] = {}

    def send(content: dict[str, Any], buffers: Any = None) -> None:
        sent.append((content, b"".join(map(bytes, buffers or ()))))
        if content.get("last"):
            ended.setdefault(content["id"], threading.Event()).set()

    def wait(id_: str) -> Sent:
        assert ended.setdefault(id_, threading.Event()).wait(20)
        return [part for part in sent if part[0]["id"] == id_]

    monkeypatch.setattr(widget, "send", send)
    return wait


def ask(widget: module.ProfileWidget, id_: str, address: str) -> None:
    widget._on_message(None, {"op": "ask", "id": id_, "address": address, "method": "GET", "body": ""}, [])


def test_state_is_read_and_set_on_both_sides(widget: module.ProfileWidget) -> None:
    assert (widget.page, widget.window, widget.base, widget.host) == ("trace_viewer@", (0, 1000), None, None)
    widget.window = (5, 7)
    widget.base = "other"
    assert widget.view == {"run": "s", "tool": "trace_viewer@", "window": "5,7", "base": "other"}
    widget.page = "op_profile"  # which has no window
    assert widget.view == {"run": "s", "tool": "op_profile", "base": "other"}
    assert widget.window is None
    seen: list[Any] = []
    widget.observe(lambda change: seen.append((change.name, change.new)), ["page", "window", "host"])
    widget.view = {"run": "s", "tool": "trace_viewer@", "window": "1,2", "host": "h"}  # as a page does
    assert sorted(seen) == [("host", "h"), ("page", "trace_viewer@"), ("window", (1, 2))]
    widget.view = {"run": "s", "window": "half"}
    assert (widget.page, widget.window) == ("overview_page", None)


def test_wrong_pages_and_hosts_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {FILE: SMALL})
    run = tp.open(tmp_path).run()
    with pytest.raises(NotFound, match="no tool 'trace'"):
        run.widget("trace")
    with pytest.raises(NotFound, match="no host 'x'"):
        run.widget(host="x")


def test_an_answer_comes_in_parts(widget: module.ProfileWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = listening(widget, monkeypatch)
    monkeypatch.setattr(module, "SLICE_BYTES", 100)
    ask(widget, "1", "run_info?run=s")
    taken, first, *rest = wait("1")
    assert taken == ({"op": "taken", "id": "1"}, b"")
    assert first[0]["status"] == 200
    assert ("Content-Type", "application/json") in first[0]["headers"]
    assert [part["last"] for part, _ in (first, *rest)] == [False] * len(rest) + [True]
    assert all(len(data) == 100 for _, data in (first, *rest[:-1]))
    assert json.loads(b"".join(data for _, data in (first, *rest)))["run"] == "s"


def test_an_empty_answer_has_one_part(widget: module.ProfileWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = listening(widget, monkeypatch)
    monkeypatch.setattr(widget, "_made", lambda content, gone: Answered(204, (), b""))
    ask(widget, "1", "page")
    assert wait("1")[1:] == [({"op": "answer", "id": "1", "last": True, "status": 204, "headers": ()}, b"")]


def test_a_cancelled_answer_is_not_sent(widget: module.ProfileWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = listening(widget, monkeypatch)
    begun, go = threading.Event(), threading.Event()

    def made(content: dict[str, Any], gone: threading.Event) -> Answered:
        if content["id"] == "slow":
            begun.set()
            assert go.wait(20)
            assert gone.is_set()
        return Answered(200, (), b"x")

    monkeypatch.setattr(widget, "_made", made)
    ask(widget, "slow", "page")
    assert begun.wait(20)
    widget._on_message(None, {"op": "cancel", "id": "slow"}, [])
    go.set()
    ask(widget, "next", "page")
    assert len(wait("next")) == 2
    widget._pool.shutdown()
    ask_slow = [content for content, _ in wait("next") if content["id"] == "slow"]
    assert ask_slow == []
    assert widget._asked == {}


def test_closing_frees_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {FILE: SMALL})
    run = tp.open(tmp_path).run()
    known = weakref.ref(run)
    widget = run.widget()
    del run
    wait = listening(widget, monkeypatch)
    widget._on_message(None, {"op": "open", "id": "a"}, [])
    widget._on_message(None, {"op": "open", "id": "b"}, [])
    ask(widget, "1", "run_info?run=s")
    wait("1")
    gc.collect()
    widget._on_message(None, {"op": "close", "id": "a"}, [])
    assert widget._shown is not None
    held = weakref.ref(widget._shown[0])
    widget._on_message(None, {"op": "close", "id": "b"}, [])
    gc.collect()
    assert (known(), held(), widget._shown) == (None, None, None)
    ask(widget, "2", "run_info?run=s")  # shown again, in another cell
    assert wait("2")[1][0]["status"] == 200
    widget.close()
    assert widget._shown is None


def test_where_there_are_no_widgets_it_says_what_it_is(widget: module.ProfileWidget) -> None:
    assert repr(widget) == "<ProfileWidget trace_viewer@ of run s: answered by this kernel, without a server>"
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].startswith("<p><b>trace_viewer@ of run s</b></p>")
