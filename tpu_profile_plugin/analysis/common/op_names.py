"""Classifies op names: framework, type, memory copies, input pipeline stages, gradients."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

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
DATASET = "Dataset"
MEMCPY_H2D, MEMCPY_D2H, MEMCPY_D2D, MEMCPY_H2H = "MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH"

_TF_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\/>-]*")
_TF_TYPE = re.compile(r"[A-Z_][a-zA-Z0-9_]*")
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?", re.DOTALL)
_PYTORCH_SUFFIX = ":" + PYTORCH
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
    if full.endswith(_PYTORCH_SUFFIX):
        name = full.removesuffix(_PYTORCH_SUFFIX)
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
    return name.removesuffix(_PYTORCH_SUFFIX)


# The function in the name of a kernel of C++: what it returns, its namespaces, its template arguments, its parameters.
_SCOPE = r"(?:[\w~]+|\(anonymous namespace\))"
_CPP = re.compile(rf"(?:void )?({_SCOPE}(?:::{_SCOPE})*)([<(].*)", re.DOTALL)
_INSTANCE = re.compile(r"<(?:\w+::)*(\w+)")
_WRAPPERS = frozenset(("Kernel", "Kernel2", "device_kernel", "kernel"))


def short_kernel(name: str) -> str:
    """The function of a kernel whose name is its whole C++ signature, for sentences; other names as they are.

    A function of CUTLASS that runs any kernel has the name of that. What is known of a collective, in brackets, stays.
    """
    kernel, bracket, sent = name.partition(" [")
    found = _CPP.fullmatch(kernel)
    if found is None or not (kernel.startswith("void ") or "::" in kernel or kernel.endswith((")", ">"))):
        return name
    function, rest = found[1].rpartition("::")[2], found[2]
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
        words = [list(dict.fromkeys(_WORD.findall(name))) for name in members] if len(members) > 1 else [[]]
        shared = set(words[0]).intersection(*words)
        telling = [tuple(word for word in own if word not in shared)[:_MOST_WORDS] for own in words]
        uses = Counter(telling)
        for name, own in zip(members, telling, strict=True):
            text = f"{function} ({', '.join(own)})" if own else function
            short[name] = text if uses[own] == 1 else name
    return short


def memcpy_kind(name: str, *, short: bool = False) -> str:
    """Copy direction from the case-insensitive name prefix, "" for other names; `short` also accepts MemcpyH2D."""
    lower = name[:10].lower()
    kind = _MEMCPY.get(lower, "")
    if not kind and short:
        kind = _MEMCPY_SHORT.get(lower[:9], "")
    return kind


# As XProf classifies kernels of GPUs; `collective_names` is our own reading.
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
