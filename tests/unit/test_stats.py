# SPDX-License-Identifier: Apache-2.0
"""Estimates over processes, against values worked out apart from the code."""

from __future__ import annotations

import math

import pytest

from suite import stats

#: Two-sided 95 % quantiles of Student's t, from a printed table.
T1, T2 = 12.706204736, 4.302652730


def test_the_centre_is_the_geometric_mean():
    """Fault: an arithmetic mean or a median, whose ratio is not the ratio of the rows."""
    assert stats.geometric([1.0, 2.0, 4.0]).centre == pytest.approx(2.0, rel=1e-14)
    assert stats.geometric([1.0, 1.0, 8.0]).centre == pytest.approx(2.0, rel=1e-14)


def test_the_interval_is_students_t_on_logs():
    """Fault: a normal quantile, n instead of n - 1, no square root, or an interval that is not on logs."""
    # logs of 1, 2, 4 are 0, L, 2 L: their mean is L and their standard deviation L.
    half = T2 * math.log(2) / math.sqrt(3)
    found = stats.geometric([1.0, 2.0, 4.0])
    assert found.low == pytest.approx(2.0 * math.exp(-half), rel=1e-9)
    assert found.high == pytest.approx(2.0 * math.exp(half), rel=1e-9)
    assert found.n == 3


def test_the_interval_agrees_with_scipys_own():
    """Fault: as above, for other values and degrees of freedom."""
    from scipy import stats as scipy_stats

    values = [0.93, 1.04, 1.11, 0.87, 1.02, 1.3, 0.99]
    logs = [math.log(value) for value in values]
    low, high = scipy_stats.t.interval(0.95, len(logs) - 1, loc=sum(logs) / len(logs), scale=scipy_stats.sem(logs))
    found = stats.geometric(values)
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-9)


def test_the_ratio_is_the_ratio_of_the_centres():
    """Fault: a table whose cold / warm column is not its cold column by its warm column."""
    cold, warm = [1.7, 2.9, 1.2, 4.4], [0.03, 0.011, 0.05, 0.02]
    ratio = stats.ratio(cold, warm)
    centres = stats.geometric(cold).centre / stats.geometric(warm).centre
    assert ratio.centre == pytest.approx(centres, rel=1e-13)


def test_the_ratio_is_paired_by_process():
    """Fault: processes that are slow as a whole widen the interval of what they agree on."""
    ratio = stats.ratio([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert (ratio.centre, ratio.low, ratio.high) == pytest.approx((2.0, 2.0, 2.0), rel=1e-12)
    assert stats.ratio([1.0, 4.0], [1.0, 1.0]) == stats.geometric([1.0, 4.0])


def test_a_process_without_a_partner_is_refused():
    """Fault: colds and warms of different processes are divided, the rest dropped."""
    with pytest.raises(ValueError):
        stats.ratio([1.0, 2.0], [1.0])


def test_one_process_has_no_interval():
    """Fault: an interval made of calls, or of nothing."""
    found = stats.geometric([3.0])
    assert (found.low, found.high, found.n) == (None, None, 1)
    assert found.centre == pytest.approx(3.0, rel=1e-14)
    for pair in (([3.0], [1.0]), ([3.0, 3.1], [1.0]), ([3.0], [1.0, 1.1])):
        found = stats.difference(*pair)
        assert (found.low, found.high, found.n) == (None, None, 1)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -2.0]])
def test_what_has_no_logarithm_is_refused(values):
    """Fault: a mean of nothing, or a time below zero that passes."""
    with pytest.raises(ValueError, match="positive"):
        stats.geometric(values)


def test_the_difference_is_welchs_where_both_vary_alike():
    """Fault: a pooled variance, a paired test, or a wrong number of degrees of freedom."""
    # Both: centre 2, variance of logs L^2, n 3, so the standard error is 2 L sqrt(2 / 3) with 4 degrees.
    found = stats.difference([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    half = 2.776445105 * 2.0 * math.log(2) * math.sqrt(2 / 3)
    assert found.centre == pytest.approx(0.0, abs=1e-14)
    assert (found.low, found.high) == pytest.approx((-half, half), rel=1e-9)


def test_the_difference_where_one_side_does_not_vary():
    """Fault: degrees of freedom of both sides added where only one of them has any doubt."""
    # The second side adds nothing: 1 degree of freedom of the first alone, a t of 12.7 instead of 2.8.
    spread = math.log(2) / math.sqrt(2)
    found = stats.difference([2.0, 4.0], [1.0, 1.0, 1.0, 1.0, 1.0])
    centre = math.sqrt(8.0)
    half = T1 * centre * spread / math.sqrt(2)
    assert found.centre == pytest.approx(centre - 1.0, rel=1e-13)
    assert (found.low, found.high) == pytest.approx((centre - 1 - half, centre - 1 + half), rel=1e-9)


def test_the_differences_degrees_of_freedom_lie_between():
    """Fault: Satterthwaite's formula with a variance that is not squared, or not by its own n - 1."""
    from scipy import stats as scipy_stats

    a, b = [2.0, 2.2, 2.4], [1.0, 1.1]
    ga, gb = stats.geometric(a).centre, stats.geometric(b).centre
    va = ga**2 * scipy_stats.sem([math.log(x) for x in a]) ** 2
    vb = gb**2 * scipy_stats.sem([math.log(x) for x in b]) ** 2
    freedom = (va + vb) ** 2 / (va**2 / 2 + vb**2 / 1)
    assert 1 < freedom < 3
    half = scipy_stats.t.ppf(0.975, freedom) * math.sqrt(va + vb)
    found = stats.difference(a, b)
    assert (found.low, found.high) == pytest.approx((ga - gb - half, ga - gb + half), rel=1e-9)
    assert found.n == 2


def test_values_that_are_all_alike_do_not_divide_by_zero():
    """Fault: a ZeroDivisionError where a clock is coarse."""
    found = stats.difference([2.0, 2.0], [1.0, 1.0])
    assert (found.centre, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))
