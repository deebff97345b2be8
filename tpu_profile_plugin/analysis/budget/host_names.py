"""Meaning of host events, by their names and the files of their code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from tpu_profile_plugin.analysis.common.op_names import compiles_torch
from tpu_profile_plugin.analysis.common.rows import file_rows
from tpu_profile_plugin.system.name_cache import cached_by_name

_GENERATED = ("gen_", "__autograph_generated_file")
"""Begins of names of files that TensorFlow generates, in its package and while it runs."""


@cache
def _functions() -> dict[str, frozenset[str]]:
    """Functions of a framework by file; an empty set stands for all functions of the file."""
    return {file: frozenset(functions) for file, *functions in file_rows(__file__, "library_files.txt")}


@cache
def _packages() -> tuple[str, ...]:
    """Directories of packages, as PyTorch's profiler writes them: relative to where Python found them."""
    return tuple(file for file in _functions() if file.endswith("/"))


def is_library(file: str, function: str) -> bool:
    """Whether a function of a file belongs to a framework or to Python."""
    if "/" in file:
        return file.startswith(_packages()) or _INSTALLED.search(file) is not None
    functions = _functions().get(file)
    return file.startswith(_GENERATED) or (functions is not None and (not functions or function in functions))


_INSTALLED = re.compile(r"(?:^|/)(?:site|dist)-packages/|/lib(?:64)?/python\d|^<|/[a-z2-7]{2}/c[a-z2-7]{51}\.py\Z")
"""Paths of packages, of Python itself, and of what PyTorch's compiler writes into its cache."""


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Names of files by the paths that programs were traced from: of the user's code, and of packages only."""

    own: frozenset[str] = frozenset()
    installed: frozenset[str] = frozenset()


NO_FILES = SourceFiles()


def source_files(paths: Iterable[str]) -> SourceFiles:
    own: set[str] = set()
    installed: set[str] = set()
    for path in filter(None, paths):
        (installed if _INSTALLED.search(path) else own).add(path.rpartition("/")[2])
    return SourceFiles(frozenset(own), frozenset(installed - own))


class Activity(IntEnum):
    """Meaning of a host event for an idle device; of nested events the lower number counts."""

    COMPILE = 0
    TRANSFER = 1
    """Blocked until a device has finished or its results are on the host."""
    UPLOAD = 2
    """Sends data to a device."""
    INPUT = 3
    """Waits for the next element of an input pipeline."""
    HANDOVER = 4
    """Waits for what another thread or process hands over: input if it is sent to a device, else any result."""
    LAUNCH = 5
    OTHER = 6


_FRAME = re.compile(r"\$(?P<file>[^ :]+\.py):(?P<line>\d+) (?P<function>.+)\Z", re.DOTALL)
_PLAIN = r"(?:\$\S+ )?"

