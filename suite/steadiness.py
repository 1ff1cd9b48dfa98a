# SPDX-License-Identifier: Apache-2.0
"""Is a warm series steady? Tests on block medians and ranks, so that a single spike decides nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: Fewer calls than this cannot be tested.
LEAST_CALLS = 20
#: A drift or a step smaller than this share of the median is of no account, however sure it is.
LEAST_EFFECT = 0.05
#: How sure a trend or a shift must be.
SIGNIFICANCE = 0.001
#: A series is cut into so many blocks, and each block's median is taken.
BLOCKS = 20


@dataclass(frozen=True)
class Steadiness:
    """``state`` is steady, trend, shift or not_testable; ``warm_s`` the median of the steady segment."""

    state: str
    warm_s: float


def assess(calls_s: Sequence[float]) -> Steadiness:
    """Return the steadiness of one series of warm calls, in seconds, and its warm time.

    It is not steady where block medians drift (Kendall's tau) or differ between the halves (Mann-Whitney), and by
    more than LEAST_EFFECT; both tests are as sure of a step as of a drift, so what fits the medians better
    names it: two levels are a shift, a line is a trend. Warm is then the last half's median.
    Raises ValueError for an empty series.
    """
    if not calls_s:
        raise ValueError("a warm series without calls")
    if len(calls_s) < LEAST_CALLS:
        return Steadiness("not_testable", statistics.median(calls_s))
    half = len(calls_s) // 2
    first, last = statistics.median(calls_s[:half]), statistics.median(calls_s[half:])
    if abs(last - first) > LEAST_EFFECT * statistics.median(calls_s):
        # Only now is SciPy needed: most series end here.
        from scipy import stats

        medians = _block_medians(calls_s)
        drift = stats.kendalltau(range(len(medians)), medians).pvalue
        step = stats.mannwhitneyu(medians[: BLOCKS // 2], medians[BLOCKS // 2 :]).pvalue
        if min(drift, step) < SIGNIFICANCE:
            return Steadiness("shift" if _fits_step(medians) else "trend", last)
    return Steadiness("steady", statistics.median(calls_s))


def _fits_step(medians: Sequence[float]) -> bool:
    """Tell whether two levels lie closer to the medians than a straight line, by absolute deviation."""
    from scipy import stats

    def off(values: Sequence[float], level: float) -> float:
        return sum(abs(value - level) for value in values)

    step = min(
        off(medians[:cut], statistics.median(medians[:cut])) + off(medians[cut:], statistics.median(medians[cut:]))
        for cut in range(2, len(medians) - 1)
    )
    slope, intercept, _, _ = stats.theilslopes(medians)
    line = sum(abs(value - intercept - slope * place) for place, value in enumerate(medians))
    return bool(step < line)


def _block_medians(calls_s: Sequence[float]) -> list[float]:
    size = len(calls_s) / BLOCKS
    edges = [round(size * k) for k in range(BLOCKS + 1)]
    return [statistics.median(calls_s[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
