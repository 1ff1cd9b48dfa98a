# SPDX-License-Identifier: Apache-2.0
"""Estimates over processes. The process is the sampling unit: one value a process, never pooled calls."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
#: Logs that lie closer than this are the same: far below what any clock resolves, above what rounding leaves.
ROUNDING = 1e-12
#: A modified z score beyond this marks an outlier (Iglewicz and Hoaglin).
OUTLIER_SCORE = 3.5
#: With fewer values than this none is marked.
OUTLIER_LEAST = 5
#: Where more than half of the values are the same, one that differs from them by more than this share is marked.
OUTLIER_SHARE = 0.1
#: No larger number of processes is ever recommended.
MOST_SAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A centre with its 95 % interval; ``low`` and ``high`` are None where there are too few processes."""

    centre: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Comparison:
    """Two sides held together: ``ratio`` is b over a, of their geometric means.

    ``p`` is two-sided, for a ratio of 1, ``standard_error`` that of the log ratio; both are None and ``freedom`` is 0
    where there are too few values to tell. ``ratio.n`` is the number of pairs, or of the smaller side.
    """

    ratio: Estimate
    p: float | None
    freedom: float
    paired: bool
    standard_error: float | None


def geometric(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the geometric mean with a t interval on logs over processes.

    Raises ValueError where there is no value or one is not positive and finite.
    """
    return _geometric(tuple(values), confidence)


@functools.lru_cache(maxsize=256)
def _geometric(values: tuple[float, ...], confidence: float) -> Estimate:
    # A run asks for the same centre in its row, in start-up and in what stands beside them.
    logs = _logs(values)
    mean = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return Estimate(math.exp(mean), None, None, len(logs))
    half = _t(len(logs) - 1, confidence) * _stdev(tuple(logs)) / math.sqrt(len(logs))
    return Estimate(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))


def ratio(numerators: Sequence[float], denominators: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the geometric mean of per-process ratios: exactly the ratio of the geometric means.

    Raises ValueError as ``geometric`` does, and where a process has no partner.
    """
    return geometric([a / b for a, b in zip(numerators, denominators, strict=True)], confidence)


def difference(
    minuends: Sequence[float], subtrahends: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the difference of two geometric means of independent processes, with its interval.

    The standard error of a geometric mean G is G times that of the mean log (delta method); the two are
    combined with Welch and Satterthwaite's degrees of freedom. Raises ValueError as ``geometric`` does.
    """
    first, second = geometric(minuends), geometric(subtrahends)
    centre = first.centre - second.centre
    count = min(first.n, second.n)
    if count < 2:
        return Estimate(centre, None, None, count)
    parts = []
    for estimate, values in ((first, minuends), (second, subtrahends)):
        variance = _variance(tuple(_logs(values)))
        parts.append((estimate.centre**2 * variance / estimate.n, estimate.n - 1))
    total = sum(variance for variance, _ in parts)
    if total == 0:
        return Estimate(centre, centre, centre, count)
    half = _t(_satterthwaite(parts), confidence) * math.sqrt(total)
    return Estimate(centre, centre - half, centre + half, count)


def paired_ratio(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Comparison:
    """Compare b with a, whose values at the same place come from the same block.

    Student's t on the differences of logs, so what a whole block has in common (a warm room, a neighbour) cancels.
    With fewer than 2 pairs there is a centre only. Where all differences are the same the interval is one point, and
    p is 0, or 1 where the ratio is 1.
    Raises ValueError where a value has no partner, there is none, or one is not positive and finite.
    """
    logs = [y - x for x, y in zip(_logs(a), _logs(b), strict=True)]
    if len(logs) < 2:
        return _untold(logs[0], 1, paired=True)
    mean = math.fsum(logs) / len(logs)
    error = _stdev(tuple(logs)) / math.sqrt(len(logs))
    return _compared(mean, error, len(logs) - 1, len(logs), paired=True, confidence=confidence)


def welch_ratio(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Comparison:
    """Compare b with a, whose values come from independent processes.

    Welch's t on logs with Satterthwaite's degrees of freedom: neither the spreads nor the numbers need be alike.
    With fewer than 2 values on a side there is a centre only. Where neither side varies the interval is one point,
    and p is 0, or 1 where the ratio is 1.
    Raises ValueError where a side is empty or a value is not positive and finite.
    """
    logs_a, logs_b = _logs(a), _logs(b)
    mean = math.fsum(logs_b) / len(logs_b) - math.fsum(logs_a) / len(logs_a)
    count = min(len(logs_a), len(logs_b))
    if count < 2:
        return _untold(mean, count, paired=False)
    parts = [(_variance(tuple(logs)) / len(logs), len(logs) - 1) for logs in (logs_a, logs_b)]
    total = sum(variance for variance, _ in parts)
    freedom = _satterthwaite(parts) if total > 0 else len(logs_a) + len(logs_b) - 2
    return _compared(mean, math.sqrt(total), freedom, count, paired=False, confidence=confidence)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted for their number (Holm 1979), in the order given.

    None is a test that could not be made: it stays None and does not count.
    Raises ValueError for what is no probability.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    if not all(0 <= p <= 1 for p, _ in known):
        raise ValueError("a p value lies between 0 and 1")
    out: list[float | None] = [None] * len(p_values)
    reached = 0.0
    for rank, (p, place) in enumerate(known):
        # Never below a smaller p's: the first that fails ends the procedure.
        reached = max(reached, min(1.0, p * (len(known) - rank)))
        out[place] = reached
    return out


def outliers(values: Sequence[float]) -> list[int]:
    """Return the places of the values to mark; marked ones stay in every estimate.

    The modified z score of Iglewicz and Hoaglin (1993), 0.6745 (x - median) / MAD, on logs, beyond 3.5. With fewer
    than 5 values none is marked. Where more than half of the values are the same the MAD is 0 and says nothing: then
    those that differ from them by more than 10 % are marked.
    Raises ValueError where a value is not positive and finite.
    """
    if len(values) < OUTLIER_LEAST:
        return []
    logs = _logs(values)
    centre = statistics.median(logs)
    offs = [abs(each - centre) for each in logs]
    mad = statistics.median(offs)
    most = OUTLIER_SCORE * mad / 0.6745 if mad > ROUNDING else math.log1p(OUTLIER_SHARE)
    return [place for place, off in enumerate(offs) if off > most]


def half_width(estimate: Estimate) -> float | None:
    """Return how far an estimate's interval reaches above its centre, as a share of it.

    For a geometric mean that is exp(half) - 1 with the half width on logs. None without an interval, or where the
    centre is no scale: a difference of 0 or less.
    """
    if estimate.high is None or estimate.centre <= 0:
        return None
    return max(0.0, estimate.high / estimate.centre - 1)


def samples_for(values: Sequence[float], half_width: float, confidence: float = CONFIDENCE) -> int | None:
    """Return how many processes would bring the geometric mean's interval to this relative half width.

    The least n whose t quantile (n - 1) times the spread of these values' logs over sqrt(n) is within
    log(1 + half_width): a plan, as uncertain as the spread it rests on. Never more than 10,000, which stands for
    "10,000 or more"; never fewer than 2; None with fewer than 2 values.
    Raises ValueError for a half width that is not above 0, or a value that is not positive and finite.
    """
    if not half_width > 0:
        raise ValueError("a half width above 0 is needed")
    if len(values) < 2:
        return None
    spread, wanted = _stdev(tuple(_logs(values))), math.log1p(half_width)
    few, many = 1, MOST_SAMPLES  # too few, and enough: the half width falls with n
    while many - few > 1:
        middle = (few + many) // 2
        if _t(middle - 1, confidence) * spread <= wanted * math.sqrt(middle):
            many = middle
        else:
            few = middle
    return many


def minimum_detectable_ratio(
    spread_log_a: float,
    spread_log_b: float,
    n: int,
    *,
    tests: int,
    power: float = 0.8,
    paired_spread: float | None = None,
    confidence: float = CONFIDENCE,
) -> float:
    """Return the smallest ratio above 1 that a comparison of n processes a side finds with this power.

    Parameters
    ----------
    spread_log_a, spread_log_b
        Standard deviations of the logs between processes.
    n
        Processes a side, or pairs.
    tests
        How many comparisons are made together. Holm's first step has the level (1 - confidence) / tests: the worst
        case, so what is found here is found at whatever place of the procedure.
    power
        The chance to find it.
    paired_spread
        The standard deviation of the differences of logs within a block, for a paired comparison.

    Returns
    -------
    1 where nothing varies; infinity where the ratio is beyond what a float holds.

    Raises
    ------
    ValueError
        With fewer than 2 processes or no test, for a power that is not above the level and below 1, or a negative
        spread.

    Notes
    -----
    The power of a two-sided t test is that of the noncentral t distribution (Cohen 1988). For Welch's the degrees
    of freedom are Satterthwaite's at the spreads given.
    """
    from scipy import optimize, special, stats

    level = (1 - confidence) / max(tests, 1)
    if n < 2 or tests < 1 or not level < power < 1 or min(spread_log_a, spread_log_b, paired_spread or 0.0) < 0:
        raise ValueError("needs 2 processes or more, a test, spreads of 0 or more and a power between level and 1")
    if paired_spread is None:
        parts = [(spread**2 / n, n - 1) for spread in (spread_log_a, spread_log_b)]
        error = math.sqrt(sum(variance for variance, _ in parts))
        freedom = _satterthwaite(parts) if error > 0 else 1.0
    else:
        error, freedom = paired_spread / math.sqrt(n), n - 1.0
    if error == 0:
        return 1.0
    critical = float(special.stdtrit(freedom, 1 - level / 2))

    def short(shift: float) -> float:
        # Only in the right direction: to find b slower where it is quicker is to find nothing.
        return float(stats.nct.sf(critical, freedom, shift)) - power

    # A shift of some critical values finds nearly always; with 1 degree of freedom that takes more of them.
    most = critical
    while short(most) < 0:
        most *= 2
    shift = float(optimize.brentq(short, 0.0, most))
    try:
        return math.exp(shift * error)
    except OverflowError:
        return math.inf


def _logs(values: Sequence[float]) -> list[float]:
    if not values or not all(0 < value < math.inf for value in values):
        raise ValueError("positive values are needed")
    return [math.log(value) for value in values]


#: Exact, and slow for it: a table asks several times for the spread of the same few values.
_stdev = functools.lru_cache(maxsize=256)(statistics.stdev)
_variance = functools.lru_cache(maxsize=256)(statistics.variance)


def _untold(log_ratio: float, count: int, *, paired: bool) -> Comparison:
    return Comparison(Estimate(math.exp(log_ratio), None, None, count), None, 0.0, paired, None)


def _compared(
    log_ratio: float, error: float, freedom: float, count: int, *, paired: bool, confidence: float
) -> Comparison:
    from scipy.special import stdtr

    if error < ROUNDING:
        error, p = 0.0, (1.0 if abs(log_ratio) < ROUNDING else 0.0)
    else:
        p = 2 * float(stdtr(freedom, -abs(log_ratio) / error))
    half = _t(freedom, confidence) * error
    interval = Estimate(math.exp(log_ratio), math.exp(log_ratio - half), math.exp(log_ratio + half), count)
    return Comparison(interval, p, float(freedom), paired, error)


def _satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """Return the degrees of freedom of a sum of variances, each with its own."""
    total = sum(variance for variance, _ in parts)
    # As shares of the total: squares of small variances alone would underflow.
    return 1 / sum((variance / total) ** 2 / freedom for variance, freedom in parts)


@functools.lru_cache(maxsize=1024)
def _t(degrees_of_freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return Student's t quantile for a two-sided interval of this confidence."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, 0.5 + confidence / 2))
