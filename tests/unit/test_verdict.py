# SPDX-License-Identifier: Apache-2.0
"""Verdicts on pairings whose answer is known."""

from __future__ import annotations

import pytest

from suite import stats, verdict
from suite.verdict import Pairing

A = [1.00, 1.01, 0.99, 1.005, 0.995]
#: The same spread, so that a pairing's interval is about 0.6 % on either side.
ALIKE = [0.995, 1.005, 1.00, 0.99, 1.01]
#: A spread that no interval of 5 resolves.
WIDE = [0.7, 1.4, 1.0, 1.2, 0.8]


def times(values: list[float], by: float) -> list[float]:
    return [value * by for value in values]


def one(a, b, margin=0.05, confidence=0.95, **more) -> verdict.Verdict:
    [found] = verdict.decide([Pairing("cell", a, b, **more)], margin=margin, confidence=confidence)
    return found


def test_faster_is_b_that_takes_less_time():
    """Fault: the words the wrong way round."""
    faster, slower = one(A, times(ALIKE, 0.8)), one(A, times(ALIKE, 1.25))
    assert (faster.word, faster.reason, slower.word, slower.reason) == (
        "FASTER",
        "significant",
        "SLOWER",
        "significant",
    )
    assert faster.ratio.centre == pytest.approx(0.8) and slower.ratio.centre == pytest.approx(1.25)
    assert "0.8" in faster.text and faster.p_adjusted < 0.001


def test_the_same_needs_an_interval_within_the_margin():
    """Fault: no difference found is called the same, however little is known."""
    assert (one(A, ALIKE).word, one(A, ALIKE).reason) == ("SAME", "within_margin")
    wide = one(WIDE, WIDE[::-1])
    assert (wide.word, wide.reason) == ("AMBIGUOUS", "interval_too_wide")


def test_a_stack_against_itself_is_the_same():
    """Fault: A/A finds a difference, or divides by a spread of 0."""
    for paired in (False, True):
        found = one(A, list(A), paired=paired)
        assert (found.word, found.ratio.centre, found.p_adjusted) == ("SAME", 1.0, 1.0)


def test_without_a_margin_nothing_is_the_same():
    """Fault: a margin of its own where the user gave none."""
    found = one(A, ALIKE, margin=None)
    assert (found.word, found.reason) == ("AMBIGUOUS", "not_significant")
    assert one(A, times(ALIKE, 0.8), margin=None).word == "FASTER"
    assert one(A, times(ALIKE, 1.02), margin=None).word == "SLOWER"


def test_what_is_sure_but_within_the_margin_is_the_same():
    """Fault: with enough processes every pair of stacks differs."""
    found = one(A, times(ALIKE, 1.02))
    assert found.p_adjusted < 0.05 and found.ratio.low > 1
    assert (found.word, found.reason) == ("SAME", "within_margin")


def test_what_straddles_the_margin_is_a_difference():
    """Fault: a sure difference is withheld because it may be small."""
    found = one(A, times(ALIKE, 1.05))
    assert found.ratio.low < 1.05 < found.ratio.high and found.word == "SLOWER"


@pytest.mark.parametrize("by", [1.05, 1.20])
def test_the_margin_is_a_ratio_on_both_sides(by):
    """Fault: 1 - margin as the lower end: a against b is the same and b against a is not."""
    b = times(ALIKE, by)
    ratio = stats.welch_ratio(A, b).ratio
    for margin, word in (((ratio.high - 1) * 1.001, "SAME"), ((ratio.high - 1) * 0.999, None)):
        found, back = one(A, b, margin), one(b, A, margin)
        assert (found.word, back.word) == ((word, word) if word else ("SLOWER", "FASTER"))


def test_the_same_is_judged_by_the_interval_that_is_shown():
    """Fault: the 90 % interval of two one-sided tests, and a SAME whose printed interval leaves the margin."""
    b = times(ALIKE, 1.03)
    narrow, wide = stats.welch_ratio(A, b, 0.9).ratio.high, stats.welch_ratio(A, b).ratio.high
    between = (narrow + wide) / 2 - 1
    assert one(A, b, between).word != "SAME"
    assert one(A, b, between, confidence=0.9).word == "SAME"


def test_what_is_not_steady_is_never_the_same():
    """Fault: two medians of drifting series agree by chance."""
    for by in (1.0, 1.02):
        found = one(A, times(ALIKE, by), steady=False)
        assert (found.word, found.reason) == ("AMBIGUOUS", "not_steady")
    assert one(A, times(ALIKE, 0.8), steady=False).word == "FASTER"
    assert one(WIDE, WIDE[::-1], steady=False).reason == "interval_too_wide"


