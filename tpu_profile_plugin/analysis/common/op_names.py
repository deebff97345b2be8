"""Names of ops, kernels and host events: framework, type, copies, input stages, gradients, collectives, compilation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.rows import file_rows
from tpu_profile_plugin.system.name_cache import cached_by_name

UNKNOWN, TENSORFLOW, JAX, TF_DATA, MEMCPY, INPUT_PIPELINE = (
    "Unknown",
    "TensorFlow",
    "Jax",
    "TfData",
    "Memcpy",
    "InputPipeline",
)
PYTORCH = "PyTorch"
PYTORCH_SUFFIX = ":" + PYTORCH
GRAPH = "CompiledFxGraph"
"""Kind of the op of PyTorch that is a compiled graph, whose name has the graph's hash."""
"""End of the full names of PyTorch's ops, which the importer writes: their own names have colons."""
DATASET = "Dataset"
MEMCPY_H2D, MEMCPY_D2H, MEMCPY_D2D, MEMCPY_H2H = "MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH"

_TF_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\/>-]*")
_TF_TYPE = re.compile(r"[A-Z_][a-zA-Z0-9_]*")
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?", re.DOTALL)
_COUNTER = re.compile(r"_\d+\Z")
_MEMCPY = {kind.lower(): kind for kind in (MEMCPY_H2D, MEMCPY_D2H, MEMCPY_D2D, MEMCPY_H2H)}
# Newer CUDA tracers write the short spelling; XProf does not match it, so it is accepted only on request.
_MEMCPY_SHORT = {"memcpyh2d": MEMCPY_H2D, "memcpyd2h": MEMCPY_D2H, "memcpyd2d": MEMCPY_D2D, "memcpyh2h": MEMCPY_H2H}


@dataclass(frozen=True, slots=True)
class OpName:
    """A parsed op name: the framework it belongs to, the name without the type, and the type ("" when unknown)."""

    category: str
    name: str
    type: str


@cached_by_name
def parse_op(full: str) -> OpName:
    """Parses `name:type` as frameworks write it; `Iterator::...` are tf.data stages, `MEMCPY...` are copies.

    Ops of PyTorch have colons of their own (`aten::mm`), so that their type says the framework: the importer writes it.
    """
    if full.endswith(PYTORCH_SUFFIX):
        name = full.removesuffix(PYTORCH_SUFFIX)
        return OpName(PYTORCH, name, name.rpartition("/")[2])
    left, colon, right = full.partition(":")
    if not colon:
        kind = memcpy_kind(full)
        return OpName(MEMCPY, full, kind) if kind else OpName(UNKNOWN, full, "")
    if left == "Iterator":
        return OpName(TF_DATA, full, DATASET)
    if _TF_TYPE.fullmatch(right) and _TF_NAME.fullmatch(left):
        return OpName(TENSORFLOW, left, right)
    kind = right or _COUNTER.sub("", left.rpartition("/")[2])
    if _JAX_TYPE.fullmatch(kind):
        return OpName(JAX, left, kind.partition("[")[0])
    if not right:
        return OpName(TENSORFLOW, left, kind)
    return OpName(UNKNOWN, full, "")


def shown_event(name: str) -> str:
    """The name of an event of the host as pages show it: ops of PyTorch without the mark that tells their framework."""
    return name.removesuffix(PYTORCH_SUFFIX)


# The function in the name of a kernel of C++: what it returns, its namespaces, its template arguments, its parameters.
_IDENTIFIER = r"(?:[\w~]+|\(anonymous namespace\))"
_SCOPE = re.compile(rf"{_IDENTIFIER}(?:::{_IDENTIFIER})*")
_CPP = re.compile(rf"(?:void )?({_SCOPE.pattern})([<(].*)", re.DOTALL)
_INSTANCE = re.compile(r"<(?:\w+::)*(\w+)")
_WRAPPERS = frozenset(("Kernel", "Kernel2", "device_kernel", "kernel"))


