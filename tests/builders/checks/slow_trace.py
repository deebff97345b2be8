"""A slow second implementation of the trace viewer's event selection, event by event as the rules are stated."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

WORD = 1 << 64
LEVELS = [10**power for power in range(12, -1, -1)]


@dataclass(frozen=True)
class Event:
    """An interval on a track; flow is (id, direction: 1 end, 2 start, 3 middle) or None."""

    track: int
    begin: int
    duration: int
    name: int
    flow: tuple[int, int] | None = None

    @property
    def end(self) -> int:
        """Begin plus duration."""
        return self.begin + self.duration


class Visibility:
    """The events shown so far at one resolution."""

    def __init__(self, resolution: int) -> None:
        self.resolution = resolution
        self.ends: dict[int, list[int]] = defaultdict(list)
        self.flows: dict[int, bool] = {}
        self.last_flow_end: dict[int, int] = {}

    def depth(self, event: Event) -> int:
        """The number of leading ends after the event's begin."""
        depth = 0
        for end in self.ends[event.track]:
            if end <= event.begin:
                break
            depth += 1
        return depth

    def own_rule(self, event: Event) -> bool:
        """Long, first at its depth, or far from the last one there."""
        ends, depth = self.ends[event.track], self.depth(event)
        return event.duration >= self.resolution or depth == len(ends) or event.begin - ends[depth] >= self.resolution

    def test(self, event: Event) -> bool:
        """Whether the event is shown; the first event of a flow decides for the whole flow."""
        shown = self.own_rule(event)
        if event.flow:
            flow, direction = event.flow
            if flow not in self.flows:
                last = self.last_flow_end.get(event.track)
                self.flows[flow] = shown or last is None or (event.end - last) % WORD >= self.resolution
            shown = shown or self.flows[flow]
            if direction == 1:
                del self.flows[flow]
        if shown:
            self.update(event)
        return shown

    def mark(self, event: Event) -> None:
        """Marks the event as shown."""
        if event.flow:
            flow, direction = event.flow
            if direction == 1:
                self.flows.pop(flow, None)
            else:
                self.flows.setdefault(flow, True)
        self.update(event)

    def update(self, event: Event) -> None:
        """Records the event's end."""
        depth = self.depth(event)
        self.ends[event.track][depth:] = [event.end]
        if event.flow:
            self.last_flow_end[event.track] = event.end


def levels(events: list[Event]) -> list[int]:
    """The stored level of each event; events are in order."""
    states = [Visibility(resolution) for resolution in LEVELS[:-1]]
    flows: list[dict[int, bool]] = [{} for _ in states]
    for event in events:
        if not event.flow:
            continue
        found = None
        for level, state in enumerate(states):
            if found is not None:
                state.mark(event)
                flows[level].setdefault(event.flow[0], True)
                continue
            shown = state.test(event)
            flows[level].setdefault(event.flow[0], shown)
            if shown:
                found = level
    states = [Visibility(resolution) for resolution in LEVELS[:-1]]
    result = []
    for event in events:
        found = len(LEVELS) - 1
        for level, state in enumerate(states):
            if found < level:
                state.mark(plain(event))
            elif event.flow:
                if flows[level][event.flow[0]] or event.duration >= LEVELS[level]:
                    found = level
                    state.mark(plain(event))
            elif state.test(event):
                found = level
        result.append(found)
    return result


def plain(event: Event) -> Event:
    """The interval without its flow."""
    return Event(event.track, event.begin, event.duration, event.name)


def select(events: list[Event], begin: int, end: int, resolution: int) -> list[Event]:
    """The events of a window that are shown at a resolution."""
    inside = [event.end >= begin and event.begin <= end for event in events]
    if resolution == 0:
        return [event for event, kept in zip(events, inside, strict=True) if kept]
    deepest = next((level for level, step in enumerate(LEVELS) if step <= resolution), len(LEVELS) - 1)
    state = Visibility(resolution)
    stored = zip(events, levels(events), inside, strict=True)
    return [event for event, level, kept in stored if kept and level <= deepest and state.test(event)]
