# SPDX-License-Identifier: Apache-2.0
"""The warm series of one sample, short enough to be drawn: no call's time is lost, a spike least of all."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from suite import steadiness
from suite.records import Sample

#: A longer series is drawn by so many groups of calls.
GROUPS = 120


@dataclass(frozen=True)
class Group:
    """Neighboring calls: the number of the first and of the one after the last; their times, seconds."""

    begin: int
    end: int
    lowest_s: float
    median_s: float
    highest_s: float


@dataclass(frozen=True)
class Series:
    """One sample's warm series. ``steady_from``: the call from which on its ``warm_s`` was taken, to the end."""

    sample: str
    block: int
    state: str
    warm_s: float
    steady_from: int
    calls: int
    groups: list[Group]
    tags: list[str]

    def text(self) -> str:
        """Return in a few words how the series is: what a chart says beside it."""
        if self.state == "steady":
            state = "steady" + (f" from call {self.steady_from + 1}" if self.steady_from else "")
        elif self.state == "not_testable":
            state = "too short to be tested"
        else:
            state = f"{self.state}: last half"
        return "; ".join([state, *(f"! {tag}" for tag in self.tags)])


def series(sample: Sample) -> Series | None:
    """Return the series of a sample; None where it is not ok or has none."""
    if sample.status != "ok" or sample.warm is None or not sample.warm.calls_s:
        return None
    calls = sample.warm.calls_s
    found = steadiness.assess(calls)
    return Series(
        sample=sample.id,
        block=sample.block,
        state=found.state,
        warm_s=found.warm_s,
        steady_from=found.steady_from,
        calls=len(calls),
        groups=grouped(calls),
        tags=list(sample.tags),
    )


def grouped(calls_s: Sequence[float], most: int = GROUPS) -> list[Group]:
    """Return the calls in at most ``most`` groups of neighbors, as equal as can be."""
    many = min(most, len(calls_s))
    edges = [round(len(calls_s) / many * k) for k in range(many + 1)] if many else []
    return [
        Group(begin, end, min(calls_s[begin:end]), statistics.median(calls_s[begin:end]), max(calls_s[begin:end]))
        for begin, end in zip(edges, edges[1:], strict=False)
    ]
