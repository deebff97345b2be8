"""Devices wait for uploads in every step, and nothing hides them.

Fires if uploads take at least {UPLOAD_SHARE:.0%} of the time from step to step while the device computes nothing, and
at least {UPLOAD_STEPS:.0%} of no fewer than {UPLOADS_SEEN} steps have some. No profile records whether the data is the
same each time.

Send data that does not change once, before the loop; send new data during the step before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import members
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.op_names import MEMCPY_H2D, memcpy_kind
from tpu_profile_plugin.analysis.common.planes import on_recorded_line, rows_named, spans_at
from tpu_profile_plugin.analysis.common.reasons import FEW_STEPS, NO_DEVICE
from tpu_profile_plugin.analysis.common.rows import no_rows, sums_by
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, subtract, times_of
from tpu_profile_plugin.analysis.devices.model import Device, Work
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import event, shown
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.shapes import byte_size, is_tuple, type_name
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.units import MIB, PS_PER_MS, PS_PER_S

UPLOAD_SHARE = 0.10
"""Uploads, as a share of the step: below it, hiding them gains less than a tenth."""
UPLOAD_STEPS = 0.80
"""Least share of the steps with uploads: with fewer, they are no part of what every step does."""
UPLOADS_SEEN = 3
"""Fewer steps do not show a repetition."""
SLOWEST_UPLOAD = 200_000_000
"""Bytes per second: copies are faster, so fewer bytes cannot be the cause of the time."""
SAME_SIZE = 0.01
"""Largest deviation from the median number of bytes that counts as the same size."""

_INFEED = re.compile(r"[Ii]nfeed")
_SIZE = re.compile(r"(?:^|\s)size:(\d+)")

ADVICE = PARTS["repeated transfer"]

NEW_DATA = PARTS["transfer of new data"]


def of_its_own(host: HostView) -> HostLoss | None:
    """The uploads of a host if they are a finding of their own."""
    sent, least = gather(host), UPLOAD_SHARE * host.time.base_ps * host.time.cells
    enough = len(host.time) >= UPLOADS_SEEN and host.per == "step"
    return sent if sent is not None and enough and not sent.harmless and sent.ps >= least else None


@once
def gather(host: HostView) -> HostLoss | None:
    """The uploads of a host; None if the budget alone tells that they take less than `UPLOAD_SHARE` of the steps."""
    steps, time = host.steps, host.time
    if steps is None or time.share("input") < UPLOAD_SHARE:
        return None
    begin, end, name = _host_events(host)
    exposed, by_step = zip(*(_exposed(host, steps, i, begin, end) for i in range(len(host.devices))), strict=True)
    by_part = host.by_part(exposed, members("input"))
    if by_part.sum() < UPLOAD_SHARE * time.base_ps * time.cells:
        return HostLoss(by_part, "", (), ADVICE)
    columns = (np.where(time.takes_part, np.column_stack(column), 0) for column in zip(*by_step, strict=True))
    shows, sizes, copies = columns
    devices, most = time.takes_part.sum(axis=1), int(shows.sum(axis=1).argmax())
    ps, size, copied = shows.sum(axis=1) // devices, sizes.sum(axis=1) / devices, copies.max(axis=1)
    window = int(steps.begin_ps[most].min()), int(steps.end_ps[most].max())
    longest, begins = _longest(host, steps, begin, end, name)
    # Copies of GPUs, else events of the host, else one in each step with some.
    count = copied if copied.any() else _counts(begins, steps) if len(begins) else (ps > 0).astype(np.int64)
    often, length_ps, middle = float(np.mean(count > 0)), float(np.median(ps)), float(np.median(size))
    evidence = [
        Evidence(f"Steps with uploads, of {len(count)}", int(np.count_nonzero(count))),
        Evidence("Uploads per step, median", int(np.median(count))),
        Evidence("Median of the steps' uploads", length_ps / PS_PER_MS, "ms"),
    ]
    if size.any():
        evidence.append(Evidence("Sent per step and device", middle / MIB, "MiB"))
    function, arguments = calls_of(host).calling(begins), _arguments(host)
    what = f", in {shown(function)}" if function else ""
    if arguments:
        named, of_each = _named(arguments[0]), [byte_size(one.shape) for one in arguments]
        evidence.append(Evidence("Largest argument of the program", named))
        evidence.append(Evidence("Size of this argument", of_each[0] / MIB, "MiB"))
        evidence.append(Evidence("Arrays that the program takes", len(arguments)))
        # The others are too small for the upload to be theirs.
        if not what and sum(of_each[1:]) <= SLOWEST_UPLOAD * length_ps / PS_PER_S:
            what = f": {named}"
    names = (("Function", function), ("Event", longest))
    evidence += [event(label, host.name, window, one) for label, one in names if one]
    new = size.any() and np.mean(np.abs(size - middle) <= SAME_SIZE * middle) < UPLOAD_STEPS
    rarely = f"Exposed uploads take {{share}} of the {{base}}, in {often:.0%} of the steps."
    harmless = rarely if often < UPLOAD_STEPS else ""
    return HostLoss(by_part, what, tuple(evidence), NEW_DATA if new else ADVICE, harmless=harmless)


def _exposed(
    host: HostView, steps: StepWindows, number: int, begin: I64, end: I64
) -> tuple[Times, tuple[I64, F64, I64]]:
    """When uploads of the host, or a device's own copies, are not hidden by what it computes.

    And per step how long they are, and bytes and number of its own copies.
    """
    device, window = host.devices[number], (steps.begin_ps[:, number], steps.end_ps[:, number])
    rows, size = _copies(host.space, device)
    runs = device.runs.where(rows)
    exposed = subtract(times_of(np.append(begin, runs.begin_ps), np.append(end, runs.end_ps)), device.compute())
    step = np.searchsorted(window[0], runs.begin_ps, side="right") - 1
    inside = (step >= 0) & (runs.begin_ps < window[1][np.maximum(step, 0)])
    sent = np.asarray(sums_by(step[inside], size[inside], len(steps)), np.float64)
    return exposed, (covered_within(*exposed, *window), sent, np.bincount(step[inside], minlength=len(steps)))


def _longest(host: HostView, steps: StepWindows, begin: I64, end: I64, name: I64) -> tuple[str, I64]:
    """The event of the host with most time in the steps, not counting frames of Python, and its begins, ascending."""
    names = host.plane.event_metadata.names if len(name) and host.plane is not None else ()
    event = np.array([not one.startswith("$") for one in names], np.bool_)[name]
    in_steps = covered_within(*times_of(steps.begin_ps[:, 0], steps.end_ps[:, 0]), begin, end)
    sums = sums_by(name[event], in_steps[event], len(names))
    if not sums.any():
        return "", no_rows()
    longest = int(sums.argmax())
    return names[longest], np.sort(begin[name == longest])


def _copies(space: XSpace, device: Device) -> tuple[I64, F64]:
    """The runs that copy from the host to the device, and their bytes."""
    wanted = np.array(
        [one.work in (Work.UPLOAD, Work.COPY) and memcpy_kind(one.name, short=True) == MEMCPY_H2D for one in device.ops]
    )
    rows = np.flatnonzero(wanted[device.runs.op]) if wanted.any() else np.zeros(0, np.int64)
    if not len(rows):
        return rows, np.zeros(0)
    plane = next(plane for plane in space.planes if plane.index == device.plane)
    code, texts = read.strings(space, plane, plane.events.stats, "memcpy_details")
    sizes = [float(match[1]) if (match := _SIZE.search(text)) else 0.0 for text in texts]
    details = code[device.runs.event[rows]]
    return rows, np.where(details >= 0, np.array([*sizes, 0.0])[details], 0.0)


def _host_events(host: HostView) -> tuple[I64, I64, I64]:
    """Begin, end and name of the host's uploads."""
    plane = host.plane
    none = np.zeros(0, np.int64)
    if plane is None or not any(map(_is_upload, plane.declared.event_metadata.names)):
        return none, none, none
    rows = np.flatnonzero(rows_named(plane, _is_upload)[plane.events.metadata] & on_recorded_line(plane))
    return *spans_at(plane, rows), plane.events.metadata[rows].astype(np.int64)


