# SPDX-License-Identifier: Apache-2.0
"""What two runs say of each other, cell by cell: pure functions of their samples."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from suite import rows, stats, verdict
from suite.records import Run, Sample
from suite.rows import CellRow
from suite.stats import Estimate
from suite.verdict import Pairing, Verdict

Quantity = Literal["cold", "warm"]
QUANTITIES: tuple[Quantity, ...] = ("cold", "warm")

#: A warm time counts as steady where at most this share of its series is not: one that wanders is no verdict on all.
MOST_NOT_STEADY = 0.2

#: How often a difference of that size must be found for it to be called detectable.
POWER = 0.8


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    run: Run
    samples: Sequence[Sample]


@dataclass(frozen=True)
class Row:
    """One quantity of one cell on both sides, seconds, and what it says about b as seen from a."""

    a: CellRow
    b: CellRow
    quantity: Quantity
    verdict: Verdict
    detectable: float | None
    """The smallest ratio above 1 that so many samples, as spread as these, find with POWER; None where unknown."""

    def estimates(self) -> tuple[Estimate | None, Estimate | None]:
        return getattr(self.a, self.quantity), getattr(self.b, self.quantity)


def compare(a: Side, b: Side, *, paired: bool, margin: float | None = verdict.MARGIN) -> list[Row]:
    """Return a row for each quantity of each cell that both plans have, in a's order.

    Parameters
    ----------
    paired
        Whether the two were measured interleaved, so that what shares a block is compared with each other.
    margin
        The share by which two times may differ and still be the same.
    """
    of_b = {_key(row): row for row in rows.cell_rows(b.run, b.samples)}
    both = [(row, of_b[_key(row)]) for row in rows.cell_rows(a.run, a.samples) if _key(row) in of_b]
    each = [(quantity, ours, theirs) for ours, theirs in both for quantity in QUANTITIES]
    pairings = [pairing(quantity, ours, theirs, paired=paired) for quantity, ours, theirs in each]
    decided = verdict.decide(pairings, margin=margin)
    tests = sum(1 for found in decided if found.p_adjusted is not None)
    return [
        Row(ours, theirs, quantity, found, _detectable(pair, tests))
        for (quantity, ours, theirs), pair, found in zip(each, pairings, decided, strict=True)
    ]


def _key(row: CellRow) -> tuple[str, str, int]:
    return row.cell.target, row.cell.placement, row.cell.n


def pairing(
    quantity: Quantity,
    a: CellRow,
    b: CellRow,
    *,
    paired: bool,
    blocked: tuple[str, str] | None = None,
    names: tuple[str, str] = ("a", "b"),
) -> Pairing:
    """Return what two cells measured of one quantity, as :func:`suite.verdict.decide` takes it.

    Parameters
    ----------
    paired
        Whether the two were measured interleaved: then only blocks that both have are compared.
    blocked
        The code of what makes them incomparable, and the same in words.
    names
        What the two sides are called.
    """
    ours: Mapping[int, float] = a.colds if quantity == "cold" else a.warms
    theirs: Mapping[int, float] = b.colds if quantity == "cold" else b.warms
    blocks = sorted(set(ours) & set(theirs)) if paired else None
    return Pairing(
        key=f"{a.cell.id} {quantity}",
        a=[ours[block] for block in (blocks if blocks is not None else sorted(ours))],
        b=[theirs[block] for block in (blocks if blocks is not None else sorted(theirs))],
        paired=paired,
        steady=quantity == "cold" or (_steady(a) and _steady(b)),
        complete=a.count.whole() and b.count.whole(),
        blocked=blocked[0] if blocked else None,
        why_blocked=blocked[1] if blocked else "",
        names=names,
    )


def _steady(row: CellRow) -> bool:
    return sum(row.not_steady.values()) <= MOST_NOT_STEADY * row.count.ok


def _detectable(pair: Pairing, tests: int) -> float | None:
    n = min(len(pair.a), len(pair.b))
    if n < verdict.LEAST_VALUES or not tests:
        return None
    logs_a, logs_b = ([math.log(value) for value in side] for side in (pair.a, pair.b))
    spread = (
        statistics.stdev([after - before for before, after in zip(logs_a, logs_b, strict=True)])
        if pair.paired
        else None
    )
    return stats.minimum_detectable_ratio(
        statistics.stdev(logs_a), statistics.stdev(logs_b), n, tests=tests, power=POWER, paired_spread=spread
    )
