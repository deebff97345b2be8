"""Every route and parameter of XProf answers as docs/developer/compatibility.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/developer/compatibility.md").read_text()

ANSWERED = (
    "/", "/local", "/index.html", "/index.js", "/config", "/version", "/runs", "/run_tools", "/hosts", "/module_list",
    "/data", "/data_csv",
)  # fmt: skip
FRONTEND = (
    "/bundle.js", "/styles.css", "/zone.js", "/runtime.js", "/trace_viewer_index.html", "/trace_viewer_index.js",
    "/trace_viewer_v2.js", "/trace_viewer_v2.wasm", "/materialicons.woff2", "/material_symbols_outlined.woff2",
)  # fmt: skip
CHANGING = ("/capture_profile", "/generate_cache")
PARAMETERS = (
    "run", "session_path", "run_path", "base_session_id", "tag", "host", "hosts", "use_saved_result", "tqx", "group_by",
    "module_name", "program_id", "memory_space", "view_memory_allocation_timeline", "node_name", "graph_width",
    "show_metadata", "merge_fusion", "format", "type", "resolution", "start_time_ms", "end_time_ms", "event_name",
    "duration_ms", "unique_id", "search_prefix", "search_metadata", "full_dma", "enable_legacy_dcn",
    "refresh_suggestion", "perfetto",
    "names_only", "device_type", "service_addr", "duration", "is_tpu_name", "worker_list", "num_retry",
    "host_tracer_level", "device_tracer_level", "python_tracer_level", "delay", "tools",
)  # fmt: skip


@pytest.mark.parametrize("name", [*ANSWERED, *FRONTEND, *CHANGING, *PARAMETERS])
def test_the_page_names_it(name):
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("route", ANSWERED)
def test_routes_that_are_answered(board, route):
    answer = board.get(
        route.removeprefix("/"), run="train/multi", tag="overview_page", base_session_id="x", tqx="out:csv"
    )
    # Under TensorBoard an address ending in a slash never arrives, in XProf neither.
    assert answer.status_code in ((200, 404) if route == "/" else (200, 503))


@pytest.mark.parametrize("route", FRONTEND)
def test_files_of_xprofs_frontend_are_not_there(board, route):
    assert board.get(route.removeprefix("/")).status_code == 404


@pytest.mark.parametrize("route", CHANGING)
def test_routes_that_change_something_take_post(board, route):
    assert board.get(route.removeprefix("/")).status_code == 405
    assert board.get(route.removeprefix("/"), method="POST").status_code == 400


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"tag": "nope"}, 404, "tool_not_found"),
        ({"tag": "overview_page^"}, 200, None),
        ({"tag": "tensorflow_stats"}, 200, None),
        ({"tag": "overview_page", "use_saved_result": "false", "tqx": "out:csv"}, 200, None),
        ({"tag": "memory_profile"}, 400, "bad_request"),
        ({"tag": "op_profile", "group_by": "category"}, 200, None),
        ({"tag": "trace_viewer@", "resolution": "x"}, 400, "bad_request"),
        ({"tag": "trace_viewer@", "start_time_ms": "0", "end_time_ms": "1", "full_dma": "true"}, 200, None),
        ({"tag": "trace_viewer@", "search_prefix": "work", "search_metadata": "true"}, 200, None),
        ({"tag": "trace_viewer@", "event_name": "work", "duration_ms": "0.003", "unique_id": "0"}, 404, "no_data"),
        ({"tag": "graph_viewer", "type": "me_graph"}, 400, "bad_request"),
        ({"tag": "smart_suggestion", "refresh_suggestion": "true"}, 200, None),
        ({"tag": "overview_page", "run_path": "/x"}, 403, "forbidden"),
        ({"tag": "overview_page", "session_path": "/x"}, 403, "forbidden"),
        ({"tag": "overview_page", "run": "../x"}, 404, "run_not_found"),
    ],
)
def test_parameters(board, query, status, code):
    answer = board.get("data", **{"run": "train/multi", **query})
    assert answer.status_code == status, answer.text
    if code is not None:
        assert answer.json["error"]["code"] == code
