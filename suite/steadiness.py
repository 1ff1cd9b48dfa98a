# SPDX-License-Identifier: Apache-2.0
"""Is a warm series steady, and from which call on? Block medians and ranks, so that a single spike decides nothing.

A series is cut into blocks. What is away from the rest at its start, calls or blocks, and ends before a third of it,
is a warm-up: it is left out, and the rest is judged. Three rank tests on the block medians then ask for a drift
(Kendall's tau), for two levels (Mann and Whitney's U at the best cut, times the number of cuts) and for slow
wandering (Bartels' rank version of von Neumann's ratio). They rest on nothing but the exchangeability of calls, so
noise of any shape, two modes included, is called unsteady in fewer than 1 of 100 series. What is smaller than
LEAST_EFFECT is of no account, however sure it is.
"""

from __future__ import annotations

import functools
import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

#: Fewer calls than this cannot be tested.
LEAST_CALLS = 20
#: A drift or a step smaller than this share of the median is of no account, however sure it is.
LEAST_EFFECT = 0.05
#: How far off the median wandering must lead: twice that, for a median takes its ups and downs together.
LEAST_WANDERING = 0.1
#: How sure each of the tests for a trend, a shift or wandering must be.
SIGNIFICANCE = 0.001
#: A series is cut into so many blocks, and each block's median is taken.
BLOCKS = 20
#: Wandering is looked for in more of them, of at least FINE_CALLS calls: 20 are too few to tell it from chance.
FINE_BLOCKS, FINE_CALLS = 50, 4
#: A segment is at least so many of the blocks: a level that only a call or two hold is a spike, and belongs to the
#: segment around it.
LEAST_SEGMENT = 3
#: What lies so many standard deviations (by quartiles, on logs) off the rest is away from it.
AWAY = 5.0
#: Standard scores of ranks below this are not worth a test: it is far from SIGNIFICANCE.
NOT_WORTH = 3.0


@dataclass(frozen=True)
class Steadiness:
    """``state`` is steady, trend, shift or not_testable; ``warm_s`` the median of the steady segment.

    ``steady_from`` is the place of that segment's first call; it reaches to the end. Where the series is not steady it
    is the last half.
    """

    state: str
    warm_s: float
    steady_from: int = 0


def assess(calls_s: Sequence[float]) -> Steadiness:
    """Return the steadiness of one series of warm calls, in seconds, and its warm time.

    A warm-up that ends before a third of the series is left out: an 18 times slower first call, some slow ones, a
    first level. A series that alternates between modes faster than a block is steady, with a wide spread; one that
    stays in a mode for longer, wanders or ends on another level is not. What fits the block medians better names
    it: two levels are a shift, a line is a trend. Warm is then the last half's median.
    Raises ValueError for an empty series.
    """
    if not calls_s:
        raise ValueError("a warm series without calls")
    if len(calls_s) < LEAST_CALLS:
        return Steadiness("not_testable", statistics.median(calls_s))
    start = _away(calls_s)
    medians = _block_medians(calls_s[start:])
    if not _of_no_account(medians):
        # Too little to be seen in a call can be seen in a block.
        more = _edges(len(calls_s) - start)[_away(medians)]
        if more and start + more <= len(calls_s) // 3:
            start += more
            medians = _block_medians(calls_s[start:])
        if _unsteady(calls_s[start:], medians):
            half = len(calls_s) // 2
            state = "shift" if _fits_step(medians) else "trend"
            return Steadiness(state, statistics.median(calls_s[half:]), half)
    return Steadiness("steady", statistics.median(calls_s[start:] if start else calls_s), start)


def time_to_steady_s(calls_s: Sequence[float], steadiness: Steadiness) -> float | None:
    """Return how long the calls before the steady segment took; None where no steady segment is known of.

    That is a series with a trend or a shift, and one too short to be tested.
    """
    if steadiness.state != "steady":
        return None
    return math.fsum(calls_s[: steadiness.steady_from])


