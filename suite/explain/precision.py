# SPDX-License-Identifier: Apache-2.0
"""With which precision a sample multiplied, by the errors of its entries and not by a setting's name."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from suite.records import Sample

#: Rounding units, as the worker has them (suite/worker/matmul.py).
UNITS = {"ieee": 2.0**-24, "tf32": 2.0**-11, "bf16": 2.0**-9}
#: An honest run's largest error is at most a third of its bound and far above this share of it.
LEAST_RATIO = 1.0 / 128
#: Errors of two arms that differ by more than this factor are of other arithmetic, whatever both are called.
OTHER_ARITHMETIC = 4.0


def error_in_ieee_bounds(sample: Sample) -> float | None:
    """Return the largest error of rows and last row, cold, in bounds of full float32; None where it is not told."""
    unit = UNITS.get(str(sample.facts.get("precision", "")))
    results = {each.get("of"): each.get("ratios", {}) for each in sample.evidence.get("results", [])}
    found = [ratio for name in ("rows", "last") if (ratio := results.get("cold", {}).get(name)) is not None]
    return max(found) * unit / UNITS["ieee"] if unit and found else None


def effective(samples: Sequence[Sample]) -> str:
    """Return "ieee", "tf32", "bf16", what the worker found out itself, or "between ieee and tf32" by entry errors.

    "not told" where nothing shows it.
    """
    told = {str(each.evidence.get("effective_precision") or "") for each in samples}
    told |= {str(each.facts.get("effective_precision") or "") for each in samples}
    told.discard("")
    if len(told) == 1:
        return told.pop()
    errors = [error for each in samples if (error := error_in_ieee_bounds(each)) is not None]
    if not errors:
        return "not told"
    error = statistics.median(errors)
    if error <= 1:
        return "ieee"
    for name in ("tf32", "bf16"):
        if LEAST_RATIO <= error * UNITS["ieee"] / UNITS[name] <= 1:
            return name
    return "between ieee and tf32" if error * UNITS["ieee"] < UNITS["tf32"] else "not told"


def arithmetic(unablated: Sequence[Sample], ablated: Sequence[Sample]) -> str:
    """Return "same", "other rounding" (the scalars differ) or "changes arithmetic"; "not told" without evidence."""
    before, after = effective(unablated), effective(ablated)
    errors = [
        [error for each in side if (error := error_in_ieee_bounds(each)) is not None]
        for side in (unablated, ablated)
    ]
    if "not told" in (before, after) or not all(errors):
        return "not told"
    one, other = (statistics.median(each) for each in errors)
    factor = max(one, other) / min(one, other) if min(one, other) > 0 else float("inf")
    if before != after or (max(one, other) > 1 and factor > OTHER_ARITHMETIC):
        return "changes arithmetic"
    scalars = [{each.scalar for each in side} for side in (unablated, ablated)]
    return "same" if scalars[0] & scalars[1] else "other rounding"
