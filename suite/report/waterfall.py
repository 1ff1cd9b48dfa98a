# SPDX-License-Identifier: Apache-2.0
"""Where the time of one first result went: its phases in order, and what lies in none. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suite.records import COLD_PHASES, PHASES, Sample

UNTIMED = "untimed"


@dataclass(frozen=True)
class Step:
    """One phase of one process: its intervals, seconds since the spawn, and their sum.

    ``kind``: ``shape`` for what the cell's own call pays, ``process`` for the others, ``untimed`` for the rest.
    """

    name: str
    kind: str
    intervals: list[tuple[float, float]]
    total_s: float


@dataclass(frozen=True)
class Waterfall:
    """The steps of the median sample of a cell; their totals add up to ``first_result_s``."""

    sample: str
    first_result_s: float
    steps: list[Step]
    of: int
    """How many samples it is the median of."""


def median_sample(samples: Sequence[Sample]) -> Sample | None:
    """Return the sample whose first result is the median, the quicker one of two; None where none has any."""
    known = sorted(
        (each.first_result_s, each.order, each.id, each) for each in samples if each.first_result_s is not None
    )
    return known[(len(known) - 1) // 2][3] if known else None


def waterfall(samples: Sequence[Sample]) -> Waterfall | None:
    """Return the waterfall of the median of these fresh samples; None where there is no first result."""
    median = median_sample([each for each in samples if each.status == "ok"])
    if median is None or median.first_result_s is None:
        return None
    end_s = median.first_result_s
    steps, taken = [], []
    for name in PHASES:
        # The scalar is on the host before the phase that fetches it has quite ended.
        spans = [
            (max(0.0, each.begin_s), min(each.end_s, end_s))
            for each in median.phases
            if each.name == name and each.begin_s < end_s
        ]
        if spans:
            taken += spans
            kind = "shape" if name in COLD_PHASES else "process"
            steps.append(Step(name, kind, spans, sum(b - a for a, b in spans)))
    total_s = sum(step.total_s for step in steps)
    steps.append(Step(UNTIMED, UNTIMED, gaps(taken, end_s), end_s - total_s))
    known = sum(1 for each in samples if each.status == "ok" and each.first_result_s is not None)
    return Waterfall(median.id, end_s, steps, known)


def gaps(spans: Sequence[tuple[float, float]], end_s: float) -> list[tuple[float, float]]:
    """Return what of 0 to ``end_s`` no span covers, in order."""
    out, reached = [], 0.0
    for begin, end in sorted(spans):
        if begin > reached:
            out.append((reached, begin))
        reached = max(reached, end)
    if reached < end_s:
        out.append((reached, end_s))
    return out
