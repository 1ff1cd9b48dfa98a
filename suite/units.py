# SPDX-License-Identifier: Apache-2.0
"""Numbers for people: three significant digits and a unit. Machines get seconds by repr instead."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from suite.stats import Estimate

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def seconds(value: float) -> str:
    """Return a time such as "1.52 s", "93.1 ms" or "214 us"; negative ones keep their sign."""
    size = abs(value)
    scale, unit = next(((s, u) for s, u in _UNITS if size >= 0.9995 * s), _UNITS[-1])
    return f"{significant(value / scale)} {unit}"


#: An interval that reaches from a centre by more than this factor is none.
UNBOUNDED = 1e4


def significant(value: float) -> str:
    """Return ``value`` with three significant digits and no exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 99.95:
        return f"{value:.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    return f"{value:.{2 - math.floor(math.log10(size * 1.0005))}f}"


def with_interval(estimate: Estimate) -> str:
    """Return a plain number with its interval: "17.7 [17, 19]", or without where there is none."""
    return significant(estimate.centre) + _interval(estimate, 1.0)


def seconds_with_interval(estimate: Estimate) -> str:
    """Return a time with its interval in the unit of the centre: "1.52 [1.4, 1.6] s"."""
    size = abs(estimate.centre)
    scale, unit = next(((s, u) for s, u in _UNITS if size >= 0.9995 * s), _UNITS[-1])
    return f"{significant(estimate.centre / scale)}{_interval(estimate, scale)} {unit}"


def _interval(estimate: Estimate, scale: float) -> str:
    """Return the interval outward to two significant digits: its ends are not known better than that."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = outward(estimate)
    return f" [{_two_digits(low / scale, down=True)}, {_two_digits(high / scale, down=False)}]"


def outward(estimate: Estimate) -> tuple[float, float]:
    """Return the ends of an interval, 0 or inf for one that two processes do not bound: 20 digits would say no more.

    Raises ValueError where there is no interval.
    """
    if estimate.low is None or estimate.high is None:
        raise ValueError("no interval")
    low, size, high = estimate.low, abs(estimate.centre), estimate.high
    if low <= 0 or size == 0:  # a difference: its ends are not to be compared with a centre near 0
        return low, high
    return 0.0 if low < size / UNBOUNDED else low, math.inf if high > size * UNBOUNDED else high


def _two_digits(value: float, down: bool) -> str:
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    # In decimal, where 1.2 is 1.2: in binary it lies below, and would be rounded down to 1.1.
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(exact.adjusted() - 1)
    rounded = exact.quantize(step, rounding=ROUND_FLOOR if down else ROUND_CEILING)
    return f"{rounded:f}"
