"""Load test: many clients on several TensorBoards with one cache, while files appear, change and disappear.

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
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from builders.damage import profiles
from builders.damage.ask import MODES
from builders.profiles import counter_profiles, megascale_profiles
from builders.records import appended
from builders.servers.board import PREFIX, Board
from builders.servers.server_process import Server, running_tensorboard
from builders.xspace_text import build

DEMO = Path(__file__).parents[3] / "demo"
MLP, SCAN, INPUT = (
    next((DEMO / name).glob("plugins/profile/*/*.xplane.pb")) for name in ("jax_mlp", "jax_scan", "tf_input")
)
KEPT = {"keep/1/a": SCAN, "keep/1/b": MLP, "keep/2/a": INPUT}
"""Sessions that do not change: run/session/host -> profile."""
COMPARED = ("keep/1", "keep/2", "keep/3")
EACH_S = 30.0
"""Between two figures of memory in the series."""
LIMIT_S = 120.0
"""By the clock, for one answer."""
LONG_AGO = 1_700_000_000
FLAGS = ("--profile_columns_mb", "64", "--profile_results_mb", "32")
# Errors that a client may get while files appear and disappear; any other error is a failure.
PASSING = {"run_not_found", "host_not_found", "no_data", "file_changed", "corrupt_profile", "no_profile"}

Answer = tuple[int, str]
"""Status, and the digest of the body, or the error's code."""


@dataclass
class Figures:
    """Counts of requests and failures."""

    requests: int = 0
    seconds: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    resident_mb: list[float] = field(default_factory=list)
    series_mb: list[int] = field(default_factory=list)


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


def questions(board: Board, run: str) -> Iterator[str]:
    """Paths of all requests that the page makes for a run, of every form of a tool, and of comparisons."""
    info = board.json("run_info", run=run)
    bases = [base for base in COMPARED if base != run]
    forms = {**MODES, "compare": [{}, *({"base": base} for base in bases)], "smart_suggestion": [{"all_rules": "true"}]}
    hosts = {tool["id"]: tool["host_names"] for tool in info["tools"]} | {"smart_suggestion": []}
    for tool, names in hosts.items():
        for host in names or [""]:
            query = urllib.parse.urlencode({"run": run, "tag": tool, "host": host})
            for form in forms.get(tool, [{}]):
                yield "data?" + "&".join(filter(None, (query, urllib.parse.urlencode(form))))
            if tool in ("framework_op_stats", "hlo_stats", "kernel_stats"):
                yield f"data_csv?{query}"
    yield from (f"{route}?{urllib.parse.urlencode({'run': run})}" for route in ("run_info", "run_tools", "module_list"))


def judged(status: int, body: bytes) -> Answer:
    """The compared part of an answer."""
    if status == 200:
        return status, hashlib.sha256(body).hexdigest()
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return status, str(json.loads(body)["error"]["code"])
    return status, body[:200].decode(errors="replace")


def expected(work: Path, runs: dict[str, Path | None]) -> dict[str, Answer]:
    """The correct answers for a logdir with these profiles, requested sequentially without a cache."""
    root = work / "logs"
    for name, profile in runs.items():
        replace(root, name, profile, settled=True)
    board = Board(root, work / "home", "--profile_cache_dir", "off")
    found = {}
    for run in sorted({name.rpartition("/")[0] for name in runs}):
        for path in questions(board, run):
            answer = board.client.get(f"{PREFIX}/{path}")
            found[path] = judged(answer.status_code, answer.data)
    shutil.rmtree(root)
    return found


