# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: which cells, how many samples of each, in which order. Pure functions of their input."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from suite import levels
from suite.records import Cell, Planned
from suite.stack import Stack

OP = "matmul"


@dataclass(frozen=True)
class Profile:
    """How much a run measures. ``fresh_at`` names the shapes that fresh samples are taken at."""

    name: str
    shapes: tuple[int, ...]
    samples: int
    fresh_at: str
    warm_min_calls: int
    warm_s: float
    budget_s: float


_ALL_SHAPES = (50, 100, 500, 1000, 10000, 15000)
PROFILES = {
    profile.name: profile
    for profile in (
        Profile("quick", (50, 500, 2000), 3, "smallest", 10, 0.5, 600.0),
        Profile("full", _ALL_SHAPES, 10, "smallest and largest", 20, 0.5, 4 * 3600.0),
        Profile("publish", _ALL_SHAPES, 20, "each", 30, 1.0, 24 * 3600.0),
    )
}

#: More warm calls than this say nothing new about a median.
WARM_CALLS_CAP = 2000


def cells(
    stack: Stack,
    targets: Sequence[str],
    placement: str,
    shapes: Sequence[int],
    *,
    dtype: str,
    precision: str,
    level: str,
    python: str,
    engine: str,
) -> list[Cell]:
    """Return the cells of a run: targets in the order asked, each placement its own, shapes ascending.

    ``placement`` is "device", "jit" or "all". A cell's level reads "not_applicable" where its target has no
    on-disk JIT cache and the level asks for nothing else.
    """
    out = []
    for target in targets:
        for each in stack.realisations(target):
            if placement not in ("all", each.placement):
                continue
            for n in sorted(set(shapes)):
                out.append(
                    Cell(
                        id=f"{target}.{each.placement}.{n}",
                        stack=stack.name,
                        target=target,
                        placement=each.placement,
                        device=each.device,
                        op=OP,
                        n=n,
                        dtype=dtype,
                        precision=precision,
                        level=levels.of_cell(level, each.jit_cache),
                        python=python,
                        engine=engine,
                        adapter=each.adapter or stack.definition.adapter,
                    )
                )
    return out


def fresh_shapes(shapes: Sequence[int], fresh_at: str) -> list[int]:
    """Return the shapes at which fresh samples are taken."""
    ordered = sorted(set(shapes))
    if not ordered:
        return []
    if fresh_at == "each":
        return ordered
    if fresh_at == "smallest and largest":
        return sorted({ordered[0], ordered[-1]})
    return ordered[:1]


def schedule(all_cells: Sequence[Cell], samples: int, fresh_at: str, seed: int) -> list[Planned]:
    """Return every sample in the order in which it is run.

    A probe first, then a pilot of each cell, smallest shapes first, so that a cell that cannot fit is known
    before anything is measured, and a priming sample of each cell that keeps its caches; then ``samples`` blocks.
    A block holds one prepared sample of each cell and one fresh sample of each target at its fresh shapes, shuffled,
    so that drift of the machine falls on all alike.
    """
    return [planned for _, planned in schedule_arms([all_cells], samples, fresh_at, seed)]


def schedule_arms(
    arms: Sequence[Sequence[Cell]], samples: int, fresh_at: str, seed: int
) -> list[tuple[int, Planned]]:
    """Return the samples of several runs (stacks, say) in one order: each with the number of its arm.

    As :func:`schedule`, where a block holds the samples of all arms, shuffled together: what is compared is measured
    side by side.
    """
    planned = [(arm, Planned("probe", "probe", "", 0)) for arm in range(len(arms))]
    # Stable: arms and targets keep their order.
    by_size = sorted(((arm, cell) for arm, cells in enumerate(arms) for cell in cells), key=lambda each: each[1].n)
    planned += [(arm, Planned(f"pilot.{cell.id}", "pilot", cell.id, 0)) for arm, cell in by_size]
    kept = [(arm, cell) for arm, cell in by_size if cell.level == "process"]
    planned += [(arm, Planned(f"priming.{cell.id}", "priming", cell.id, 0)) for arm, cell in kept]
    order = random.Random(seed)
    for block in range(1, samples + 1):
        members = []
        for arm, cells in enumerate(arms):
            at = fresh_shapes([cell.n for cell in cells], fresh_at)
            members += [
                (arm, Planned(f"prepared.{cell.id}.{block}", "prepared", cell.id, block)) for cell in cells
            ]
            members += [
                (arm, Planned(f"fresh.{cell.id}.{block}", "fresh", cell.id, block))
                for cell in cells
                if cell.n in at
            ]
        order.shuffle(members)
        planned += members
    return planned


def warm_calls(median_s: float, minimum: int, seconds: float) -> int:
    """Return how many warm calls fill ``seconds``, at least ``minimum``, at most WARM_CALLS_CAP."""
    wanted = int(seconds / median_s) + 1 if median_s > 0 else WARM_CALLS_CAP
    return min(WARM_CALLS_CAP, max(minimum, wanted))
