"""Resolving TPU names to addresses with the cloud's services."""

import json
import urllib.error
from email.message import Message

import pytest

from tpu_profile_plugin.capture.addresses import resolve_tpu, resolve_tpus
from tpu_profile_plugin.errors import BadRequest, NotAvailable, NotFound

NODE = {"state": "READY", "networkEndpoints": [{"ipAddress": "10.0.0.2", "port": 8470}, {"ipAddress": "10.0.0.3"}]}


def cloud(node, seen=None):
    def fetch(url, headers):
        if seen is not None:
            seen.append((url, dict(headers)))
        if url.endswith("project-id"):
            return b"my-project"
        if url.endswith("instance/zone"):
            return b"projects/123/zones/us-central2-b"
        if url.endswith("token"):
            return b'{"access_token": "secret"}'
        if isinstance(node, Exception):
            raise node
        return json.dumps(node).encode()

    return fetch


def test_workers():
    seen = []
    assert [str(a) for a in resolve_tpu("my-tpu", cloud(NODE, seen))] == ["10.0.0.2:8466", "10.0.0.3:8466"]
    url, headers = seen[-1]
    assert url == "https://tpu.googleapis.com/v2/projects/my-project/locations/us-central2-b/nodes/my-tpu"
    assert headers == {"Authorization": "Bearer secret"}


def test_a_full_name_needs_no_zone():
    seen = []
    resolve_tpu("projects/p/locations/eu-a/nodes/t", cloud(NODE, seen))
    assert seen[-1][0].endswith("/projects/p/locations/eu-a/nodes/t")
    assert len(seen) == 2


def test_several_names():
    nodes = {"a": NODE, "b": {"networkEndpoints": [{"ipAddress": "10.0.0.3"}, {"ipAddress": "10.0.0.4"}]}}

    def fetch(url, headers):
        return cloud(nodes.get(url.rsplit("/", 1)[-1]))(url, headers)

    assert [str(a) for a in resolve_tpus("a, b", fetch)] == ["10.0.0.2:8466", "10.0.0.3:8466", "10.0.0.4:8466"]
    with pytest.raises(BadRequest, match="''"):
        resolve_tpus("a,", fetch)


@pytest.mark.parametrize("name", ["", "UPPER", "a/b", "../x", "host:1", "a" * 70])
def test_invalid_names(name):
    with pytest.raises(BadRequest, match="Enter the workers' addresses"):
        resolve_tpu(name, cloud(NODE))


def refusal(status):
    return urllib.error.HTTPError("url", status, "no", Message(), None)


@pytest.mark.parametrize(
    ("node", "kind", "words"),
    [
        (refusal(404), NotFound, "no TPU named"),
        (refusal(403), NotAvailable, "status 403"),
        (OSError("x"), NotAvailable, "does not respond"),
        ({"state": "CREATING"}, NotFound, "CREATING"),
        ([], NotFound, "no worker"),
    ],
)
def test_errors(node, kind, words):
    with pytest.raises(kind, match=words):
        resolve_tpu("my-tpu", cloud(node))
