"""Random profiles: the parts of every step add up to it, and agree with a slow computation point by point."""

from __future__ import annotations

from collections import defaultdict, deque

import pytest
from builders.computed import budget
from builders.fuzzing.random_devices import HOST_EVENTS, call_length, random_profile, role, text_of
from builders.rings import many

from tpu_profile_plugin.analysis.budget import budget as module
from tpu_profile_plugin.analysis.budget import idle
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, PARTS

PROFILES, BLOCKS = many(200, 1000), 10
LATENCY = 4
COPIES = {"upload": "input_copy", "download": "output_copy", "peer_copy": "peer_transfer"}


class Slow:
    """The parts of one device's time, point by point."""

    def __init__(self, one, number):
        self.one, self.ops = one, one.devices[number]
        self.windows, self.local = self._windows("7"), self._windows("8")
        self.talks = [(b, e) for name, b, e in self.ops if role(name) == "communication"]
        self.waits = self._waits(number)
        self.programs = one.programs[number]
        if one.kind == "cpu":
            self.programs = [(min(op[1] for op in self.ops), max(op[2] for op in self.ops), 5)]
        starts = sorted((b, k, "") for b, _, k in self.programs) if one.kind == "tpu" else []
        if one.kind == "cpu":
            # The devices run the same program; to the host it is launched when the first of them begins.
            one.launches[5] = min(op[1] for ops in one.devices for op in ops)
            starts = [(self.programs[0][0], 5, "")]
        if one.kind == "gpu":
            starts = [(op[1], key, role(op[0])) for op, key in zip(self.ops, one.keys[number], strict=True)]
        self.launch = {}
        for at, key, kind in starts:
            call = (one.launches[key], self._called(key), kind) if key in one.launches else (None, None, "")
            self.launch.setdefault(at, call)

    def _called(self, key):
        """When the call of a launch ends; of the CPU it is the first op itself."""
        if self.one.kind != "cpu":
            return self.one.launches[key] + call_length(key)
        return next(e for ops in self.one.devices for _, b, e in ops if b == self.one.launches[5])

    def _windows(self, number):
        waiting, found = deque(), []
        for name, begin, end in self.ops if self.one.kind == "tpu" else ():
            if name == f"copy-start.{number}":
                waiting.append(begin)
            elif name == f"copy-done.{number}" and waiting:
                found.append((waiting.popleft(), end))
        return found

    def _waits(self, number):
        runs = defaultdict(list)
        for device, ops in enumerate(self.one.devices):
            seen = defaultdict(int)
            for name, begin, end in ops:
                if role(name) == "communication":
                    runs[name, seen[name]].append((device, begin, end))
                    seen[name] += 1
        waits = []
        for (name, _), found in runs.items():
            last = max(begin for _, begin, _ in found)
            if name == "send.5" and self.one.kind == "tpu":
                last = 0  # on TPUs only the send's done, which is missing here, waits for the other device
            waits += [(begin, max(begin, min(last, end)), end) for device, begin, end in found if device == number]
        return waits

    def at(self, t):
        """The category of a point; None while idle."""
        now = {role(name) for name, begin, end in self.ops if begin <= t < end}
        if "compute" in now:
            return "compute"
        if "move" in now:
            return "data_movement"
        if "communication" in now:
            talks = {name for name, begin, end in self.ops if begin <= t < end and role(name) == "communication"}
            if not any(active <= t < end for _, active, end in self.waits):
                return "idle_peer"
            return "peer_transfer" if talks == {"send.5"} else "exposed_communication"
        if "input" in now:
            return "idle_input"
        if "output" in now:
            return "idle_transfer"
        for copy, category in COPIES.items():
            if copy in now:
                return category
        if "copy" in now or any(begin <= t < end for begin, end in self.windows):
            return "exposed_copy"
        if "move_wait" in now or any(begin <= t < end for begin, end in self.local):
            return "move_wait"
        return "compute" if "control" in now else None

    def parts(self, since, until, marker):
        """Category of every point between first and last step; events named `marker` are the steps."""
        found = {t: self.at(t) for t in range(since, until)}
        unused = [t for t, category in found.items() if category is None]
        found.update(dict.fromkeys(unused, "idle_other"))
        inside = set() if self.one.kind == "gpu" else {t for b, e, _ in self.programs for t in range(b, e)}
        found.update(dict.fromkeys(inside.intersection(unused), "idle_gap"))
        rest = []
        for gap in runs_of([t for t in unused if t not in inside]):
            launched, called, kind = self.launch.get(gap[-1] + 1, (None, None, ""))
            blocked = self.main_does(gap[0], "transfer") and (launched is None or launched > gap[0])
            for t in gap:
                if launched is not None and t >= launched:
                    found[t] = "idle_gap"
                    if self.one.kind == "cpu" and self.others_work(t):
                        continue  # waits for a core
                    alone = launched >= gap[0]
                    if self.anyone_does(t, "upload") or (kind == "upload" and t < called):
                        found[t] = "idle_input"
                    elif kind == "download" and self.fetches(t):
                        found[t] = "idle_transfer"
                    elif t < max(called, max(launched, gap[0]) + LATENCY):
                        found[t] = found[t] if not alone else "idle_transfer" if blocked else "idle_launch"
                    elif self.fetches(t):
                        found[t] = "idle_transfer"
                elif self.anyone_does(t, "compile"):
                    found[t] = "idle_compile"
                elif self.anyone_does(t, "upload"):
                    found[t] = "idle_input"
                elif self.fetches(t):
                    found[t] = "idle_transfer"
                elif self.main_does(t, "input"):
                    found[t] = "idle_input"
                elif self.main_does(t, "launch"):
                    found[t] = "idle_transfer" if blocked else "idle_launch"
                else:
                    rest.append(t)
        for piece in runs_of(rest):
            covered = [
                sum(b <= t < e for t in piece)
                for n, b, e in self.one.main
                if HOST_EVENTS[n] and n != marker and not (b <= since and e >= until)
            ]
            if any(count >= 0.8 * len(piece) for count in covered):
                found.update(dict.fromkeys(piece, "idle_host"))
        return found

    def fetches(self, t):
        """Whether the host waits for results."""
        calls = [(begin, end) for begin, end, kind in self.launch.values() if kind == "download"]
        return self.main_does(t, "transfer") or any(begin <= t < end for begin, end in calls)

    def others_work(self, t):
        return any(b <= t < e for ops in self.one.devices if ops is not self.ops for _, b, e in ops)

    def anyone_does(self, t, what):
        return any(
            HOST_EVENTS[name] == what and begin <= t < end for name, begin, end in self.one.main + self.one.other
        )

    def main_does(self, t, what):
        return any(HOST_EVENTS[name] == what and begin <= t < end for name, begin, end in self.one.main)


