"""Load test: many clients on several TensorBoards with one cache, while files appear, change and disappear.

Each also asks for reports and source text, sends SQL, calls the tools for agents, and attacks all of these.

`python -m builders.servers.load --clients 64 --seconds 120` prints the figures as JSON; `scripts/soak/load` calls it.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from statistics import linear_regression, mean
from urllib.parse import urlsplit

import tpu_profile_plugin
from builders.damage import profiles
from builders.profiles import counter_profiles, megascale_profiles
from builders.records import appended
from builders.servers.agent import http_server
from builders.servers.board import PREFIX, Board
from builders.servers.questions import COMPARED, Question, answered, hostile, of_kept, of_pages, source_root
from builders.servers.server_process import Server, running_tensorboard
from builders.xspace_text import build
from tpu_profile_plugin.agents.calls import Calls
from tpu_profile_plugin.answers.envelope import compact

DEMO = Path(__file__).parents[3] / "demo"
MLP, SCAN, INPUT = (
    next((DEMO / name).glob("plugins/profile/*/*.xplane.pb")) for name in ("jax_mlp", "jax_scan", "tf_input")
)
KEPT = {"keep/1/a": SCAN, "keep/1/b": MLP, "keep/2/a": INPUT}
"""Sessions that do not change: run/session/host -> profile."""
EACH_S = 30.0
"""Between two figures of memory in the series."""
LIMIT_S = 120.0
"""By the clock, for one answer."""
LONG_AGO = 1_700_000_000
FLAGS = ("--profile_columns_mb", "64", "--profile_results_mb", "32")
# Errors that a client may get while files appear and disappear; any other error is a failure.
PASSING = {"run_not_found", "host_not_found", "no_data", "file_changed", "corrupt_profile", "no_profile"}
QUERIES = 3
"""SQL queries at a time and server; it runs one more."""

Answer = tuple[int, str]
"""Status, and the digest of the body, or the error's code."""


@dataclass(frozen=True)
class Servers:
    """What the clients ask.

    Attributes:
      origins: of the TensorBoards.
      agents: address of the server of agents, which ends with a slash.
      queries: by origin, how many SQL queries may run.
    """

    origins: list[str]
    agents: str
    queries: dict[str, threading.Semaphore]


@dataclass
class Figures:
    """Counts of requests and failures, and the memory of each server, four times a second."""

    requests: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    resident_mb: list[tuple[float, ...]] = field(default_factory=list)


def place(root: Path, name: str) -> Path:
    """The file of run/session/host."""
    run, session, host = name.split("/")
    return root / run / "plugins/profile" / session / (host if "." in host else f"{host}.xplane.pb")


def built(work: Path) -> dict[str, Path]:
    """Further sessions that do not change, written to `work`: data for every tool, collectives, counters, records."""
    contents = {
        "keep/3/a": profiles.rich(),
        "keep/4/a": build(megascale_profiles.two_steps()),
        "keep/4/b": build(megascale_profiles.two_steps(120)),
        "keep/5/a": build(counter_profiles.v6e_host()),
        "keep/6/a.xplane.riegeli": appended([profiles.rich()]),
    }
    found = {}
    for name, content in contents.items():
        found[name] = work / name.replace("/", "-")
        found[name].write_bytes(content)
    return found


