"""Events in which PyTorch compiles, by their names; running what was compiled is none of them."""

from __future__ import annotations

import re

from tpu_profile_plugin.analysis.common.op_names import PYTORCH, parse_op
from tpu_profile_plugin.system.name_cache import cached_by_name

# The phases that TorchDynamo times, and parts of them in versions that do not mark these.
_RANGE = re.compile(
    r".*\(dynamo_timed\)|dynamo|(?:entire_(?:frame|backward)|backend|inductor)_compile|bytecode_tracing|build_guards"
    r"|torch\.compile|_?compile_fx(?:_inner)?(?:\.<locals>\.\w+)?|_compile\.(?:<locals>\.)?_?compile_inner"
    r"|OutputGraph\.call_user_compiler|create_aot_dispatcher_function|aot_(?:collect_metadata|trace_joint_graph)"
    r"|GraphLowering\.\w+|Scheduler\.(?:__init__|codegen)|(?:PyCodeCache|FxGraphCache|AOTAutogradCache)\.\w+"
    r"|inductor_codecache\w*|async_compile(?:\.\w+)?|compile_file|CompiledFxGraph compile\w*"
    r"|.*\b(?:torch ?dynamo|inductor|aot ?autograd|aot ?dispatch\w*)\b.*\b(?:compil(?:e|er|ing|ation)|tracing|codegen)"
    r"\b.*"
    r"|.*\btriton\b.*\bcompil(?:e|er|ing|ation)\b.*|.*TritonCompil.*",
    re.IGNORECASE | re.DOTALL,
)
_FRAME = re.compile(
    r"\$torch/(?:_dynamo/convert_frame\.py:\d+ _compile|_inductor/compile_fx\.py:\d+ _?compile_fx(?:_inner)?"
    r"|_inductor/async_compile\.py:\d+ wait|_functorch/aot_autograd\.py:\d+ create_aot_dispatcher_function"
    r"|_inductor/runtime/triton_heuristics\.py:\d+ (?:precompile|benchmark_all_configs))"
    r"|\$triton/(?:compiler/compiler\.py:\d+ compile|runtime/jit\.py:\d+ _do_compile)"
)


@cached_by_name
def compiles_torch(name: str) -> bool:
    """Whether PyTorch compiles in an event of that name: an op, a range or a Python function."""
    if name.startswith("$"):
        return _FRAME.fullmatch(name) is not None
    parsed = parse_op(name)
    return _RANGE.fullmatch(parsed.type if parsed.category == PYTORCH else name.rstrip()) is not None
