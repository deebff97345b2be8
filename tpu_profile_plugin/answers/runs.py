"""Which run to compare with another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.opening import OpenLogdir, OpenRun
from tpu_profile_plugin.run.facts import RunFacts, host_facts
from tpu_profile_plugin.run.related import most_related_first


def run_before(name: str, newest_first: Sequence[str]) -> str | None:
    """The run before this one: of the same directory if there is one, else of any; None for the oldest."""
    older = newest_first[newest_first.index(name) + 1 :] if name in newest_first else ()
    folder = name.rpartition("/")[0]
    return next((one for one in older if one.rpartition("/")[0] == folder), next(iter(older), None))


_MOST = 50


def related_runs(logdir: OpenLogdir, run: OpenRun) -> list[tuple[str, float]]:
    """Other runs of a local logdir that share programs with a run, most first, and how much."""
    if is_remote(logdir.path):
        return []
    others = [one for one in logdir.runs() if one.files != run.files and one.profiles][:_MOST]
    return most_related_first(_facts(run), [(one.name, _facts(one)) for one in others])


def _facts(run: OpenRun) -> RunFacts:
    """Facts of the first host, with the programs of all hosts of most runs; none if it cannot be read."""
    with suppress(ProfileError):
        if run.profiles:
            return host_facts(run.profiles[0])
    return RunFacts()
