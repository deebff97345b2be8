"""Discovery of runs: directories, names, order."""

import pytest
from builders.logdirs import write

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.logdir import Logdir

X = b""


def names(root):
    return Logdir(str(root)).names()


@pytest.mark.parametrize(
    ("on_disk", "shown"),
    [
        ("plugins/profile/2026_11_20_08_58_45/h.xplane.pb", "2026_11_20_08_58_45"),
        ("train/plugins/profile/2026_11_20_08_59_03/h.xplane.pb", "train/2026_11_20_08_59_03"),
        ("a/b/c/plugins/profile/tpu1/h.xplane.pb", "a/b/c/tpu1"),
        ("run with space+é/plugins/profile/s 1/h.xplane.pb", "run with space+é/s 1"),
        (".hidden/plugins/profile/hid/h.xplane.pb", ".hidden/hid"),
        ("plugins/profile/with.dots.in-it/h.xplane.pb", "with.dots.in-it"),
        ("plugins/profile/s/plugins/profile/t/h.xplane.pb", "plugins/profile/s/t"),
        ("a&b=c/plugins/profile/%2e%2e/h.xplane.pb", "a&b=c/%2e%2e"),
    ],
)
def test_names(tmp_path, on_disk, shown):
    write(tmp_path, {on_disk: X})
    assert shown in names(tmp_path)


