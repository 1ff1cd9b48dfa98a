# SPDX-License-Identifier: Apache-2.0
"""Is b faster than a, slower, the same, or can it not be told? A pure function of the values of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from suite import stats, units
from suite.stats import CONFIDENCE, Comparison, Estimate

Word = Literal["FASTER", "SLOWER", "SAME", "AMBIGUOUS", "INCOMPARABLE"]

#: A ratio within [1 / (1 + MARGIN), 1 + MARGIN] is as good as 1, if nothing else is asked for.
MARGIN = 0.05
#: With fewer processes on a side than this nothing is said: a t interval of two is 13 standard errors wide.
LEAST_VALUES = 3


@dataclass(frozen=True)
class Pairing:
    """What two sides measured of one thing: seconds, one value a process.

    ``paired``: values at the same place come from the same block. ``blocked``: the code of what makes the two
    incomparable, ``why_blocked`` the same in words. ``steady``: both sides' warm series are (true for a time that has
    no series). ``complete``: every planned sample of both sides is ok. ``names``: what the two sides are called.
    """

    key: str
    a: Sequence[float]
    b: Sequence[float]
    paired: bool = False
    blocked: str | None = None
    steady: bool = True
    complete: bool = True
    why_blocked: str = ""
    names: tuple[str, str] = ("a", "b")


@dataclass(frozen=True)
class Verdict:
    """``word`` on b as seen from a, with the ratio b over a, a stable code and a sentence.

    ``p_adjusted`` is None where nothing was tested.
    """

    word: Word
    ratio: Estimate | None
    reason: str
    text: str
    p_adjusted: float | None = None


def decide(
    pairings: Sequence[Pairing], *, margin: float | None = MARGIN, confidence: float = CONFIDENCE
) -> list[Verdict]:
    """Return a verdict on each pairing, in their order. Those given together are one family of tests.

    In this order, the first that holds:

    ======================  ==============  ==========================================================
    reason                  word            when
    ======================  ==============  ==========================================================
    ``blocked``'s own code  INCOMPARABLE    something that must be held constant differs
    ``incomplete``          AMBIGUOUS       a planned sample is missing or not ok
    ``too_few``             AMBIGUOUS       fewer than 3 values on a side
    ``within_margin``       SAME            the interval lies within the margin, and both are steady
    ``not_steady``          AMBIGUOUS       it lies within the margin, but one is not steady
    ``significant``         FASTER, SLOWER  Holm's p is below 1 - confidence
    ``not_significant``     AMBIGUOUS       no margin is given, or the interval excludes 1 but Holm's p is not enough
    ``interval_too_wide``   AMBIGUOUS       the interval holds 1 and reaches beyond the margin
    ======================  ==============  ==========================================================

    Parameters
    ----------
    pairings
        What to judge. Blocked, incomplete and too few ones are not tested and do not count for Holm.
    margin
        The share by which two times may differ and still be the same; None: nothing is called SAME.
    confidence
        Of the intervals, and 1 - confidence is the family's level.

    Raises
    ------
    ValueError
        For a margin that is not above 0, a confidence that is not between 0 and 1, a value that is not positive and
        finite, or paired values without partners.

    Notes
    -----
    SAME is Schuirmann's (1987) two one-sided tests, by the interval that is shown. They would have the level of 5 %
    with the 90 % interval; the 95 % one makes it 2.5 % a test, so that no reader finds a SAME whose printed interval
    leaves the margin. It is not adjusted for the number of tests: each SAME is a statement on its own cell. A
    difference that is sure and yet within the margin is SAME: the margin says that it is of no account.
    """
    if margin is not None and not margin > 0:
        raise ValueError("a margin above 0 is needed, or none")
    if not 0 < confidence < 1:
        raise ValueError("a confidence between 0 and 1 is needed")
    compared = [_compared(each, confidence) for each in pairings]
    p_values = [
        None if found is None or _untested(each) else found.p
        for each, found in zip(pairings, compared, strict=True)
    ]
    family = sum(1 for p in p_values if p is not None)
    return [
        _tested(each, found, p, family, margin, confidence)
        if found is not None and p is not None
        else _not_tested(each, found)
        for each, found, p in zip(pairings, compared, stats.holm(p_values), strict=True)
    ]


def _compared(pairing: Pairing, confidence: float) -> Comparison | None:
    if pairing.blocked is not None or not pairing.a or not pairing.b:
        return None
    try:
        compare = stats.paired_ratio if pairing.paired else stats.welch_ratio
        return compare(pairing.a, pairing.b, confidence)
    except ValueError as error:
        raise ValueError(f"{pairing.key}: {error}") from error


def _untested(pairing: Pairing) -> bool:
    return (
        pairing.blocked is not None or not pairing.complete or min(len(pairing.a), len(pairing.b)) < LEAST_VALUES
    )


def _not_tested(pairing: Pairing, found: Comparison | None) -> Verdict:
    if pairing.blocked is not None:
        why = pairing.why_blocked or pairing.blocked
        return Verdict("INCOMPARABLE", None, pairing.blocked, f"not comparable: {why}")
    ratio = found.ratio if found else None
    if not pairing.complete:
        return Verdict("AMBIGUOUS", ratio, "incomplete", "not every planned sample of both sides is ok")
    few = f"{len(pairing.a)} and {len(pairing.b)} processes: at least {LEAST_VALUES} a side are needed"
    return Verdict("AMBIGUOUS", ratio, "too_few", few)


def _tested(
    pairing: Pairing, found: Comparison, p: float, family: int, margin: float | None, confidence: float
) -> Verdict:
    ratio = found.ratio
    assert ratio.low is not None and ratio.high is not None  # what has a p has an interval
    before, after = pairing.names
    takes = f"{after} takes {units.with_interval(ratio)} times as long as {before}"
    if margin is not None and 1 / (1 + margin) <= ratio.low and ratio.high <= 1 + margin:
        within = f"{takes}: within {margin:.3g} of 1"
        if pairing.steady:
            return Verdict("SAME", ratio, "within_margin", within, p)
        return Verdict("AMBIGUOUS", ratio, "not_steady", f"{within}, but a warm series is not steady", p)
    shown = f"p {p:.2g}" if family == 1 else f"p {p:.2g} after Holm over {family} tests"
    if p < 1 - confidence:
        word: Word = "FASTER" if ratio.centre < 1 else "SLOWER"
        return Verdict(word, ratio, "significant", f"{takes}, {shown}", p)
    if margin is None or not ratio.low <= 1 <= ratio.high:
        return Verdict("AMBIGUOUS", ratio, "not_significant", f"{takes}, {shown}", p)
    wide = f"{takes}: neither a difference nor within {margin:.3g} of 1, {shown}"
    return Verdict("AMBIGUOUS", ratio, "interval_too_wide", wide, p)
