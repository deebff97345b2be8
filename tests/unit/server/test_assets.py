"""Static files: lookup in a listing, content types, Cache-Control by name."""

import pytest
from builders.logdirs import write

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.server.http.answer import IMMUTABLE, NEVER, REVALIDATE, Assets


@pytest.fixture
def assets(tmp_path):
    write(tmp_path, {"secret.txt": b"secret", "site/static/sub/font-D8a3_b-2.woff2": b"f"})
    write(
        tmp_path / "site",
        {
            "index.html": b"<html>",
            "index.js": b"js",
            "static/main-D8a3_b-2.js": b"m",
            "static/plain.css": b"c",
            "static/x.bin": b"b",
        },
    )
    return Assets(tmp_path / "site")


@pytest.mark.parametrize(
    ("name", "kind", "cache"),
    [
        ("main-D8a3_b-2.js", "text/javascript; charset=utf-8", IMMUTABLE),
        ("plain.css", "text/css; charset=utf-8", REVALIDATE),
        ("sub/font-D8a3_b-2.woff2", "font/woff2", IMMUTABLE),
        ("x.bin", "application/octet-stream", REVALIDATE),
    ],
)
def test_files(assets, name, kind, cache):
    answer = assets.static(name)
    assert (answer.status, answer.body.content_type, answer.cache) == (200, kind, cache)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "/",
        "sub",
        "sub/",
        "../index.html",
        "sub/../plain.css",
        "../../secret.txt",
        "./plain.css",
        "nope.js",
        "..\\index.html",
        "plain.css\0",
        "/etc/passwd",
        "sub//font-D8a3_b-2.woff2",
    ],
)
def test_everything_else_is_not_found(assets, name):
    with pytest.raises(NotFound):
        assets.static(name)


def test_page_and_entry(assets, tmp_path):
    assert assets.page().body.plain == b"<html>"
    assert assets.page().cache == REVALIDATE
    assert assets.entry().body.plain == b"js"
    (tmp_path / "site/index.html").write_bytes(b"<html>new")
    assert assets.page().body.plain == b"<html>new"


def test_without_a_bundle_the_page_explains_how_to_build_it(tmp_path):
    assets = Assets(tmp_path / "nothing")
    page = assets.page()
    assert (page.status, page.cache) == (503, NEVER)
    assert b"npm run build" in page.body.plain
    assert b"<script" not in page.body.plain
    assert b"export function render()" in assets.entry().body.plain