def test_the_absolute_path_is_known_without_io(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/of/them")
    assert Logdir("logs").absolute_path == str(tmp_path / "logs")
    assert Logdir("~/logs").absolute_path == "/home/of/them/logs"
    assert Logdir(f"file://{tmp_path}/logs").absolute_path == str(tmp_path / "logs")
    assert Logdir("gs://bucket/logs").absolute_path == "gs://bucket/logs"
    assert Logdir(None).absolute_path == ""


@pytest.mark.parametrize("content", [{"plugins/profile/empty": None}, {"plugins/profile/empty/sub": None}])
def test_empty_sessions_are_listed(tmp_path, content):
    write(tmp_path, content)
    assert names(tmp_path) == ["empty"]


@pytest.mark.parametrize(
    "on_disk",
    [
        "plugins/profile/h.txt",
        "profile/s/h.txt",
        "plugins/profiles/s/h.txt",
        "xplugins/profile/s/h.txt",
        "plugins/other/profile/s/h.txt",
        "train/events.out.tfevents.1.profile-empty",
    ],
)
def test_directories_that_are_not_runs(tmp_path, on_disk):
    write(tmp_path, {on_disk: b"x"})
    assert names(tmp_path) == []


def test_a_profile_directly_in_plugins_profile_is_not_a_run(tmp_path):
    write(tmp_path, {"plugins/profile/h.xplane.pb": X, "plugins/profile/s/h.xplane.pb": X})
    assert names(tmp_path) == ["s"]


def test_order_is_descending_by_plain_text(tmp_path):
    runs = ["a", "B", "b", "a/1", "10", "9", "é"]
    write(tmp_path, {f"{d}/plugins/profile/s/h.xplane.pb": X for d in runs})
    assert names(tmp_path) == ["é/s", "b/s", "a/s", "a/1/s", "B/s", "9/s", "10/s"]


def test_links(tmp_path):
    write(tmp_path, {"elsewhere/s/h.xplane.pb": X, "outside/plugins/profile/secret/h.xplane.pb": X})
    root = write(tmp_path / "logdir", {"plugins/profile/real/h.xplane.pb": X})
    (root / "plugins/profile/linked").symlink_to(tmp_path / "elsewhere/s")
    (root / "plugins/profile/broken").symlink_to(tmp_path / "nowhere")
    (root / "run").symlink_to(tmp_path / "outside")
    (root / "x/plugins").mkdir(parents=True)
    (root / "x/plugins/profile").symlink_to(tmp_path / "outside/plugins/profile")
    assert names(root) == ["real", "linked"]


def test_cyclic_links(tmp_path):
    write(tmp_path, {"plugins/profile/s/h.xplane.pb": X})
    (tmp_path / "plugins/profile/s/up").symlink_to(tmp_path)
    assert names(tmp_path) == ["s"]


def test_the_logdir_itself_may_be_a_link(tmp_path):
    write(tmp_path / "real", {"plugins/profile/s/h.xplane.pb": X})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert names(tmp_path / "link") == ["s"]


def test_bare_directories(tmp_path):
    root = write(tmp_path / "logs", {"x/y/h.xplane.pb": X, "xplane.pb": X, "x/plugins/profile/s/h.xplane.pb": X})
    assert names(root) == ["x/y", "x/s", "logs"]
    assert Logdir(str(root)).run("logs").directory == "."
    assert Logdir(str(root)).run("x/y").directory == "x/y"


@pytest.mark.parametrize("below", ["plugins", "plugins/profile", "plugins/profile/s"])
def test_a_logdir_inside_a_session_tree_shows_the_run(tmp_path, below):
    write(tmp_path, {"plugins/profile/s/h.xplane.pb": X})
    assert [name.rsplit("/")[-1] for name in names(tmp_path / below)] == ["s"]


def test_two_runs_with_the_same_name(tmp_path):
    write(tmp_path, {"a/plugins/profile/s/h.xplane.pb": X, "a/s/bare.xplane.pb": X})
    logdir = Logdir(str(tmp_path))
    assert logdir.names() == ["a/s (2)", "a/s"]
    assert logdir.run("a/s").host_names == ("h",)
    assert logdir.run("a/s (2)").host_names == ("bare",)


def test_names_that_are_not_utf8(tmp_path):
    write(tmp_path, {"odd\udcff/plugins/profile/s/h\udcfe.xplane.pb": X})
    logdir = Logdir(str(tmp_path))
    assert logdir.names() == ["odd\ufffd/s"]
    run = logdir.run("odd\ufffd/s")
    assert run.host_names == ("h\ufffd",)
    assert len(logdir.read(run.hosts[0])) == 0


@pytest.mark.parametrize(
    "name", ["nope", "", ".", "..", "/", "s/", "../logs/s", "/etc", "s\0", "plugins/profile/s", "./s"]
)
def test_unknown_names_are_not_used_as_paths(tmp_path, name):
    root = write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": X})
    with pytest.raises(NotFound) as caught:
        Logdir(str(root)).run(name)
    assert caught.value.code == "run_not_found"
    assert str(tmp_path) not in caught.value.message


@pytest.mark.parametrize(
    ("ages_s", "newest"),
    [
        ({"2026_01_15_10_00_00": 10, "2026_01_15_09_59_59": 0}, "2026_01_15_10_00_00"),
        ({"2026-01-15_10-00-00": 10, "a/2026_01_15_09_00_00": 0}, "2026-01-15_10-00-00"),
        ({"2020_01_15_10_00_00": 0, "warm": 10}, "warm"),
        ({"2038_01_15_10_00_00": 10, "warm": 0}, "2038_01_15_10_00_00"),
        ({"z": 20, "b": 10}, "b"),
        ({"9999_99_99_10_00_00": 20, "b": 10}, "b"),
        ({"x/2026_01_15_10_00_00": 10, "y/2026_01_15_10_00_00": 10}, "y/2026_01_15_10_00_00"),
    ],
)
def test_the_newest_run_is_the_latest_session(tmp_path, ages_s, newest):
    for name, age_s in ages_s.items():
        place, _, session = name.rpartition("/")
        write(tmp_path / place / "plugins/profile" / session, {"h.xplane.pb": X}, age_s)
    logdir = Logdir(str(tmp_path))
    run = logdir.newest()
    assert run is not None
    assert run.name == newest
    assert [run.name for run in logdir.newest_first()] == [newest, *(set(ages_s) - {newest})]


def test_an_empty_logdir_has_no_newest_run(tmp_path):
    assert Logdir(str(tmp_path)).newest() is None


def test_a_logdir_may_be_given_as_a_file_url(tmp_path):
    write(tmp_path, {"plugins/profile/s/h.xplane.pb": X})
    assert names(f"file://{tmp_path}") == ["s"]


def test_no_logdir():
    logdir = Logdir("")
    assert logdir.names() == []
    assert [p.code for p in logdir.scan().problems] == ["no_logdir"]
    assert logdir.has_runs() is False


def test_missing_logdir(tmp_path):
    logdir = Logdir(str(tmp_path / "nope"))
    assert logdir.names() == []
    assert [p.code for p in logdir.scan().problems] == ["logdir_unreadable"]
    assert str(tmp_path) not in logdir.scan().problems[0].message
    write(tmp_path, {"nope/plugins/profile/s/h.xplane.pb": X})
    assert logdir.names() == ["s"], "a logdir may be made later"


def test_a_file_as_logdir(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    assert Logdir(str(tmp_path / "f")).names() == []
