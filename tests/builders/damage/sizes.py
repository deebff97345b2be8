"""Sound profiles of absurd size or form: very many lines, planes, names, steps, levels."""

from __future__ import annotations

from collections.abc import Iterator

from builders.damage.wire import Case, event, line, named, number, plane, stat, text

_KEYS = [(1, "group_id"), (2, "step_num"), (3, "tf_op"), (4, "hlo_category"), (5, "program_id"), (6, "flow"), (7, "_r")]
_TPU, _GPU, _HOST = "/device:TPU:0", "/device:GPU:0", "/host:CPU"


def cases(many: int = 20_000) -> Iterator[Case]:
    """All kinds; `many` is how many there are of what there are many of."""
    yield from _lines(many)
    yield from _planes(many // 10)
    yield from of_names(many)
    yield from _events(many)
    yield from _texts(many)


def _lines(many: int) -> Iterator[Case]:
    one, two = event(1, 5, 9), event(2, 7, 3)
    metadata = [(1, named(1, "a")), (2, named(2, "b"))]
    for name in (_HOST, _TPU, _GPU, "/device:CUSTOM:x"):
        lines = (line(f"l{i}", [one, two], id=i) for i in range(many))
        yield Case(f"{many} lines of {name}", plane(name, lines, metadata, _KEYS))
    yield Case(f"{many} empty lines", plane(_TPU, (line("XLA Ops") for _ in range(many)), metadata, _KEYS))
    same = (line("XLA Ops", [one, two]) for _ in range(many))
    yield Case(f"{many} lines of one name and id", plane(_TPU, same, metadata, _KEYS))
    streams = (line(f"Stream #{i}(Kernel)", [event(1, i * 10, 9)], id=i) for i in range(many))
    yield Case(f"{many} streams", plane(_GPU, streams, metadata, _KEYS))
    names = [(i, named(i, f"name {i}")) for i in range(many)]
    lines = (line(f"l{i}", [event(i, i, 5)], id=i) for i in range(many))
    yield Case(f"{many} lines and names", plane(_HOST, lines, names, _KEYS))


def _planes(many: int) -> Iterator[Case]:
    metadata = [(1, named(1, "fusion.1"))]
    for kind in ("/device:TPU:", "/device:GPU:", "/host:CPU", "/device:CUSTOM:", "#Chip "):
        ops = line("XLA Ops", [event(1, 5, 9)])
        names = (f"{kind}{i}" if kind != "/host:CPU" else kind for i in range(many))
        yield Case(
            f"{many} planes {kind}", b"".join(plane(n, [ops], metadata, _KEYS, id=i) for i, n in enumerate(names))
        )
    yield Case(f"{many} planes of one id", plane(_TPU, [line("XLA Ops", [event(1, 5, 9)])], metadata) * many)
    yield Case(f"{many} empty planes", b"\x0a\x00" * many)


def of_names(many: int) -> Iterator[Case]:
    """Many different names, stats, steps, modules."""
    metadata = [
        (i, named(i, f"%fusion.{i} = f32[8] fusion()", stat(3, f"a/b{i}/c:d".encode()), stat(5, i)))
        for i in range(many)
    ]
    events = [event(i, i * 10, 9) for i in range(many)]
    for name, of in ((_TPU, "XLA Ops"), (_GPU, "Stream #1(Kernel)"), (_HOST, "main")):
        yield Case(f"{many} names of {name}", plane(name, [line(of, events)], metadata, _KEYS))
    keys = [(i, f"stat {i}") for i in range(many)]
    held = [event(1, i * 10, 9, stat(i, i)) for i in range(many)]
    yield Case(f"{many} stat names", plane(_HOST, [line("main", held)], [(1, named(1, "a"))], keys))
    yield Case(
        f"{many} stats of one event",
        plane(_HOST, [line("main", [event(1, 0, 9, *(stat(i, i) for i in range(many)))])], [(1, named(1, "a"))], keys),
    )
    yield Case(
        f"{many} plane stats",
        plane(_TPU, [line("XLA Ops", events[:9])], metadata[:9], keys, [stat(i, i) for i in range(many)]),
    )
    steps = [event(1, i * 100, 90, stat(1, i), stat(2, i), stat(7, 1)) for i in range(many)]
    one = [(1, named(1, "train"))]
    both = plane(_HOST, [line("main", steps)], one, _KEYS) + plane(
        _TPU, [line("Steps", steps), line("XLA Ops", steps)], one, _KEYS
    )
    yield Case(f"{many} steps", both)
    modules = [(i, named(i, f"jit_f({i})")) for i in range(many)]
    runs = [line("XLA Modules", events), line("XLA Ops", [event(i, i * 10, 9, stat(5, i)) for i in range(many)])]
    yield Case(f"{many} modules", plane(_TPU, runs, modules, _KEYS))


def _events(many: int) -> Iterator[Case]:
    one = [(1, named(1, "fusion.1", stat(3, b"a/b:c")))]
    nested = [event(1, i, 2 * (many - i)) for i in range(many)]
    staggered = [event(1, i, many + i) for i in range(many)]
    together = [event(1, 0, 5)] * many
    backwards = [event(1, many - i, 5) for i in range(many)]
    flows = [event(1, i * 10, 9, stat(6, i % 7, 3)) for i in range(many)]
    every = {
        "nested": nested,
        "overlapping": staggered,
        "at one moment": together,
        "backwards": backwards,
        "in flows": flows,
    }
    for name, events in every.items():
        lines = [line("XLA Ops", events), line("Steps", events, id=1), line("XLA Modules", events, id=2)]
        device = plane(_TPU, lines, one, _KEYS) + plane(_GPU, [line("Stream #1(Kernel)", events)], one, _KEYS)
        yield Case(
            f"{many} events {name}", device + plane(_HOST, [line("main", events), line("t", events, id=2)], one, _KEYS)
        )
    kinds = [(1, named(1, "MemoryAllocation")), (2, named(2, "MemoryDeallocation"))]
    keys = [(1, "allocation_bytes"), (2, "bytes_allocated"), (3, "addr"), (4, "requested_bytes"), (5, "index_on_host")]
    held = [
        event(i % 2 + 1, i, 0, stat(1, 9), stat(2, i), stat(3, i // 2), stat(4, 8), stat(5, i % 50))
        for i in range(many)
    ]
    yield Case(f"{many} allocations", plane(_HOST, [line("m", held)], kinds, keys))
    held = [event(1, i, 0, stat(1, 9), stat(2, i), stat(3, i // 2), stat(4, 8), stat(5, i)) for i in range(many)]
    yield Case(f"{many} allocators", plane(_HOST, [line("m", held)], kinds, keys))


def _texts(many: int) -> Iterator[Case]:
    path = b"/".join(b"s%d" % i for i in range(many))
    for name, of in (
        ("path", path),
        ("text", b"x" * (50 * many)),
        ("brackets", b"(" * many),
        ("quotes", b'"\\' * many),
        ("dots", b"::" * many),
    ):
        metadata = [(1, named(1, of, stat(3, of), stat(4, of))), (2, named(2, b"jit_f(" + of + b")"))]
        events = [event(1 + i % 2, i * 10, 9, stat(3, of)) for i in range(3)]
        lines = [line("XLA Ops", events), line("XLA Modules", events), line("Steps", events), line(of, events)]
        planes = b"".join(plane(n, lines, metadata, _KEYS) for n in (_TPU, _GPU, _HOST, b"/device:CUSTOM:" + of))
        yield Case(f"a {name} of {len(of)} bytes", planes)
    paths = [(i, named(i, f"op{i}", stat(3, b"/".join([b"d"] * (i % 200)) + b"/%d:t" % i))) for i in range(many // 10)]
    events = [event(i, i * 10, 9) for i in range(many // 10)]
    yield Case("deep paths", plane(_TPU, [line("XLA Ops", events)], paths, _KEYS))
    children = [(i, named(i, f"n{i}", more=number(6, (i + 1) % many))) for i in range(many)]
    yield Case("a ring of metadata", plane(_HOST, [line("m", [event(1, 0, 5)])], children, _KEYS))
    yield Case("messages", b"".join(text(2, "e" * 50) + text(3, "w" * 50) + text(4, "h" * 50) for _ in range(many)))
