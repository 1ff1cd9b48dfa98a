# SPDX-License-Identifier: Apache-2.0
"""The account of a cold time: an explicit tree of causes that never sums beyond the whole. Pure functions.

Three nested arms cut the excess (cold less warm) into steps, block by block:

- ``first``: cold less cold of *second shape*: what the first such call of a process pays, whatever its shape;
- ``shape``: that less cold of *same shape again*: what a process pays once for this shape;
- ``anew``: that less warm: what each new function or graph pays.

Where trying candidates is proven to cost something, and a second shape was also measured with it taken away, these cut
it instead, for tuning varies by more than what else is looked for:

- ``tuning``: cold less cold of *autotuning kept*;
- ``first``: that less cold of *second shape once tuned*;
- ``anew``: that less warm: what is paid for this shape, and for each new function or graph.

They sum to the excess exactly. Causes then draw from these steps in a fixed order, each at most what is left of them,
and what no proven cause has drawn is unattributed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from suite.explain import intervals
from suite.stats import Estimate

Values = npt.NDArray[np.float64]
STEPS = ("tuning", "first", "shape", "anew")


@dataclass(frozen=True)
class Cause:
    """A cause with what it cost in each block; ``steps``: those that it may be part of, in the order it draws.

    ``lacks``: why it is not proven. Only a proven cause draws.
    """

    name: str
    text: str
    seconds: Mapping[int, float]
    steps: Sequence[str]
    lacks: str = ""


@dataclass(frozen=True)
class Entry:
    """A line of the account: what a cause was found to cost, and its share of the excess."""

    name: str
    text: str
    drawn: Estimate
    share: Estimate
    proven: bool
    lacks: str = ""


@dataclass(frozen=True)
class Account:
    """Where the excess went. Estimates in seconds over blocks, shares of the excess within [0, 1]."""

    blocks: list[int]
    excess: Estimate
    steps: dict[str, Estimate]
    entries: list[Entry]
    explained: Estimate
    unattributed: Estimate
    unattributed_s: Estimate
    left: dict[str, Estimate] = field(default_factory=dict)
    """What no proven cause has drawn, by step."""


def account(
    excess: Mapping[int, float], steps: Mapping[str, Mapping[int, float]], causes: Sequence[Cause]
) -> Account | None:
    """Return the account, over the blocks that all of it has; None where there is none or nothing to explain.

    ``steps`` may lack some of STEPS where an arm could not be measured: what they would hold stays with the next one,
    and the last is the excess less the others.
    """
    proven = [each for each in causes if not each.lacks]
    blocks = sorted(set(excess).intersection(*steps.values(), *(each.seconds for each in proven)))
    if not blocks:
        return None
    whole = _vector(excess, blocks)
    if whole.mean() <= 0:
        return None
    known = {name: _vector(steps[name], blocks) for name in STEPS if name in steps and name != "anew"}
    raw = {**known, "anew": whole - sum(known.values(), np.zeros_like(whole))}
    left = _not_negative(raw)
    entries = []
    taken = np.zeros_like(whole)
    for cause in causes:
        drawn = np.zeros_like(whole)
        if not cause.lacks:
            drawn = _draw(_vector(cause.seconds, blocks), cause.steps, left)
            taken = taken + drawn
        shown = drawn if not cause.lacks else np.zeros_like(whole)
        entries.append(
            Entry(
                cause.name,
                cause.text,
                intervals.mean(shown.tolist()),
                intervals.share(shown.tolist(), whole.tolist()),
                not cause.lacks,
                cause.lacks,
            )
        )
    rest = whole - taken
    explained = intervals.share(taken.tolist(), whole.tolist())
    return Account(
        blocks=blocks,
        excess=intervals.mean(whole.tolist()),
        steps={name: intervals.mean(value.tolist()) for name, value in raw.items()},
        entries=entries,
        explained=explained,
        unattributed=_complement(explained),
        unattributed_s=intervals.mean(rest.tolist()),
        left={name: intervals.mean(value.tolist()) for name, value in left.items()},
    )


def interaction(saved: Sequence[Mapping[int, float]], together: Mapping[int, float]) -> Estimate | None:
    """Return what all ablations together saved less the sum of what each saved alone; None where no block has all."""
    blocks = sorted(set(together).intersection(*saved))
    if not blocks or not saved:
        return None
    return intervals.mean([together[block] - sum(each[block] for each in saved) for block in blocks])


def _vector(values: Mapping[int, float], blocks: Sequence[int]) -> Values:
    return np.array([values[block] for block in blocks], dtype=np.float64)


def _not_negative(steps: Mapping[str, Values]) -> dict[str, Values]:
    """Return the steps with those whose mean is below 0 (noise) made 0 and set off against their neighbours."""
    names, out = list(steps), dict(steps)
    for place, name in enumerate(names):
        if out[name].mean() >= 0:
            continue
        # The next one, and of the last the one before: it was cut off from there.
        order = names[place + 1 :] + names[:place][::-1]
        for other in order:
            if out[name].mean() >= 0:
                break
            out[other] = out[other] + out[name]
            out[name] = np.zeros_like(out[name])
            if out[other].mean() >= 0:
                break
            name = other
    return out


def _draw(wanted: Values, steps: Sequence[str], left: dict[str, Values]) -> Values:
    """Take what a cause cost out of what is left of its steps, at most all of it; return what was taken."""
    taken = np.zeros_like(wanted)
    for name in [each for each in steps if each in left]:
        open_ = wanted - taken
        if open_.mean() <= 0 or left[name].mean() <= 0:
            continue
        # By the means, for all blocks alike: a smaller of two taken block by block would be biased.
        part = open_ if open_.mean() <= left[name].mean() else left[name]
        left[name] = left[name] - part
        taken = taken + part
    return taken


def _complement(share: Estimate) -> Estimate:
    low = None if share.high is None else 1 - share.high
    high = None if share.low is None else 1 - share.low
    return Estimate(1 - share.centre, low, high, share.n)
