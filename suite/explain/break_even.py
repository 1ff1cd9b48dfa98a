# SPDX-License-Identifier: Apache-2.0
"""After how many calls a slow start has paid for itself: DESIGN's break-even N. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from suite.stats import Estimate

#: Resamples of processes.
RESAMPLES = 10_000


@dataclass(frozen=True)
class BreakEven:
    """``calls``: N with its 95 % interval, where kind is "after". Otherwise "at once", "never" or "undetermined"."""

    kind: Literal["at once", "after", "never", "undetermined"]
    calls: Estimate | None = None
    why: str = ""


def break_even(
    first_x: Sequence[float],
    warm_x: Sequence[float],
    first_g: Sequence[float],
    warm_g: Sequence[float],
    *,
    seed: int = 0,
) -> BreakEven:
    """Return from which call on X has taken less time than G, both from the start of their processes.

    N = (first_X - first_G) / (warm_G - warm_X), of geometric means; the interval by a percentile bootstrap over
    processes, each of the four lists on its own. At once where X is behind in neither; never only where the interval of
    warm_G - warm_X lies below 0.
    """
    lists = [np.log(np.asarray(each, dtype=np.float64)) for each in (first_x, warm_x, first_g, warm_g)]
    if min(len(each) for each in lists) < 2:
        return BreakEven("undetermined", why="fewer than 2 processes")
    rng = np.random.default_rng(seed)
    drawn = [np.exp(each[rng.integers(0, len(each), (RESAMPLES, len(each)))].mean(axis=1)) for each in lists]
    behind, gain = drawn[0] - drawn[2], drawn[3] - drawn[1]
    centre = [float(np.exp(each.mean())) for each in lists]
    late, early = _ends(behind), _ends(gain)
    if late[1] <= 0 and early[0] >= 0:
        return BreakEven("at once", why="neither its first result nor its calls are slower")
    if early[1] < 0:
        return BreakEven("never", why="its calls are slower")
    if early[0] <= 0:
        return BreakEven("undetermined", why="which calls are quicker cannot be told")
    if late[0] <= 0:
        return BreakEven("undetermined", why="which first result is earlier cannot be told")
    low, high = _ends(behind / gain)
    calls = (centre[0] - centre[2]) / (centre[3] - centre[1])
    return BreakEven("after", Estimate(calls, low, high, min(len(each) for each in lists)))


def _ends(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
