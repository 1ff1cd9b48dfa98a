# SPDX-License-Identifier: Apache-2.0
"""Estimates over processes. The process is the sampling unit: one value a process, never pooled calls."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A centre with its 95 % interval; ``low`` and ``high`` are None where there are too few processes."""

    centre: float
    low: float | None
    high: float | None
    n: int


def geometric(values: Sequence[float]) -> Estimate:
    """Return the geometric mean with a t interval on logs over processes.

    Raises ValueError where there is no value or one is not positive.
    """
    if not values or min(values) <= 0:
        raise ValueError("positive values are needed")
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return Estimate(math.exp(mean), None, None, len(logs))
    half = _t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Estimate(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """Return the geometric mean of per-process ratios: exactly the ratio of the geometric means."""
    return geometric([a / b for a, b in zip(numerators, denominators, strict=True)])


def difference(minuends: Sequence[float], subtrahends: Sequence[float]) -> Estimate:
    """Return the difference of two geometric means of independent processes, with its interval.

    The standard error of a geometric mean G is G times that of the mean log (delta method); the two are
    combined with Welch and Satterthwaite's degrees of freedom.
    """
    first, second = geometric(minuends), geometric(subtrahends)
    centre = first.centre - second.centre
    count = min(first.n, second.n)
    if count < 2:
        return Estimate(centre, None, None, count)
    parts = []
    for estimate, values in ((first, minuends), (second, subtrahends)):
        variance = statistics.variance([math.log(value) for value in values])
        parts.append((estimate.centre**2 * variance / estimate.n, estimate.n - 1))
    total = sum(variance for variance, _ in parts)
    if total == 0:
        return Estimate(centre, centre, centre, count)
    freedom = total**2 / sum(variance**2 / df for variance, df in parts)
    half = _t(freedom) * math.sqrt(total)
    return Estimate(centre, centre - half, centre + half, count)


def _t(degrees_of_freedom: float) -> float:
    """Return Student's t quantile for a two-sided interval of CONFIDENCE."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, 0.5 + CONFIDENCE / 2))
