"""The widget: the state of its view as traits, and the requests of its pages as messages."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tpu_profile_plugin.errors import MissingPackage
from tpu_profile_plugin.run.html_text import bold, paragraphs, plain
from tpu_profile_plugin.units import MIB
from tpu_profile_plugin.widget.pages import (
    PAGE_FILES,
    Answered,
    OpenedRun,
    Pages,
    build_of_pages,
    module_text,
    packed_pages,
    pages_of,
)

try:
    import anywidget
    import traitlets
except ImportError:
    message = "Widgets need the package anywidget: pip install 'tpu-profile-plugin[notebook]'."
    raise MissingPackage(message, package="anywidget") from None

SLICE_BYTES = MIB
"""Answers are sent in parts of this size, so that a view that moves on gets no more of them."""
_THREADS = 4
_MOST_HEIGHT = 4000
_KEPT = ("run", "base", "reading")
"""Keys of the view that stay when another page is opened."""


class ProfileWidget(anywidget.AnyWidget):
    """The pages of a run in a notebook's cell, live, answered by the kernel.

    Attributes:
      view: the keys of the page's address, such as `tool`, `window` and `selected`; read and set by both sides.
      page: the id of the tool that is shown.
      host: the host that is shown; None: as the page chooses.
      base: the name of the run that is compared with; None for none.
      window: begin and end of the timeline's window in ps; None: as the page chooses.
      selected: what the page tells about the selection; `selection` has the events.
      height: of the frame, in pixels.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    build = traitlets.Unicode(read_only=True).tag(sync=True)
    view = traitlets.Dict(key_trait=traitlets.Unicode(), value_trait=traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(800, min=100, max=_MOST_HEIGHT).tag(sync=True)
    page = traitlets.Unicode()
    host = traitlets.Unicode(None, allow_none=True)
    base = traitlets.Unicode(None, allow_none=True)
    window: Any = traitlets.Tuple(traitlets.Int(), traitlets.Int(), default_value=None, allow_none=True)

    def __init__(self, run: OpenedRun, reopen: Callable[[], OpenedRun], view: Mapping[str, str], height: int) -> None:
        """`reopen` opens the run again if it was dropped while no cell showed the widget."""
        self._reopen = reopen
        self._known = weakref.ref(run)
        self._shown: tuple[OpenedRun, Pages] | None = None
        self._opening = threading.Lock()
        self._asked: dict[str, threading.Event] = {}
        self._views: set[str] = set()
        self._pool = ThreadPoolExecutor(_THREADS, "profile-widget")
        super().__init__(view={**view, "run": run.name}, height=height)
        self.on_msg(self._on_message)

    @traitlets.default("_esm")
    def _module(self) -> str:
        return module_text()

    @traitlets.default("build")
    def _build(self) -> str:
        return build_of_pages()

    @property
    def _run(self) -> OpenedRun:
        """The run: the user's while it is there, so that nothing is decoded twice."""
        shown = self._shown
        if shown is not None:
            return shown[0]
        run = self._known()
        if run is None:
            run = self._reopen()
            self._known = weakref.ref(run)
        return run

    @property
    def selection(self) -> Any:
        """The events that are selected in the timeline, as a DataFrame with the columns of `run.events()`.

        Of a rectangle with events that are too short to be drawn one by one, all that overlap it. Empty for none.
        Raises MissingPackage without pandas.
        """
        from tpu_profile_plugin.widget.selection import selected_events

        return selected_events(self._run, self.selected)

    # State: `view` is what the pages know; the other traits are its keys.

    @traitlets.observe("view")
    def _read_view(self, _: object) -> None:
        with self.hold_trait_notifications():
            self.page = self.view.get("tool", "overview_page")
            self.host = self.view.get("host")
            self.base = self.view.get("base")
            self.window = _span(self.view.get("window"))

    @traitlets.observe("page")
    def _open_page(self, change: Any) -> None:
        if self.view.get("tool", "overview_page") != change.new:
            self.view = {**{key: self.view[key] for key in _KEPT if key in self.view}, "tool": change.new}

    @traitlets.observe("host", "base", "window")
    def _write_view(self, change: Any) -> None:
        value = change.new
        if change.name == "window":
            if value == _span(self.view.get("window")):
                return
            value = None if value is None else "{},{}".format(*value)
        if self.view.get(change.name) != value:
            rest = {key: old for key, old in self.view.items() if key != change.name}
            self.view = rest if value is None else {**rest, change.name: value}

    # Messages. The kernel's loop only hands them on: answers are made and sent by threads.

    def _on_message(self, _: object, content: Any, buffers: Any) -> None:
        kind, id_ = content.get("op"), str(content.get("id"))
        if kind == "ask":
            gone = self._asked[id_] = threading.Event()
            self.send({"op": "taken", "id": id_})
            self._pool.submit(self._answer, id_, content, gone)
        elif kind == "cancel":
            if (gone_now := self._asked.pop(id_, None)) is not None:
                gone_now.set()
        elif kind == "open":
            self._views.add(id_)
        elif kind == "close":
            self._views.discard(id_)
            if not self._views:
                self._shown = None  # answers and decoded profiles, unless another widget or the program holds them

    def _answer(self, id_: str, content: Mapping[str, Any], gone: threading.Event) -> None:
        try:
            if not gone.is_set():
                self._send_answer(id_, self._made(content, gone), gone)
        finally:
            self._asked.pop(id_, None)

    def _made(self, content: Mapping[str, Any], gone: threading.Event) -> Answered:
        address = str(content.get("address"))
        if address in PAGE_FILES:
            return Answered(200, (), packed_pages(address))
        with self._opening:
            if self._shown is None:
                run = self._run
                self._shown = run, pages_of(run)
            pages = self._shown[1]
        body = str(content.get("body") or "").encode()
        return pages.ask(str(content.get("method", "GET")), address, body, gone.is_set)

    def _send_answer(self, id_: str, answered: Answered, gone: threading.Event) -> None:
        body = memoryview(answered.body)
        places = range(0, len(body), SLICE_BYTES) or range(1)
        for i, begin in enumerate(places):
            if gone.is_set():
                return
            part = {"op": "answer", "id": id_, "last": i == len(places) - 1}
            if i == 0:
                part |= {"status": answered.status, "headers": answered.headers}
            cut = body[begin : begin + SLICE_BYTES]
            self.send(part, [cut] if len(cut) else None)

    def close(self) -> None:
        """Ends the widget in all cells that show it, and what it holds of the run."""
        for gone in list(self._asked.values()):
            gone.set()
        self._shown = None
        self._pool.shutdown(wait=False)
        super().close()

    # What the notebook shows where it cannot show widgets.

    def __repr__(self) -> str:
        return f"<ProfileWidget {self.page} of run {self.view.get('run')}: answered by this kernel, without a server>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        what = bold(f"{self.page} of run {self.view.get('run')}")
        hint = "The pages are live where the notebook runs; run.report().save(PATH) keeps them in a file."
        return {**data, "text/html": paragraphs(what, plain(hint))}, metadata


def _span(text: str | None) -> tuple[int, int] | None:
    parts = (text or "").split(",")
    try:
        begin, end = map(int, parts)
    except ValueError:
        return None
    return begin, end
