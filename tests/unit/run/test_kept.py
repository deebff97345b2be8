"""Summaries on disk: the list of classes is complete, and their bound, keys and withdrawal."""

from pathlib import Path

import pytest
from builders.checks.annotated_types import results_of_steps
from builders.logdirs import build

from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.run import kept as module
from tpu_profile_plugin.run.host import HostProfile, PerHost
from tpu_profile_plugin.run.kept import CODEC, Summaries
from tpu_profile_plugin.run.summary_types import PERMITTED

FILE = ("/logs/a.xplane.pb", 10, 1_700_000_000_000_000_000, "")


def step(host):
    return host.name


def other_step(host):
    return host.name


def test_the_list_has_the_classes_that_steps_return():
    assert results_of_steps() - PERMITTED == set(), "add them to run/summary_types.py"
    assert PERMITTED - results_of_steps() == set()
    for name in PERMITTED:
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
        host = HostProfile("a", 0, "a.xplane.pb", FILE, lambda: build(""), ProfileCache(1 << 20), kept=kept)
        assert host.compute(PerHost(counted)) == "a"
        kept.flush()
        assert host.has(PerHost(counted))
    assert counted.calls == 1
