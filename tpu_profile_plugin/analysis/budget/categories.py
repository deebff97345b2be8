"""The parts of a step and the user documents' categories that they belong to; the ids are stable."""

from __future__ import annotations

from dataclasses import dataclass

CATEGORIES = (
    *("compute", "data_movement", "move_wait", "exposed_communication", "peer_transfer", "exposed_copy"),
    *("idle_input", "input_copy", "idle_compile", "idle_host", "idle_transfer", "output_copy"),
    *("idle_launch", "idle_peer", "idle_gap", "idle_other", "not_recorded"),
)
(COMPUTE, DATA_MOVEMENT, MOVE_WAIT, EXPOSED_COMMUNICATION, PEER_TRANSFER, EXPOSED_COPY, IDLE_INPUT, INPUT_COPY,
 IDLE_COMPILE, IDLE_HOST, IDLE_TRANSFER, OUTPUT_COPY, IDLE_LAUNCH, IDLE_PEER, IDLE_GAP, IDLE_OTHER,
 NOT_RECORDED) = PARTS = range(len(CATEGORIES))  # fmt: skip
BETWEEN, UNKNOWN = "between_steps", "not_recorded"
"""Ids of the time between the end of a step and the begin of the next, and of the part that no share counts."""


@dataclass(frozen=True, slots=True)
class Label:
    """Display name and explanation."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Group:
    """A category of the user documents and the ids of its parts, in the order of display."""

    id: str
    label: Label
    parts: tuple[str, ...]


LABELS = {
    "compute": Label("Ops", "Ops other than communication and copies, with the loops and calls around them."),
    "data_movement": Label("Data movement", "Copies within the device's own memory."),
    "move_wait": Label(
        "Waits for data movement",
        "The device waits for an asynchronous copy between its own memories (HBM and VMEM).",
    ),
    "exposed_communication": Label(
        "Exposed collectives", "Collectives while the device computes nothing, without waits for late devices."
    ),
    "peer_transfer": Label(
        "Sends, receives and peer copies", "Transfers between two devices while the device computes nothing."
    ),
    "exposed_copy": Label(
        "Host copies",
        "Copies between host and device memory inside programs, and copies of unknown direction, while the device "
        "computes nothing.",
    ),
    "idle_input": Label("Waits for input", "The device is idle while the host waits for input data or sends it."),
    "input_copy": Label("Copies to the device", "Copies of batches to the device while it computes nothing."),
    "idle_compile": Label(
        "Waits for compilation", "The device is idle while the host traces or compiles a program, or loads it."
    ),
    "idle_host": Label(
        "Waits for host code", "The device is idle, and one event of the main thread covers at least 80% of that time."
    ),
    "idle_transfer": Label(
        "Host waits for results",
        "The device is idle because the host waits for results and only then launches the next work.",
    ),
    "output_copy": Label("Copies to the host", "Copies of results to the host while the device computes nothing."),
    "idle_launch": Label("Waits for launches", "The host launches work, or work that was just launched has not begun."),
    "idle_peer": Label("Waits for late devices", "The device is in a collective that another device has not reached."),
    "idle_gap": Label(
        "Gaps between ops",
        "The device is idle between ops of a running program, or before work that is queued already.",
    ),
    "idle_other": Label("Unexplained", "No event tells why the device is idle."),
    "not_recorded": Label(
        "Not recorded",
        "The host launched work, but the recording has no event of it: whether the device was idle is unknown. "
        "Percentages leave this time out.",
    ),
}
"""By id of the part."""

GROUPS = (
    Group(
        "device_compute",
        Label("Device compute", "The device runs ops, or moves data within its own memory."),
        ("compute", "data_movement", "move_wait"),
    ),
    Group(
        "device_to_device",
        Label("Device to device", "Transfers between two devices that no computation hides."),
        ("peer_transfer",),
    ),
    Group(
        "collectives",
        Label("Collective communication", "Collectives that no computation hides, and waits for late devices."),
        ("exposed_communication", "idle_peer"),
    ),
    Group("host_compute", Label("Host compute", "The device is idle and waits for host code."), ("idle_host",)),
    Group("kernel_launch", Label("Kernel launch", "The device is idle until launched work begins."), ("idle_launch",)),
    Group(
        "input",
        Label("Input", "The device waits for input data or for its copy to the device."),
        ("idle_input", "input_copy"),
    ),
    Group(
        "output",
        Label("Output", "The device waits until the host has its results."),
        ("idle_transfer", "output_copy"),
    ),
    Group("compilation", Label("Compilation", "The device waits for compilation of a program."), ("idle_compile",)),
    Group(
        "other",
        Label("All others", "Host copies inside programs, gaps between ops, and idle time that no event explains."),
        ("exposed_copy", "idle_gap", "idle_other"),
    ),
    Group(
        UNKNOWN,
        Label("Not recorded", "Events of the device are missing. Percentages leave this time out."),
        (UNKNOWN,),
    ),
)
"""Every part belongs to one group."""
BETWEEN_LABEL = Label("Between steps", "From the end of a step to the begin of the next.")
GROUP_OF = {part: group.id for group in GROUPS for part in group.parts}


def label_of(name: str) -> Label:
    groups = {group.id: group.label for group in GROUPS}
    return BETWEEN_LABEL if name == BETWEEN else groups.get(name) or LABELS[name]


def members(group: str) -> tuple[int, ...]:
    """Indices in `CATEGORIES` of the parts of a group, or of the part with that id."""
    return tuple(CATEGORIES.index(part) for part, owner in GROUP_OF.items() if group in (part, owner))
