"""An agent without a model finds planted causes, and answers twelve questions, by following `next` over MCP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from builders.asking import asked
from builders.conversation import questions
from builders.conversation.diagnosis import diagnose
from builders.conversation.planted import CAUSES, WHERE
from builders.conversation.talk import Call, Conversation
from builders.logdirs import write
from builders.profiles import device_profiles
from builders.rings import many
from builders.servers.agent import agent, connected

import tpu_profile_plugin
from tpu_profile_plugin.agents.calls import Calls
from tpu_profile_plugin.agents.server import make_server
from tpu_profile_plugin.answers.registry import VERBS

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests/profiles/planted"
PROGRAMS = sorted(path.name for path in STORED.iterdir())
SESSION = "plugins/profile/2026_11_20_10_00_00"
CallTo = Callable[[str], Call]


@pytest.fixture(scope="module")
def call_to(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CallTo]:
    """Calls to servers of the logdirs `demo`, `planted` (captures) and `typed`, each started once."""
    typed = tmp_path_factory.mktemp("typed")
    hosts = {f"two_hosts/{SESSION}/h{i}.xplane.pb": device_profiles.host(i, 500 * i) for i in range(2)}
    write(typed, hosts)
    places = {"demo": ROOT / "demo", "planted": STORED, "typed": typed}
    with ExitStack() as stack:
        calls: dict[str, Call] = {}

        def call(name: str) -> Call:
            if name not in calls:
                logdir = tpu_profile_plugin.open(places[name])
                calls[name] = stack.enter_context(connected(make_server(Calls({name: logdir})))).call
            return calls[name]

        yield call


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_agent_names_the_planted_cause(program: str, call_to: CallTo) -> None:
    talk = Conversation(call_to("planted"))
    found = diagnose(talk, f"{program}/")
    if not CAUSES[program]:
        assert found.saving_percent < 10
    else:
        assert found.cause in CAUSES[program]
        assert WHERE[program].search(talk.text())
    assert talk.within_bounds(), (talk.calls, talk.characters)


INPUT = "Devices wait 44.5% of the step for input, most of it in train_images.py:36 decode"
SLOW = "train_slow_input/2026_11_22_19_04_21"
STEP = "of the average step (steps as the host marked them), averaged over the devices that take part"
ANSWERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "which_run_is_slow": ("demo", "train_", {"run": SLOW, "headline": INPUT}),
    "why_is_it_slow": ("demo", "train_slow", {"cause": "input_bound", "title": INPUT, "confidence": "high"}),
    "which_line": ("demo", "train_slow", {"line": "train_images.py:36"}),
    "what_would_fixing_gain": (
        "demo",
        "train_slow",
        {"share_percent": 44.4803, "saving_ms": 16.230752, "base": STEP},
    ),
    "is_memory_a_limit": (
        "planted",
        "attention_kept",
        {
            "peak_bytes": 89473072,
            "verdict": None,
            "unknown": "The capacity is not recorded: programs on CPUs share the memory of the host.",
        },
    ),
    "what_changed": (
        "demo",
        "train_",
        {
            "run": SLOW,
            "base": "train_prefetched/2026_11_22_19_04_16",
            "headline": "54.6% slower (23.61 to 36.49 ms): waiting for input rose by 15.86 ms "
            "(train_images.py:36 decode).",
            "first": "Waits for input (Input): train_images.py:36 decode",
        },
    ),
    "which_host_is_late": ("typed", "two_hosts", {"devices": ["h1: TPU 1"], "hosts": ["h1"]}),
    "is_input_the_limit": ("demo", "train_slow", {"percent": 44.4803, "base": STEP}),
    "which_op_is_slowest": (
        "planted",
        "shuffled_features",
        {
            "op": "copy_gather_fusion@jit_shuffle(12)",
            "source": "/home/user/scripts/soak/causes/programs/jax_device.py:60",
            "share_percent": 45.9966,
        },
    ),
    "what_happens_in_the_longest_gap": (
        "demo",
        "train_slow",
        {"call": "train_images.py:36 decode", "duration_ms": 17.284226, "most": "$zlib decompress @ main thread"},
    ),
    "does_it_recompile": (
        "planted",
        "retraced_schedule",
        {"recompiles": True, "title": "Tracing takes 99.0% of the step: train was traced 10 times"},
    ),
    "is_communication_exposed": ("planted", "collectives", {"percent": 56.5989, "most_in": "psum.7@jit__lambda(6)"}),
}


@pytest.mark.parametrize("question", questions.QUESTIONS, ids=lambda question: question.__name__)
def test_an_agent_answers(question: Callable[[Conversation, str], questions.Said], call_to: CallTo) -> None:
    logdir, match, expected = ANSWERS[question.__name__]
    talk = Conversation(call_to(logdir))
    assert question(talk, match) == expected
    assert talk.within_bounds(), (talk.calls, talk.characters)


@pytest.mark.parametrize("program", PROGRAMS[:: many(3, 1)])
def test_every_question_has_an_answer_about_every_program(program: str, call_to: CallTo) -> None:
    for question in questions.QUESTIONS:
        if question is not questions.what_changed:  # there is one recording of each program
            talk = Conversation(call_to("planted"), max_bytes=6_000)
            assert question(talk, f"{program}/")
            assert talk.within_bounds(), (talk.calls, talk.characters)


def test_answers_differ_where_programs_do(call_to: CallTo) -> None:
    """The same questions about programs without these causes."""

    def said(question: Callable[[Conversation, str], questions.Said], logdir: str, run: str) -> questions.Said:
        return question(Conversation(call_to(logdir)), run)

    assert said(questions.does_it_recompile, "planted", "waiting_training") == {"recompiles": False, "title": ""}
    assert said(questions.is_communication_exposed, "planted", "slow_loader")["percent"] == 0
    assert said(questions.is_input_the_limit, "demo", "train_prefetched")["percent"] < 5
    assert said(questions.which_host_is_late, "planted", "late_device")["devices"] == ["CPU device 0"]
    assert said(questions.which_host_is_late, "planted", "collectives") == {"devices": [], "hosts": []}


def test_a_server_of_its_own_process_says_the_same(call_to: CallTo) -> None:
    with agent(str(STORED)) as there:
        talk = Conversation(there.call)
        found = diagnose(talk, "slow_loader/")
    here = Conversation(call_to("planted"))
    assert diagnose(here, "slow_loader/") == found
    assert [one["answer"] for one in talk.read] == [one["answer"] for one in here.read]


HOST_ALONE = 'plane 1 "/host:CPU"\nline 1 main\n0us +90us work\n100us +90us other'
UNMARKED = """
plane 1 "/device:TPU:0"
line 2 "XLA Ops"
0us +60us fusion.1
70us +20us fusion.2
metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u1}
metadata fusion.2 {hlo_category="loop fusion", program_id=u7, symbol_id=u2}
plane 2 "/host:CPU"
line 1 main
0us +90us work
"""
CANNOT = {
    "host alone": (
        HOST_ALONE,
        {
            "overview",
            "explain",
            "budget",
            "steps",
            "ops",
            "source",
            "gaps",
            "memory",
            "collectives",
            "programs",
            "what_if",
        },
    ),
    "no steps, one device": (UNMARKED, {"steps", "source", "memory"}),
}


@pytest.mark.parametrize("profile", CANNOT)
def test_what_is_not_recorded_is_said(profile: str, tmp_path: Path) -> None:
    text, cannot = CANNOT[profile]
    logdir = tpu_profile_plugin.open(write(tmp_path, {f"{SESSION}/h.xplane.pb": text}))
    verbs = [verb.name for verb in VERBS if not any(one.required for one in verb.parameters)]
    answers = {verb: asked(logdir, verb) for verb in verbs}
    assert {verb for verb, one in answers.items() if one["cannot_answer"]} == cannot | {"compare"}
    for one in answers.values():
        if one["cannot_answer"]:
            assert one["cannot_answer"]["reason"].endswith(".")
            assert one["cannot_answer"]["how_to_record"].endswith((".", ")"))
