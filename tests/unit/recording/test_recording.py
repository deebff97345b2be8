"""Recordings of the program itself: which steps, which framework, and where the run is."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, build

import tpu_profile_plugin as tp
from tpu_profile_plugin.errors import BadRequest, NoData, NotAvailable
from tpu_profile_plugin.recording import recording as module
from tpu_profile_plugin.recording.magics import profile_cell, register
from tpu_profile_plugin.recording.profilers import Wanted, imported


class Jax(types.ModuleType):
    """What JAX's profiler is asked, in order; a recording has the profile SMALL."""

    def __init__(self) -> None:
        super().__init__("jax")
        self.asked: list[Any] = []
        self.profiler = self
        self.options: Any = None

    def ProfileOptions(self) -> types.SimpleNamespace:
        return types.SimpleNamespace()

    def start_trace(self, directory: str, profiler_options: Any) -> None:
        self.asked.append("start")
        self.directory, self.options = Path(directory), profiler_options

    def stop_trace(self) -> None:
        self.asked.append("stop")
        session = self.directory / "plugins" / "profile" / "2026_01_02_03_04_05"
        session.mkdir(parents=True)
        (session / "h.xplane.pb").write_bytes(build(SMALL))

    def live_arrays(self) -> list[str]:
        return ["array"]

    def block_until_ready(self, arrays: list[str]) -> None:
        self.asked.append("wait")

    @contextlib.contextmanager
    def StepTraceAnnotation(self, name: str, step_num: int) -> Iterator[None]:
        self.asked.append(f"{name} {step_num}")
        yield
        self.asked.append("end")


