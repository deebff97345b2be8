"""Random calls with wrong, missing and hostile arguments: an error that names the argument, or a bounded answer."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, write
from builders.rings import many
from builders.servers.agent import agent, connected

import tpu_profile_plugin
from tpu_profile_plugin.agents.calls import Calls
from tpu_profile_plugin.agents.server import make_server
from tpu_profile_plugin.answers.envelope import BYTES, LEAST_BYTES, MOST_BYTES, compact
from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.answers.verb import Parameter, Verb
from tpu_profile_plugin.cli import main

DEMO = Path(__file__).parents[2] / "demo"
SECRET = "outside-secret-7c1f"
CALLS, CLIENT_CALLS, COMMANDS = many(120, 400), many(20, 50), many(20, 50)
KEYS = ["answer", "units", "base", "from", "link", "next", "rows", "cursor", "cannot_answer"]
TEXTS = (
    "",
    " ",
    "..",
    "../outside",
    "../../outside/plugins/profile/run",
    "plugins/profile/../../../outside",
    "/etc/passwd",
    "~",
    "file:///etc/passwd",
    "C:\\Windows\\win.ini",
    "%2e%2e%2foutside",
    "a\0b",
    "\0",
    "x" * 19_999,
    "x" * 20_001,
    "../" * 5_000,
    "é\u202e\U0001f600\u0301",
    "\ud800",
    "line\r\nSet-Cookie: a=b\x1b[31m",
    "';DROP TABLE ops;--",
    "(" * 500,
    "[a-",
    "(a+)+$",
    "*",
    "NaN",
    "-1",
    "0-000000000000",
    "99999999999-000000000000",
    "27-14e7ecd7ff6e",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('{outside}')",
    "COPY (SELECT 1) TO '{outside}/written'",
    "ATTACH '{outside}/x.db'",
    "SELECT 1",
)
ODD = (None, True, False, 0, -1, 2**31, 2**63, 10**400, -1e308, 1e400, float("nan"), 0.5, [], ["a"], {}, {"a": 1})
"""Values of other types."""


class Caller:
    """Makes calls of a seed: arguments are right, wrong, missing or unknown."""

    def __init__(self, seed: int, texts: tuple[str, ...], known: dict[str, list[str]]) -> None:
        self.random, self.texts, self.known = random.Random(seed), texts, known

    def call(self) -> tuple[Verb, dict[str, Any]]:
        """A verb and its arguments."""
        verb = self.random.choice(VERBS)
        arguments = {
            one.name: self.value(one) for one in verb.every if self.random.random() < (0.8 if one.required else 0.35)
        }
        if self.random.random() < 0.08:
            arguments[self.random.choice(("path", "__class__", "self", "", "x" * 300, "logdir"))] = "x"
        return verb, arguments

    def value(self, one: Parameter) -> Any:
        """A value for an argument: half of the time one that may be right."""
        if self.random.random() < 0.15:
            return self.random.choice(ODD)
        if one.type is str:
            right = [*one.choices, *self.known.get(one.name, ())]
            return self.random.choice(right if right and self.random.random() < 0.6 else self.texts)
        if one.name == "max_bytes":
            return self.random.choice((LEAST_BYTES, 3000, BYTES, MOST_BYTES, 0, LEAST_BYTES - 1, MOST_BYTES + 1))
        if one.type is bool:
            return self.random.random() < 0.5
        return self.random.choice((0, 1, 2, 7, -3, 10**6, 2**40, 0.25))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the logdir `logs` and, beside it, a run that no call may reach."""
    root = tmp_path_factory.mktemp("place")
    shutil.copytree(DEMO / "jax_mlp", root / "logs" / "jax_mlp")
    write(root / "logs", {"two/plugins/profile/s/a.xplane.pb": SMALL, "two/plugins/profile/s/b.xplane.pb": SMALL})
    damaged = {"bad/plugins/profile/empty": None, "bad/plugins/profile/noise/n.xplane.pb": b"\xff" * 100}
    write(root / "logs", damaged)
    write(root / "outside", {"plugins/profile/run/one.xplane.pb": SMALL.replace("work", SECRET)})
    return root


@pytest.fixture(scope="module")
def known(place: Path) -> dict[str, list[str]]:
    """Names that exist in the logdir, by argument."""
    logdir = tpu_profile_plugin.open(place / "logs")
    runs = [run.name for run in logdir.runs()]
    runs += [name for name in runs if not name.startswith("bad/")] * 2
    ops = logdir.run(next(name for name in runs if "jax_mlp" in name)).ops()
    names = [f"{name}@{program}" for name, program in zip(ops.name, ops.program, strict=True)][:5]
    return {
        "run": runs,
        "base": runs,
        "runs": ["*", *runs],
        "host": logdir.run("two/s").hosts,
        "name": [*names, ops.name[0]],
        "op": names,
        "place": [source for source in ops.source if source][:3],
        "program": list(dict.fromkeys(ops.program)),
        "statement": ["SELECT 1 AS one", "SELECT name, self_ps FROM ops ORDER BY 2 DESC", "SELECT FROM"],
    }


class Opened:
    """The paths that this process opens or lists while it is active; such a hook cannot be removed."""

    def __init__(self) -> None:
        self.active, self.paths = False, []
        sys.addaudithook(self.note)

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.active and event in ("open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.remove"):
            self.paths += [os.fsdecode(one) for one in arguments[:1] if isinstance(one, (str, bytes, os.PathLike))]


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened()


