# SPDX-License-Identifier: Apache-2.0
"""Warm calls on two clocks: the host's wall clock, and the device's own events around the same work. Pure functions.

Where both agree, the wall clock timed the device and nothing else; the difference is what the host adds: it launches
the work and fetches the scalar.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from suite import units
from suite.records import Sample
from suite.rows import CellRow

#: From this n on the wall clock is to agree with the device's events; below, the host's share is told in seconds.
LARGE_N = 8192
#: By how much it may differ there.
AGREES = 0.02


@dataclass(frozen=True)
class TwoClocks:
    """One cell's calls on both clocks: medians over processes of each process's median, in seconds."""

    wall_s: float
    device_s: float

    @property
    def host_s(self) -> float:
        """What the wall clock shows more than the device's."""
        return self.wall_s - self.device_s

    @property
    def share(self) -> float:
        """The same as a share of the device's time."""
        return self.host_s / self.device_s


def of_cell(samples: Sequence[Sample], cell_id: str) -> TwoClocks | None:
    """Return a cell's two clocks, of its planned samples that are ok; None where none has a second one."""
    found = [
        sample.device_clock
        for sample in samples
        if sample.cell == cell_id and sample.kind == "prepared" and sample.status == "ok" and not sample.again
    ]
    clocked = [each for each in found if each is not None]
    if not clocked:
        return None
    return TwoClocks(
        statistics.median(statistics.median(each.wall_s) for each in clocked),
        statistics.median(statistics.median(each.device_s) for each in clocked),
    )


def notes(samples: Sequence[Sample], cell_rows: Sequence[CellRow]) -> list[str]:
    """Return a note for each target and placement that has a second clock."""
    at: dict[str, list[tuple[int, TwoClocks]]] = {}
    for row in cell_rows:
        clocks = of_cell(samples, row.cell.id) if row.count.shows_times else None
        if clocks is not None:
            at.setdefault(f"{row.cell.target} {row.cell.placement}", []).append((row.cell.n, clocks))
    return [f"{name}, wall clock beside CUDA events: {_told(found)}" for name, found in at.items()]


def _told(found: Sequence[tuple[int, TwoClocks]]) -> str:
    parts = []
    for n, clocks in found:
        if n < LARGE_N:
            parts.append(f"{n} {units.seconds(clocks.host_s)} more, the host's")
        elif abs(clocks.share) <= AGREES:
            parts.append(f"{n} within {max(abs(clocks.share), 0.001):.1%}")
        else:
            parts.append(f"{n} {clocks.share:+.1%}, where {AGREES:.0%} is wanted")
    return "; ".join(parts)
