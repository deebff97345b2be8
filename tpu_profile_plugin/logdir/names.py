"""File names in a session directory, and run names."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.logdir.model import FileKind
from tpu_profile_plugin.suffixes import PROFILES, PYTORCH, TRACE_JSON, XPLANE
from tpu_profile_plugin.system.paths import printable as printable

_PYTORCH_TIME = re.compile(r"(?P<worker>.+)\.(?P<time>\d{10,})\Z")
"""PyTorch's handler appends when a trace was written to the name of its process."""
_SGLANG = re.compile(r"(?P<worker>.+-TP-\d{1,9}(?:-\w{1,64}){0,16})\.trace\.json\.gz\Z")
"""Traces of PyTorch's profiler as SGLang names them: `1767225600.5-TP-0.trace.json.gz`, `...-TP-0-DP-1-EXTEND...`."""

CAPTURES = "capture_traces"
"""The directory beside a run in which servers put traces of the capture of their CUDA graphs."""
_CAPTURE = re.compile(r"(?:(?:graph_)?capture(?:_trace)?_rank_?\d+|bs_\d\w*_rank_?\d+)(?:\.[\w.]+)?\.json(?:\.gz)?\Z")
_RANK = re.compile(r"(?:rank|TP)[_-]?(\d+)")

_JSON = (".json", ".json.gz", ".json.zst")
_LIKELY = re.compile(
    r"trace|prof|kineto|timeline|torch|chrome|perfetto|rank|(?:step|iter|iteration|epoch|worker|gpu|cuda|tp)[_-]?\d",
    re.IGNORECASE,
)
"""Parts of names that programs choose for traces: `rank0_trace.json`, `profile_0.json`, `libkineto_7.json`."""

_PICKLES = (".pickle", ".pkl", ".pickle.gz", ".pkl.gz")

NAMELESS_HOST = "xplane"
"""The host name for a file named just `xplane.pb`."""

OLD_RESULTS = (
    ".trace", ".tracetable", ".op_profile.json", ".input_pipeline.json", ".input_pipeline.pb", ".overview_page.json",
    ".overview_page.pb", ".memory_viewer.json", ".pod_viewer.json", ".tensorflow_stats.pb", ".kernel_stats.pb",
    ".memory_profile.json.gz", ".tf_data_bottleneck_analysis.json",
)  # fmt: skip
"""Suffixes of per-tool results that plugins wrote before 2025; they hold no profile to analyse."""


def host_and_kind(file_name: str) -> tuple[str, FileKind] | None:
    """The host and the kind of a profile file; None for any other file."""
    if file_name in ("xplane.pb", XPLANE):
        return NAMELESS_HOST, "xplane"
    if (trace := pytorch_trace(file_name)) is not None:
        return trace[0] or NAMELESS_HOST, "xplane"
    for ending in PROFILES:
        if file_name.endswith(ending):
            return file_name[: -len(ending)] or NAMELESS_HOST, "xplane"
    if file_name.endswith(TRACE_JSON) and file_name != TRACE_JSON:
        return file_name[: -len(TRACE_JSON)], "trace.json.gz"
    return None


def is_likely(file_name: str) -> bool:
    """Whether a file that no profiler names so may be a trace; its content tells."""
    named = file_name.endswith(_JSON) and _LIKELY.search(file_name) is not None and not is_xplane(file_name)
    return named or is_pickle(file_name)


def is_pickle(file_name: str) -> bool:
    """Whether a file may be a memory snapshot of PyTorch, which programs name as they like; its content tells."""
    return file_name.endswith(_PICKLES)


def likely_host(file_name: str) -> str:
    """The host of a file that a program has named itself."""
    name = file_name.removesuffix(".gz").removesuffix(".zst").removesuffix(".json").removesuffix(".trace")
    name = name.removesuffix(".pickle").removesuffix(".pkl")
    return name or NAMELESS_HOST


def is_capture(file_name: str) -> bool:
    """Whether the file is the trace of a capture of CUDA graphs, as vLLM, SGLang and xDiT name it."""
    return _CAPTURE.match(file_name) is not None


def rank_of(file_name: str) -> int | None:
    match = _RANK.search(file_name)
    return int(match[1]) if match else None


def pytorch_trace(file_name: str) -> tuple[str, int] | None:
    """The process that wrote a trace of PyTorch's profiler, and when (0 if the name does not tell); None for others."""
    if (match := _SGLANG.match(file_name)) is not None:
        return match["worker"], 0
    ending = next((ending for ending in PYTORCH if file_name.endswith(ending)), None)
    if ending is None:
        return None
    name = file_name[: -len(ending)]
    match = _PYTORCH_TIME.match(name)
    return (match["worker"], int(match["time"])) if match else (name, 0)


def is_xplane(file_name: str) -> bool:
    """Whether the file is a profile for all tools, which makes its directory a run."""
    profile = host_and_kind(file_name)
    return profile is not None and profile[1] == "xplane"


def is_relevant(file_name: str) -> bool:
    """Whether a file is a profile or explains why there is none; listings skip all other files."""
    named = host_and_kind(file_name) is not None or file_name.endswith(OLD_RESULTS)
    return named or is_capture(file_name) or is_likely(file_name)


def unique_name(base: str, taken: Iterable[str]) -> str:
    """`base`, or the first of `base (2)`, `base (3)`... that is not taken."""
    used = set(taken)
    name, count = base, 1
    while name in used:
        count += 1
        name = f"{base} ({count})"
    return name


MOST_PATTERN = 1000
"""Letters of a pattern of run names, whose time to be read grows with their square."""


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """The run names that a pattern as in a shell (`*`, `?`, `[...]`) matches; raises BadRequest for a long pattern."""
    if len(pattern) > MOST_PATTERN:
        message = f"A pattern of runs has {MOST_PATTERN:,} characters at most, not {len(pattern):,}."
        raise BadRequest(message, parameter="runs")
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]
