"""`tpu-profile capture`: captures profiles from running programs; prints progress and the result of each worker."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, TextIO

from tpu_profile_plugin.commands.parser import checked_runs
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.system.terminal import one_line, raw, visible

if TYPE_CHECKING:
    from tpu_profile_plugin.capture.job import Job

HELP = "capture profiles from running programs"
EXIT_CODES = "exit status: 0 all workers captured, 3 only some, 1 none, 2 wrong arguments, 130 cancelled"
_BAR_WIDTH = 24
_CANCELLED = 130
_COMMIT_VARIABLES = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GIT_COMMIT")
_PHASES = {
    "connecting": "connecting",
    "delay": "waiting for the start",
    "receiving": "waiting for the profile",
    "retry": "trying again",
}


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = EXIT_CODES
    parser.add_argument(
        "addresses", metavar="ADDR[,ADDR...]", help="host:port of profiler servers, e.g. localhost:9012"
    )
    parser.add_argument(
        "--logdir", help="logdir to store the profile in; required, except to start or stop continuous profiling"
    )
    parser.add_argument(
        "--continuous",
        choices=("start", "snapshot", "stop"),
        help="continuous profiling: start, stop, or store a snapshot of the time since the start or the last snapshot",
    )
    parser.add_argument("--duration-ms", type=int, default=1000, help="length of the recording (default: 1000)")
    parser.add_argument(
        "--host-tracer",
        type=int,
        help="0 off, 1 critical, 2 info, 3 verbose (default: 2; with --continuous start: 0)",
    )
    parser.add_argument("--device-tracer", type=int, default=1, help="0 off, 1 on (default: 1)")
    parser.add_argument("--python-tracer", type=int, default=0, help="0 off, 1 on (default: 0)")
    parser.add_argument(
        "--retries",
        type=int,
        default=3,
        help="further attempts if the program is busy or recorded nothing (default: 3)",
    )
    parser.add_argument(
        "--delay-ms", type=int, default=None, help="delay before the recording (default: 0; several workers: 3000)"
    )
    parser.add_argument("--session", default=None, help="name of the session (default: the local time)")
    parser.add_argument(
        "--tpu-name", action="store_true", help="ADDR is the name of a Cloud TPU, or several separated by commas"
    )
    parser.add_argument(
        "--worker-list", action="store_true", help="the first address starts the recording on all addresses (Cloud TPU)"
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="option of the profiler; repeatable"
    )
    parser.add_argument(
        "--label", action="append", default=[], metavar="KEY=VALUE",
        help="a label of the run, stored beside it with the commit that CI or the worktree here has; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--runs", type=int, metavar="N",
        help="capture N times, one after the other, as runs of their own, so that `gate` knows how far runs vary",
    )  # fmt: skip
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON; with --runs, an array of results"
    )


def run(options: argparse.Namespace) -> int:
    """Captures; returns the exit status."""
    if options.continuous in ("start", "stop"):
        return _switch(options)
    labels = _labels(options.label)
    if not options.logdir:
        raise BadRequest("--logdir is missing: the directory to store the profile in.")
    count = checked_runs(1 if options.runs is None else options.runs)
    if options.continuous and count > 1:
        raise BadRequest("--runs needs captures of their own: --continuous records all the time.")
    session = options.session
    statuses, results = list[int](), list[dict[str, Any]]()
    for number in range(1, count + 1):
        if session and count > 1:
            options.session = f"{session}_{number}"
        status, result = _captured(options, labels)
        statuses.append(status)
        results.append(result)
        if not options.json:
            print(_report(result))
        if status == _CANCELLED:
            break
    if options.json:
        print(json.dumps(results[0] if options.runs is None else results, indent=2))
    return statuses[-1] if statuses[-1] == _CANCELLED or len(set(statuses)) == 1 else 3


def _captured(options: argparse.Namespace, labels: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Captures once; returns the exit status and what came of it."""
    job = _job(options).start()
    try:
        _watch(job, sys.stderr)
    except KeyboardInterrupt:
        job.cancel()
        job.wait(5.0)
    result = job.describe()
    if labels and result["run"]:
        try:
            job.session.label(labels)
        except OSError as error:
            result["warnings"].append(f"The labels cannot be stored: {error.strerror}.")
    done = sum(worker.state == "done" for worker in job.workers)
    status = _CANCELLED if job.state == "cancelled" else 0 if done == len(job.workers) else 3 if done else 1
    return status, result