def runs_of(points):
    """Successive points, split where some are missing."""
    found = []
    for t in points:
        if found and found[-1][-1] == t - 1:
            found[-1].append(t)
        else:
            found.append([t])
    return found


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_parts_of_random_profiles_add_up(block, monkeypatch):
    monkeypatch.setattr(module, "LEAST_IDLE", -1)
    monkeypatch.setattr(module, "LEAST_UNNAMED", -1)
    monkeypatch.setattr(idle, "LAUNCH_PS", LATENCY)
    seen = set()
    for seed in range(block * PROFILES // BLOCKS, (block + 1) * PROFILES // BLOCKS):
        one = random_profile(seed)
        found = budget(text_of(one))
        begin, end = found.steps.begin_ps, found.steps.end_ps
        assert found.time_ps.sum().tolist() == (end - begin).tolist(), seed
        assert found.between_time_ps.sum(axis=1).tolist() == found.between_ps.tolist(), seed
        since, until = int(begin.min()), int(end.max())
        inferred = found.steps.evidence.event if found.steps.evidence else ""
        marker = "" if inferred.startswith("$") else inferred  # a function is a cause as well
        for number in range(len(one.devices)):
            points = Slow(one, number).parts(since, until, marker)
            for step in range(len(found.steps)):
                window = range(int(begin[step, number]), int(end[step, number]))
                expected = [sum(points[t] == category for t in window) for category in CATEGORIES]
                assert found.time_ps.stacked(PARTS)[step, number].tolist() == expected, (seed, one.kind, number, step)
                seen |= {category for category, ps in zip(CATEGORIES, expected, strict=True) if ps}
    assert seen == set(CATEGORIES) - {"not_recorded"}