@pytest.mark.parametrize(("used", "chosen"), [(True, "JAX"), (False, "TensorFlow")])
def test_a_framework_that_another_package_has_imported(
    monkeypatch: pytest.MonkeyPatch, used: bool, chosen: str
) -> None:
    bridge = types.SimpleNamespace(backends_are_initialized=lambda: used)
    for name, loaded in (
        ("jax", Jax()),
        ("jax._src.xla_bridge", bridge),
        ("tensorflow", types.ModuleType("tensorflow")),
    ):
        monkeypatch.setitem(sys.modules, name, loaded)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    profiler, others = imported(None, Wanted())
    assert (profiler.name, others) == (chosen, ["TensorFlow" if used else "JAX"])
    assert imported("jax", Wanted())[0].name == "JAX"


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> Jax:
    for name in ("tensorflow", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    made = Jax()
    monkeypatch.setitem(sys.modules, "jax", made)
    return made


def test_a_profiler_that_stores_nothing_is_told(jax: Jax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "stop_trace", lambda: None)
    with pytest.raises(NoData, match=r"^The profiler of JAX has stored nothing\.$"), tp.profile(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_first_steps_are_left_out_and_later_ones(jax: Jax, tmp_path: Path) -> None:
    seen = []
    with tp.profile(tmp_path, skip=1, most=2) as recording:
        for item in tp.steps("abcde"):
            seen.append(item)
            jax.asked.append(item)
    assert seen == [*"abcde"]
    # What was before the loop is dropped.
    before = ["start", "wait", "stop"]
    assert jax.asked == [
        *before,
        "a",
        *("start", "train 1", "b", "end", "train 2", "c", "end", "wait", "stop"),
        *"de",
    ]
    assert recording.run.name == "2026_01_02_03_04_05"
    assert [run.name for run in tp.open(tmp_path).runs()] == ["2026_01_02_03_04_05"]
    assert jax.options.python_tracer_level == 1


def test_without_steps_everything_is_recorded(jax: Jax, tmp_path: Path) -> None:
    with tp.profile(tmp_path, python=False) as recording:
        jax.asked.append("work")
    assert jax.asked == ["start", "work", "wait", "stop"]
    assert jax.options.python_tracer_level == 0
    with tp.profile(tmp_path) as again:
        pass
    names = "2026_01_02_03_04_05", "2026_01_02_03_04_05_1"
    assert (recording.run.name, again.run.name) == names
    assert "Recording of JAX: <OpenRun '2026_01_02_03_04_05_1'" in repr(again)


def test_a_logdir_that_nobody_named_lives_as_long_as_the_program(jax: Jax) -> None:
    @tp.profile()
    def train(rate: float) -> float:
        return 2 * rate

    assert train(3.0) == 6.0
    assert jax.asked == ["start", "wait", "stop"]
    with tp.profile() as recording:
        pass
    assert recording.run.ops is not None
    assert recording.logdir is not None
    assert recording.logdir.is_dir()


def test_a_loop_that_ends_early_says_why_there_is_nothing(jax: Jax) -> None:
    with tp.profile(skip=3) as recording:
        for _ in tp.steps(range(2)):
            pass
    with pytest.raises(NoData, match=r"of 2 steps, the first 3 are left out"):
        _ = recording.run


def test_steps_outside_of_a_recording_are_the_items(jax: Jax) -> None:
    assert list(tp.steps(iter("ab"))) == ["a", "b"]
    with tp.profile(skip=0):
        loop = tp.steps(range(5))
        assert next(loop) == 0
    assert list(loop) == [1, 2, 3, 4]  # the recording has ended meanwhile
    assert jax.asked[-2:] == ["stop", "end"]


def test_an_error_of_the_program_is_its_own(jax: Jax, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), tp.profile(tmp_path):
        _ = 1 / 0
    assert jax.asked == ["start", "wait", "stop"]
    assert module._active is None


def test_wrong_uses_are_refused(jax: Jax, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadRequest, match="skip"):
        tp.profile(skip=-1)
    with pytest.raises(BadRequest, match="directory of this machine"):
        tp.profile("gs://bucket/logs")
    with pytest.raises(BadRequest, match="no framework 'keras': jax, tensorflow, torch"), tp.profile(framework="keras"):
        pass
    with pytest.raises(NotAvailable, match="import PyTorch before"), tp.profile(framework="torch"):
        pass
    with tp.profile(), pytest.raises(BadRequest, match="cannot be nested"), tp.profile():
        pass
    monkeypatch.delitem(sys.modules, "jax")
    with pytest.raises(NotAvailable, match="import JAX or TensorFlow or PyTorch before"), tp.profile():
        pass


def test_the_first_of_several_frameworks_is_recorded(jax: Jax, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    with tp.profile() as recording:
        pass
    assert repr(recording).startswith("<Recording of JAX; PyTorch imported too: ")


class Shell:
    """What the magic needs of IPython."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, Any] = {}
        self.compile = types.SimpleNamespace(_filename_map={})

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        self.magics[kind, name] = function

    def run_cell(self, cell: str) -> Any:
        try:
            exec(cell, self.user_ns)
        except ZeroDivisionError:
            return types.SimpleNamespace(success=False)
        return types.SimpleNamespace(success=True)


def test_the_magic_records_a_cell_and_shows_it(jax: Jax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    shell = Shell()
    tp.load_ipython_extension(shell)
    cell_magic = shell.magics["cell", "profile"]
    shell.user_ns["work"] = work = jax.asked.append
    cell_magic(f"{tmp_path} --step work --skip 1 --page op_profile", "for i in range(3): work(i)")
    assert jax.asked[3:] == [0, "start", "work 1", 1, "end", "work 2", 2, "end", "wait", "stop"]
    assert shell.user_ns["work"] is work
    findings, page = shown
    assert "<b>" in findings._repr_html_()
    assert "tool=op_profile" in page.url
    assert shell.user_ns["_profile"].run.name == "2026_01_02_03_04_05"


def test_a_cell_that_fails_shows_nothing(jax: Jax, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("IPython.display.display", lambda _: pytest.fail("nothing to show"))
    shell = Shell()
    assert profile_cell(shell, "", "1 / 0") is None
    with pytest.raises(BadRequest, match="no function of this name"):
        profile_cell(shell, "--step train", "")
    with pytest.raises(BadRequest, match="usage: %%profile"):
        profile_cell(shell, "--stepp train", "")
    register(shell)


def test_batches_of_keras_are_steps(jax: Jax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    with pytest.raises(NotAvailable, match="import it before"):
        tp.keras_steps()
    keras = types.ModuleType("keras")
    keras.callbacks = types.SimpleNamespace(Callback=object)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras", keras)

    def fit(callback: Any) -> None:
        for batch in range(4):
            callback.on_train_batch_begin(batch)
            jax.asked.append(f"batch {batch}")
        callback.on_train_end()

    fit(tp.keras_steps())  # no recording
    assert jax.asked == [f"batch {batch}" for batch in range(4)]
    jax.asked.clear()
    with tp.profile(tmp_path, skip=1, most=2) as recording:
        fit(tp.keras_steps("fit"))
    before = ["start", "wait", "stop"]
    first, second = (["batch 1", "end"], ["batch 2", "end"])
    assert jax.asked == [*before, "batch 0", "start", "fit 1", *first, "fit 2", *second, "wait", "stop", "batch 3"]
    assert recording.run.problems == []
