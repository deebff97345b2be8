"""The parts of a step; their ids are stable."""

from __future__ import annotations

CATEGORIES = (
    *("compute", "exposed_communication", "exposed_copy", "idle_input", "idle_compile", "idle_host"),
    *("idle_transfer", "idle_launch", "idle_peer", "idle_other"),
)
(COMPUTE, EXPOSED_COMMUNICATION, EXPOSED_COPY, IDLE_INPUT, IDLE_COMPILE, IDLE_HOST, IDLE_TRANSFER, IDLE_LAUNCH,
 IDLE_PEER, IDLE_OTHER) = range(len(CATEGORIES))  # fmt: skip