def short_kernel(name: str) -> str:
    """The function of a kernel whose name is its whole C++ signature, for sentences; other names as they are.

    A function of CUTLASS that runs any kernel has the name of that. What is known of a collective, in brackets, stays.
    """
    kernel, bracket, sent = name.partition(" [")
    signature = _CPP.fullmatch(kernel)
    if signature is None or not (kernel.startswith("void ") or "::" in kernel or kernel.endswith((")", ">"))):
        return name
    function, rest = signature[1].rpartition("::")[2], signature[2]
    inside = _INSTANCE.match(rest)
    short = f"{function}<{inside[1]}>" if function in _WRAPPERS and inside else function
    return f"{short}{bracket}{sent}"


_WORD = re.compile(r"[A-Za-z_]\w*|\d+")
_MOST_WORDS = 3


def short_kernels(names: Iterable[str]) -> dict[str, str]:
    """Short names by name, all different: kernels of one function have the words that not all of them have."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(short_kernel(name), []).append(name)
    short: dict[str, str] = {}
    for function, members in groups.items():
        words = [list(dict.fromkeys(_WORD.findall(name))) for name in members]
        shared = set(words[0]).intersection(*words)
        different = [tuple(word for word in some if word not in shared)[:_MOST_WORDS] for some in words]
        uses = Counter(different)
        for name, some in zip(members, different, strict=True):
            text = f"{function} ({', '.join(some)})" if some else function
            short[name] = text if uses[some] == 1 else name
    return short


def memcpy_kind(name: str, *, short: bool = False) -> str:
    """Copy direction from the case-insensitive name prefix, "" for other names; `short` also accepts MemcpyH2D."""
    lower = name[:10].lower()
    kind = _MEMCPY.get(lower, "")
    if not kind and short:
        kind = _MEMCPY_SHORT.get(lower[:9], "")
    return kind


# As XProf classifies kernels of GPUs; `kernel_collective` is our own reading.
_XPROF_COLLECTIVE = re.compile(r"(?:void )?(?:nccl|rccl|hccl|msccl)", re.IGNORECASE)


def xprof_collective(kernel: str) -> bool:
    """True for kernels that XProf takes for collectives: those of NCCL and of libraries that are called like it."""
    return _XPROF_COLLECTIVE.match(kernel) is not None


def is_infeed_enqueue(op_type: str) -> bool:
    """True for ops that enqueue input for a device."""
    return op_type.startswith("InfeedEnqueue")


def is_outside_compilation(provenance: str, expression: str = "") -> bool:
    """True for device ops that wait for a part of the program compiled for the host."""
    if provenance.endswith((":XlaSendToHost", ":XlaRecvFromHost")):
        return True
    return "send-done" in expression and "is_host_transfer=true" in expression


def dataset_display(name: str) -> str:
    """Display name of `Iterator::A::B`: the last stage only."""
    return "Iterator::" + name.rpartition("::")[2]


# A node of the backward pass of PyTorch, around its op: MulBackward0/aten::mul.
_AUTOGRAD = re.compile(r"(?:^|/)\w+Backward\d+/\w+::\w+\Z")


def in_gradient(name: str, kind: str) -> bool:
    """True when automatic differentiation made the op: frameworks show it in different parts of its name."""
    if "::" in name and _AUTOGRAD.search(name):
        return True
    if "gradient" not in name and "transpose(" not in name:
        return False
    *scopes, last = name.split("/")
    if _TF_TYPE.fullmatch(kind) and _TF_NAME.fullmatch(name):
        return any(scope == "gradient_tape" or scope.startswith("gradients") for scope in scopes)
    if not kind or (_JAX_TYPE.fullmatch(kind) and kind in last):
        return any(scope.startswith("transpose(") for scope in (*scopes, last))
    return False


_READERS = ("::TFRecord", "::TextLine", "::FixedLengthRecord", "::SSTable", "::RecordIO", "::ArrayRecord")
_PREFETCH_STAGES = ("::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch", "::ParallelMap")
ENQUEUE, DEMANDED_READ, ADVANCED_READ, PREPROCESSING, UNKNOWN_INPUT = (
    "Enqueue",
    "Demanded file read",
    "Advanced file read",
    "Preprocessing",
    "Unknown",
)
_STAGES = {"enqueue": ENQUEUE, "read": DEMANDED_READ, "preprocessing": PREPROCESSING, "unknown": UNKNOWN_INPUT}


def input_category(name: str, op_type: str) -> str:
    """Input processing category of a host op; "" when it does not process input."""
    if op_type == DATASET:
        if not name.endswith(_READERS):
            return PREPROCESSING
        return ADVANCED_READ if any(stage in name for stage in _PREFETCH_STAGES) else DEMANDED_READ
    if is_infeed_enqueue(op_type) or op_type == MEMCPY_H2D:
        return ENQUEUE
    return _STAGES.get(op_type.lower(), "")


# Communication between devices, told by names of kernels, ranges and ops: rules as data in `collective_names.txt`.

UNKNOWN_KIND = "collective"
"""The kind of a collective whose name does not tell it."""

_MANGLED = re.compile(r"_Z\w*?N?(?=\d)")
_LENGTH = re.compile(r"(\d+)(?=[A-Za-z_])")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_LONGEST = 1 << 16
"""Longer names are read up to here."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rows of the file as patterns; `kinds` in order of preference."""

    library: re.Pattern[str]
    host: re.Pattern[str]
    namespace: frozenset[str]
    function: re.Pattern[str]
    types: re.Pattern[str]
    local: re.Pattern[str]
    compute: tuple[str, ...]
    kinds: tuple[tuple[re.Pattern[str], str], ...]