def _is_upload(name: str) -> bool:
    return activity(name) == Activity.UPLOAD and not _INFEED.search(name)


def _counts(begin: I64, steps: StepWindows) -> I64:
    """How many events begin in each step; dispatch steps do not show when one does, so that each has its part."""
    if steps.source == "dispatch":
        return np.diff(len(begin) * np.arange(len(steps) + 1) // len(steps))
    since, until = np.searchsorted(begin, steps.begin_ps[:, 0]), np.searchsorted(begin, steps.end_ps[:, 0])
    return (until - since).astype(np.int64)


def _arguments(host: HostView) -> list[Instruction]:
    """The arrays that the program with most time on the first device takes, the largest first."""
    device = host.devices[0]
    time = sums_by(device.runs.op, device.runs.end_ps - device.runs.begin_ps, len(device.ops))
    sums = Counter[int]()
    for op, ps in zip(device.ops, time.tolist(), strict=True):
        sums[op.program] += ps
    rows = next(filter(None, (host.hlo.rows(number) for number, _ in sums.most_common())), None)
    arguments = [] if rows is None else [rows.instruction(row) for row in rows.arguments()]
    return sorted((one for one in arguments if not is_tuple(one.shape)), key=lambda one: -byte_size(one.shape))


def _named(argument: Instruction) -> str:
    """Type, shape and name of an argument in the program's source."""
    sizes = ",".join(map(str, argument.shape.dimensions))
    return f"{type_name(argument.shape.element_type)}[{sizes}] {argument.metadata.op_name}".rstrip()


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the uploads of all hosts."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    if run.steps < UPLOADS_SEEN or run.whole_recording:
        return lacks(FEW_STEPS, f"Fewer than {UPLOADS_SEEN} steps recorded.")
    return verdict(
        run,
        gathered,
        title="{share} of the {base} waits for uploads that nothing hides{what}",
        label="Exposed uploads",
        formula="time of uploads while the device computes nothing, per step and device",
        nothing=f"Input takes less than {UPLOAD_SHARE:.0%} of the {{base}}.",
        little="Exposed uploads take {share} of the {base}.",
        least=UPLOAD_SHARE,
        group="input",
    )


RULE = Rule("repeated_transfer", "Uploads that nothing hides", judge, gather)
