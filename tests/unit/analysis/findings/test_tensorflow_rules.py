"""TensorFlow: eager execution, functions that trace again and again, and parts of programs that run on the host."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from builders.profiles.findings import evidence, told

from tpu_profile_plugin.analysis.findings.rules.host import tf_function_tracing


def eager(share: int) -> str:
    """Of 100 us of ops, this many run eagerly."""
    call = f'0us +{share + 2}us EagerExecute {{is_func=0, _r=1}}\n1us +{share}us "a:A"\n'
    return f'plane 0 "/host:CPU"\nline 1 a\n{call}200us +{100 - share}us "b:B"'


def outside(share: int, facts: str) -> str:
    """Of 100 us of ops in a step, this many are of one kind."""
    op = f"metadata b {{program_id=u7, symbol_id=u2, {facts}}}\n"
    events = f'line 1 Steps\n0us +100us 0\n300us +100us 1\nline 3 "XLA Ops"\n0us +{100 - share}us a\n'
    events += f"{100 - share}us +{share}us b\n300us +{100 - share}us a\n{400 - share}us +{share}us b"
    return f'plane 1 "/device:TPU:0"\nmetadata a {{hlo_category="x", program_id=u7, symbol_id=u1}}\n{op}{events}'


def functions(*shares: int, calls: int = 3, traced: int = 2) -> str:
    """Functions whose first calls, one or two, trace for this percent of their time."""
    lines = []
    for number, share in enumerate(shares):
        begin = 500 * number
        later = "traced-xla" if traced > 1 else "xla"
        lines.append(f'{begin}us +{share - traced + 1}us f{number} {{tf_function_call="traced-xla"}}')
        if calls > 1:
            lines.append(f'{begin + 200}us +{traced - 1}us f{number} {{tf_function_call="{later}"}}')
            lines.append(f'{begin + 300}us +{100 - share}us f{number} {{tf_function_call="xla"}}')
    return 'plane 0 "/host:CPU"\nline 1 a\n' + "\n".join(lines)


@pytest.mark.parametrize(("share", "fires"), [(9, False), (10, False), (11, True)])
def test_eager_execution(share: int, fires: bool) -> None:
    found = told("eager_execution", eager(share))
    assert ("title" in found) is fires
    text = f"Eager execution takes {share}.0% of the op time on the host"
    assert found.get("title", found.get("reason", "").rstrip(".")) == text
    if fires:
        assert found["saving_ps_per_step"] == 0
        assert evidence(found)["Eager op with most self time"] == ("a", "", "framework_op_stats")


def test_eager_execution_is_unknown_without_ops_of_tensorflow() -> None:
    jax = 'plane 0 "/host:CPU"\nline 1 a\n0us +10us "PjitFunction(f)"'
    assert told("eager_execution", jax)["state"] == "passed"
    assert told("eager_execution", 'plane 0 "/host:CPU"\nline 1 a\n0us +10us f')["state"] == "unknown"


@pytest.mark.parametrize(("share", "fires"), [(19, False), (20, True), (21, True)])
def test_functions_that_trace(share: int, fires: bool) -> None:
    found = told("tf_function_tracing", functions(share))
    assert ("title" in found) is fires
    assert f"{share}.0%" in found.get("title", found.get("reason", ""))


def test_functions_that_trace_are_named() -> None:
    named = "50.0% of f0, 50.0% of f1, 50.0% of f2"
    assert told("tf_function_tracing", functions(50, 50, 50))["title"].endswith(named)
    found = told("tf_function_tracing", functions(50, 50, 50, 50))
    assert found["title"].endswith(f"{named} and more")
    assert evidence(found)["Tracing and eager execution, of the time of f2"] == (50.0, "%", "overview_page")


def test_a_single_call_has_to_trace() -> None:
    found = told("tf_function_tracing", functions(100, calls=1))
    assert found["reason"] == "No tf.function with several calls recorded."
    found = told("tf_function_tracing", functions(50, 50, 50, traced=1))
    assert found["reason"] == "No tf.function was traced or run eagerly more than once."


@pytest.mark.parametrize(
    ("share", "facts", "fires"),
    [
        (4, 'hlo_category="host send-done"', False),
        (5, 'hlo_category="host send-done"', False),
        (6, 'hlo_category="host send-done"', True),
        (6, 'hlo_category="x", tf_op="a:XlaRecvFromHost"', True),
        (6, 'hlo_category="x", tf_op="a:MatMul"', False),
    ],
)
def test_parts_of_programs_on_the_host(share: int, facts: str, fires: bool) -> None:
    found = told("outside_compilation", outside(share, facts))
    assert ("title" in found) is fires
    if fires:
        assert found["title"].startswith(f"{share}.0% of the op time on devices")
        assert evidence(found)["The op with the largest part"] == ("b", "", "hlo_stats")
        # Only what the time budget counts as exposed copies can be saved.
        assert found["saving_ps_per_step"] == (6 * 10**6 if "send-done" in facts else 0)


@pytest.mark.parametrize(
    ("frameworks", "looked"), [((), False), (("JAX",), True), (("TensorFlow",), False), (("JAX", "TensorFlow"), False)]
)
def test_other_frameworks_have_no_tf_functions(frameworks: tuple[str, ...], looked: bool) -> None:
    run = SimpleNamespace(summary=SimpleNamespace(functions=[SimpleNamespace(calls=1)]), frameworks=frameworks)
    assert tf_function_tracing.judge(run, []).looked is looked  # type: ignore[arg-type, union-attr]
