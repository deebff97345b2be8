"""The plugin in TensorBoard: found by its entry point, cheap to load, active if there is a run."""

import importlib.metadata
import json
import subprocess
import sys
import urllib.request
from types import SimpleNamespace

import pytest
from builders.logdirs import write
from builders.servers.board import Board

from tpu_profile_plugin import cli, plugin


def test_entry_point():
    points = importlib.metadata.entry_points(group="tensorboard_plugins")
    ours = [point for point in points if point.value == "tpu_profile_plugin.plugin:ProfilePluginLoader"]
    assert [point.name for point in ours] == ["profile"]
    assert ours[0].load() is plugin.ProfilePluginLoader


def test_listing(board):
    assert board.client.get("/data/plugins_listing").json["profile"] == {
        "disable_reload": False,
        "enabled": True,
        "remove_dom": False,
        "tab_name": "profile",
        "loading_mechanism": {"type": "IFRAME", "module_path": "/data/plugin/profile/index.js"},
    }


@pytest.mark.parametrize(
    ("files", "active"),
    [
        ({}, False),
        ({"train/events.out.tfevents.1": b"x"}, False),
        ({"plugins/profile/file": b"x"}, False),
        ({"plugins/profile/empty": None}, True),
        ({"a/plugins/profile/s/h.xplane.pb": b""}, True),
        ({"bare/h.xplane.pb": b""}, True),
    ],
)
def test_active_when_there_is_a_run(tmp_path, files, active):
    (tmp_path / "logs").mkdir()
    assert Board(write(tmp_path / "logs", files), tmp_path / "home").plugin.is_active() is active


def test_becomes_active_with_the_first_run_and_stays(tmp_path):
    board = Board(write(tmp_path / "logs", {"x": None}), tmp_path / "home")
    assert not board.plugin.is_active()
    write(tmp_path / "logs", {"plugins/profile/s": None})
    assert board.plugin.is_active()
    (tmp_path / "logs/plugins/profile/s").rmdir()
    assert board.plugin.is_active()


@pytest.mark.parametrize(
    "context", [SimpleNamespace(), SimpleNamespace(logdir=None, flags=None), SimpleNamespace(logdir="")]
)
def test_loading_never_fails(context):
    loaded = plugin.ProfilePluginLoader().load(context)
    assert loaded.plugin_name == "profile"
    assert loaded.is_active() is False
    assert "/runs" in loaded.get_plugin_apps()
    assert loaded.data_plugin_names() == ("profile",)


def test_loading_imports_nothing_heavy():
    code = (
        "import sys, types\n"
        "from tpu_profile_plugin import plugin\n"
        "loaded = plugin.ProfilePluginLoader().load(types.SimpleNamespace(logdir='/nowhere', flags=None))\n"
        "loaded.get_plugin_apps(); loaded.frontend_metadata()\n"
        "import json; print(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    )
    names = set(json.loads(subprocess.check_output([sys.executable, "-c", code])))
    heavy = {"numpy", "fsspec", "platformdirs", "tensorflow", "google", "grpc", "pandas"} & names
    assert heavy <= {"google"}, "google: a namespace package that site-packages may hold"


def test_starting_tensorboard_loads_few_modules():
    """Counts modules instead of measuring time, because the count does not depend on the machine; about 0.05 s."""
    code = (
        "import argparse, sys, types\n"
        "import tensorboard.plugins.base_plugin, werkzeug.serving, werkzeug.wrappers, logging, json, gzip, hashlib\n"
        "before = set(sys.modules)\n"
        "from tpu_profile_plugin import plugin\n"
        "loader = plugin.ProfilePluginLoader(); loader.define_flags(argparse.ArgumentParser())\n"
        "loaded = loader.load(types.SimpleNamespace(logdir='/nowhere', flags=None))\n"
        "loaded.get_plugin_apps(); loaded.frontend_metadata()\n"
        "print(len(set(sys.modules) - before), *[m for m in ('numpy', 'grpc', 'fsspec') if m in sys.modules])\n"
        "print(*[m for m in sys.modules if m.startswith('tpu_profile_plugin.') and m.split('.')[1] in"
        " ('_native', 'columns', 'analysis')])"
    )
    first, ours = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    count, *heavy = first.split()
    assert int(count) <= 100
    assert heavy == []
    assert ours == ""


def test_version_command(capsys):
    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out.strip() == importlib.metadata.version("tpu-profile-plugin")


@pytest.mark.parametrize("argv", [[], ["serve"], ["nope"], ["serve", "--logdir", "x", "--port", "y"]])
def test_wrong_commands(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    assert caught.value.code == 2
    assert "usage: tpu-profile" in capsys.readouterr().err


def test_serve_command(tmp_path):
    """The command line serves our plugin, on this machine only."""
    write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": b""})
    command = [
        sys.executable,
        "-m",
        "tpu_profile_plugin.cli",
        "serve",
        "--logdir",
        str(tmp_path / "logs"),
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = next(line for line in process.stderr if "http://" in line)
            address = line.split("http://")[1].split("/")[0]
            assert address.startswith("127.0.0.1:")
            with urllib.request.urlopen(f"http://{address}/data/plugin/profile/runs", timeout=30) as answer:
                assert json.load(answer) == ["s"]
            with urllib.request.urlopen(f"http://{address}/data/plugins_listing", timeout=30) as answer:
                assert list(json.load(answer)) == ["profile"]
        finally:
            process.stderr.close()  # as of a pipe to a program that has ended: what is written there fails
            process.terminate()
    assert process.returncode == 0
