# SPDX-License-Identifier: Apache-2.0
"""Which stored samples can be counted: a line of the right shape may still hold what no clock has ever read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from suite.records import Sample

#: No time that was measured is longer (31 years), or shorter than a clock resolves by far. Between them every ratio
#: and every sum is a number that a float holds.
LONGEST_S = 1e9
SHORTEST_S = 1e-12


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


def _times(name: str, values: Iterable[float]) -> Iterator[str]:
    found = list(values)
    for value in (min(found), max(found)) if found else ():
        if not SHORTEST_S <= value <= LONGEST_S:
            yield f"{name} of {value!r} s"
