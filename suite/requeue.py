# SPDX-License-Identifier: Apache-2.0
"""Which samples are taken again: those that are tagged get another beside them. Pure functions.

An added sample never replaces one: the headline uses the planned samples, whatever their tags, and a second line
shows them together with the added ones. Choosing what counts after seeing it would bias every number.
"""

from __future__ import annotations

from collections.abc import Sequence

from suite.records import Plan, Planned, Sample

#: At most this share of a cell's samples of one kind is taken again, and at least one may be.
MOST_SHARE = 1 / 3
_MARK = ".again."
#: A chip at its power limit is there again in the next sample: another one would say the same.
LASTING = ("throttled: power",)


def most(samples: int) -> int:
    """Return how many samples of one cell and kind may be added to so many planned ones."""
    return max(1, int(samples * MOST_SHARE))


def additions(plan: Plan, samples: Sequence[Sample]) -> list[Planned]:
    """Return the samples to add, in the order in which the tagged ones were taken.

    Those that were added before, in an earlier session, count.
    """
    room: dict[tuple[str, str], int] = {}
    for sample in samples:
        if sample.again:
            key = (sample.cell, sample.kind)
            room[key] = room.get(key, most(plan.samples)) - 1
    have = {sample.again for sample in samples if sample.again}
    out = []
    for sample in samples:
        key = (sample.cell, sample.kind)
        planned = sample.kind in ("prepared", "fresh") and not sample.again
        if planned and sample.status == "ok" and set(sample.tags) - set(LASTING) and sample.id not in have:
            left = room.get(key, most(plan.samples))
            if left > 0:
                room[key] = left - 1
                out.append(Planned(f"{sample.id}{_MARK}1", sample.kind, sample.cell, sample.block))
    return out


def repeats(planned: Planned) -> str:
    """Return the id of the planned sample that an added one repeats."""
    return planned.id.partition(_MARK)[0]
