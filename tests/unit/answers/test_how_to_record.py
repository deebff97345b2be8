"""What to record is told in the words of the framework that wrote the profile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builders import kineto
from builders.asking import asked
from builders.kineto import kernel, launch, op, trace
from builders.logdirs import write
from builders.servers.board import Board

import tpu_profile_plugin as tp
from tpu_profile_plugin.answers.registry import VERBS
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.run.facts import frameworks_of

ANSWERING = [verb.name for verb in VERBS if verb.of_run and not any(one.required for one in verb.parameters)]
OF_OTHERS = re.compile(r"jax\.|tf\.profiler|tpu-profile capture|--\w+-tracer|python_tracer_level|StepTraceAnnotation")
TRACES = {
    "a device": trace(op("aten::mm", 0, 5), launch(1, 1), kernel("gemm", 10, 1000, 1)),
    "kernels alone": trace(launch(1, 1), kernel("gemm", 10, 1000, 1)),
    "the CPU": trace(op("aten::mm", 0, 5), op("aten::add", 10, 50)),
    "everything": kineto.training(1),
}


@pytest.fixture(params=TRACES)
def pytorch(tmp_path: Path, request: pytest.FixtureRequest) -> OpenLogdir:
    return tp.open(write(tmp_path / "logs", {"run/rank0.pt.trace.json": TRACES[request.param]}))


def test_pytorch_is_told_of_its_own_profiler(pytorch: OpenLogdir) -> None:
    run = pytorch.run()
    assert frameworks_of(run) == ("PyTorch",)
    checks = [rule.id for rule, silence in run.findings().silent if silence.state == "unknown"]
    envelopes = [asked(pytorch, verb) for verb in ANSWERING]
    envelopes += [asked(pytorch, "explain", finding=check) for check in checks]
    assert checks
    for envelope in envelopes:
        if (cannot := envelope["cannot_answer"]) is not None:
            assert cannot["how_to_record"].endswith(".")
            assert not OF_OTHERS.search(f"{cannot['reason']} {cannot['how_to_record']}"), cannot


def test_what_the_cpu_alone_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir = write(tmp_path / "logs", {"run/rank0.pt.trace.json": TRACES["the CPU"]})
    opened = tp.open(logdir)
    assert asked(opened, "explain", finding="low_precision_unused")["cannot_answer"] == {
        "reason": "No data types of ops recorded.",
        "how_to_record": "Record with record_shapes=True of torch.profiler.profile.",
    }
    assert asked(opened, "explain", finding="straggler")["cannot_answer"]["how_to_record"] == (
        "Record a job on several GPUs: every rank of the job at the same time, into one directory."
    )
    remedy = "Record with ProfilerActivity.CUDA of torch.profiler.profile, on a machine with a GPU."
    tools = {tool["id"]: tool for tool in Board(logdir, tmp_path / "home").json("run_info", run="run")["tools"]}
    assert tools["op_profile"]["reason"] == "PyTorch ran on the CPU: its ops are in Framework Op Stats."
    assert tools["op_profile"]["remedy"] == remedy
    assert "remedy" not in tools["memory_viewer"], "the sentence says it"
    assert main(["doctor", str(logdir)]) == 0
    out = capsys.readouterr().out
    assert f"no op_profile: PyTorch ran on the CPU: its ops are in Framework Op Stats. {remedy}\n" in out
    assert "not recorded: with_stack=True: the lines of Python" in out


def test_other_frameworks_and_none(tmp_path: Path) -> None:
    def told(name: str) -> str:
        text = f'plane 1 "/host:CPU"\nline 1 a\n0us +1us "{name}"'
        opened = tp.open(write(tmp_path / str(len(name)), {"plugins/profile/s/h.xplane.pb": text}))
        return str(asked(opened, "budget")["cannot_answer"]["how_to_record"])

    assert "marked with jax.profiler.StepTraceAnnotation: `tpu-profile capture" in told("PjitFunction(f)")
    assert "marked with tf.profiler.experimental.Trace: `tpu-profile capture" in told("EagerExecute: MatMul")
    assert "marked with torch_xla.debug.profiler.StepTrace: `tpu-profile" in told("torch_xla::sync")
    unknown = told("work")
    assert all(name in unknown for name in ("jax.profiler", "tf.profiler", "torch.profiler"))