def _away(values: Sequence[float], spikes: float = 0.1) -> int:
    """Return how many values at the start are away from those after the first third; 0 if they do not end before.

    Away is off by LEAST_EFFECT, and by AWAY standard deviations. Where more than a share of ``spikes`` of the others
    is away as well there is no start: it comes back. They end where those away outnumber the others by most, so a
    normal call among slow ones does not end a warm-up, and a spike further on does not prolong it.
    """
    limit = len(values) // 3
    rest = sorted(values[limit:])
    last = len(rest) - 1
    low, centre, high = rest[last // 4], rest[last // 2], rest[last - last // 4]
    if low <= 0:
        return 0
    # Between the quartiles of a normal distribution lie 1.349 standard deviations.
    factor = max((high / low) ** (AWAY / 1.349), 1 + LEAST_EFFECT)
    below, above = centre / factor, centre * factor
    if bisect_left(rest, below) + len(rest) - bisect_right(rest, above) > spikes * len(rest):
        return 0
    score = best = ends = 0
    for place, value in enumerate(values[:limit], start=1):
        if below <= value <= above:
            score -= 1
        else:
            score += 1
            if score > best:
                best, ends = score, place
    return ends if ends < limit else 0


def _of_no_account(medians: Sequence[float]) -> bool:
    return max(medians) <= (1 + LEAST_EFFECT) * min(medians)


def _unsteady(calls_s: Sequence[float], medians: Sequence[float]) -> bool:
    if _of_no_account(medians):
        return False
    # A last level too short for a rank test, as a warm-up is one at the start; not even one spike may be like it.
    if _away(medians[::-1], spikes=0.0) >= LEAST_SEGMENT:
        return True
    ranks = _ranks(medians)
    return _drifts(medians, ranks) or _steps(medians, ranks) or _wanders(calls_s, medians)


def _matters(first: Sequence[float], last: Sequence[float]) -> bool:
    before, after = statistics.median(first), statistics.median(last)
    return abs(after - before) > LEAST_EFFECT * statistics.median([*first, *last])


def _drifts(medians: Sequence[float], ranks: Sequence[float]) -> bool:
    count = len(medians)
    if not _matters(medians[: count // 2], medians[count // 2 :]):
        return False
    concordance = sum(
        (later > rank) - (later < rank) for place, rank in enumerate(ranks) for later in ranks[place + 1 :]
    )
    if abs(concordance) < NOT_WORTH * math.sqrt(count * (count - 1) * (2 * count + 5) / 18):
        return False
    return _p_of_order(tuple(ranks)) < SIGNIFICANCE


def _steps(medians: Sequence[float], ranks: Sequence[float]) -> bool:
    """Tell whether there are two levels: U at the cut where it says most, times the number of cuts (Bonferroni)."""
    count = len(medians)
    # A quarter: with fewer on one side not even two levels apart are sure.
    cuts = range(max(LEAST_SEGMENT, count // 4), count - max(LEAST_SEGMENT, count // 4) + 1)
    best, at = 0.0, 0
    sums = list(accumulate(ranks, initial=0.0))
    for cut in cuts:
        score = abs(sums[cut] - cut * (count + 1) / 2) / math.sqrt(cut * (count - cut) * (count + 1) / 12)
        if score > best:
            best, at = score, cut
    if best < NOT_WORTH or not _matters(medians[:at], medians[at:]):
        return False
    if len(set(ranks)) == count:
        found = _p_of_u(round(sums[at] - at * (at + 1) / 2), at, count - at)
    else:
        from scipy import stats

        found = float(stats.mannwhitneyu(medians[:at], medians[at:], method="asymptotic").pvalue)
    return found * len(cuts) < 2 * SIGNIFICANCE


@functools.lru_cache(maxsize=4096)
def _p_of_order(ranks: tuple[float, ...]) -> float:
    """Return the two-sided p of Kendall's tau between ranks and their places."""
    from scipy import stats

    return float(stats.kendalltau(range(len(ranks)), ranks).pvalue)


@functools.lru_cache(maxsize=4096)
def _p_of_u(u: int, first: int, last: int) -> float:
    """Return the exact two-sided p of Mann and Whitney's ``u``, of the first so many values without ties.

    It depends on nothing else, so that thousands of series share a few hundred values of it: scipy is asked with ranks
    that have this ``u``.
    """
    from scipy import stats

    over, left = divmod(u, last)
    mine = [
        place + (last if place > first - over else left if place == first - over else 0)
        for place in range(1, first + 1)
    ]
    others = sorted(set(range(1, first + last + 1)) - set(mine))
    return float(stats.mannwhitneyu(mine, others, method="exact").pvalue)


def _wanders(calls_s: Sequence[float], medians: Sequence[float]) -> bool:
    """Tell whether neighbors are too alike for chance, by Bartels' (1982) rank test of randomness."""
    ordered, centre = sorted(medians), statistics.median(medians)
    # The third from either end: two spikes are no way off the median.
    if ordered[-3] <= (1 + LEAST_WANDERING) * centre <= (1 + LEAST_WANDERING) ** 2 * ordered[2]:
        return False
    count = min(FINE_BLOCKS, len(calls_s) // FINE_CALLS)
    ranks = _ranks(_block_medians(calls_s, count) if count > len(medians) else medians)
    count = len(ranks)
    whole = sum((rank - (count + 1) / 2) ** 2 for rank in ranks)
    between = sum((after - before) ** 2 for before, after in zip(ranks, ranks[1:], strict=False))
    variance = 4 * (count - 2) * (5 * count**2 - 2 * count - 9) / (5 * count * (count + 1) * (count - 1) ** 2)
    score = (between / whole - 2) / math.sqrt(variance)
    if score > -NOT_WORTH:
        return False
    from scipy.special import ndtr

    return bool(ndtr(score) < SIGNIFICANCE)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return each value's rank from 1, equal ones sharing the middle of theirs."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    last = {value: place for place, value in enumerate(ordered, start=1)}
    return [(first[value] + last[value]) / 2 for value in values]


def _fits_step(medians: Sequence[float]) -> bool:
    """Tell whether two levels lie closer to the medians than a straight line, by absolute deviation."""

    def off(values: Sequence[float], level: float) -> float:
        return sum(abs(value - level) for value in values)

    step = min(
        off(medians[:cut], statistics.median(medians[:cut])) + off(medians[cut:], statistics.median(medians[cut:]))
        for cut in range(LEAST_SEGMENT, len(medians) - LEAST_SEGMENT + 1)
    )
    # Theil and Sen's line: scipy's own takes ten times as long over its interval.
    slope = statistics.median(
        [
            (after - before) / (later - place)
            for (place, before), (later, after) in combinations(enumerate(medians), 2)
        ]
    )
    intercept = statistics.median(medians) - slope * (len(medians) - 1) / 2
    line = sum(abs(value - intercept - slope * place) for place, value in enumerate(medians))
    return bool(step < line)


def _edges(calls: int, blocks: int = BLOCKS) -> list[int]:
    blocks = min(blocks, calls)
    return [round(calls / blocks * k) for k in range(blocks + 1)]


def _block_medians(calls_s: Sequence[float], blocks: int = BLOCKS) -> list[float]:
    if len(calls_s) <= blocks:
        return list(calls_s)
    edges = _edges(len(calls_s), blocks)
    return [statistics.median(calls_s[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
