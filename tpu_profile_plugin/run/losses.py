"""What was left out of a run, cut or damaged: problems of its files, and what reading them has found."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.logdir.model import empty_file
from tpu_profile_plugin.run.facts import RunFacts, host_facts
from tpu_profile_plugin.run.hosts import RunHosts, left_out_sentence


def unreadable_hosts(run: RunHosts) -> tuple[Problem, ...]:
    """Why the facts of hosts cannot be read; reads those of every host."""
    return tuple(found for found in run.examine_hosts(host_facts) if not isinstance(found, RunFacts))


def known_losses(run: RunHosts, unreadable: Collection[Problem] = ()) -> tuple[Problem, ...]:
    """The problems of the run, then those of its hosts, each once; reads nothing.

    `unreadable`: see `unreadable_hosts`. Of each host that cannot be read there is one problem.
    """
    losses: list[Problem] = []
    failed: set[str | None] = set()
    told: set[tuple[str | None, str]] = set()
    for problem, fails in _found(run, unreadable):
        if (fails and problem.host in failed) or (problem.file, problem.message) in told:
            continue
        failed |= {problem.host} if fails else set()
        told.add((problem.file, problem.message))
        losses.append(problem)
    return tuple(losses)


def _found(run: RunHosts, unreadable: Collection[Problem]) -> Iterator[tuple[Problem, bool]]:
    """Every problem, with whether its host cannot be read."""
    host_of = {host.file: host.name for host in run.profiles}
    for problem in run.listed:
        host = problem.host or (host_of.get(problem.file) if problem.file else None)
        yield replace(problem, host=host), host is not None
    yield from ((problem, True) for problem in (*run.left_out, *unreadable))
    for profile in run.profiles:
        if profile.empty:
            yield empty_file(profile.file, profile.name), True
        yield from ((problem, False) for problem in profile.losses)


def sentences(run: RunHosts, losses: Collection[Problem], most: int | None = None) -> list[str]:
    """The losses for people; those beyond `most` are counted."""
    missing = {(problem.host, problem.message) for problem in run.left_out}
    shown = [*losses][:most]
    told = [
        left_out_sentence(problem) if (problem.host, problem.message) in missing else problem.sentence
        for problem in shown
    ]
    more = len(losses) - len(shown)
    return [*told, f"{more} more problem{'' if more == 1 else 's'}: `tpu-profile doctor` lists all."] if more else told