@pytest.mark.parametrize("by", [0.5, 1.0, 2.0])
def test_an_incomplete_cell_gets_no_answer(by):
    """Fault: 9/10 ok, of which the slow one is missing, is FASTER."""
    found = one(A, times(ALIKE, by), complete=False)
    assert (found.word, found.reason, found.p_adjusted) == ("AMBIGUOUS", "incomplete", None)
    assert found.ratio.centre == pytest.approx(by)
    assert one(A, [], complete=False).ratio is None


def test_too_few_values_get_no_answer():
    """Fault: two processes a side and a t of 4.3; a crash for one or none."""
    for few in ([], [9.0], [9.0, 9.1]):
        for found in (one(A, few), one(few, A)):
            assert (found.word, found.reason, found.p_adjusted) == ("AMBIGUOUS", "too_few", None)
    assert one(A, [9.0]).ratio.centre == pytest.approx(9.0, rel=1e-3) and one(A, [9.0]).ratio.low is None
    assert one(A, [9.0, 9.1, 9.2]).word == "SLOWER"


def test_what_is_blocked_is_incomparable_before_all_else():
    """Fault: another GPU, and a ratio of it."""
    found = one(A, [], blocked="gpu", complete=False)
    assert (found.word, found.reason, found.ratio, found.p_adjusted) == ("INCOMPARABLE", "gpu", None, None)
    assert "gpu" in found.text


def test_paired_values_are_compared_in_pairs():
    """Fault: the drift that interleaving was to cancel hides the difference."""
    a = [1.0, 2.0, 4.0, 8.0, 16.0]
    b = [1.2, 2.41, 4.79, 9.61, 19.2]
    assert one(a, b, paired=True).word == "SLOWER"
    assert one(a, b).word == "AMBIGUOUS"
    with pytest.raises(ValueError, match="cell: "):
        one(a, b[1:], paired=True)


#: A difference with a p of about 0.03 by itself.
BARELY = [1.00, 1.12, 1.05, 1.08, 1.03]


def test_many_cells_are_one_family():
    """Fault: of 20 cells one differs by chance; or a family of 1 is corrected as well."""
    alone = one(A, BARELY, margin=0.01)
    assert alone.word == "SLOWER" and 0.02 < alone.p_adjusted < 0.05
    many = [Pairing(str(k), A, WIDE) for k in range(9)]
    found = verdict.decide([Pairing("barely", A, BARELY), *many], margin=0.01)
    assert (found[0].word, found[0].reason) == ("AMBIGUOUS", "not_significant")
    assert found[0].p_adjusted == pytest.approx(10 * alone.p_adjusted)
    assert "after Holm over 10 tests" in found[0].text


def test_what_is_not_tested_does_not_count():
    """Fault: incomparable cells make the others less sure."""
    rest = [
        Pairing("blocked", A, BARELY, blocked="driver"),
        Pairing("incomplete", A, BARELY, complete=False),
        Pairing("few", A, [1.0, 2.0]),
    ]
    found = verdict.decide([*rest, Pairing("barely", A, BARELY)], margin=0.01)
    assert [each.word for each in found] == ["INCOMPARABLE", "AMBIGUOUS", "AMBIGUOUS", "SLOWER"]
    assert found[3].p_adjusted == one(A, BARELY, margin=0.01).p_adjusted


def test_no_pairings_no_verdicts():
    """Fault: a crash where nothing is in common."""
    assert verdict.decide([]) == []


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan")])
def test_a_margin_of_nothing_is_refused(margin):
    """Fault: a SAME that nothing can reach, or that everything does."""
    with pytest.raises(ValueError, match="margin"):
        one(A, ALIKE, margin=margin)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_a_confidence_that_is_none_is_refused(confidence):
    """Fault: percent for a share."""
    with pytest.raises(ValueError, match="confidence"):
        one(A, ALIKE, confidence=confidence)


def test_values_that_are_no_times_are_refused_with_their_name():
    """Fault: a message that does not say which of 100 cells."""
    with pytest.raises(ValueError, match="cell: positive"):
        one(A, [0.0, 1.0, 1.0])


def test_times_without_spread_decide():
    """Fault: a coarse clock divides by 0."""
    assert one([1.0] * 3, [2.0] * 3).word == "SLOWER"
    assert one([1.0] * 3, [1.0] * 3).word == "SAME"
