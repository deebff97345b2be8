"""Random queries never cause an internal error and never reveal a path of the server."""

from builders.logdirs import SMALL, write
from builders.rings import many
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROUTES = (
    "runs",
    "runs_info",
    "run_tools",
    "run_info",
    "base_runs",
    "source_text",
    "hosts",
    "module_list",
    "data",
    "data_csv",
    "status",
    "config",
    "x",
)
NAMES = (
    "run",
    "tag",
    "host",
    "hosts",
    "session_path",
    "run_path",
    "use_saved_result",
    "format",
    "resolution",
    "base",
    "file",
)
VALUES = st.one_of(
    st.sampled_from(
        [
            "",
            "s",
            "profile_contents",
            "compare",
            "trace_viewer@",
            "h",
            "ALL_HOSTS",
            "h,h",
            ",",
            "true",
            "nan",
            "1e999",
            "-1",
        ]
    ),
    st.text(max_size=30),
)


@settings(max_examples=many(30, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(route=st.sampled_from(ROUTES), query=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5))
def test_no_query_breaks_the_server(board, logdir, tmp_path, route, query):
    write(logdir, {"plugins/profile/s/h.xplane.pb": SMALL})
    answer = board.get(route, **query)
    assert answer.status_code in (200, 400, 403, 404, 422), answer.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if route != "status":
        assert str(tmp_path) not in answer.text
