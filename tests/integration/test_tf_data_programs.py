"""tf_data_bottleneck_analysis on captures of real TensorFlow programs, each written to have one known bottleneck.

The programs are in scripts/demo_profiles/tf_data.py, the captures in tests/profiles. The latencies are those that
TensorFlow 2.15's own converter gives for the same files. It reads half of all iterator ids as 0 (those from 2^63 on)
and knows only the old names of device pipelines: what is the bottleneck is asserted from the program's source instead.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from builders.servers.board import Board

PROFILES = Path(__file__).parents[1] / "profiles"
TOOL = "tf_data_bottleneck_analysis"


# min, avg and max latency of Host:0's runs in us, runs, runs slower than 50 us; self time of the bottleneck in us.
LATENCIES: dict[str, dict[str, tuple[int, int, int, int, int, int]]] = {
    "tf_data_221": {
        "slow_map": (4332, 5317, 9315, 8, 8, 9300),
        "slow_map_and_batch": (16583, 17866, 20645, 8, 8, 21421),
        "slow_source_interleave": (33, 12599, 27021, 8, 7, 26702),
        "from_generator": (16579, 17189, 17997, 8, 8, 18744),
    },
    "tf_data_215": {
        "slow_map": (4231, 4273, 4344, 8, 8, 4329),
        "slow_map_and_batch": (11414, 15657, 16930, 8, 8, 17706),
        "slow_source_interleave": (2596, 16651, 40576, 8, 8, 41305),
        "from_generator": (16005, 16293, 16687, 8, 8, 17501),
    },
}
# From the programs' source: the slow iterator, and words of the advice. Of the four only slow_map is synchronous;
# the others are slow on another thread than the one that waits: their path to the root goes through consumers.
BOTTLENECKS = {
    "slow_map": (r"Iterator::Root::Map", "num_parallel_calls"),
    "slow_map_and_batch": (r"Iterator::Root::Prefetch::MapAndBatch", "num_parallel_calls"),
    "slow_source_interleave": (
        r"Iterator::Root::MapAndBatch::ParallelInterleaveV4\[[01]\]::FlatMap\[0\]::TFRecord",
        "parallel",
    ),
    "from_generator": (r"Iterator::Root::Prefetch::MapAndBatch::FlatMap\[0\]::Generator", "parallel"),
}
CASES = [(release, program) for release, programs in LATENCIES.items() for program in programs]


def rows(table: Any, *columns: str) -> list[list[Any]]:
    at = [[column["id"] for column in table["cols"]].index(name) for name in columns]
    return [[row["c"][i]["v"] for i in at] for row in table["rows"]]


def answer(release: str, program: str, home: Path) -> tuple[Any, Any, Any]:
    board = Board(PROFILES / release, home)
    (run,) = (name for name in board.json("runs") if name.startswith(f"{program}/"))
    graph, summary, bottlenecks = board.json("data", run=run, tag=TOOL)
    return graph, summary, bottlenecks


@pytest.mark.parametrize(("release", "program"), CASES)
def test_the_known_bottleneck_of_a_pipeline_is_found(release: str, program: str, tmp_path: Path) -> None:
    long_name, advice = BOTTLENECKS[program]
    *latencies, self_time = LATENCIES[release][program]
    graph, summary, bottlenecks = answer(release, program, tmp_path)
    figures = ("host", "input_pipeline", "min", "mean", "max", "num_calls", "num_slow_calls")
    assert rows(summary, *figures) == [["demo-host", "Host:0", *latencies]]

    assert bottlenecks["p"]["is_input_bound"] == "true"
    ((pipeline, latency, bottleneck, suggestion),) = rows(
        bottlenecks, "input_pipeline", "max_latency", "bottleneck", "suggestion"
    )
    assert (pipeline, latency) == ("Host:0", latencies[2])
    assert re.search(rf"{long_name}\W", bottleneck), bottleneck
    assert f"{self_time:,} us" in bottleneck
    assert advice in suggestion

    # In the graph of the slowest run that iterator is marked 2, and everything from it up to the root blocks (1).
    nodes = {
        node: (parent, kind) for rank, node, parent, kind in rows(graph, "rank", "name", "parent", "type") if rank == 0
    }
    (at,) = (node for node, (_, kind) in nodes.items() if kind == 2)
    way = []
    while (at := nodes[at][0]) in nodes:
        way.append(nodes[at][1])
    assert way == [1] * (len(long_name.split("::")) - 2)


@pytest.mark.parametrize("release", list(LATENCIES))
def test_a_distribution_strategy_has_one_host_pipeline_and_one_per_device(release: str, tmp_path: Path) -> None:
    _, summary, bottlenecks = answer(release, "two_devices", tmp_path)
    assert sorted(name for (name,) in rows(summary, "input_pipeline")) == ["Device:0", "Device:1", "Host:0"]
    # The device pipelines only wait for the host's: blaming their Generator would be misleading.
    ((pipeline, bottleneck, suggestion),) = rows(bottlenecks, "input_pipeline", "bottleneck", "suggestion")
    assert pipeline == "Host:0"
    assert re.search(r"Iterator::Root::Prefetch::Rebatch::Map\W", bottleneck)
    assert "num_parallel_calls" in suggestion
