"""Summaries on disk: their classes, bound, keys and withdrawal."""

from pathlib import Path

import pytest
from builders.answers import host_of
from builders.checks.annotated_types import results_of_steps

from tpu_profile_plugin.run import kept as module
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.kept import CODEC, Summaries

FILE = ("/logs/a.xplane.pb", 10, 1_700_000_000_000_000_000, "")


def step(host):
    return host.name


def other_step(host):
    return host.name


def test_what_steps_return_can_be_stored():
    names = results_of_steps()
    assert len(names) > 50
    for name in names:
        CODEC.resolve(name)


@pytest.mark.parametrize("name", ["cache.codec:Codec", "run.host:per_host", "run.kept:json", "os:system", "run.x:Y"])
def test_other_names_are_refused(name):
    with pytest.raises((KeyError, ImportError)):
        CODEC.resolve(name)


def test_a_result_belongs_to_file_step_arguments_and_build(tmp_path, monkeypatch):
    kept = Summaries(tmp_path, 1 << 20)
    kept.put(FILE, PerHost(step, (1,)), ("x", 2))
    kept.flush()
    assert kept.get(FILE, PerHost(step, (1,))) == ("x", 2)
    assert kept.has(FILE, PerHost(step, (1,)))
    for at, value in enumerate(("/logs/b.xplane.pb", 11, FILE[2] + 1, "tag")):
        changed = (*FILE[:at], value, *FILE[at + 1 :])
        assert not kept.has(changed, PerHost(step, (1,)))
    assert not kept.has(FILE, PerHost(step, (2,)))
    assert not kept.has(FILE, PerHost(other_step, (1,)))
    monkeypatch.setattr(module, "build_identity", lambda: "another build")
    with pytest.raises(KeyError):
        kept.get(FILE, PerHost(step, (1,)))


def test_results_of_a_file_that_changed_are_withdrawn(tmp_path):
    kept = Summaries(tmp_path, 1 << 20)
    for identity in (FILE, ("/logs/b.xplane.pb", *FILE[1:])):
        for arguments in ((), (1,)):
            kept.put(identity, PerHost(step, arguments), "x")
    kept.withdraw(FILE)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2
    assert not kept.has(FILE, PerHost(step))


def test_the_directory_is_bounded(tmp_path):
    kept = Summaries(tmp_path, 20_000)
    for at in range(100):
        kept.put(FILE, PerHost(step, (at,)), "x" * 1000)
    kept.flush()
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert 10_000 < size <= 20_000 + 20_000 // 16 + 1100


def test_a_result_of_another_class_is_computed_again(tmp_path):
    kept = Summaries(tmp_path, 1 << 20)
    kept.put(FILE, PerHost(step), Path("x"))
    kept.flush()
    assert not kept.has(FILE, PerHost(step))


def test_a_directory_that_cannot_be_written_is_logged_once(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    kept = Summaries(tmp_path / "file" / "below", 1 << 20)
    kept.put(FILE, PerHost(step), "x")
    kept.flush()
    assert "Summaries of hosts cannot be cached" in caplog.text


def counted(host):
    counted.calls += 1
    return host.name


def test_a_host_takes_results_that_are_kept(tmp_path):
    kept, counted.calls = Summaries(tmp_path, 1 << 20), 0
    for _ in range(2):
        host = host_of("", kept=kept)
        assert host.compute(PerHost(counted)) == "h0"
        kept.flush()
        assert host.has(PerHost(counted))
    assert counted.calls == 1