def _words(phrases: list[str]) -> re.Pattern[str]:
    """Any of these phrases among words in lower case that underscores join; those of a phrase may be one word."""
    some = "|".join(re.escape(phrase).replace("_", "_?") for phrase in phrases)
    return re.compile(rf"(?<![a-z])(?:{some})(?:kernel)?(?![a-z])")


@cache
def _rules() -> _Rules:
    table: dict[str, list[list[str]]] = {}
    for kind, *row in file_rows(__file__, "collective_names.txt"):
        table.setdefault(kind, []).append(row)
    names = {kind: [row[0] for row in table_rows] for kind, table_rows in table.items()}
    return _Rules(
        library=re.compile(rf"_*(?:{'|'.join(names['library'])})", re.IGNORECASE),
        host=re.compile("|".join(names["host"])),
        namespace=frozenset((*names["namespace"], *names["host"])),
        function=_words(names["function"]),
        types=re.compile(rf"\b(?:{'|'.join(names['type'])})"),
        local=_words(names["local"]),
        compute=tuple(names["compute"]),
        kinds=tuple((_words([phrase]), kind) for phrase, kind in table["kind"]),
    )


@cached_by_name
def kernel_collective(kernel: str) -> str:
    """The kind of collective that a kernel is part of; "" for kernels that compute or move data on one device.

    Its function tells it: a library of collectives, words such as all_reduce, or a parameter that reaches other
    devices. A product or a normalisation of what was exchanged is computation, unless one kernel does both.
    """
    kernel = kernel[:_LONGEST]
    scope, rest = _function(kernel)
    rules = _rules()
    *spaces, function = scope
    words = _snake(function)
    if "::".join(scope).startswith(rules.compute):
        return ""
    if rules.library.match(function):
        return _kind(words)
    if rules.local.search(words):
        return ""
    if (
        any(space in rules.namespace or rules.library.match(space) for space in spaces)
        or rules.function.search(words)
        or rules.types.search(rest)
    ):
        return _kind("_".join([words, *map(_snake, reversed(spaces))]))
    return ""


def computes_only(kernel: str) -> bool:
    """Whether a kernel's name says that it computes, or prepares locally what an op exchanges."""
    scope, _ = _function(kernel[:_LONGEST])
    rules = _rules()
    return "::".join(scope).startswith(rules.compute) or rules.local.search(_snake(scope[-1])) is not None


