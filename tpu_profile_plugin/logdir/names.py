"""File names in a session directory, and run names."""

from __future__ import annotations

from collections.abc import Iterable

from tpu_profile_plugin.logdir.model import FileKind
from tpu_profile_plugin.suffixes import RIEGELI as RIEGELI
from tpu_profile_plugin.suffixes import TRACE_JSON as TRACE_JSON
from tpu_profile_plugin.suffixes import XPLANE as XPLANE
from tpu_profile_plugin.system.paths import printable as printable

PYTORCH_TRACES = (".pt.trace.json", ".pt.trace.json.gz")
"""Endings of the Chrome traces that PyTorch's own profiler writes; the timeline reads the compressed ones."""

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
    for ending in (XPLANE, RIEGELI):
        if file_name.endswith(ending):
            return file_name[: -len(ending)] or NAMELESS_HOST, "xplane"
    if file_name.endswith(TRACE_JSON) and file_name != TRACE_JSON:
        return file_name[: -len(TRACE_JSON)].removesuffix(".pt"), "trace.json.gz"
    return None


def is_xplane(file_name: str) -> bool:
    """Whether the file holds XSpaces, which makes its directory a run."""
    return file_name.endswith((XPLANE, RIEGELI)) or file_name == "xplane.pb"


def is_relevant(file_name: str) -> bool:
    """Whether a file is a profile or explains why there is none; listings skip all other files."""
    return host_and_kind(file_name) is not None or file_name.endswith((*PYTORCH_TRACES, *OLD_RESULTS))


def unique_name(base: str, taken: Iterable[str]) -> str:
    """`base`, or the first of `base (2)`, `base (3)`... that is not taken."""
    used = set(taken)
    name, count = base, 1
    while name in used:
        count += 1
        name = f"{base} ({count})"
    return name
