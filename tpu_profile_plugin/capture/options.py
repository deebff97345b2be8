"""The options of a capture: duration, levels, retries, and options that are passed through to the profiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.units import MS_PER_S

SEVERAL_DELAY_MS = 3000
"""Default delay for several workers: they start together, late enough for every request to arrive first."""

MAX_DURATION_MS = 3_600_000
DEVICE_TYPES = ("unspecified", "cpu", "gpu", "tpu", "pluggable_device")
"""Values of ProfileOptions.DeviceType in lower case."""

# The tools in XProf's request; current servers ignore them, old ones need them.
TOOLS = (
    "trace_viewer", "op_profile", "input_pipeline", "kernel_stats", "memory_viewer", "memory_profile", "overview_page",
    "pod_viewer", "tensorflow_stats", "xplane.pb",
)  # fmt: skip
MAX_EVENTS = 1_000_000


@dataclass(frozen=True)
class CaptureOptions:
    """How to capture; see `docs/user/capture.md`.

    Attributes:
      duration_ms: length of the recording.
      host_tracer_level: 0 off, 1 critical, 2 info, 3 verbose.
      device_tracer_level: 0 off, 1 on.
      python_tracer_level: 0 off, 1 on.
      retries: further attempts for a worker that was busy, could not be reached or recorded nothing.
      delay_ms: wait before recording; None: 0 for one worker, 3000 for several.
      include_dataset_ops: record tf.data operations.
      enable_hlo_proto: include the HLO modules; memory, graph and roofline tools need them.
      device_type: unspecified, cpu, gpu, tpu or pluggable_device.
      host_traceme_filter_mask: bit mask of kinds of host events to record; None: not sent.
      session_id: name of the session; None: the local time.
      max_bytes: larger profiles are rejected.
      advanced: further options of the profiler (`tpu_...`, `gpu_...`), passed through unchanged.
    """

    duration_ms: int = 1000
    host_tracer_level: int = 2
    device_tracer_level: int = 1
    python_tracer_level: int = 0
    retries: int = 0
    delay_ms: int | None = None
    include_dataset_ops: bool = True
    enable_hlo_proto: bool = True
    device_type: str = "unspecified"
    host_traceme_filter_mask: int | None = None
    session_id: str | None = None
    max_bytes: int = (1 << 31) - 1
    advanced: Mapping[str, str | bool | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _within("duration_ms", self.duration_ms, 1, MAX_DURATION_MS)
        _within("host_tracer_level", self.host_tracer_level, 0, 3)
        _within("device_tracer_level", self.device_tracer_level, 0, 3)
        _within("python_tracer_level", self.python_tracer_level, 0, 1)
        _within("retries", self.retries, 0, 20)
        if self.delay_ms is not None:
            _within("delay_ms", self.delay_ms, 0, MAX_DURATION_MS)
        if self.device_type.lower() not in DEVICE_TYPES:
            raise _refused("device_type", self.device_type, "one of " + ", ".join(DEVICE_TYPES))

    def delay_for(self, workers: int) -> int:
        """The delay in ms for this many workers."""
        return self.delay_ms if self.delay_ms is not None else SEVERAL_DELAY_MS if workers > 1 else 0

    def attempt_seconds(self, workers: int) -> float:
        """The deadline of one attempt: the delay, and twice the duration or a minute, whichever is longer."""
        return self.delay_for(workers) / MS_PER_S + max(60.0, 2 * self.duration_ms / MS_PER_S)


OPTION_NAMES = frozenset(item.name for item in fields(CaptureOptions))


def options_from(values: Mapping[str, Any]) -> CaptureOptions:
    """Options from JSON or a query string; unknown names are ignored. Raises BadRequest."""
    options = CaptureOptions()
    given: dict[str, Any] = {}
    advanced: dict[str, str | bool | int] = {}
    for name, value in values.items():
        if value is None or value == "":
            continue
        if name == "advanced":
            if not isinstance(value, Mapping):
                raise _refused(name, value, "an object of names and values")
            advanced |= {str(key): advanced_value(item) for key, item in value.items() if str(key).strip()}
        elif name in OPTION_NAMES:
            given[name] = _read(name, value)
    # The dialog's free-form rows may contain options of `CaptureOptions` as well.
    for name in list(advanced):
        if name in OPTION_NAMES - {"advanced"}:
            given.setdefault(name, _read(name, advanced.pop(name)))
    return replace(options, **given, advanced=advanced)


def split_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments in the form of `options_from`: names that are none of ours are for the profiler."""
    ours = {name: value for name, value in options.items() if name in OPTION_NAMES}
    rest = {name: value for name, value in options.items() if name not in OPTION_NAMES}
    return {**ours, "advanced": rest | dict(options.get("advanced") or {})}


def advanced_value(value: Any) -> str | bool | int:
    """A value for the profiler: "true" and "false" as bool, 64-bit integers as int, else text."""
    if isinstance(value, bool | int):
        return value
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        number = int(text)
    except ValueError:
        return text
    return number if -(1 << 63) <= number < 1 << 63 else text


def _read(name: str, value: Any) -> Any:
    if name in ("include_dataset_ops", "enable_hlo_proto"):
        return str(value).strip().lower() in ("true", "1")
    if name in ("device_type", "session_id"):
        return str(value).strip()
    return as_integer(name, value)


def as_integer(name: str, value: Any) -> int:
    """The value as an int; raises BadRequest that names the parameter."""
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise _refused(name, value, "a whole number")
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise _refused(name, value, "a whole number") from None


def _within(name: str, value: int, lowest: int, highest: int) -> None:
    if not lowest <= value <= highest:
        raise _refused(name, value, f"from {lowest} to {highest}")


def _refused(name: str, value: object, expected: str) -> BadRequest:
    return BadRequest(f"{name} must be {expected}, not {str(value)[:60]!r}.", parameter=name, value=str(value)[:60])
