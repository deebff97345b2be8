"""`tpu-profile doctor`: reports problems of the installation, the contents of a logdir, and what each tool lacks."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from tpu_profile_plugin.other_plugins import OURS, conflict_message, conflicting_plugins
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.version import __version__

if TYPE_CHECKING:
    from tpu_profile_plugin.opening import OpenLogdir

HELP = "report problems of the installation and the contents of a logdir"
_MOST_MODULES = 20


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "exit status: 0 no problems, 1 problems found"
    parser.add_argument(
        "logdir", nargs="?", help="a logdir or a .xplane.pb file (default: check only the installation)"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the report; returns the exit status."""
    import tpu_profile_plugin

    wrong = False
    for bad, line in _installation():
        wrong = wrong or bad
        print(line)
    if options.logdir is None:
        return int(wrong)
    print()
    opened = tpu_profile_plugin.open(options.logdir)
    for bad, line in _logdir(opened):
        wrong = wrong or bad
        print(one_line(line))
    return int(wrong)


def _installation() -> Iterator[tuple[bool, str]]:
    """Yields lines, each with whether it reports a problem."""
    others = ", ".join(f"{name} {metadata.version(name)}" for name in ("tensorboard", "protobuf", "grpcio", "numpy"))
    yield False, f"{OURS} {__version__} in Python {platform.python_version()}, with {others}"
    conflicts = conflicting_plugins()
    if conflicts:
        yield False, f"  NOTE  {conflict_message(conflicts)}"


def _logdir(logdir: OpenLogdir) -> Iterator[tuple[bool, str]]:
    """Yields lines, each with whether it reports a problem."""
    from tpu_profile_plugin.opening import NO_RUN
    from tpu_profile_plugin.run.facts import RunFacts, combine_facts, host_facts
    from tpu_profile_plugin.tools.registry import TOOLS

    runs = logdir.runs()
    yield False, f"{logdir.path}: {len(runs)} runs"
    for problem in logdir.problems:
        yield True, f"  WRONG {problem.message}"
    if not runs:
        yield True, f"  WRONG {NO_RUN}"
        yield (
            False,
            "        Capture a profile (tpu-profile capture localhost:9012 --logdir ...), or copy a session there.",
        )
    for run in runs:
        yield False, ""
        yield False, run.name
        readable = [facts for facts in run.examine_hosts(host_facts) if isinstance(facts, RunFacts)]
        for file in run.files.hosts:
            yield False, f"  {file.name}: {file.size:,} bytes"
        for problem in run.losses:
            yield True, f"  WRONG {problem.sentence}"
        if not readable:
            continue
        facts = combine_facts(readable)
        yield False, f"  devices: {', '.join(facts.device_types) or 'none'}; HLO modules: {len(facts.modules)}"
        for module in facts.module_names()[:_MOST_MODULES]:
            yield False, f"    {module}"
        if len(facts.modules) > _MOST_MODULES:
            yield False, f"    and {len(facts.modules) - _MOST_MODULES} more"
        for option in facts.not_recorded:
            yield False, f"  not recorded: {option.remedy.of(facts.frameworks)}"
        reasons = {tool.id: tool.lacks(facts) for tool in TOOLS if tool.offered}
        yield False, f"  tools with data: {', '.join(tool for tool, reason in reasons.items() if reason is None)}"
        for tool, reason in reasons.items():
            if reason is not None:
                yield False, f"  no {tool}: {reason.told(facts.frameworks)}"