class Client(threading.Thread):
    """Sends requests one after the other and checks the answers."""

    def __init__(self, seed: int, servers: list[Server], right: dict[str, set[Answer]], figures: Figures) -> None:
        super().__init__(daemon=True)
        self._random, self._servers, self._right, self._figures = random.Random(seed), servers, right, figures
        self._paths = sorted(right)
        self.stop = False

    def run(self) -> None:
        while not self.stop:
            server, path = self._random.choice(self._servers), self._random.choice(self._paths)
            begin = time.perf_counter()
            try:
                found = judged(*self._ask(server, path))
            except OSError as error:
                found = (0, repr(error))
            self._note(path, found, time.perf_counter() - begin)

    def _ask(self, server: Server, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=LIMIT_S)
        try:
            connection.request("GET", f"{PREFIX}/{path}")
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _note(self, path: str, found: Answer, seconds: float) -> None:
        figures = self._figures
        figures.requests += 1
        figures.seconds.append(seconds)
        if found in self._right[path]:
            return
        kept = path.partition("run=")[2].startswith("keep")
        facts = "run_info" in path or "run_tools" in path or "module_list" in path
        if not kept and (found[1] in PASSING or (facts and found[0] == 200)):
            figures.refusals[found[1] if found[0] != 200 else "listing in between"] += 1
        else:
            figures.failures.append(f"{path}: {found[0]} {found[1]}")


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


def resident_mb(servers: list[Server]) -> float:
    """Total memory of the servers' processes, in MiB; raises AssertionError if one has ended."""
    kib = 0
    for server in servers:
        text = Path(f"/proc/{server.pid}/status").read_text()
        if "VmRSS:" not in text:
            ended = os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
            how = "unknown" if ended is None else f"code {ended.si_code}, status {ended.si_status}"
            raise AssertionError(f"The server at {server.origin} ended: {how}")
        kib += int(text.split("VmRSS:")[1].split()[0])
    return kib / 1024


def load(work: Path, clients: int, seconds: float, boards: int = 2) -> Figures:
    """Runs `clients` threads for `seconds` s on `boards` TensorBoards that share a logdir and a cache in `work`."""
    right: dict[str, set[Answer]] = {}
    kept = {**KEPT, **built(work)}
    # Profiles that are swapped, and one that grows: it is empty at first, which is a valid profile without data.
    for turn, (swapped, grown) in enumerate(((MLP, SCAN), (SCAN, None))):
        runs = {**kept, "come/1/a": SCAN, "swap/1/a": swapped, "grow/1/a": grown}
        for path, answer in expected(work / f"expected{turn}", runs).items():
            right.setdefault(path, set()).add(answer)
    root = work / "logs"
    for name, profile in {**kept, **dict.fromkeys(("swap/1/a", "come/1/a", "grow/1/a"), SCAN)}.items():
        replace(root, name, profile, settled=True)
    figures = Figures()
    with contextlib.ExitStack() as stack:
        servers = []
        for index in range(boards):
            home = work / f"home{index}"
            home.mkdir()
            flags = (*FLAGS, "--profile_cache_dir", str(work / "cache"))
            servers.append(stack.enter_context(running_tensorboard(root, home, flags=flags)))
        threads = [Client(seed, servers, right, figures) for seed in range(clients)]
        for thread in threads:
            thread.start()
        disturb = unrest(root, work / "cache")
        begin = time.monotonic()
        stack.callback(print_logs, work)
        for turn in range(10**9):
            if time.monotonic() - begin > seconds:
                break
            disturb(turn)
            figures.resident_mb.append(resident_mb(servers))
            if time.monotonic() - begin >= EACH_S * len(figures.series_mb):
                figures.series_mb.append(round(figures.resident_mb[-1]))
                print(f"{time.monotonic() - begin:.0f} s {figures.series_mb[-1]} MiB", file=sys.stderr, flush=True)
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
    third = len(figures.resident_mb) // 3
    facts = {
        "clients": given.clients,
        "seconds": given.seconds,
        "requests": figures.requests,
        "failures": len(figures.failures),
        "first_failures": figures.failures[:10],
        "passing_refusals": dict(figures.refusals),
        "p50_ms": round(1000 * taken[len(taken) // 2], 1),
        "p99_ms": round(1000 * taken[len(taken) * 99 // 100], 1),
        "resident_mb_after_a_third": round(max(figures.resident_mb[: third + 1])),
        "resident_mb_at_most": round(max(figures.resident_mb)),
        "resident_mb_at_the_end": round(figures.resident_mb[-1]),
        "resident_mb_each_30_s": figures.series_mb,
    }
    json.dump(facts, sys.stdout, indent=2)
    sys.exit(bool(figures.failures))


if __name__ == "__main__":
    main()
