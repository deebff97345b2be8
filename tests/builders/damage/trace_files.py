"""Damaged trace.json.gz files: the compression, the JSON, the values in it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

from builders.damage.wire import Case

SOUND = (
    b'{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":['
    b'{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},'
    b'{"ph":"M","pid":701,"tid":5,"name":"thread_name","args":{"name":"main"}},'
    b'{"ph":"X","pid":701,"tid":5,"ts":1.5,"dur":20,"name":"a","args":{"long_name":"aa","n":"7","x":1.25}},'
    b'{"ph":"B","pid":701,"tid":5,"ts":3,"name":"b"},{"ph":"E","pid":701,"tid":5,"ts":4},'
    b'{"ph":"C","pid":701,"ts":5,"name":"c","args":{"v":3}},{}]}'
)
_VALUES = (
    b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-1e999", b"9223372036854775807", b"-9223372036854775808",
    b"18446744073709551615", b"123456789012345678901234567890", b"1e-400", b"0x5", b'"x"', b'""', b'"1e999"', b"[]",
    b"{}",
    b'[[[[1]]]]', b'{"a":{"b":[null]}}', b'"\\ud800"', b'"\\u12"', b'"\xff\xfe"', b"-", b"1.2.3", b"1e", b"--5", b"00",
)  # fmt: skip


def _case(name: str, data: bytes) -> Case:
    return Case(f"trace: {name}", data, ".trace.json.gz")


def cases(many: int = 20_000) -> Iterator[Case]:
    """All kinds; `many` is how many or how deep."""
    yield from _compression(many)
    for i in range(0, len(SOUND), 9):
        yield _case(f"cut at {i}", gzip.compress(SOUND[:i], 1, mtime=0))
    for name in (b"ph", b"pid", b"tid", b"ts", b"dur", b"name", b"args"):
        parts = [
            b'{"ph":"X","pid":1,"tid":2,"ts":3,"dur":4,"name":"n","args":{},"%s":%s}' % (name, value)
            for value in _VALUES
        ]
        for value, part in zip(_VALUES, parts, strict=True):
            if value in (b"null", b"1e999", b"-1e999", b"[]", b'"x"', b"NaN", b"-"):
                yield _case(f"{name.decode()} is {value!r}", gzip.compress(b"[" + part + b"]", 1, mtime=0))
        yield _case(
            f"{name.decode()} is anything", gzip.compress(b'{"traceEvents":[' + b",".join(parts) + b"]}", 1, mtime=0)
        )
    args = b",".join(
        b'{"ph":"X","pid":1,"tid":2,"ts":3,"dur":4,"name":"n","args":{"a":%s}}' % value for value in _VALUES
    )
    yield _case("args are anything", gzip.compress(b"[" + args + b"]", 1, mtime=0))
    for name, text in {
        "nothing": b"",
        "a number": b"5",
        "an object": b"{}",
        "events that are none": b'{"traceEvents":5}',
        "events that are an object": b'{"traceEvents":{"ph":"X"}}',
        "events twice": SOUND[:-1] + b"," + SOUND[1:],
        "lists of lists": b'{"traceEvents":[[[]]]}',
        "no bracket": b"[" * many,
        "deep lists": b'{"a":' + b"[" * many + b"]" * many + b"}",
        "deep objects": b'{"a":' * many + b"1" + b"}" * many,
        "deep args": b'[{"ph":"X","args":{"a":' + b"[" * many + b"]" * many + b"}}]",
        "many begins": b"[" + b",".join([b'{"ph":"B","pid":1,"tid":1,"ts":1,"name":"a"}'] * many) + b"]",
        "many ends": b"[" + b",".join([b'{"ph":"E","pid":1,"tid":1,"ts":1}'] * many) + b"]",
        "many processes": b"["
        + b",".join(b'{"ph":"X","pid":%d,"ts":1,"dur":1,"name":"a"}' % i for i in range(many))
        + b"]",
        "many threads": b"[" + b",".join(b'{"ph":"X","pid":1,"tid":%d,"ts":1,"dur":1}' % i for i in range(many)) + b"]",
        "many counters": b"["
        + b",".join(b'{"ph":"C","pid":1,"ts":%d,"name":"c%d","args":{"v":1e400}}' % (i, i) for i in range(many))
        + b"]",
        "many keys": b'[{"ph":"X","pid":1,"tid":1,"ts":1,"args":{'
        + b",".join(b'"k%d":1' % i for i in range(many))
        + b"}}]",
        "backslashes": b'["' + b"\\" * (2 * many),
        "UTF-16": SOUND.decode().encode("utf-16"),
        "a mark in front": b"\xef\xbb\xbf" + SOUND,
        "zeros behind": SOUND + bytes(100),
        "names of other planes": b",".join(
            [
                b'[{"ph":"M","pid":-5,"name":"process_name","args":{"name":"/device:TPU:0"}}',
                b'{"ph":"X","pid":-5,"tid":-9,"ts":-3,"dur":-9,"name":"fusion"}]',
            ]
        ),
    }.items():
        yield _case(name, gzip.compress(text, 1, mtime=0))


def _compression(many: int) -> Iterator[Case]:
    whole = gzip.compress(SOUND, 6, mtime=0)
    for end in (
        0,
        1,
        2,
        9,
        10,
        11,
        30,
        len(whole) // 2,
        len(whole) - 9,
        len(whole) - 8,
        len(whole) - 4,
        len(whole) - 1,
    ):
        yield _case(f"file cut at {end}", whole[:end])
    for at in range(0, len(whole), 7):
        yield _case(f"file changed at {at}", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
    yield _case("not compressed", SOUND)
    yield _case("compressed twice", gzip.compress(whole, mtime=0))
    yield _case("two members", whole + whole)
    yield _case("garbage behind", whole + b"garbage" * 50)
    yield _case("a zlib stream", zlib.compress(SOUND))
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(
        [packer.compress(b"[" + b" " * (1 << 20))] + [packer.compress(b" " * (1 << 20)) for _ in range(many // 40)]
    )
    yield _case("bomb of spaces", bomb + packer.flush())
    packer = zlib.compressobj(9, wbits=31)
    same = b'{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a"},' * 1000
    parts = [packer.compress(b"[")] + [packer.compress(same) for _ in range(many // 40)]
    yield _case("bomb of events", b"".join(parts) + packer.compress(b"{}]") + packer.flush())
