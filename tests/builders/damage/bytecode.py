"""Changed MLIR bytecode: bytes set, inserted, removed, repeated or taken from another file."""

from __future__ import annotations

import base64
import json
import random
import time
from pathlib import Path

from tpu_profile_plugin.analysis.hlo.mlir import Unreadable, generic_text, summary

LIMIT_S = 10.0
LONGEST = 1 << 27
_STORED = Path(__file__).parents[2] / "golden" / "mlir" / "modules.json"


def files() -> list[bytes]:
    """The modules of the golden files."""
    return [base64.b64decode(data) for data, _ in json.loads(_STORED.read_text()).values()]


def changed(originals: list[bytes], rng: random.Random) -> bytes:
    """One of the files with a few changes; often in its first bytes, where its tables are."""
    out = bytearray(rng.choice(originals))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 20))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(6):
            case 0 | 1:
                out[at : at + 1] = bytes([rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))])
            case 2:
                out[at:at] = rng.randbytes(rng.choice((1, 1, 2, 9)))
            case 3:
                del out[at : at + rng.choice((1, 1, 2, 9, 100))]
            case 4:
                out[at:at] = bytes(out[at : at + rng.randrange(1, 60)]) * rng.choice((1, 2, 50))
            case 5:
                other = rng.choice(originals)
                begin = rng.randrange(len(other))
                out[at : at + 20] = other[begin : begin + rng.randrange(1, 80)]
    return bytes(out[: rng.randrange(len(out) + 1)] if rng.random() < 0.05 else out)


def complaint(data: bytes) -> tuple[str, bool]:
    """What is wrong with how the bytes are read ("" if nothing), and whether they are read at all."""
    begun, readable = time.process_time(), False
    try:
        text = generic_text(data)
        readable = True
    except Unreadable:
        text = ""
    except Exception as error:  # what is searched for
        return repr(error), False
    try:
        text += summary(data)
    except Unreadable:
        pass
    except Exception as error:
        return f"summary: {error!r}", readable
    took = time.process_time() - begun
    if took > LIMIT_S:
        return f"took {took:.1f} s", readable
    return (f"{len(text)} letters" if len(text) > LONGEST else ""), readable