def texts_of(place: Path) -> tuple[str, ...]:
    return tuple(text.replace("{outside}", str(place / "outside")) for text in TEXTS)


def judge(answer: dict[str, Any], failed: bool, verb: Verb, arguments: dict[str, Any]) -> str:
    """The kind of an answer, after it is found to be in order."""
    text = compact(answer)
    about = (verb.name, arguments, text[:2000])
    assert SECRET not in text, about
    assert "root:" not in text, about
    assert "Traceback" not in text, about
    limit = BYTES if failed else arguments.get("max_bytes") or BYTES
    assert len(text.encode()) <= limit, about
    if not failed:
        assert list(answer) == KEYS, about
        cannot = answer["cannot_answer"]
        assert cannot is None or (cannot["reason"] and cannot["how_to_record"]), about
        return "cannot" if cannot else "answer"
    error = answer["error"]
    if error["code"] == "corrupt_profile":
        return "corrupt"
    assert list(error) == ["code", "message", "argument", "choices"], about
    assert error["code"] != "internal", about
    assert error["argument"] in {*(one.name for one in verb.every), *(name[:80] for name in arguments)}, about
    return "error"


def test_random_calls(place: Path, known: dict[str, list[str]], opened: Opened) -> None:
    calls = Calls({"logs": tpu_profile_plugin.open(place / "logs")})
    caller = Caller(31, texts_of(place), known)
    calls.call("runs", {})
    kinds: Counter[str] = Counter()
    opened.active = True
    try:
        for _ in range(CALLS):
            verb, arguments = caller.call()
            kinds[judge(*calls.call(verb.name, arguments), verb, arguments)] += 1
    finally:
        opened.active = False
    strange = [path for path in opened.paths if path.startswith((str(place / "outside"), "/etc/passwd"))]
    assert strange == []
    assert not (place / "outside" / "written").exists()
    assert min(kinds["error"], kinds["answer"]) > CALLS / 10


def test_random_calls_of_a_client(place: Path, known: dict[str, list[str]]) -> None:
    """Over the protocol, which has texts in Unicode and finite numbers only."""
    caller = Caller(32, texts_of(place), known)
    with agent(str(place / "logs")) as client:
        for _ in range(CLIENT_CALLS):
            verb, arguments = caller.call()
            try:
                sent = json.loads(json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode())
            except (UnicodeEncodeError, ValueError):
                continue
            answer = client.call(verb.name, sent)
            judge(answer, "error" in answer, verb, sent)
        assert client.call("runs")["answer"]["runs_found"] == 4


def test_unknown_tools() -> None:
    with connected(make_server(Calls({"demo": tpu_profile_plugin.open(DEMO)}))) as client:
        for name in ("", "capture", "../runs", "x" * 10_000, "__init__"):
            error = client.call(name)["error"]
            assert (error["argument"], error["choices"]) == ("name", [verb.name for verb in VERBS])


def test_random_commands(
    place: Path, known: dict[str, list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same through the command line, whose parser refuses other types by itself."""
    monkeypatch.chdir(place)
    caller = Caller(33, texts_of(place), known)
    for _ in range(COMMANDS):
        verb, arguments = caller.call()
        words = [verb.name, "--format=json"]
        required = [str(arguments.pop(one.name, "x")) for one in verb.parameters if one.required]
        run = [str(arguments.pop("run"))] if "run" in arguments and verb.of_run else []
        words += [f"--{name.replace('_', '-')}={value}" for name, value in arguments.items()]
        words += ["--", "logs", *required, *run]
        try:
            status = main(words)
        except SystemExit as left:
            status = int(left.code or 0)
        out, err = capsys.readouterr()
        assert status in (0, 1, 2), words
        assert "Traceback" not in err, words
        answer = json.loads(out)
        assert list(answer) in (KEYS, ["error"]), words
        assert (status == 0) == ("error" not in answer), words
        if status:
            assert answer["error"]["code"] == "corrupt_profile" or answer["error"]["argument"] is not None, words
        assert SECRET not in out, words


@pytest.mark.parametrize(
    ("words", "argument", "choices"),
    [
        ("runs --format json", "logdir", ["logdir", "match", "cursor", "max_bytes", "address", "format"]),
        ("runs demo --mach x --format json", "mach", ["logdir", "match", "cursor", "max_bytes", "address", "format"]),
        ("runs demo --match --format=json", "match", []),
        ("runs demo --max-bytes many --format=json", "max_bytes", []),
        ("steps demo --sort up --format=json", "sort", ["slowest", "recorded"]),
        ("runs /nowhere/at/all --max-bytes 1 --format=json", "max_bytes", []),
        ("steps demo none --format=json", "run", None),
    ],
)
def test_the_command_line_names_the_argument_in_json(words, argument, choices, capsys, monkeypatch):
    monkeypatch.chdir(DEMO.parent)
    try:
        status = main(words.split())
    except SystemExit as left:
        status = int(left.code or 0)
    error = json.loads(capsys.readouterr().out)["error"]
    assert status in (1, 2)
    assert error["argument"] == argument
    assert error["choices"] == choices or (choices is None and len(error["choices"]) == 5)
    assert argument.replace("_", "-") in error["message"].lower().replace("_", "-")


def test_without_json_the_command_line_prints_its_usage(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["runs"])
    out, err = capsys.readouterr()
    assert out == ""
    assert "LOGDIR" in err
