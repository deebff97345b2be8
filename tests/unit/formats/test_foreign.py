"""Files that are no profile are named for what they are; profiles and merely damaged ones are not."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
import zipfile

import pytest
from builders.logdirs import SMALL
from builders.xspace_text import build

from tpu_profile_plugin import columns
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.formats import unpack

LINES = "".join(f"    {i}us +1us op.{i}\n" for i in range(400))
PROFILE = build(SMALL + LINES)
ODD = "\ufffd" * 9
NAMES = build(f'plane 1 "/host:CPU"\n  line 7 "python {ODD}"\n    0us +10us step')


def zipped() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.xplane.pb", PROFILE)
    return data.getvalue()


def tarred() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        info = tarfile.TarInfo("a.xplane.pb")
        info.size = len(PROFILE)
        archive.addfile(info, io.BytesIO(PROFILE))
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 7\n", "Git LFS pointer.*git lfs pull"),
        (b"\n\n<!DOCTYPE html>\n<html><body></body></html>", "web page"),
        (b"<HTML><head></head></HTML>", "web page"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "XML message"),
        (zipped(), "zip archive: unpack it"),
        (tarred(), "tar archive: unpack it"),
        (gzip.compress(tarred()), "tar archive: unpack it"),
        (gzip.compress(gzip.compress(PROFILE)), "compressed twice"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"\x89PNG\r\n\x1a\n....", "PNG"),
        (b"SQLite format 3\x00....", "SQLite"),
        (base64.encodebytes(PROFILE), "base64"),
        (base64.b64encode(gzip.compress(PROFILE)), "base64"),
        (PROFILE.replace(b"\n", b"\r\n"), "text mode"),
        (PROFILE.decode("utf-8", "replace").encode(), "replaced by U"),
        (b"step 1 took 3 ms\n" * 20, "text, not a profile"),
        (b'{"hello": 1}', "JSON without events"),
        (b"[1, 2]", "unexpected character"),
        (b"[]", "JSON without events"),
        (b'[{"name": "x"}]', "JSON without events"),
        (json.dumps({"$schema": "https://www.speedscope.app/", "shared": {}}).encode(), "speedscope"),
        (json.dumps({"nodes": [], "samples": [], "timeDeltas": []}).encode(), "V8"),
        (json.dumps({"meta": {}, "libs": [], "threads": []}).encode(), "Firefox"),
        (json.dumps({"cells": [], "nbformat": 4}).encode(), "Jupyter"),
        (gzip.compress(b'{"hello": 1}'), "JSON without events"),
    ],
)
def test_a_file_of_another_kind_is_named(data: bytes, words: str) -> None:
    with pytest.raises(CorruptProfile, match=words) as caught:
        unpack(data)
    assert (caught.value.code, caught.value.status) == ("corrupt_profile", 422)


@pytest.mark.parametrize("data", [b"", PROFILE, build(SMALL), NAMES], ids=["empty", "large", "small", "odd names"])
def test_a_profile_is_none_of_them(data: bytes) -> None:
    assert unpack(data).space.tobytes() == data


@pytest.mark.parametrize(
    ("data", "offset"),
    [(PROFILE[:1000], 1000), (b"\xff" * 40, 0), (b"\n\xff" * 9, 1), (b"\x0c" + PROFILE, 0)],
)
def test_a_profile_that_is_merely_damaged_keeps_its_error(data: bytes, offset: int) -> None:
    with pytest.raises(CorruptProfile, match=r"XSpace|XPlane") as caught:
        columns.load(unpack(data).space)
    assert caught.value.details["offset"] <= max(offset, 1000)