def _switch(options: argparse.Namespace) -> int:
    """Starts or stops continuous profiling; prints a line per program."""
    from tpu_profile_plugin.capture import continuous

    if options.continuous == "start":
        results = continuous.start(
            options.addresses,
            host_tracer_level=options.host_tracer,
            device_tracer_level=options.device_tracer,
            python_tracer_level=options.python_tracer,
            advanced=_advanced(options),
        )
    else:
        results = continuous.stop(options.addresses)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        done = "recording" if options.continuous == "start" else "stopped"
        for result in results:
            error = result["error"]
            words = done if error is None else f"{error['message']} {error['todo']}".rstrip()
            print(one_line(f"{result['address']}: {words}"))
    count = sum(result["ok"] for result in results)
    return 0 if count == len(results) else 3 if count else 1


def _labels(given: list[str]) -> dict[str, str]:
    """The labels, with the commit unless it is among them; none without any."""
    from tpu_profile_plugin.trend.summaries import label_of

    labels = dict(map(label_of, given))
    if labels and "commit" not in labels and (commit := _commit()):
        labels["commit"] = commit
    return labels


def _commit() -> str:
    """The commit that continuous integration tells, else that of the worktree here; "" without one."""
    named = next((os.environ[name] for name in _COMMIT_VARIABLES if os.environ.get(name)), "")
    if named:
        return named
    try:
        words = ["git", "rev-parse", "HEAD"]
        asked = subprocess.run(words, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603 - no input
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _advanced(options: argparse.Namespace) -> dict[str, str]:
    advanced = {}
    for text in options.option:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise BadRequest(f"--option must be NAME=VALUE, not {text!r}.")
        advanced[name] = value
    return advanced


def _job(options: argparse.Namespace) -> Job:
    from tpu_profile_plugin.capture import prepare
    from tpu_profile_plugin.run.facts import count_events

    if options.continuous == "snapshot":
        from tpu_profile_plugin.capture.continuous import prepare_snapshot

        return prepare_snapshot(options.addresses, options.logdir, session_id=options.session, inspect=count_events)
    addresses, together = options.addresses, options.worker_list
    if options.tpu_name:
        from tpu_profile_plugin.capture.addresses import resolve_tpus

        addresses = [str(address) for address in resolve_tpus(options.addresses)]
        together = "," not in options.addresses
    return prepare(
        addresses,
        options.logdir,
        worker_list=together,
        inspect=count_events,
        duration_ms=options.duration_ms,
        host_tracer_level=2 if options.host_tracer is None else options.host_tracer,
        device_tracer_level=options.device_tracer,
        python_tracer_level=options.python_tracer,
        retries=options.retries,
        delay_ms=options.delay_ms,
        session_id=options.session,
        advanced=_advanced(options),
    )


def _watch(job: Job, out: TextIO) -> None:
    """Prints a progress bar on a terminal, else a line per phase."""
    bar, last, screen = out.isatty(), "", raw(out)
    while not job.wait(0.2):
        state = job.describe()
        line = _line(state) if bar else _PHASES.get(state["phase"], state["phase"])
        if bar:
            print(f"\r{visible(line):<78}", end="", file=screen, flush=True)
        elif line != last:
            print(line, file=out, flush=True)
        last = line
    if bar:
        print(f"\r{'':<78}\r", end="", file=screen, flush=True)


def _line(state: dict[str, Any]) -> str:
    """One line of progress, at most 78 characters."""
    stored = sum(worker["state"] == "done" for worker in state["workers"])
    attempt = max((worker["attempt"] for worker in state["workers"]), default=1)
    tail = f" {stored}/{len(state['workers'])} stored, {state['seconds']:.1f} s"
    tail += f", attempt {attempt}" if attempt > 1 else ""
    if state["phase"] != "recording":
        return _PHASES.get(state["phase"], "") + tail
    left_ms = max(0.0, state["recording_left_ms"])
    filled = round(_BAR_WIDTH * (1 - left_ms / state["duration_ms"]))
    return f"recording [{'#' * filled}{'.' * (_BAR_WIDTH - filled)}]{tail}"


def _report(result: dict[str, Any]) -> str:
    lines = []
    for worker in result["workers"]:
        if worker["state"] == "done":
            events = f", {worker['events']:,} events" if worker["events"] is not None else ""
            lines.append(f"{worker['address']}: {worker['bytes']:,} bytes{events} -> {worker['file']}")
        elif worker["error"]:
            lines.append(f"{worker['address']}: {worker['error']['message']} {worker['error']['todo']}".rstrip())
        else:
            lines.append(f"{worker['address']}: {worker['state']}")
        lines += [f"  {warning}" for warning in worker["warnings"]]
    lines += result["warnings"]
    if result["run"]:
        lines.append(f"Run: {result['run']}")
    return "\n".join(map(one_line, lines))
