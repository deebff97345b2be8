"""Another installed plugin named `profile`: who wins, what the reader is told, and that TensorBoard starts."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import pytest
from builders.logdirs import SMALL, write
from tensorboard.backend import application
from tensorboard.plugins import base_plugin
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.core.core_plugin import CorePluginLoader
from werkzeug.test import Client

from tpu_profile_plugin.cli import main
from tpu_profile_plugin.other_plugins import ConflictingPlugin, conflicting_plugins
from tpu_profile_plugin.plugin import BesidePlugin, ProfilePluginLoader


def install(folder: Path, name: str, version: str, plugin: str = "profile") -> None:
    """What pip leaves of a distribution that registers a TensorBoard plugin."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[tensorboard_plugins]\n{plugin} = {name}.loader:Loader\n")


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on the module search path where more can be installed."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site"


class TheirPlugin(base_plugin.TBPlugin):
    plugin_name = "profile"

    def is_active(self) -> bool:
        return True

    def get_plugin_apps(self) -> dict[str, object]:
        return {"/theirs": lambda environ, start: (start("200 OK", []), [b"theirs"])[1]}


class TheirLoader(base_plugin.TBLoader):
    def load(self, context: object) -> TheirPlugin:
        return TheirPlugin(context)


def board(*loaders: base_plugin.TBLoader) -> Client:
    parser = argparse.ArgumentParser()
    for loader in (CorePluginLoader(), *loaders):
        loader.define_flags(parser)
    flags = parser.parse_args(["--logdir", "", "--path_prefix", ""])
    flags.samples_per_plugin = {}
    return Client(application.TensorBoardWSGIApp(flags, list(loaders)))


def test_no_other_plugin(beside: Path) -> None:
    install(beside, "other_plugin", "1.0", plugin="hparams_plus")
    assert conflicting_plugins() == ()


def test_all_others_of_our_name_are_found(beside: Path) -> None:
    install(beside, "xprof", "9.9.9")
    install(beside, "tensorboard_plugin_profile", "2.15.1")
    assert conflicting_plugins() == (
        ConflictingPlugin("tensorboard_plugin_profile", "2.15.1"),
        ConflictingPlugin("xprof", "9.9.9"),
    )


def test_ours_installed_twice_is_no_rival(beside: Path) -> None:
    install(beside, "tpu_profile_plugin", "0.0.9")
    assert conflicting_plugins() == ()


def test_tensorboard_shows_both_and_ours_says_which_is_which(beside: Path, caplog: pytest.LogCaptureFixture) -> None:
    install(beside, "xprof", "9.9.9")
    with caplog.at_level(logging.WARNING):
        client = board(TheirLoader(), ProfilePluginLoader())
    assert client.get("/data/plugin/profile/theirs").data == b"theirs"
    assert client.get("/data/plugin/profile/runs").status_code == 404
    assert client.get("/data/plugin/tpu_profile/runs").json == []
    listing = client.get("/data/plugins_listing").json
    assert listing["tpu_profile"]["tab_name"] == "TPU Profile"
    assert listing["tpu_profile"]["loading_mechanism"]["module_path"] == "/data/plugin/tpu_profile/index.js"
    (message,) = [record.message for record in caplog.records if record.name == "tpu_profile_plugin"]
    assert "xprof 9.9.9 also brings a TensorBoard plugin 'profile'" in message
    assert "`pip uninstall xprof`" in message
    assert "`tpu-profile serve --logdir ...`" in message
    assert "the tab Profile is that of xprof, the tab TPU Profile that of tpu-profile-plugin" in message
    assert client.get("/data/plugin/tpu_profile/config").json["note"] == message


def test_a_report_does_not_repeat_the_note(tmp_path: Path) -> None:
    write(tmp_path, {"plugins/profile/s/h.xplane.pb": SMALL})
    reports = BesidePlugin(TBContext(logdir=str(tmp_path)), "beside another").server.reports
    assert b"beside another" not in reports.make("s", None, None)


def test_served_alone_ours_is_shown(beside: Path) -> None:
    install(beside, "xprof", "9.9.9")
    client = board(ProfilePluginLoader(alone=True))
    assert client.get("/data/plugin/profile/runs").json == []
    assert "note" not in client.get("/data/plugin/profile/config").json


def test_doctor_looks_at_the_installation(beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.startswith("tpu-profile-plugin 0.2.0 in Python 3.")
    install(beside, "xprof", "9.9.9")
    assert main(["doctor"]) == 0
    assert "NOTE  xprof 9.9.9 also brings" in capsys.readouterr().out