@cached_by_name
def op_collective(op: str) -> str:
    """The kind of collective that an op of a framework starts, such as `c10d::allreduce_`; "" for other ops.

    Ranges that mark a collective of a library, such as `nccl:all_reduce`, count as ops.
    """
    library, call = range_of(op)
    if library:
        return _kind(_snake(call))
    _, colon, rest = op.partition(":")
    return "" if colon and not rest.startswith(":") else kernel_collective(op)


def range_of(name: str) -> tuple[str, str]:
    """Library and call in the name of a range that marks a collective, `gloo:all_reduce`; else two empty texts."""
    library, colon, call = name.strip().partition(":")
    rules = _rules()
    is_library = rules.library.fullmatch(library) or rules.host.fullmatch(library)
    return (library, call) if is_library and colon and re.fullmatch(r"\w+", call) else ("", "")


def runs_on_host(library: str) -> bool:
    """Whether the library of a range is one whose collectives the processors of the hosts run themselves."""
    return _rules().host.fullmatch(library) is not None


def collective_kind(name: str) -> str:
    """The kind of a collective, from its name; "" if the name does not tell it."""
    return _kind(_snake(name), "")


def _kind(words: str, unknown: str = UNKNOWN_KIND) -> str:
    return next((kind for pattern, kind in _rules().kinds if pattern.search(words)), unknown)


def _function(kernel: str) -> tuple[list[str], str]:
    """The namespaces of a kernel's function and the function, and its template arguments and parameters as text."""
    if mangled := _MANGLED.match(kernel):  # by a C++ compiler: lengths stand before names
        names: list[str] = []
        end = mangled.end()
        while (length := _LENGTH.match(kernel, end)) is not None:
            end = length.end() + int(length[1][:6])
            names.append(kernel[length.end() : end])
        return names or [kernel], re.sub(r"\d+", " ", kernel[end:])
    kernel = kernel.removeprefix("void ").removesuffix(".kd")
    scope = _SCOPE.match(kernel)
    return (scope[0].split("::"), kernel[scope.end() :]) if scope else ([kernel], "")


def _snake(name: str) -> str:
    """The words of a name in lower case, joined by underscores: `oneShotAllReduceKernel`, `all-reduce`."""
    return re.sub(r"[^a-z0-9]+", "_", _HUMP.sub("_", name).lower())


def searcher(pattern: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Tells whether a text contains a match.

    The syntax is that of Rust's regex crate: Python's, without look-around and back-references.

    Raises:
      ValueError: says why the pattern is not a regular expression, or that it is too large.
    """
    return _native.Pattern(pattern, ignore_case).search


# Events in which PyTorch compiles; running what was compiled is none of them. The phases that TorchDynamo times, and
# parts of them in versions that do not mark these.
_RANGE = re.compile(
    r"dynamo|(?:entire_(?:frame|backward)|backend|inductor)_compile|bytecode_tracing|build_guards"
    r"|torch\.compile|_?compile_fx(?:_inner)?(?:\.<locals>\.\w+)?|_compile\.(?:<locals>\.)?_?compile_inner"
    r"|OutputGraph\.call_user_compiler|create_aot_dispatcher_function|aot_(?:collect_metadata|trace_joint_graph)"
    r"|GraphLowering\.\w+|Scheduler\.(?:__init__|codegen)|(?:PyCodeCache|FxGraphCache|AOTAutogradCache)\.\w+"
    r"|inductor_codecache\w*|async_compile(?:\.\w+)?|compile_file|CompiledFxGraph compile\w*",
    re.IGNORECASE,
)
_RANGE_WITH = searcher(
    r"(?s)\b(?:torch ?dynamo|inductor|aot ?autograd|aot ?dispatch\w*)\b.*"
    r"\b(?:compil(?:e|er|ing|ation)|tracing|codegen)\b"
    r"|\btriton\b.*\bcompil(?:e|er|ing|ation)\b|TritonCompil|\(dynamo_timed\)\z",
    ignore_case=True,
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
    called = parsed.type if parsed.category == PYTORCH else name.rstrip()
    return _RANGE.fullmatch(called) is not None or _RANGE_WITH(called)
