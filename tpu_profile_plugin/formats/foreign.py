"""Names files that are no profile, with what to do about them: archives, web pages, pointers, damage by text mode."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from typing import NoReturn

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.errors import CorruptProfile

_HEAD = 512
_SAMPLE = 64 << 10
_FIRST_TAGS = b'\n\x12\x1a"'
"""The bytes that an XSpace may begin with: tags of planes, errors, warnings and host names."""

_REPLACEMENT = "\ufffd".encode()
_LEAST = 8
"""Fewer line breaks or replaced bytes prove nothing."""

_UNPACK = "unpack it, and open the profile within"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the profile that it stands for: fetch it by `git lfs pull`"),
    (b"\x1f\x8b", "compressed twice: decompress it once by `gunzip`"),
    (b"PK\x03\x04", f"a zip archive: {_UNPACK}"),
    (b"7z\xbc\xaf\x27\x1c", f"a 7-Zip archive: {_UNPACK}"),
    (b"Rar!\x1a\x07", f"a RAR archive: {_UNPACK}"),
    (b"\xfd7zXZ\x00", "compressed by xz: decompress it by `unxz`"),
    (b"BZh", "compressed by bzip2: decompress it by `bunzip2`"),
    (b"\x04\x22\x4d\x18", "compressed by lz4: decompress it by `unlz4`"),
    (b"%PDF-", "a PDF document, not a profile"),
    (b"\x89PNG\r\n", "a picture (PNG), not a profile"),
    (b"\xff\xd8\xff", "a picture (JPEG), not a profile"),
    (b"GIF8", "a picture (GIF), not a profile"),
    (b"\x7fELF", "a program (ELF), not a profile"),
    (b"SQLite format 3\x00", "an SQLite database, as Nsight Systems exports it: such reports are not read here"),
    (b"PAR1", "a Parquet table, not a profile"),
    (b"\x89HDF\r\n", "an HDF5 file, not a profile"),
    (b"\x93NUMPY", "a NumPy array, not a profile"),
)
_TAR = 257
_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_XML = re.compile(rb"\s*<(?:\?xml\b|Error\b)", re.IGNORECASE)
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\r\n]{64,}\Z")
_TEXT = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]+\Z")

_JSON: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((b'"$schema"', b"speedscope"), "a speedscope profile"),
    ((b'"timeDeltas"', b'"nodes"'), "a CPU profile of V8 (Node.js or Chrome)"),
    ((b'"nodes"', b'"samples"', b'"startTime"'), "a CPU profile of V8 (Node.js or Chrome)"),
    ((b'"meta"', b'"libs"', b'"threads"'), "a profile of Firefox"),
    ((b'"meta"', b'"threads"', b'"preprocessedProfileVersion"'), "a profile of Firefox"),
    ((b'"cells"', b'"nbformat"'), "a Jupyter notebook"),
    ((b'"log"', b'"entries"', b'"creator"'), "an HTTP archive (HAR)"),
    ((b'"schema"', b'"nodes"', b'"pid"'), "an execution trace of PyTorch (ExecutionTraceObserver)"),
)
_TRACE = (
    "a trace has a list of events, `traceEvents`. PyTorch writes one by prof.export_chrome_trace(PATH), JAX beside a "
    "profile"
)


def refuse(content: U8) -> None:
    """Raises CorruptProfile if the content of a file that no importer claims is that of another program, or damaged.

    Content that may be an XSpace is looked at only if it does not decode.
    """
    head = content[:_HEAD].tobytes()
    if (kind := _known(head)) is not None:
        raise CorruptProfile(f"The file is {kind}.", offset=0)
    if not head or (head[0] in _FIRST_TAGS and _REPLACEMENT not in head):
        return
    try:
        _native.outline_space(content)
    except _native.DecodeError as error:
        if (guess := _guess(content[:_SAMPLE].tobytes())) is not None:
            raise CorruptProfile(f"The file is {guess}.", offset=error.args[1]) from None


def refuse_json(head: bytes, offset: int) -> NoReturn:
    """Raises CorruptProfile for JSON that begins with `head` and has no events: names its program, if known."""
    for words, name in _JSON:
        if all(word in head for word in words):
            raise CorruptProfile(f"The file is {name}, which is not read here: {_TRACE}.", offset=offset)
    raise CorruptProfile(f"The file is JSON without events: {_TRACE}.", offset=offset)


def _known(head: bytes) -> str | None:
    """What a file is by its first bytes, which no XSpace has."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head[_TAR : _TAR + 5] == b"ustar":
        return f"a tar archive: {_UNPACK}"
    if _PAGE.match(head):
        return "a web page (HTML), not a profile: download the file itself, by the page's link for the raw file"
    if _XML.match(head):
        return "an XML message, as storage services answer errors: download the file again"
    if b"brain.Event:" in head[:64]:
        return "an event file of TensorBoard, not a profile: give its directory as the logdir"
    return None


def _guess(sample: bytes) -> str | None:
    """What content that is no XSpace seems to be."""
    if _BASE64.match(sample[: len(sample) // 4 * 4]) and _is_profile_in_base64(sample):
        return "a profile in base64: decode it by `base64 -d`"
    breaks = sample.count(b"\n")
    if breaks >= _LEAST and sample.count(b"\r\n") == breaks and not _TEXT.match(sample[:_HEAD]):
        return "damaged by text mode, which wrote \\r\\n for each \\n: copy it again in binary mode"
    if sample.count(_REPLACEMENT) >= _LEAST and _is_text(sample):
        return "damaged: bytes that are no UTF-8 were replaced by U+FFFD. Copy it again in binary mode"
    if _TEXT.match(sample[:_HEAD]) and _is_text(sample):
        return "text, not a profile"
    return None


def _is_text(sample: bytes) -> bool:
    """Whether the sample is UTF-8, but for a character that its end cuts."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _is_profile_in_base64(sample: bytes) -> bool:
    """Whether the first bytes in base64 are those of a profile, or of a compressed one."""
    plain = sample.translate(None, b"\r\n")[:64]
    try:
        begin = base64.b64decode(plain[: len(plain) // 4 * 4])
    except binascii.Error:
        return False
    return begin[:1] in (b"\n", b"\x12", b"\x1a", b'"', b"{", b"[") or begin[:2] in (b"\x1f\x8b", b"\x28\xb5")
