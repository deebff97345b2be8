"""What is printed and logged: names of strangers are text there, not commands to a terminal or marks of direction."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from typing import Any, TextIO

_STEERING = (
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),
    *(0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
)
_SHOWN = {code: f"\\u{code:04x}" for code in _STEERING}


def visible(text: str) -> str:
    r"""The text with controls, marks of direction and halves of pairs as `\u001b`; tabs and ends of lines are kept.

    JSON stays the same JSON.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def one_line(text: str) -> str:
    """The text as `visible`, and its ends of lines too, so that a name begins no line of its own."""
    return visible(text).replace("\n", "\\u000a")


class Shown:
    """A stream that writes texts as `visible` to `out`; what a command itself says to a terminal goes to `out`."""

    def __init__(self, out: TextIO) -> None:
        self.out = out

    def write(self, text: str) -> int:
        """Writes a text; returns its length."""
        self.out.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.out, name)


def raw(out: Any) -> TextIO:
    """The stream that takes texts as they are: of `out` if that is `Shown`, else `out` itself."""
    stream: TextIO = out.out if isinstance(out, Shown) else out
    return stream


def write_data(text: str) -> None:
    """Writes data such as CSV to standard output: as it is to a file or a program, `visible` to a terminal."""
    (sys.stdout if sys.stdout.isatty() else raw(sys.stdout)).write(text)


def write_encoded(data: bytes) -> None:
    """Writes UTF-8 or other bytes to standard output: as they are to a file or a program, `visible` to a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(visible(data.decode("utf-8", "replace")))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    sys.stdout.flush()


class _Filter(logging.Filter):
    """Records of one line each, with their trace below: `visible`, and without ends of lines in the message."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = visible(record.getMessage()).replace("\n", "\n  "), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = visible(logging.Formatter().formatException(record.exc_info))
        return True


LOG = logging.getLogger("tpu_profile_plugin")
LOG.addFilter(_Filter())