_COMPILE = re.compile(
    r"backend_compile|XlaCompil|compile_or_get_cached|::Compile(?:AndLoad)?\b|CpuCompiler|(?:GPU|NVPTX|AMDGPU)Compiler"
    r"|TpuCompile|LoadProgram|XLA::TPU (?:run|lowering|code|emitting)|trace_to_jaxpr|lower_sharding_computation"
    r"|lower_jaxpr_to_module|^tf\.function-graph_building\Z"
    rf"|^{_PLAIN}(?:_pjit_lower|_cached_lowering_to_hlo|_resolve_and_lower|_compile_and_write_cache)\Z"
)
_TRANSFER = re.compile(
    r"np\.asarray\(jax\.Array\)|[Bb]lock_?[Uu]ntil_?(?:[Rr]eady|Host|Done)|copy_to_host|ToLiteral|TransferFromDevice"
    r"|TransferLiteralFromDevice|D2H|[Mm]emcpyD(?:to|2)?H|(?:cuda|cu|hip)(?:Stream|Device|Event|Ctx)Synchronize"
    r"|aten::item|_local_scalar_dense|Buffer(?:::)?Await|AwaitBuffers|^SyncOn|EffectiveSync"
    r"|\$array\w*\.py:\d+ (?:_value|__float__|__int__|__bool__|__index__|__complex__|__array__|_?item|tolist)\Z"
    r"|\$(?:api|ops)\.py:\d+ (?:device_get|numpy|_numpy)\Z"
)
_UPLOAD = re.compile(
    r"InfeedEnqueue|TransferToInfeed|TransferToDevice|H2D|[Mm]emcpyH(?:to|2)?D|BufferFromHost|DevicePut|device_put"
    r"|EagerCopyToDevice"
)
_INPUT = re.compile(
    r"^(?:MultiDevice)?IteratorGetNext|OptionalGetValue|enumerate\(DataLoader\)|DataLoaderIter"
    rf"|^{_PLAIN}__next__\Z|\$dataloader\.py:\d+ _(?:next|get|try_get)_data\Z"
)
_HANDOVER = re.compile(
    r"\$queues?\.py:\d+ get\Z|\$_queue get\Z|\$_base\.py:\d+ (?:result|result_iterator)\Z"
    r"|\$pool\.py:\d+ (?:next|get|wait)\Z|\$connection\.py:\d+ (?:recv|recv_bytes|poll|wait)\Z"
)
_LAUNCH = re.compile(
    r"^PjitFunction|^\w*LoadedExecutable(?:::|_)Execute(?: \(.*)?\Z|^Execute(?:Replicated|Sharded)|^DoEnqueueProgram"
    r"|^GpuExecutable::ExecuteThunks|^(?:FunctionRun|SessionRun|RunGraph)|ExecutorState::Process\Z"
    r"|^Eager(?:Local|Kernel)?Execute|^TFE_Py_(?:Fast|Execute)|^KernelAndDeviceFunc::Run"
    r"|^(?:cu|cuda|hip)(?:Ext)?(?:Module)?(?:Cooperative)?(?:Launch|GraphLaunch)|^ParseArguments|^shard_args"
)
_PATTERNS = (
    (Activity.COMPILE, _COMPILE),
    (Activity.TRANSFER, _TRANSFER),
    (Activity.UPLOAD, _UPLOAD),
    (Activity.INPUT, _INPUT),
    (Activity.HANDOVER, _HANDOVER),
    (Activity.LAUNCH, _LAUNCH),
)
BLOCKS = re.compile(r"[Bb]lock_?[Uu]ntil_?[Rr]eady")
"""Calls of JAX that wait for a device and fetch nothing."""
_COPY = re.compile(r"^(?:cu|cuda|hip)Memcpy(?:Async|WithStream)?\Z")
_PYTHON = "$", "<built-in ", "<method ", "nn.Module: "
_UNNAMED = ("<listcomp>", "<lambda>", "<genexpr>", "<dictcomp>", "<setcomp>")
_PASSES_ON = re.compile(
    r"_?wrapp(?:er|ed)|_?inner|_?(?:wrapped_)?call(?:_impl|_function)?|__(?:call|next)__|_fn|_method|compile_wrapper"
    r"|decorate_context|error_handler|reraise_with_filtered_traceback|cache_miss|op_dispatch_handler|try_to_block"
).fullmatch
_CLOCK = re.compile(r"\$(?:time|<unknown>) monotonic\Z")
_NOISE = ("ThreadpoolListener::", "end: ")


@cached_by_name
def activity(name: str) -> Activity:
    """The activity that an event of that name is."""
    if compiles_torch(name):
        return Activity.COMPILE
    return next((kind for kind, pattern in _PATTERNS if pattern.search(name)), Activity.OTHER)


def is_recognised(name: str) -> bool:
    """Whether an event tells what the host does by its name."""
    return activity(name) != Activity.OTHER


def is_copy(name: str) -> bool:
    """Whether an event copies between host and device without telling in which direction."""
    return _COPY.match(name) is not None


def is_clock(name: str) -> bool:
    """Whether a call reads the clock, as a wait with a timeout does."""
    return _CLOCK.match(name) is not None


def is_telling(name: str) -> bool:
    """Whether an event may be named as a cause: not the runtime's own events unless they are recognised."""
    return not name.startswith(_NOISE) and ("::" not in name or is_recognised(name))


def is_python(name: str) -> bool:
    """Whether an event is a call that a Python tracer records: of a function, of native code, of a PyTorch module."""
    return name.startswith(_PYTHON)


def is_unnamed(name: str) -> bool:
    """Whether an event is a function without a name of its own: what is around it says more."""
    return name.endswith(_UNNAMED)


def is_protocol(name: str) -> bool:
    """Whether an event is a method that Python calls, such as `__next__` of a loader: what it calls says more."""
    return name.endswith("__") and is_frame(name)


def passes_on(name: str) -> bool:
    """Whether an event is a function of a library that only calls what it was given."""
    match = _FRAME.match(name)
    if match is None or _PASSES_ON(match["function"]) is None:
        return False
    return is_library(match["file"], match["function"])


def is_frame(name: str) -> bool:
    """True for a Python function with its file and line."""
    return _FRAME.match(name) is not None


def is_user_frame(name: str, files: SourceFiles = NO_FILES) -> bool:
    """True for a Python function outside the known files of Python and the frameworks.

    `files` are those that programs were traced from: a package's files are told by their paths.
    """
    match = _FRAME.match(name)
    return (
        match is not None and match["file"] not in files.installed and not is_library(match["file"], match["function"])
    )


def may_be_user_frame(name: str, files: SourceFiles) -> bool:
    """True for a Python function of a known file if the user has a file of the same name."""
    match = _FRAME.match(name)
    return match is not None and match["file"] in files.own and is_library(match["file"], match["function"])
