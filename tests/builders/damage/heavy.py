"""Profiles of at most 1 MB that take as long as any to read: names of 100 kB, and as much of everything as fits."""

from __future__ import annotations

from collections.abc import Iterator

from builders.damage import profiles, sizes
from builders.damage.wire import Case
from builders.messages import XSpace

MOST_BYTES = 1_000_000
LONG = 100_000
"""Bytes of a long text."""
PARTS = (
    *(
        ">",
        "<",
        ".",
        "/",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "%",
        "$",
        "#",
        "@",
        ":",
        ";",
        ",",
        "=",
        "-",
        "_",
        "+",
        "*",
        "|",
    ),
    *(
        " ",
        "\t",
        "\n",
        "\\",
        '"',
        "'",
        "`",
        "~",
        "^",
        "&",
        "?",
        "!",
        "a",
        "A",
        "0",
        "é",
        "\u202e",
        "\U0001f600",
        "\0",
        "\x1b",
    ),
    *(
        "a.",
        "a/",
        "::",
        "->",
        "a:1 ",
        "/a.py:",
        "%a.",
        "f32[",
        "1,",
        "a<",
        "a(",
        "()",
        "[]",
        "{}",
        "fusion.",
        "jit_",
        "//",
    ),
    *("a_0", "0x", "%a = f32[8] add(", "</a>", "](", "\n```\n", "$a.py:1 b ", "Iterator::", "metadata={", "=?"),
)
"""What a long text repeats."""
_STATS = ("tf_op", "source", "hlo_category", "long_name", "kernel_details", "source_stack", "iterator_name", "hlo_op")
_MANY = (20_000, 6_000, 2_000, 700)


def cases() -> Iterator[Case]:
    """All kinds."""
    for part in PARTS:
        yield Case(f"names of {part!r}", long_names(part * (LONG // len(part.encode()))))
    chosen: dict[int, Case] = {}
    for many in _MANY:
        for index, case in enumerate(sizes.cases(many)):
            if index not in chosen and len(case.data) <= MOST_BYTES and not case.others:
                chosen[index] = case
    yield from chosen.values()


def long_names(text: str) -> bytes:
    """The small profile with a long text as the name of an op, of a call of a host and of a line, and in stats."""
    space = XSpace.FromString(profiles.rich())
    left = dict.fromkeys(("device", "host", "line", "plane", *_STATS), 1)

    def once(what: str) -> bool:
        left[what] = left.get(what, 0) - 1
        return left[what] == 0

    for plane in space.planes:
        used = {event.metadata_id for line in plane.lines for event in line.events}
        kind = "device" if "/device:" in plane.name else "host"
        keys = {key: meta.name for key, meta in plane.stat_metadata.items()}
        for key, meta in plane.event_metadata.items():
            if key in used and "Step" not in meta.name and meta.name.strip("0123456789") and once(kind):
                meta.name = f"{meta.name} {text}" if kind == "host" else text
            _lengthen(meta.stats, keys, text, once)
        for line in plane.lines:
            for event in line.events:
                _lengthen(event.stats, keys, text, once)
        if kind == "host" and plane.lines and once("line"):
            plane.lines[-1].display_name = text
    return bytes(space.SerializeToString())[:MOST_BYTES]


def _lengthen(stats, keys, text, once) -> None:  # type: ignore[no-untyped-def]
    for stat in stats:
        name = keys.get(stat.metadata_id, "")
        if name in _STATS and stat.WhichOneof("value") in ("str_value", "ref_value") and once(name):
            stat.str_value = text