def replace(root: Path, name: str, profile: Path | None, *, settled: bool = False) -> None:
    """Stores a profile atomically, like a capture; `settled`: with an old modification time."""
    path = place(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(".aside")
    aside.write_bytes(profile.read_bytes() if profile else b"")
    if settled:
        os.utime(aside, (LONG_AGO, LONG_AGO))
    aside.replace(path)


def judged(status: int, body: bytes) -> Answer:
    """The compared part of an answer."""
    if status == 200:
        return status, hashlib.sha256(body).hexdigest()
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return status, str(json.loads(body)["error"]["code"])
    return status, body[:200].decode(errors="replace")


def expected(work: Path, runs: dict[str, Path | None], changed: tuple[str, ...] = ()) -> dict[Question, Answer]:
    """The correct answers for a logdir with these profiles, requested sequentially without a cache.

    About the runs `changed` only, if given; else about all, and the reports, statements and attacks.
    """
    root = work / "logs"
    for name, profile in runs.items():
        replace(root, name, profile, settled=True)
    sources = source_root(work.parent / "sources")
    board = Board(root, work / "home", "--profile_cache_dir", "off", "--profile_source_root", str(sources))

    def send(question: Question) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", **dict(question.headers)}
        address = f"{PREFIX}/{question.path}"
        answer = board.client.open(address, method=question.method, data=question.body, headers=headers)
        return answer.status_code, answer.data

    names = changed or sorted({name.rpartition("/")[0] for name in runs})
    asked = [question for run in names for question in of_pages(board.json("run_info", run=run))]
    if not changed:
        asked += [one for run in COMPARED for one in of_kept(run) if one.method != "AGENT"]
        asked += hostile(COMPARED[0])
    found = {question: judged(*answered(question, send)) for question in asked}
    board.plugin.server.close()
    broken = {question: answer for question, answer in found.items() if answer[0] >= HTTPStatus.INTERNAL_SERVER_ERROR}
    assert not broken, broken
    shutil.rmtree(root)
    return found


def lasting(envelope: str) -> bytes:
    """What an answer for agents says about its run; what to ask next names other runs, which come and go."""
    return json.dumps({name: value for name, value in json.loads(envelope).items() if name != "next"}).encode()


def expected_of_agents(root: Path) -> dict[Question, Answer]:
    """The correct answers of the tools for agents, called in this process."""
    opened = tpu_profile_plugin.open(root)
    calls = Calls({str(root): opened})
    found = {}
    for question in (one for run in COMPARED for one in of_kept(run) if one.method == "AGENT"):
        params = json.loads(question.body)["params"]
        envelope, _ = calls.call(params["name"], params["arguments"])
        found[question] = judged(200, lasting(compact(envelope)))
    calls.close()
    return found


class Client(threading.Thread):
    """Sends requests one after the other and checks the answers."""

    def __init__(self, seed: int, servers: Servers, right: dict[Question, set[Answer]], figures: Figures) -> None:
        super().__init__(daemon=True)
        self._random, self._servers, self._right, self._figures = random.Random(seed), servers, right, figures
        self._questions = sorted(right)
        kinds = sorted({question.kind for question in right})
        # So that each kind is among the first questions, however few there are.
        self._next = next(one for one in self._questions if one.kind == kinds[seed % len(kinds)])
        self.stop = False

    def run(self) -> None:
        while not self.stop:
            origin, question = self._random.choice(self._servers.origins), self._next
            self._next = self._random.choice(self._questions)
            begin = time.perf_counter()
            try:
                found = judged(*self._ask(origin, question))
            except OSError as error:
                found = (0, repr(error))
            self._note(question, found, time.perf_counter() - begin)

    def _ask(self, origin: str, question: Question) -> tuple[int, bytes]:
        if question.method == "AGENT":
            status, body = sent(self._servers.agents, question._replace(method="POST"))
            if status == HTTPStatus.OK:
                body = lasting(json.loads(body)["result"]["content"][0]["text"])
            return status, body
        base = f"{origin}{PREFIX}/"
        if question.method == "SQL":
            with self._servers.queries[origin]:
                return answered(question, lambda one: sent(base, one))
        return sent(base, question)

    def _note(self, question: Question, found: Answer, seconds: float) -> None:
        figures = self._figures
        figures.requests += 1
        figures.kinds[question.kind] += 1
        figures.seconds.append(seconds)
        if found in self._right[question]:
            return
        path = question.path
        if question.method == "SQL" and "is deleted while it is used" in found[1]:
            figures.refusals["table of SQL deleted"] += 1  # with the cache, by `unrest`
            return
        kept = question.method != "GET" or "run=keep" in path or "run=" not in path
        facts = "run_info" in path or "run_tools" in path or "module_list" in path
        if not kept and (found[1] in PASSING or (facts and found[0] == 200)):
            figures.refusals[found[1] if found[0] != 200 else "listing in between"] += 1
        else:
            failure = f"{question.method} {path[:300]} {question.body[:300]}: {found[0]} {found[1]}"
            figures.failures.append(failure)
            print(failure, file=sys.stderr, flush=True)


def sent(base: str, question: Question) -> tuple[int, bytes]:
    """Status and body of a request to an address that ends with a slash."""
    address = urlsplit(base)
    connection = http.client.HTTPConnection(address.netloc, timeout=LIMIT_S)
    try:
        headers = {"Content-Type": "application/json", **dict(question.headers)}
        connection.request(question.method, f"{address.path}{question.path}", question.body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def in_advance(server: Server) -> int:
    """The status of a request to compute answers of a kept run in the background."""
    connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=LIMIT_S)
    try:
        connection.request("POST", f"{PREFIX}/generate_cache?run=keep%2F3&tools=overview_page,hlo_stats", body=b"")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def unrest(root: Path, cache: Path) -> Callable[[int], None]:
    """One disturbance per call: a file swapped, a run removed and restored, a growing file, the cache deleted."""

    def disturb(turn: int) -> None:
        replace(root, "swap/1/a", (MLP, SCAN)[turn % 2])
        if turn % 4 == 0:
            shutil.rmtree(root / "come", ignore_errors=True)
        elif turn % 4 == 2:
            replace(root, "come/1/a", SCAN)
        grown = SCAN.read_bytes()
        place(root, "grow/1/a").write_bytes(grown[: len(grown) * (turn % 3 + 1) // 3])
        if turn % 8 == 5:
            shutil.rmtree(cache, ignore_errors=True)

    return disturb


def print_logs(work: Path) -> None:
    """The ends of the servers' logs, if they say anything; of one that crashed, what it did."""
    for log in sorted(work.glob("home*/tensorboard.log")):
        text = log.read_text(errors="replace")
        crash = text.find("Current thread")
        print(f"{log.parent.name}: {text[crash:][:2000] if crash >= 0 else text[-2000:]}", file=sys.stderr)


def resident_mb(pid: int) -> float:
    """Memory of a server's process, in MiB; raises AssertionError if it has ended."""
    text = Path(f"/proc/{pid}/status").read_text()
    if "VmRSS:" not in text:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        how = "unknown" if ended is None else f"code {ended.si_code}, status {ended.si_status}"
        raise AssertionError(f"The server with the process {pid} ended: {how}")
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def load(work: Path, clients: int, seconds: float, boards: int = 2, least: int = 0) -> Figures:
    """Runs `clients` threads for `seconds` s on `boards` TensorBoards that share a logdir and a cache in `work`.

    It goes on until there were `least` requests, as on a busy machine.
    """
    right: dict[Question, set[Answer]] = {}
    kept = {**KEPT, **built(work)}
    # Profiles that are swapped, and one that grows: it is empty at first, which is a valid profile without data.
    for turn, (swapped, grown, changed) in enumerate(((MLP, SCAN, ()), (SCAN, None, ("swap/1", "grow/1")))):
        runs = {**kept, "come/1/a": SCAN, "swap/1/a": swapped, "grow/1/a": grown}
        for question, answer in expected(work / f"expected{turn}", runs, changed).items():
            right.setdefault(question, set()).add(answer)
    root = work / "logs"
    for name, profile in {**kept, **dict.fromkeys(("swap/1/a", "come/1/a", "grow/1/a"), SCAN)}.items():
        replace(root, name, profile, settled=True)
    for question, answer in expected_of_agents(root).items():
        right[question] = {answer}
    figures = Figures()
    with contextlib.ExitStack() as stack:
        servers = []
        for index in range(boards):
            home = work / f"home{index}"
            home.mkdir()
            flags = (*FLAGS, "--profile_cache_dir", str(work / "cache"), "--profile_source_root", str(work / "sources"))
            servers.append(stack.enter_context(running_tensorboard(root, home, flags=flags)))
        address, agents = stack.enter_context(http_server(str(root)))
        origins = [server.origin for server in servers]
        asked = Servers(origins, address.removesuffix("mcp"), {one: threading.Semaphore(QUERIES) for one in origins})
        threads = [Client(seed, asked, right, figures) for seed in range(clients)]
        for thread in threads:
            thread.start()
        disturb = unrest(root, work / "cache")
        begin = time.monotonic()
        stack.callback(print_logs, work)
        pids, told = [*(server.pid for server in servers), agents.pid], 0
        for turn in range(10**9):
            if time.monotonic() - begin > seconds and figures.requests >= least:
                break
            disturb(turn)
            figures.resident_mb.append(tuple(map(resident_mb, pids)))
            if time.monotonic() - begin >= EACH_S * told:
                told += 1
                shown = " + ".join(f"{mib:.1f}" for mib in figures.resident_mb[-1])
                counts = f"{figures.requests} requests, {len(figures.failures)} failures"
                print(f"{time.monotonic() - begin:.0f} s: {counts}, {shown} MiB", file=sys.stderr, flush=True)
            if turn % 40 == 20:
                status = in_advance(servers[turn // 40 % len(servers)])
                figures.refusals[f"generate_cache {status}"] += 1
                if status not in (202, 501):
                    figures.failures.append(f"generate_cache: {status}")
            time.sleep(0.25)
        for thread in threads:
            thread.stop = True
        for thread in threads:
            thread.join(90)
    return figures


def tenths(series: Sequence[float]) -> list[Sequence[float]]:
    """Ten equal parts, without the rest."""
    size = max(1, len(series) // 10)
    return [series[begin : begin + size] for begin in range(0, min(len(series), 10 * size), size)]


def growth_percent(series: Sequence[float]) -> float:
    """How much the linear trend over the last half of a series grows in that half, in percent of the half's mean."""
    half = series[len(series) // 2 :]
    slope, _ = linear_regression(range(len(half)), half)
    return round(100 * slope * (len(half) - 1) / mean(half), 2)


def main() -> None:
    """Runs the load test and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--boards", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        figures = load(Path(work), given.clients, given.seconds, given.boards)
    taken = sorted(figures.seconds)
    series = list(zip(*figures.resident_mb, strict=True))
    facts = {
        "clients": given.clients,
        "seconds": given.seconds,
        "requests": figures.requests,
        "failures": len(figures.failures),
        "first_failures": figures.failures[:10],
        "passing_refusals": dict(figures.refusals),
        "p50_ms": round(1000 * taken[len(taken) // 2], 1),
        "p99_ms": round(1000 * taken[len(taken) * 99 // 100], 1),
        "kinds": dict(figures.kinds),
        "resident_mb_at_most": [round(max(one), 1) for one in series],
        "growth_percent_of_last_half": [growth_percent(one) for one in series],
        "resident_mb_by_tenths": [[round(mean(tenth), 1) for tenth in tenths(one)] for one in series],
    }
    json.dump(facts, sys.stdout, indent=2)
    sys.exit(bool(figures.failures))


if __name__ == "__main__":
    main()
