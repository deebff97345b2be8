"""Where the level of a series shifts: E-divisive (Matteson and James 2014) with t tests, as benchmark services use it.

A candidate is the split of a segment with the largest energy distance between its sides. Its t test is corrected for
having been chosen among all splits (Worsley 1979 by Bonferroni, James, James and Siegmund 1987 in the limit). A second
pass looks into windows, in which a shift up and a later one down do not hide each other (Fleming et al. 2023, Hunter).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tpu_profile_plugin.analysis.compare.run_work import student
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

LEAST_RUNS = 3
"""Fewest runs on each side of a shift: one or two may be those of a busy machine."""
LEAST_KNOWN = 12
"""With fewer runs, how far they vary is not known well enough to tell an outlier."""
ALARM = 0.05
"""Chance that a series without a shift is said to have one: about one false alarm in 100 runs that are judged one by
one as they come, and nine of ten shifts of three deviations within three runs (simulated)."""
_UNEQUAL = 0.002
"""Below this probability of equal variances, the t test does not pool them (Welch)."""
_WINDOWS = (16, 40)
_MOST_PAIRS = 512
"""Longer segments are split where the t test is clearest: distances of all pairs take memory and time."""
_SPIKE = 4.0
"""A run that is farther from both of its neighbours' median, in standard deviations, is an outlier."""
_MAD = 1.4826


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift of the level.

    Attributes:
      index: position of the first value after it.
      before, after: the means on both sides, up to the neighbouring shifts.
      low, high: the interval of `after - before`, of 95 %.
      chance: probability of a shift as clear as this one in a series that has none.
    """

    index: int
    before: float
    after: float
    low: float
    high: float
    chance: float

    @property
    def delta(self) -> float:
        """By how much the level rises."""
        return self.after - self.before


def shifts(values: F64, alarm: float = ALARM) -> list[Shift]:
    """The shifts of a series, float64[n], in order.

    Values that are alone far from both neighbours count as the median of the three.
    """
    values = without_spikes(values)
    found: dict[int, float] = {}
    _split(values, 0, len(values), alarm, found)
    for width in _WINDOWS:
        for begin in _windows(values, width, alarm) if len(values) > width else ():
            inside: dict[int, float] = {}
            _split(values, begin, min(begin + width, len(values)), alarm, inside)
            for at, chance in inside.items():
                same = next((other for other in found if abs(at - other) <= LEAST_RUNS), at)
                found[same] = min(chance, found.get(same, 1.0))
    return _confirmed(values, sorted(found.items()), alarm)


def without_spikes(values: F64) -> F64:
    """Values that are alone far from both of their neighbours replaced by the median of the three."""
    if len(values) < LEAST_KNOWN:
        return values
    middle = np.median(np.lib.stride_tricks.sliding_window_view(np.pad(values, 1, "edge"), 3), axis=1)
    middle[0], middle[-1] = values[0], values[-1]  # what is before and after them is not known
    deviation = spread(values)
    return np.where(np.abs(values - middle) > _SPIKE * deviation, middle, values)


def spread(values: F64) -> float:
    """The standard deviation around a level that may shift: by differences of neighbours, which few shifts change."""
    return float(_MAD * np.median(np.abs(np.diff(values))) / math.sqrt(2)) if len(values) > 1 else 0.0


def _windows(values: F64, width: int, alarm: float) -> list[int]:
    """Begins of the windows that may have a shift: `_split` would find none in the others."""
    begins = np.arange(0, len(values) - width // 2, width // 2)
    whole = begins[begins + width <= len(values)]
    inside = np.lib.stride_tricks.sliding_window_view(values, width)[whole]
    inside = inside - inside.mean(axis=1, keepdims=True)
    split, n, m = _splits(inside[0])
    between = (np.cumsum(inside, axis=1)[:, split - 1] ** 2 * (1 / n + 1 / m)).max(axis=1)
    squares = (inside**2).sum(axis=1) - between
    clear = between * (width - 2) >= _least_t(width, alarm) ** 2 * squares
    return [*whole[clear].tolist(), *begins[len(whole) :].tolist()]


@functools.cache
def _least_t(count: int, alarm: float) -> float:
    """A t, nearly the least, with which the best split of `count` values may have a chance below `alarm`."""
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _of_best(two_sided(middle, count - 2), count) < alarm else (middle, high)
    return low


def _split(values: F64, begin: int, end: int, alarm: float, found: dict[int, float]) -> None:
    """Adds the shifts within a segment with their chances there, largest first."""
    part = values[begin:end]
    if len(part) < 2 * LEAST_RUNS:
        return
    clearest = _clearest_split(part)
    least = _chance(part[:clearest], part[clearest:])
    if least >= alarm:
        return
    at = _best_split(part) if len(part) <= _MOST_PAIRS else clearest
    if _chance(part[:at], part[at:]) >= alarm:
        at = clearest
    found[begin + at] = least
    _split(values, begin, begin + at, alarm, found)
    _split(values, begin + at, end, alarm, found)


def _splits(values: F64) -> tuple[I64, F64, F64]:
    """The splits, and how many values are before and after each."""
    split = np.arange(LEAST_RUNS, len(values) - LEAST_RUNS + 1)
    return split, split.astype(np.float64), (len(values) - split).astype(np.float64)


def _clearest_split(values: F64) -> int:
    """The split with the clearest t test; no other one has a smaller chance."""
    split, n, m = _splits(values)
    rise = np.cumsum(values - values.mean())[split - 1]  # of the values before, less their share of the sum
    return int(split[np.argmax(rise**2 * (1 / n + 1 / m))])


def _best_split(values: F64) -> int:
    """The split with the largest energy distance between both sides, scaled by the product of their lengths."""
    split, n, m = _splits(values)
    distance = np.abs(values[:, None] - values[None, :])
    first = np.concatenate([[0.0], np.cumsum(np.tril(distance, -1).sum(axis=1))])  # of pairs within values[:k]
    later = np.concatenate([np.cumsum(np.triu(distance, 1).sum(axis=1)[::-1])[::-1], [0.0]])  # within values[k:]
    across = first[-1] - first[split] - later[split]
    energy = 2 * across / (n * m) - 2 * first[split] / (n * (n - 1)) - 2 * later[split] / (m * (m - 1))
    return int(split[np.argmax(n * m * energy)])


def _chance(before: F64, after: F64) -> float:
    """Probability that the best split of equal values has a t test as clear as this one."""
    n, m = len(before), len(after)
    count, freedom = n + m, n + m - 2
    means = float(before.sum()) / n, float(after.sum()) / m
    residuals = np.concatenate([before - means[0], after - means[1]])
    of_before, of_after = float(residuals[:n] @ residuals[:n]), float(residuals[n:] @ residuals[n:])
    squares, delta = of_before + of_after, abs(means[1] - means[0])
    if not delta:
        return 1.0
    if squares <= count * (1e-12 * delta) ** 2:
        return 0.0
    t = delta / math.sqrt(squares / freedom * (1 / n + 1 / m))
    least = _of_best(math.erfc(t / math.sqrt(2)), count)
    if least >= ALARM:  # what follows only raises it: Student's tails are heavier than normal ones
        return least
    alike = _alike(residuals)
    inflation = math.sqrt((1 + alike) / (1 - alike))  # of the standard error, by values that are alike
    single = two_sided(t / inflation, freedom)
    variances = of_before / (n - 1), of_after / (m - 1)
    few, many = sorted(((n, variances[0]), (m, variances[1])), key=lambda side: side[0])
    if _unequal(*few, *many):
        parts = variances[0] / n, variances[1] / m
        freedom_of = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
        single = max(single, two_sided(delta / inflation / math.sqrt(sum(parts)), freedom_of))
    return _of_best(single, count)


def _of_best(single: float, count: int) -> float:
    """Probability of the clearest of all splits of `count` values, given that of one split (`single`)."""
    by_each = max(count - 2 * LEAST_RUNS + 1, 1) * single
    z = -NormalDist().inv_cdf(max(single, 1e-300) / 2)
    if z <= 1:
        return min(by_each, 1.0)
    reach = 2 * math.log((count - LEAST_RUNS) / LEAST_RUNS)
    limit = z * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * ((1 - 1 / z**2) * reach + 4 / z**2)
    return min(by_each, limit, 1.0)


def _unequal(few: int, variance: float, many: int, other: float) -> bool:
    """Whether the side with fewer values varies clearly more (F test): pooling would understate its error."""
    n, m = few - 1, many - 1
    return _incomplete_beta(m / 2, n / 2, m * other / (m * other + n * variance)) < _UNEQUAL


def _alike(residuals: F64) -> float:
    """How much successive values are alike beyond chance, 0 to 0.9: their correlation less its quantile of 95 %.

    A machine that is busy for an hour slows several runs: they tell less than as many that vary by themselves.
    """
    squares = float((residuals**2).sum())
    if not squares:
        return 0.0
    found = float((residuals[1:] * residuals[:-1]).sum()) / squares - 1.645 / math.sqrt(len(residuals))
    return min(max(found, 0.0), 0.9)


def _confirmed(values: F64, found: Sequence[tuple[int, float]], alarm: float) -> list[Shift]:
    """The shifts that stay clear between their neighbours; the least clear one goes first.

    Each is put where it is clearest between its neighbours: in a window it was found without all values around. None
    becomes clearer than it was when it was found: neighbours that are chosen leave the values that suit it.
    """
    kept, as_found = [at for at, _ in found], [chance for _, chance in found]
    while kept:
        for row in range(len(kept)):
            begin, end = [0, *kept][row], [*kept, len(values)][row + 1]
            kept[row] = begin + _clearest_split(values[begin:end])
        sides = _sides(values, kept)
        chances = [max(chance, _chance(*side)) for chance, side in zip(as_found, sides, strict=True)]
        worst = int(np.argmax(chances))
        if chances[worst] < alarm:
            return [_shift(at, *side, chance) for at, side, chance in zip(kept, sides, chances, strict=True)]
        del kept[worst], as_found[worst]
    return []


def _sides(values: F64, found: Sequence[int]) -> list[tuple[F64, F64]]:
    ends = [0, *found, len(values)]
    return [(values[a:b], values[b:c]) for a, b, c in zip(ends, ends[1:], ends[2:], strict=False)]


def _shift(at: int, before: F64, after: F64, chance: float) -> Shift:
    low, high = difference(before, after)
    return Shift(at, float(before.mean()), float(after.mean()), low, high, chance)


def difference(before: F64, after: F64, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of the difference of means, after less before, by Welch; with one value on a side, of equal spread.

    Raises ValueError if neither side has two values.
    """
    n, m = len(before), len(after)
    if n + m < 3 or not n or not m:
        raise ValueError("one side needs two values")
    delta = float(after.mean() - before.mean())
    if min(n, m) < 2:
        many = max(before, after, key=len)
        spread_of, freedom = float(many.var(ddof=1)) * (1 / n + 1 / m), float(len(many) - 1)
    else:
        parts = float(before.var(ddof=1)) / n, float(after.var(ddof=1)) / m
        spread_of = sum(parts)
        freedom = spread_of**2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1)) if spread_of else 1.0
    reach = student(confidence, freedom) * math.sqrt(spread_of)
    return delta - reach, delta + reach


def two_sided(t: float, freedom: float) -> float:
    """The probability of a larger |t| by Student's distribution, exact to about 1e-10 of itself."""
    x = freedom / (freedom + t * t)
    return _incomplete_beta(freedom / 2, 0.5, x)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0:
        return 0.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    ) / a  # fmt: skip
    tiny, c, d = 1e-300, 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for k in range(1, 300):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        for step in (even, odd):
            d, c = 1 + step * d, 1 + step / c
            d, c = 1 / (d if abs(d) > tiny else tiny), c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return min(max(front * value, 0.0), 1.0)


def discoveries(chances: F64, tests: int = 0, share: float = 0.05) -> Bools:
    """bool[n]: which of many tests count, so that at most this share of them is false (Benjamini and Hochberg).

    Args:
      chances: float64[n]: the clearest ones.
      tests: how many tests there were, if more than these.
      share: of false ones among those that count.
    """
    order = np.argsort(chances, kind="stable")
    under = np.flatnonzero(chances[order] <= share * np.arange(1, len(chances) + 1) / max(tests, len(chances), 1))
    chosen = np.zeros(len(chances), np.bool_)
    chosen[order[: under[-1] + 1 if len(under) else 0]] = True
    return chosen
