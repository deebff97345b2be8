"""What TensorBoard's page asks of plugins that are not there."""

import json

import pytest

from tpu_profile_plugin.server.http.probes import answering


def asked(path, method="GET"):
    """Status, headers and body; the application behind answers 404."""
    given = []

    def behind(environ, start_response):
        start_response("404 NOT FOUND", [])
        return [b"behind"]

    body = answering(behind)({"PATH_INFO": path, "REQUEST_METHOD": method}, lambda *answer: given.append(answer))
    return given[0][0], dict(given[0][1]), b"".join(body)


@pytest.mark.parametrize("prefix", ["", "/experiment/defaultExperimentId"])
def test_probes_have_empty_answers(prefix):
    status, headers, body = asked(f"{prefix}/data/plugin/hparams/experiment")
    assert (status, headers["Content-Type"]) == ("200 OK", "application/json")
    assert json.loads(body) == {"hparamInfos": [], "metricInfos": []}
    status, headers, body = asked(f"{prefix}/data/plugin/hparams/experiment", "HEAD")
    assert (status, headers["Content-Length"], body) == ("200 OK", "38", b"")


def test_an_icon_that_is_not_there_is_no_error():
    assert asked("/favicon.ico")[0] == "204 No Content"


@pytest.mark.parametrize(
    "path", ["/", "/data/runs", "/experiment/x", "/data/plugin/hparams", "/data/plugin/profile/runs"]
)
def test_all_else_is_for_the_application(path):
    assert asked(path)[2] == b"behind"
