# SPDX-License-Identifier: Apache-2.0
"""Intervals over blocks and processes that an account needs. Pure functions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from suite.stats import CONFIDENCE, Estimate


def mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean with Student's t interval; no interval with fewer than 2 values. ValueError without any."""
    if not values:
        raise ValueError("a mean of nothing")
    centre = math.fsum(values) / len(values)
    if len(values) < 2:
        return Estimate(centre, None, None, len(values))
    half = _t(len(values) - 1, confidence) * statistics.stdev(values) / math.sqrt(len(values))
    return Estimate(centre, centre - half, centre + half, len(values))


def share(parts: Sequence[float], wholes: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the sum of ``parts`` over that of ``wholes``, paired by place, with Fieller's interval, within [0, 1].

    Fieller (1954): the shares r for which the mean of ``part - r whole`` is not significantly other than 0. There is no
    interval with fewer than 2 pairs, or where the whole itself is not significantly above 0.
    Raises ValueError where a part has no whole, or the wholes sum to 0 or less.
    """
    pairs = list(zip(parts, wholes, strict=True))
    n = len(pairs)
    a, b = math.fsum(parts) / max(n, 1), math.fsum(wholes) / max(n, 1)
    if not n or b <= 0:
        raise ValueError("a share of nothing")
    centre = _within(a / b)
    if n < 2:
        return Estimate(centre, None, None, n)
    t2 = _t(n - 1, confidence) ** 2 / n
    var_a, var_b = statistics.variance(parts), statistics.variance(wholes)
    covariance = math.fsum((x - a) * (y - b) for x, y in pairs) / (n - 1)
    # (a - r b)^2 <= t^2 (var_a - 2 r cov + r^2 var_b) / n, a quadratic in r.
    square, linear, constant = b * b - t2 * var_b, a * b - t2 * covariance, a * a - t2 * var_a
    if square <= 0:
        return Estimate(centre, None, None, n)
    root = math.sqrt(max(0.0, linear * linear - square * constant))
    return Estimate(centre, _within((linear - root) / square), _within((linear + root) / square), n)


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))


def excludes_zero(estimate: Estimate | None) -> bool:
    """Tell whether an interval lies above 0 as a whole: what was taken away did cost something."""
    return estimate is not None and estimate.low is not None and estimate.low > 0


def _t(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2))
