"""Queries that answer common questions, for the page, the command line and the documentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Example:
    """A query.

    Attributes:
      id: stable key, lower_snake_case.
      title: the question in a few words.
      sentence: what the result shows.
      sql: the statement.
      over: the runs that it is about: one (or any number), a pair, or all.
    """

    id: str
    title: str
    sentence: str
    sql: str
    over: Literal["run", "pair", "all"] = "run"


_SLOWEST_STEP_GAPS = """\
WITH slowest AS (
  SELECT run, host, step, begin_ps, begin_ps + duration_ps AS end_ps
  FROM steps WHERE takes_part ORDER BY duration_ps DESC LIMIT 1
), ops AS (
  SELECT s.*, e.plane, e.name, e.begin_ps AS op_begin_ps, e.begin_ps + e.duration_ps AS op_end_ps
  FROM events e JOIN slowest s ON e.run = s.run AND e.host = s.host
  WHERE (e.hlo_op IS NOT NULL OR e.line LIKE 'Stream%') AND e.duration_ps > 0
    AND e.begin_ps < s.end_ps AND e.begin_ps + e.duration_ps > s.begin_ps
), with_end AS (
  FROM ops UNION ALL SELECT DISTINCT ON (plane) * REPLACE (NULL AS name, end_ps AS op_begin_ps) FROM ops
), gaps AS (
  SELECT run, host, plane, step, op_begin_ps, lag(name) OVER earlier AS before, name AS after,
    greatest(begin_ps, max(op_end_ps) OVER (earlier ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS gap_begin_ps
  FROM with_end WINDOW earlier AS (PARTITION BY plane ORDER BY op_begin_ps, op_end_ps)
)
SELECT run, host, plane, step, gap_begin_ps AS begin_ps, op_begin_ps - gap_begin_ps AS duration_ps, before, after
FROM gaps WHERE op_begin_ps > gap_begin_ps ORDER BY duration_ps DESC LIMIT 10
"""

_OPS_BY_SOURCE_LINE = """\
SELECT run, source_file, source_line, count(DISTINCT name) AS ops, sum(occurrences) AS occurrences,
  sum(self_ps) AS self_ps, 100 * sum(self_ps) / sum(sum(self_ps)) OVER (PARTITION BY run) AS self_percent
FROM ops
WHERE source_file IS NOT NULL AND backend <> 'tensorflow'
GROUP BY run, source_file, source_line
ORDER BY self_ps DESC LIMIT 50
"""

_COLLECTIVES_BY_LATE_DEVICE = """\
SELECT run, late_host, late_device, kind, count(DISTINCT execution) AS executions,
  sum(wait_ps) AS wait_ps, max(wait_ps) AS longest_wait_ps
FROM collectives
WHERE wait_ps > 0
GROUP BY ALL
ORDER BY wait_ps DESC
"""

_COMPARE_RUNS_BY_OP = """\
WITH ends AS (
  SELECT min(run) AS base, max(run) AS latest FROM ops
), sums AS (
  SELECT run, name, sum(self_ps) AS self_ps, sum(occurrences) AS occurrences FROM ops GROUP BY run, name
)
SELECT coalesce(a.name, b.name) AS name, a.occurrences AS base_occurrences, b.occurrences,
  a.self_ps / a.occurrences AS base_each_ps, b.self_ps / b.occurrences AS each_ps,
  coalesce(b.self_ps, 0) - coalesce(a.self_ps, 0) AS change_ps
FROM (SELECT sums.* FROM sums JOIN ends ON run = base) a
FULL JOIN (SELECT sums.* FROM sums JOIN ends ON run = latest) b ON a.name = b.name
ORDER BY abs(change_ps) DESC LIMIT 50
"""

_HOST_FUNCTIONS = """\
SELECT run, name, any_value(line) AS thread, count(*) AS calls, sum(self_ps) AS self_ps, max(duration_ps) AS longest_ps
FROM events
WHERE plane LIKE '/host:%' AND hlo_op IS NULL
GROUP BY run, name
ORDER BY self_ps DESC LIMIT 50
"""

_MEMORY_AT_PEAK = """\
SELECT run, host, allocator, framework_op, region, count(*) AS allocations, sum(bytes) AS bytes
FROM allocations
WHERE at_peak AND kind = 'allocation'
GROUP BY ALL
ORDER BY bytes DESC LIMIT 50
"""

_STEP_TIMES = """\
SELECT run, count(DISTINCT step) AS steps, count(DISTINCT host || ' ' || device) AS devices,
  median(duration_ps) AS median_ps, avg(duration_ps) AS mean_ps, max(duration_ps) AS longest_ps
FROM steps
WHERE takes_part
GROUP BY run
ORDER BY median_ps DESC
"""

_STEP_PARTS = """\
SELECT run, part, sum(ps) / count(*) AS mean_ps, 100 * sum(ps) / sum(duration_ps) AS percent
FROM (
  UNPIVOT (SELECT * FROM steps WHERE takes_part) ON COLUMNS('^(compute|data|move|exposed|peer|idle|input|output)_.*ps$')
  INTO NAME part VALUE ps
)
GROUP BY run, part
HAVING sum(ps) > 0
ORDER BY run, mean_ps DESC
"""

_HOSTS_SIDE_BY_SIDE = """\
WITH means AS (
  SELECT run, host, device, avg(duration_ps) AS mean_ps, avg(compute_ps) AS compute_ps
  FROM steps WHERE takes_part GROUP BY run, host, device
)
SELECT *, 100 * (compute_ps / nullif(median(compute_ps) OVER (PARTITION BY run), 0) - 1) AS above_median_percent
FROM means
ORDER BY above_median_percent DESC NULLS LAST
"""

_OP_RATES = """\
SELECT run, name, category, framework_op, sum(self_ps) AS self_ps,
  sum(flops) / sum(time_ps) AS tflop_per_s, 1e3 * sum(bytes) / sum(time_ps) AS gb_per_s
FROM ops
WHERE time_ps > 0
GROUP BY run, name, category, framework_op
ORDER BY self_ps DESC LIMIT 50
"""

_UNEVEN_OPS = """\
SELECT run, name, count(*) AS hosts, min(self_ps / occurrences) AS fastest_ps, max(self_ps / occurrences) AS slowest_ps,
  arg_max(host, self_ps / occurrences) AS slowest_host,
  max(occurrences) * (slowest_ps - fastest_ps) AS difference_ps
FROM ops
GROUP BY run, program, name
HAVING count(*) > 1
ORDER BY difference_ps DESC LIMIT 50
"""

_CALLS_OF_SLOW_STEPS = """\
WITH ranked AS (
  SELECT run, step, percent_rank() OVER (PARTITION BY run ORDER BY max(duration_ps)) >= 0.8 AS slow
  FROM steps WHERE takes_part GROUP BY run, step
), counts AS (
  SELECT run, count(*) FILTER (slow) AS slow_steps, count(*) FILTER (NOT slow) AS other_steps FROM ranked GROUP BY run
), spans AS (
  SELECT run, host, step, min(begin_ps) AS begin_ps, min(begin_ps + duration_ps) AS end_ps
  FROM steps WHERE takes_part GROUP BY ALL
), calls AS (
  SELECT e.run, e.name, sum(self_ps) FILTER (slow) AS slow_ps, sum(self_ps) FILTER (NOT slow) AS other_ps
  FROM events e JOIN spans s ON e.run = s.run AND e.host = s.host AND e.begin_ps >= s.begin_ps AND e.begin_ps < s.end_ps
  JOIN ranked r ON r.run = s.run AND r.step = s.step
  WHERE e.plane LIKE '/host:%' GROUP BY ALL
)
SELECT run, name, coalesce(slow_ps, 0) / slow_steps AS per_slow_step_ps,
  coalesce(other_ps, 0) / other_steps AS per_other_step_ps,
  per_slow_step_ps - per_other_step_ps AS difference_ps
FROM calls JOIN counts USING (run)
WHERE slow_steps > 0 AND other_steps > 0
ORDER BY difference_ps DESC LIMIT 50
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "slowest_step_gaps",
        "The slowest step and its ten longest gaps",
        "Times without an op on a device within the longest step of all runs, with the ops before and after each.",
        _SLOWEST_STEP_GAPS,
    ),
    Example(
        "ops_by_source_line",
        "Ops by source line",
        "Lines of the program whose ops take most time, with the share of the run's op time.",
        _OPS_BY_SOURCE_LINE,
    ),
    Example(
        "collectives_by_late_device",
        "Collectives by the device that is late",
        "How long other devices wait in collectives for the device that begins last.",
        _COLLECTIVES_BY_LATE_DEVICE,
    ),
    Example(
        "compare_runs_by_op",
        "Two runs compared by op",
        "Ops of the first and the last run by name, with the change of their time per run of the op; choose two runs.",
        _COMPARE_RUNS_BY_OP,
        over="pair",
    ),
    Example(
        "host_functions",
        "Host functions by self time",
        "Functions and calls of the hosts' threads that take most time themselves.",
        _HOST_FUNCTIONS,
    ),
    Example(
        "memory_at_peak",
        "Memory at its peak by framework op",
        "Allocations that are in use when an allocator reaches its peak, by what they are for.",
        _MEMORY_AT_PEAK,
    ),
    Example(
        "step_times",
        "Step times of each run",
        "Number, median, mean and longest duration of the steps, to find the run that is slow.",
        _STEP_TIMES,
        over="all",
    ),
    Example(
        "step_parts",
        "What the steps' time is spent on",
        "The parts of the time budget of each run, per step and device.",
        _STEP_PARTS,
    ),
    Example(
        "hosts_side_by_side",
        "Hosts side by side",
        "Mean step and compute time of each device against the median of all devices of the run.",
        _HOSTS_SIDE_BY_SIDE,
    ),
    Example(
        "op_rates",
        "Rates of the longest ops",
        "FLOP and memory rates of the ops that take most time: low ones wait for something else.",
        _OP_RATES,
    ),
    Example(
        "uneven_ops",
        "Ops that take longer on some hosts",
        "Time per run of each op on its slowest and its fastest host, and what the difference costs.",
        _UNEVEN_OPS,
    ),
    Example(
        "calls_of_slow_steps",
        "What the host does in slow steps",
        "Host calls in the slowest fifth of each run's steps that take longer there than in its other steps.",
        _CALLS_OF_SLOW_STEPS,
    ),
)
"""The examples, the most common questions first."""
