"""Load under faults: a file that is torn, a cache whose bits flip and a store that denies access, all at once.

`python -m builders.servers.faulty --seconds 900` prints the figures as JSON; `scripts/soak/faults` calls it.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from urllib.parse import urlencode, urlsplit

from builders.damage import profiles
from builders.servers.load import LIMIT_S, MLP, SCAN, Answer, growth_percent, judged, place, replace, resident_mb
from builders.servers.load import Figures as Load
from builders.servers.object_store import BUCKET, ObjectStore, running_store
from builders.servers.questions import Question, answered
from builders.servers.server_process import Server

TORN = {"file_changed", "corrupt_profile", "no_data", "host_not_found", "run_not_found", "no_profile", "too_large"}
"""What may be said of a file while it is overwritten."""
DENIED = {"storage_denied"}
"""What may be said of a store that denies access."""
TOOLS = ("overview_page", "trace_viewer@", "framework_op_stats", "smart_suggestion", "memory_profile", "time_budget")
STATEMENTS = (
    "SELECT count(*), sum(duration_ps) FROM events",
    "SELECT name, count(*) AS n FROM events GROUP BY name ORDER BY n DESC, name LIMIT 50",
    "SELECT * FROM ops ORDER BY ALL LIMIT 100",
)
START_S = 120.0
MOST_SHOWN = 10
"""Failures that are shown."""
DENIED_S, ALLOWED_S = 4.0, 8.0


@dataclass
class Figures(Load):
    """Counts of what was asked and answered, and of the faults."""

    done: Counter[str] = field(default_factory=Counter)


def questions(runs: Sequence[str]) -> list[Question]:
    """About each run: tools, facts, hosts, statements."""
    found = []
    for run in runs:
        found += [Question("GET", f"data?{urlencode({'run': run, 'tag': tool})}") for tool in TOOLS]
        found += [Question("GET", f"page?{urlencode({'run': run, 'tag': tool})}") for tool in TOOLS]
        found += [Question("GET", f"data_csv?{urlencode({'run': run, 'tag': 'framework_op_stats'})}")]
        found += [
            Question("SQL", "query", json.dumps({"statement": one, "runs": [run]}), (("X-Profile-Request", "1"),))
            for one in STATEMENTS
        ]
    return found


class Client:
    """A connection that stays open; an answer that does not come is an OSError or HTTPException."""

    def __init__(self, origin: str) -> None:
        self._place = urlsplit(origin).netloc
        self._connection: http.client.HTTPConnection | None = None

    def send(self, question: Question) -> tuple[int, bytes]:
        """Status and body."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._place, timeout=LIMIT_S)
        headers = {"Content-Type": "application/json", **dict(question.headers)}
        try:
            path = f"/data/plugin/profile/{question.path}"
            self._connection.request(question.method, path, question.body or None, headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextlib.contextmanager
def serving(logdir: str, home: Path, environ: dict[str, str]) -> Iterator[Server]:
    """`tpu-profile serve` with `home` for its cache and log."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-X", "faulthandler", "-m", "tpu_profile_plugin.cli"]
    with (home / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "serve", "--logdir", logdir, "--port", "0"],
            env={**os.environ, "XDG_CACHE_HOME": str(home / "cache"), **environ},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_S
        while not (found := re.search(rb"http://[^ /]+:[1-9]\d*", (home / "serve.log").read_bytes())):
            assert process.poll() is None, (home / "serve.log").read_text()
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.1)
        yield Server(found[0].decode(), process.pid)
        assert process.poll() is None, f"the server ended: {(home / 'serve.log').read_text()[-3000:]}"
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def right_answers(work: Path, root: Path, runs: Sequence[str]) -> dict[Question, Answer]:
    """The answers of a server that nothing happens to, which are the same when they are asked again."""
    with serving(str(root), work / "quiet", {}) as server:
        client = Client(server.origin)
        found, again = ({one: judged(*answered(one, client.send)) for one in questions(runs)} for _ in range(2))
        client.close()
    changed = [question for question in found if found[question] != again[question]]
    assert not changed, f"answers that change by themselves: {changed[:3]}"
    return found


def tear(path: Path, contents: Sequence[bytes], random_: random.Random) -> None:
    """Overwrites a file in place as writers do that do not rename: cut, in parts, with a pause in the middle."""
    data = random_.choice(contents)
    with path.open("r+b") as file:
        how = random_.randrange(3)
        if how == 0:
            file.truncate(random_.randrange(len(data)))
        cut = random_.randrange(len(data))
        file.seek(0)
        file.write(data[:cut])
        file.flush()
        time.sleep(random_.random() * 0.05)
        file.write(data[cut:])
        file.truncate(len(data))
        if how == 2:  # random bytes in the middle
            file.seek(random_.randrange(len(data)))
            file.write(random_.randbytes(64))


def flip(caches: Sequence[Path], random_: random.Random) -> bool:
    """Flips a bit of one file of the caches."""
    files = [path for cache in caches for path in cache.rglob("*") if path.is_file() and ".new-" not in path.name]
    with contextlib.suppress(OSError, IndexError, ValueError):
        path = random_.choice(files)
        with path.open("r+b") as file:
            place = random_.randrange(path.stat().st_size)
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << random_.randrange(8)]))
        return True
    return False


def load(work: Path, clients: int, seconds: float, seed: int = 1) -> Figures:
    """Clients of two servers, of a directory and of a store, until time is up."""
    contents = {"keep/1/a": SCAN.read_bytes(), "keep/2/a": MLP.read_bytes(), "keep/3/a": profiles.rich()}
    runs = [name.rpartition("/")[0] for name in contents]
    root = work / "logs"
    for name, data in contents.items():
        (work / "aside").write_bytes(data)
        replace(root, name, work / "aside", settled=True)
    right = right_answers(work, root, runs)
    torn = place(root, "torn/1/a")
    torn.parent.mkdir(parents=True)
    torn.write_bytes(contents["keep/1/a"])
    figures, stop = Figures(), threading.Event()
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(running_store("s3", work))
        for name, data in contents.items():
            run, session, host = name.split("/")
            store.put(f"logs/{run}/plugins/profile/{session}/{host}.xplane.pb", data)
        local = stack.enter_context(serving(str(root), work / "local", {}))
        remote = stack.enter_context(serving(f"s3://{BUCKET}/logs", work / "remote", dict(store.environ)))
        caches = [work / name / "cache" for name in ("local", "remote")]
        threads = [
            threading.Thread(target=_ask, args=(server, right, figures, stop, number + seed * 1000, torn_too))
            for number in range(clients)
            for server, torn_too in (((local, True), (remote, False))[number % 2],)
        ]
        threads += [
            threading.Thread(target=_disturb, args=(torn, list(contents.values()), caches, figures, stop, seed)),
            threading.Thread(target=_deny, args=(store, figures, stop)),
        ]
        for thread in threads:
            thread.start()
        begin, told = time.monotonic(), 0
        while time.monotonic() - begin < seconds:
            time.sleep(1)
            figures.resident_mb.append((resident_mb(local.pid), resident_mb(remote.pid)))
            if time.monotonic() - begin > 30 * told:
                told += 1
                memory = " + ".join(f"{mib:.0f}" for mib in figures.resident_mb[-1])
                counts = f"{figures.requests} requests, {len(figures.failures)} failures"
                print(f"{time.monotonic() - begin:.0f} s: {counts}, {memory} MiB", file=sys.stderr, flush=True)
        stop.set()
        for thread in threads:
            thread.join(LIMIT_S)
    return figures


def _ask(
    server: Server, right: dict[Question, Answer], figures: Figures, stop: threading.Event, seed: int, torn: bool
) -> None:
    """Asks one server until it is told to stop."""
    random_, client = random.Random(seed), Client(server.origin)
    asked = [*right, *(questions(["torn/1"]) if torn else ())]
    while not stop.is_set():
        question = random_.choice(asked)
        # Now and then from the cache on disk, or computed anew.
        if question.method == "GET" and random_.random() < 0.3:
            sent = question._replace(path=f"{question.path}&use_saved_result=false")
        else:
            sent = question
        try:
            status, body = answered(sent, client.send)
        except Exception as error:
            figures.failures.append(f"lost: {sent.path} {sent.body}: {type(error).__name__} {error}")
            continue
        figures.requests += 1
        figures.kinds[question.kind] += 1
        found = judged(status, body)
        about_torn = question not in right
        allowed = TORN if about_torn else set() if torn else DENIED
        text = str(found[1])
        code = text.partition(":")[0]
        if about_torn and status == 200:
            continue
        if not about_torn and found == right[question]:
            continue
        if status != 200 and status != 500 and code in allowed:
            figures.refusals[code] += 1
            continue
        if len(figures.failures) < MOST_SHOWN:
            print(f"{sent.path} {sent.body}: {status} {text[:200]}", file=sys.stderr, flush=True)
        figures.failures.append(f"{sent.path} {sent.body}: {status} {text[:200]}")
    client.close()


def _disturb(
    torn: Path,
    contents: Sequence[bytes],
    caches: Sequence[Path],
    figures: Figures,
    stop: threading.Event,
    seed: int,
) -> None:
    random_ = random.Random(seed)
    while not stop.wait(0.1):
        tear(torn, contents, random_)
        figures.done["tears"] += 1
        figures.done["flips"] += sum(flip(caches, random_) for _ in range(3))


def _deny(store: ObjectStore, figures: Figures, stop: threading.Event) -> None:
    while not stop.wait(ALLOWED_S):
        store.deny()
        figures.done["denials"] += 1
        stop.wait(DENIED_S)
        store.deny(False)


def main() -> None:
    """Runs the load and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        figures = load(Path(work), given.clients, given.seconds, given.seed)
    series = list(zip(*figures.resident_mb, strict=True))
    facts = {
        "clients": given.clients,
        "seconds": given.seconds,
        "requests": figures.requests,
        "failures": len(figures.failures),
        "kinds_of_failures": dict(Counter(re.sub(r"\d+", "#", one)[:90] for one in figures.failures).most_common(12)),
        "first_failures": figures.failures[:MOST_SHOWN],
        "refusals": dict(figures.refusals),
        "kinds": dict(figures.kinds),
        "done": dict(figures.done),
        "resident_mb_at_most": [round(max(one), 1) for one in series],
        "resident_mb_last_minute": [round(mean(one[-60:]), 1) for one in series],
        "growth_percent_of_last_half": [growth_percent(one) for one in series],
    }
    json.dump(facts, sys.stdout, indent=2)
    sys.exit(bool(figures.failures))


if __name__ == "__main__":
    main()
