"""What to do about the largest parts of the step, by what they are: host code, small ops, ops of a nature or a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from functools import cache

from tpu_profile_plugin.analysis.blame.op_nature import Nature
from tpu_profile_plugin.analysis.common.rows import file_sections
from tpu_profile_plugin.analysis.findings.model import Advice

HOST = Advice(
    "Ask whether every step needs this before its devices can go on: work that is needed once belongs before the loop, "
    "work that no step waits for on another thread or process, and what stays can be made cheaper.",
    jax="Ask whether every step needs this before the next launch: work that is needed once belongs before the loop, "
    "work that no step waits for on another thread or process, work on arrays into the jitted function.",
    tensorflow="Ask whether every step needs this before the next call of the tf.function: what is needed once belongs "
    "before the loop, preparation of data into tf.data (map, then prefetch), work on tensors into the tf.function.",
    pytorch="Ask whether every step needs this before the next ops: what is needed once belongs before the loop, "
    "preparation of data into the DataLoader's workers, work on tensors into ops of PyTorch or torch.compile.",
)
SMALL = Advice(
    "So many small ops take about as long as calling them does. Replace the loop in Python by ops on whole arrays.",
    tensorflow="So many small ops take about as long as scheduling them does. Replace the loop (tf.while_loop, "
    "tf.map_fn, a for over the examples) by ops on the whole batch (vectorized_map, tf.einsum, gather), or set "
    "jit_compile=True.",
    pytorch="So many small ops take about as long as calling them does. Replace the loop in Python by ops on whole "
    "tensors (index_add, scatter, einsum, cumsum, torch.vmap), use a larger batch or fewer microbatches, an optimizer "
    "with fused=True or foreach=True, or torch.compile, which makes one call of many.",
)
SCALARS = Advice(
    "Single numbers are read one by one (.item(), float(), int(), an if on a tensor): each is a call, and waits for "
    "the device. Compute on whole tensors (bincount, index_add, where, a comparison and a sum), and read the result "
    "once, with .tolist() or .numpy() if it has to be on the host."
)
_SCALARS = re.compile(r"::(?:item|_?local_scalar_dense|is_nonzero|equal)\b")
_ADVICE_OF_NATURE = {
    Nature.EAGER: Advice(
        "Python launches each of these ops by itself. Put them into a tf.function, which runs them as one graph.",
        keras="Python launches each of these ops by itself. Leave run_eagerly=False in compile() (and "
        "tf.config.run_functions_eagerly off), and move eager ops of callbacks and metrics into the model: then the "
        "step runs as one graph.",
    ),
    Nature.ELEMENTWISE: Advice(
        "Each of these ops reads and writes whole tensors in memory for a little arithmetic. Let torch.compile fuse "
        "them into one pass, use the op that does all of it (layer_norm, gelu, cdist, a fused loss), or write the same "
        "as a matrix product; broadcasting to a tensor that is larger than operands and result costs most."
    ),
    Nature.OPTIMIZER: Advice(
        "The optimizer takes more than in most programs: it reads and writes every parameter with its state in each "
        "step. Make it with fused=True (or foreach=True). Where few rows of an embedding are used per step, sparse "
        "gradients (nn.Embedding(sparse=True) with SparseAdam or SGD) leave out the dense update of all others. A "
        "larger batch, or gradients of several batches, need fewer updates."
    ),
    Nature.BROKEN_GRAPH: Advice(
        "Something in the function breaks its graph, and what follows runs op by op: reading a value (.item(), print, "
        "an if on a tensor), or code that the compiler does not know; or it was compiled again and again (a size or an "
        "attribute that changes with each call) until the limit, and runs eagerly since. torch._dynamo.explain, "
        "fullgraph=True or TORCH_LOGS=recompiles names the line; move it out of the compiled function."
    ),
    Nature.COMPILED_CALL: Advice(
        "Checking guards and entering a compiled function costs more than the small graphs that it runs. Compile a "
        "larger part at once, such as the whole step with its loop, so that there are few calls of much work."
    ),
    Nature.RANGE: HOST,
}
OFTEN = 20
REPEATED = (
    "This runs many times per step. If a loop does so for one item after the other (row, token, class, parameter), let "
    "one vectorised call do all of them (a batch dimension, vmap, whole arrays); if it is the same on the same data, do"
    " it once and keep the result."
)
"""Of ops and functions that run so often per step."""


def led(what: str, advice: Advice) -> Advice:
    """Advice after a sentence that goes before it, whatever the framework."""
    texts = ((one.name, getattr(advice, one.name)) for one in fields(advice))
    return Advice(**{name: f"{what} {text}".strip() for name, text in texts if text})


def advice_after(call: str, untraced: Advice) -> Advice:
    """For code of the host that no function is recorded of, by the call that most of it is in or follows."""
    told = _told("after_advice.txt", call)
    return led(told, untraced) if told else untraced


def advice_of_function(kinds: Sequence[str]) -> Advice:
    """For a function beside the model, by the kinds of ops that it launches."""
    if any(map(_SCALARS.search, kinds)):
        return SCALARS
    return _of_kind(kinds[0], "function") if kinds else HOST


def advice_of_ops(nature: Nature, kind: str, *, ordinary: bool, often: bool = False) -> Advice:
    """For ops; `ordinary`: they may be the work of a model; `often`: they run many times per step."""
    advice = _ADVICE_OF_NATURE.get(nature)
    if advice is None or (ordinary and nature not in (Nature.ELEMENTWISE, Nature.EAGER)):
        rest = "movement" if nature is Nature.MOVEMENT else "rare"
        advice = _of_kind(kind, "matrix" if nature is Nature.MATRIX else "ordinary" if ordinary else rest)
    return led(REPEATED, advice) if often else advice


def _of_kind(kind: str, other: str) -> Advice:
    return Advice(_told("op_advice.txt", kind) or _told("op_advice.txt", f"({other})"))


def _told(file: str, name: str) -> str:
    """The text of a file for the first of its patterns that a name has, "" without one."""
    return next((text for pattern, text in _texts(file) if pattern.search(name)), "")


@cache
def _texts(file: str) -> list[tuple[re.Pattern[str], str]]:
    """The file's patterns, which are its headings, and the text below each."""
    sections = file_sections(__file__, file)
    return [(re.compile(head[0], re.IGNORECASE), " ".join(map(" ".join, lines))) for head, lines in sections]
