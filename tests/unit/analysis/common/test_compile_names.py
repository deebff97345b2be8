"""Compilation by PyTorch, by the names of its ops, ranges and functions."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.compile_names import compiles_torch


@pytest.mark.parametrize(
    "name",
    [
        "dynamo:PyTorch",
        "entire_frame_compile:PyTorch",
        "Net_0/_compile.compile_inner (dynamo_timed):PyTorch",
        "_compile.<locals>.compile_inner",
        "compile_fx.<locals>.fw_compiler_base (dynamo_timed)",
        "compile_fx_inner (dynamo_timed)",
        "OutputGraph.call_user_compiler",
        "create_aot_dispatcher_function (dynamo_timed)",
        "GraphLowering.compile_to_fn",
        "inductor_codecache_torch_key (dynamo_timed)",
        "async_compile.wait (dynamo_timed)",
        "backward._backward_impl (dynamo_timed)",
        "Inductor: compiling kernel",
        "AOTAutograd tracing",
        "triton_poi_fused_add_0 Triton compile",
        "TritonCompile",
        "CompiledFxGraph compile_kernel",
        "$torch/_dynamo/convert_frame.py:599 _compile",
        "$torch/_inductor/compile_fx.py:1528 compile_fx",
        "$triton/compiler/compiler.py:230 compile",
    ],
)
def test_compilation(name: str) -> None:
    assert compiles_torch(name)
    assert activity(name) == Activity.COMPILE


@pytest.mark.parametrize(
    "name",
    [
        "Torch-Compiled Region: 0/0:PyTorch",
        "TorchDynamo Cache Lookup:PyTorch",
        "CompiledFunction:PyTorch",
        "autograd::engine::evaluate_function: CompiledFunctionBackward:PyTorch",
        "## Call CompiledFxGraph fxyz ##",
        "inductor::_alloc_from_pool:PyTorch",
        "AOTDispatcher Runtime Wrapper Prologue:PyTorch",
        "Scheduler.step",
        "triton_poi_fused_add_0:PyTorch",
        "my_compiled_step",
        "$torch/_dynamo/eval_frame.py:540 _fn",
        "$torch/_inductor/output_code.py:463 __call__",
        "$train.py:3 compile",
    ],
)
def test_running_what_was_compiled(name: str) -> None:
    assert not compiles_torch(name)
