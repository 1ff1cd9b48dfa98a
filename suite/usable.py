# SPDX-License-Identifier: Apache-2.0
"""Which stored samples can be counted: a line of the right shape may still hold what no clock has ever read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from suite.records import COLD_PHASES, Sample

#: No time that was measured is longer (31 years), or shorter than a clock resolves by far. Between them every ratio
#: and every sum is a number that a float holds.
LONGEST_S = 1e9
SHORTEST_S = 1e-12
#: What two ways to the same time may differ by: floats' rounding by far, no unit's factor by far.
SLACK_S, SLACK_SHARE = 1e-4, 1e-3


def why_not(sample: Sample) -> str:
    """Return why a sample cannot be counted, or "" where it can."""
    return next(_faults(sample), "")


def _faults(sample: Sample) -> Iterator[str]:
    if sample.status == "ok":
        yield from _absent(sample)
    for name in ("cold_s", "first_result_s", "question_clock_s", "wall_s", "worker_wall_s"):
        value = getattr(sample, name)
        if value is not None:
            yield from _times(name, (value,))
    if sample.warm is not None:
        yield from _times("warm.calls_s", sample.warm.calls_s)
        yield from _times("warm.outer_s", (sample.warm.outer_s,))
    yield from _times("pairs.taken_s", (pair.taken_s for pair in sample.pairs if pair.taken_s is not None))
    for each in sample.phases:
        if not 0 <= each.begin_s <= each.end_s <= LONGEST_S:
            yield f"phase {each.name} from {each.begin_s!r} to {each.end_s!r} s"
    for name in ("cpu_s", "untimed_s"):  # the second may be a little below 0
        value = getattr(sample, name)
        if value is not None and not abs(value) <= LONGEST_S:
            yield f"{name} of {value!r} s"
    yield from _disagreeing(sample)
    load = sample.load.get("loadavg_1", 0.0)
    if isinstance(load, bool) or not isinstance(load, (int, float)):
        yield f"load.loadavg_1 is {load!r}"


def _absent(sample: Sample) -> Iterator[str]:
    """Yield what an ok sample of its kind must have and this one has not."""
    if sample.kind == "prepared" and sample.cold_s is None:
        yield "ok without cold_s"
    if sample.kind == "prepared" and (sample.warm is None or not sample.warm.calls_s):
        yield "ok without a warm series"
    if sample.kind == "fresh" and sample.first_result_s is None:
        yield "ok without first_result_s"


def _disagreeing(sample: Sample) -> Iterator[str]:
    """Yield times that cannot be seconds beside each other: one of them was changed, or has another unit."""
    if sample.status != "ok":
        return
    lengths: dict[str, float] = {}
    for each in sample.phases:
        lengths[each.name] = lengths.get(each.name, 0.0) + each.end_s - each.begin_s
    if sample.cold_s is not None and "first_execution" in lengths:
        phases = sum(lengths.get(name, 0.0) for name in COLD_PHASES)
        if _apart(sample.cold_s, phases):
            yield f"cold_s of {sample.cold_s!r} s, its phases of {phases!r} s"
    if sample.warm is not None and sum(sample.warm.calls_s) > 1.01 * sample.warm.outer_s + SLACK_S:
        yield f"warm calls of {sum(sample.warm.calls_s)!r} s in all, the clock around them of {sample.warm.outer_s!r} s"
    if sample.engine_start != "measured" or sample.wall_s is None:
        return
    if sample.first_result_s is not None and sample.first_result_s > sample.wall_s + SLACK_S:
        yield f"first_result_s of {sample.first_result_s!r} s, wall_s of {sample.wall_s!r} s"
    if sample.untimed_s is not None and lengths:
        covered = sum(lengths.values()) + sample.untimed_s
        if _apart(covered, sample.wall_s):
            yield f"wall_s of {sample.wall_s!r} s, phases and the rest of {covered!r} s"


def _apart(first: float, second: float) -> bool:
    return abs(first - second) > SLACK_S + SLACK_SHARE * max(first, second)


def _times(name: str, values: Iterable[float]) -> Iterator[str]:
    found = list(values)
    for value in (min(found), max(found)) if found else ():
        if not SHORTEST_S <= value <= LONGEST_S:
            yield f"{name} of {value!r} s"
