"""What to do about the largest parts of the step, by what they are: host code, small ops, ops of a nature or a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields

from tpu_profile_plugin.analysis.blame.op_nature import Nature
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
_MOVES = Advice(
    "Such ops only move or copy data in memory. Change the layout or the order of dimensions where the data is made, "
    "write into one buffer in place, or let the next op read the data as it is (a view, a broadcast, another einsum)."
)
_OPS = Advice(
    "Most programs spend little on such ops. Ask whether every step needs them, on all of this data and in this "
    "precision, and whether a cheaper op gives the same: every N-th step, on fewer elements, or with another algorithm."
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
_FUNCTION = Advice(
    "Ask whether every step needs this: what is needed once belongs before the loop, what prepares data into the "
    "DataLoader's workers. A loop in Python with a few small ops per example, box, time step or parameter becomes ops "
    "on whole tensors (a batch, index_add, scatter, einsum, torch.vmap, an op of the library such as "
    "torchvision.ops.nms); else torch.compile makes one call of many."
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
_ADVICE_OF_OPS = tuple(
    (re.compile(pattern, re.IGNORECASE), Advice(text))
    for pattern, text in (
        (
            r"::(?:cat|concat\w*|\w?stack|append)\b|^concatenate\Z|ConcatV2|Pack\b",
            "Concatenation copies all of its operands: what grows by one piece per step is copied again and again. "
            "Reserve the whole buffer once (preallocate) and write each piece in place (index, slice, "
            "dynamic_update_slice), or collect the pieces in a list and concatenate once.",
        ),
        (
            r"CheckNumerics|DebugNumeric|DebugIdentity|isnan|isinf|isfinite|is_finite",
            "Checks of numbers for NaN and infinities read each result once more, and an assertion waits for it. "
            "Switch them off in runs that have to be fast (a debug mode such as tf.debugging.enable_check_numerics or "
            "jax_debug_nans), or check the loss alone, every N-th step.",
        ),
        (
            r"im2col|col2im|unfold|\bfold\b",
            "Unfolding copies each element once per window that it is in, which moves many times the data. Use the op "
            "that reads windows in place: a convolution or pooling of the library, or as_strided views.",
        ),
        (
            r"repeat|tile|expand|broadcast",
            "Repeating copies the same data. Let the next op broadcast (expand, a dimension of size 1, grouped-query "
            "attention), or index what is there.",
        ),
        (
            r"::(?:_?to(?:_copy)?|type|float|half)\b|convert|Cast\b",
            "Converting types or devices copies everything. Convert once, where the data is made, and keep one type.",
        ),
        (
            r"gather|scatter|::index|index_(?:put|add|select|copy)|take|embedding|masked_select",
            "Reading and writing by index goes element by element or row by row: sort or group the indices, use "
            "slices where they are contiguous, and one call for all rows in place of one per row.",
        ),
        (
            r"\binv\b|_inv\b|pinv|inverse",
            "Solve the linear system in place of inverting its matrix: a factorization (Cholesky where the matrix is "
            "positive definite, else LU) and triangular solves take a third of the time and are more exact; keep the "
            "factors while the matrix stays the same.",
        ),
        (
            r"eigh?\b|svd|\bqr\b|\blu\b|cholesky|schur|linalg",
            "A decomposition costs much more than a product of the same size. Ask whether every step needs it: every "
            "N-th step with kept factors, a smaller matrix, a few leading eigenvectors by power iteration, Cholesky in "
            "place of eigenvalues, or several of them in one batched call.",
        ),
        (
            r"sort",
            "Sorting everything is needed for few results: top_k, argmax, a threshold or partition cost far less.",
        ),
        (
            r"unique|nonzero|searchsorted|histogram|bincount",
            "Such ops sort or count all elements, and their result has no fixed size. Ask whether every step needs it: "
            "prepare it once or in the input pipeline, or use the duplicates as they are (a lookup and a sum by index "
            "do not need unique indices).",
        ),
        (
            r"_norm\b|clip_grad",
            "Norms of all parameters read each of them. Compute them once per step, after the last backward pass and "
            "outside of any loop over parameters, and log them every N-th step.",
        ),
        (
            r"uniform|normal|randn?\b|randint|randperm|rng|threefry|random_bits|multinomial",
            "Draw random numbers in fewer, larger calls, with a cheaper generator, or once before the loop; parameters "
            "that are loaded afterwards need not be drawn first (device='meta' or torch.nn.utils.skip_init).",
        ),
        (
            r"Regex|String|Unicode|LookupTable|Decode(?:Jpeg|Png|Image|Raw|Csv)|Parse\w{0,40}Example",
            "Texts and encoded data are prepared within the step. Do it in the input pipeline (tf.data map, then cache "
            "and prefetch), once and ahead of the step.",
        ),
        (
            r"while|cumsum|cumprod|cumulative|reduce-window",
            "Loops and cumulative ops run one part after the other. Ask for a form that works on all parts at once "
            "(vmap, an associative scan, a matrix product), or for fewer and larger parts.",
        ),
    )
)
"""For ops that most programs spend little on, the first that matches."""
_AFTER = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            r"VariableOp|EagerConst",
            "Values go between TensorFlow and the host (get_weights(), set_weights(), .numpy(), saving, tf.constant), "
            "where Python or NumPy works on them. Copy and average weights by assign() in a tf.function, convert arrays"
            " once, before the loop, and save less often or asynchronously.",
        ),
        (
            r"item\b|local_scalar|resolve_|::_?to(?:_copy)?\b|is_nonzero",
            "Results are read (.item(), .tolist(), .numpy(), .cpu()), and Python works on them: answers, JSON, "
            "compression, metrics, logs or files. Do it on another thread or process, or every N-th step, and compute on"
            " whole tensors before they are read.",
        ),
        (
            r"Iterator|DataLoader|Dataset",
            "It follows the input: Python goes on to prepare the batch, or makes a pipeline or iterator anew. Prepare "
            "data in the pipeline's own threads or workers, ahead of the step, and make iterators once.",
        ),
        (
            r"Optimizer\.|AccumulateGrad|__inference_|Pjit",
            "It follows the step itself: logs, checkpoints, averages of weights, callbacks, or the next batch. Do this "
            "every N-th step, or on another thread or process.",
        ),
    )
)
"""Of code that was not recorded, by the call that comes before it."""
_ORDINARY = Advice(
    "This is where the time goes, and nothing says that it is wasted. To go faster, ask whether the step needs all of "
    "it: fewer or smaller operands, a narrower data type (float32 or bfloat16 in place of float64), results that are "
    "kept instead of computed again."
)
_MATRICES = Advice(
    "Matrix products are what a model is made of, and nothing says that they are wasted. Ask which of them the step "
    "needs: rows that are padding (shorter sequences, batches by length) or whose results are not used (slice before "
    "the product, such as the last position's logits); values computed before (a cache, or a branch that vmap and "
    "select compute for all and discard); the same work on several devices (sharding in place of replicas); zeros (a "
    "sparse or indexed form); factors that are multiplied in a costly order or merged anew in each step (low rank); a "
    "data type wider than needed (float64 in place of float32 or bfloat16)."
)


def advice_after(call: str, untraced: Advice) -> Advice:
    """For code of the host that was not recorded, by the call that most of it follows."""
    what = next((text for pattern, text in _AFTER if pattern.search(call)), "")
    texts = ((one.name, getattr(untraced, one.name)) for one in fields(untraced))
    return Advice(**{name: f"{what} {text}".strip() for name, text in texts if text})


def advice_of_function(kinds: Sequence[str]) -> Advice:
    """For a function beside the model, by the kinds of ops that it launches."""
    if any(map(_SCALARS.search, kinds)):
        return SCALARS
    return (
        next((advice for pattern, advice in _ADVICE_OF_OPS if pattern.search(kinds[0])), _FUNCTION) if kinds else HOST
    )


def advice_of_ops(nature: Nature, kind: str, *, ordinary: bool) -> Advice:
    """For ops; `ordinary`: they may be the work of a model."""
    if ordinary:
        return _MATRICES if nature is Nature.MATRIX else _ORDINARY
    if nature in _ADVICE_OF_NATURE:
        return _ADVICE_OF_NATURE[nature]
    other = _MOVES if nature is Nature.MOVEMENT else _OPS
    return next((advice for pattern, advice in _ADVICE_OF_OPS if pattern.search(kind)), other)
