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


def test_infinity_and_nan_are_refused():
    """Fault: a minimum that NaN passes."""
    for values in ([1.0, math.nan], [math.nan, 1.0], [1.0, math.inf]):
        with pytest.raises(ValueError, match="positive"):
            stats.geometric(values)


def test_another_confidence_is_another_quantile():
    """Fault: an interval that is 95 % whatever is asked."""
    from scipy import stats as scipy_stats

    half = scipy_stats.t.ppf(0.95, 2) * math.log(2) / math.sqrt(3)
    found = stats.geometric([1.0, 2.0, 4.0], confidence=0.9)
    assert (found.low, found.high) == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)), rel=1e-9)
    for compare in (stats.paired_ratio, stats.welch_ratio):
        wide, narrow = compare(A, B[:6]).ratio, compare(A, B[:6], 0.5).ratio
        assert wide.low < narrow.low < narrow.high < wide.high


A = [1.00, 1.07, 0.96, 1.21, 1.02, 1.11]
B = [1.32, 1.25, 1.09, 1.71, 1.24, 1.30, 1.28, 1.5]


def test_welchs_ratio_agrees_with_scipys_own():
    """Fault: a pooled variance, a over b, a one-sided p, or an interval of other degrees of freedom than p."""
    from scipy import stats as scipy_stats

    expected = scipy_stats.ttest_ind(
        [math.log(x) for x in B], [math.log(x) for x in A], equal_var=False, alternative="two-sided"
    )
    found = stats.welch_ratio(A, B)
    interval = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.freedom == pytest.approx(expected.df, rel=1e-9)
    assert (found.ratio.low, found.ratio.high) == pytest.approx(
        (math.exp(interval.low), math.exp(interval.high)), rel=1e-9
    )
    assert found.ratio.centre == pytest.approx(stats.geometric(B).centre / stats.geometric(A).centre, rel=1e-12)
    assert math.log(found.ratio.centre) / found.standard_error == pytest.approx(expected.statistic, rel=1e-9)
    assert (found.paired, found.ratio.n) == (False, 6)


def test_the_paired_ratio_agrees_with_scipys_own():
    """Fault: pairs that are not held together, or n pairs' degrees of freedom."""
    from scipy import stats as scipy_stats

    b = B[:6]
    expected = scipy_stats.ttest_rel([math.log(x) for x in b], [math.log(x) for x in A])
    found = stats.paired_ratio(A, b)
    interval = expected.confidence_interval(0.95)
    assert (found.p, found.freedom) == pytest.approx((expected.pvalue, 5), rel=1e-9)
    assert (found.ratio.low, found.ratio.high) == pytest.approx(
        (math.exp(interval.low), math.exp(interval.high)), rel=1e-9
    )
    assert (found.paired, found.ratio.n) == (True, 6)


def test_what_a_block_has_in_common_cancels_in_pairs_only():
    """Fault: Welch's test for interleaved stacks: a drift of the machine hides a difference of a tenth."""
    a = [1.0, 2.0, 4.0, 8.0]
    b = [1.1, 2.21, 4.39, 8.81]
    assert stats.paired_ratio(a, b).p < 1e-4
    assert stats.welch_ratio(a, b).p > 0.8


def test_the_interval_excludes_1_where_p_is_below_5_percent():
    """Fault: p and interval from different quantiles contradict each other."""
    for k in range(60):
        b = [x * (1 + k / 200) for x in (1.0, 1.04, 0.97, 1.09)]
        for found in (stats.welch_ratio(A, b), stats.paired_ratio(A[:4], b)):
            assert (found.p < 0.05) is not (found.ratio.low <= 1 <= found.ratio.high)


@pytest.mark.parametrize("compare", [stats.paired_ratio, stats.welch_ratio])
def test_sides_without_any_spread(compare):
    """Fault: a division by 0, or a p of rounding errors."""
    found = compare([2.0] * 3, [3.0] * 3)
    assert (found.ratio.centre, found.ratio.low, found.ratio.high) == pytest.approx((1.5, 1.5, 1.5), rel=1e-12)
    assert (found.p, found.standard_error) == (0.0, 0.0)
    assert compare([0.1] * 3, [0.1] * 3).p == 1.0


def test_pairs_that_differ_by_rounding_do_not_differ():
    """Fault: a spread of 1e-16 in the logs makes anything significant."""
    a = [0.1, 0.3, 0.7, 1.1]
    assert stats.paired_ratio(a, [x * 3 / 3 * 1.1 / 1.1 for x in a]).p == 1.0
    found = stats.paired_ratio(a, [x * 1.1 for x in a])
    assert (found.p, found.ratio.low) == (0.0, found.ratio.high)


@pytest.mark.parametrize("compare", [stats.paired_ratio, stats.welch_ratio])
def test_one_value_a_side_has_a_ratio_only(compare):
    """Fault: an interval or a p of one value."""
    found = compare([2.0], [3.0])
    assert found.ratio.centre == pytest.approx(1.5)
    assert (found.ratio.low, found.ratio.high, found.ratio.n) == (None, None, 1)
    assert (found.p, found.standard_error, found.freedom) == (None, None, 0.0)


def test_sides_that_cannot_be_compared_are_refused():
    """Fault: pairs cut to the shorter side; an empty side."""
    with pytest.raises(ValueError):
        stats.paired_ratio([1.0, 2.0], [1.0])
    for compare in (stats.paired_ratio, stats.welch_ratio):
        for sides in (([], [1.0]), ([1.0], []), ([1.0, 0.0], [1.0, 1.0])):
            with pytest.raises(ValueError):
                compare(*sides)


def test_one_side_alone_may_vary():
    """Fault: degrees of freedom of both sides where one of them has no doubt."""
    found = stats.welch_ratio([1.0] * 9, [1.0, 2.0, 4.0])
    assert found.freedom == pytest.approx(2.0)
    assert found.ratio.high == pytest.approx(2 * math.exp(T2 * math.log(2) / math.sqrt(3)), rel=1e-8)


def test_holm_by_hand():
    """Fault: Bonferroni's factor for all, ranks off by one, an order that is lost, values above 1 or that fall."""
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.holm([0.4, 0.01, 0.6]) == pytest.approx([0.8, 0.03, 0.8])
    assert stats.holm([0.9, 0.9]) == [1.0, 1.0]
    assert stats.holm([0.04]) == [0.04]
    assert stats.holm([]) == []


def test_holm_does_not_count_what_was_not_tested():
    """Fault: a cell that could not be tested makes the others less sure."""
    assert stats.holm([None, 0.01, None, 0.04]) == [None, 0.02, None, 0.04]


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_holm_refuses_what_is_no_probability(p):
    """Fault: NaN sorts anywhere."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        stats.holm([0.5, p])


def test_outliers_are_marked_on_logs():
    """Fault: a mean and a standard deviation, which the outlier itself widens; only slow ones; not on logs."""
    values = [1.00, 1.01, 0.99, 1.02, 0.98, 1.01, 3.0]
    assert stats.outliers(values) == [6]
    assert stats.outliers([1 / value for value in values]) == [6]
    assert stats.outliers([1.0, 2.0, 4.0, 8.0, 16.0]) == []
    # 0.6745 * 5.2 = 3.51, and 0.6745 * 5.1 = 3.44
    logs = [-2.0, -1.0, -1.0, 0.0, 1.0, 1.0]
    assert stats.outliers([math.exp(x) for x in [*logs, 5.2]]) == [6]
    assert stats.outliers([math.exp(x) for x in [*logs, 5.1]]) == []


def test_few_values_have_no_outlier():
    """Fault: of three values one is always far from the other two."""
    assert stats.outliers([1.0, 1.0, 1.0, 9.0]) == []
    assert stats.outliers([1.0, 1.0, 1.0, 1.0, 9.0]) == [4]
    assert stats.outliers([]) == []


def test_values_that_are_mostly_the_same_mark_only_what_matters():
    """Fault: a division by a MAD of 0, or a clock's last digit is an outlier."""
    assert stats.outliers([1.0, 1.0, 1.0, 1.0, 1.05, 0.95]) == []
    assert stats.outliers([1.0, 1.0, 1.0, 1.0, 1.2, 0.8]) == [4, 5]


def test_a_relative_half_width():
    """Fault: the half width on logs, the whole width, or that of an interval that is not there."""
    assert stats.half_width(stats.Estimate(2.0, 1.0, 4.0, 3)) == 1.0
    assert stats.half_width(stats.Estimate(2.0, None, None, 1)) is None
    assert stats.half_width(stats.Estimate(-2.0, -3.0, -1.0, 3)) is None
    assert stats.half_width(stats.geometric([1.0, 1.0])) == 0.0


def test_how_many_samples_a_half_width_takes():
    """Fault: a normal quantile, n off by one, the spread seen divided by the n seen."""
    from scipy import stats as scipy_stats

    values = [1.0, 1.1, 0.95, 1.05]
    spread = scipy_stats.tstd([math.log(x) for x in values])
    for wanted in (0.01, 0.05, 0.1, 0.5):
        found = stats.samples_for(values, wanted)

        def reached(n: int) -> float:
            return math.exp(scipy_stats.t.ppf(0.975, n - 1) * spread / math.sqrt(n)) - 1

        assert reached(found) <= wanted and (found == 2 or reached(found - 1) > wanted)
    assert stats.samples_for(values, stats.half_width(stats.geometric(values)) * 1.0001) == 4


def test_the_number_of_samples_has_its_ends():
    """Fault: endless samples for a spread that is large, none for one that is 0, a number from one value."""
    assert stats.samples_for([1.0, 100.0], 0.001) == stats.MOST_SAMPLES == 10_000
    assert stats.samples_for([1.0, 1.0], 0.001) == 2
    assert stats.samples_for([1.0], 0.1) is None and stats.samples_for([], 0.1) is None
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="above 0"):
            stats.samples_for([1.0, 2.0], bad)


def test_the_minimum_detectable_ratio_agrees_with_known_tables():
    """Fault: a normal approximation, the paired degrees of freedom for two samples, a one-sided level."""
    # Cohen (1988), table 2.4.1, and G*Power: d = 0.8 needs 26 a group, d = 0.5 needs 64 (paired 34), 80 % at 5 %.
    for effect, n in ((0.8, 26), (0.5, 64)):
        found = [stats.minimum_detectable_ratio(0.1, 0.1, each, tests=1) for each in (n, n - 1)]
        assert math.log(found[0]) / 0.1 <= effect < math.log(found[1]) / 0.1
    found = [stats.minimum_detectable_ratio(1, 1, n, tests=1, paired_spread=0.1) for n in (34, 33)]
    assert math.log(found[0]) / 0.1 <= 0.5 < math.log(found[1]) / 0.1


def test_the_minimum_detectable_ratio_is_found_with_its_power():
    """Fault: a ratio that welch_ratio finds more or less often than said, at Holm's first level."""
    import numpy

    n, spreads, tests = 5, (0.02, 0.05), 4
    sought = stats.minimum_detectable_ratio(*spreads, n, tests=tests)
    draw = numpy.random.default_rng(1)
    logs = [spread * draw.standard_normal((2000, n)) for spread in spreads]
    a, b = numpy.exp(logs[0]).tolist(), (sought * numpy.exp(logs[1])).tolist()
    found = sum(stats.welch_ratio(x, y).p < 0.05 / tests for x, y in zip(a, b, strict=True))
    assert found / 2000 == pytest.approx(0.8, abs=0.035)


def test_what_makes_a_difference_harder_to_find():
    """Fault: a sign. More tests, more power and more spread need a larger ratio, more processes a smaller."""
    base = stats.minimum_detectable_ratio(0.05, 0.05, 10, tests=1)
    assert 1 < base < stats.minimum_detectable_ratio(0.05, 0.05, 10, tests=20)
    assert base < stats.minimum_detectable_ratio(0.05, 0.05, 10, tests=1, power=0.95)
    assert base < stats.minimum_detectable_ratio(0.05, 0.08, 10, tests=1)
    assert base > stats.minimum_detectable_ratio(0.05, 0.05, 20, tests=1)
    assert base > stats.minimum_detectable_ratio(0.05, 0.05, 10, tests=1, paired_spread=0.01)


def test_the_minimum_detectable_ratio_has_its_ends():
    """Fault: NaN from a tail that is too thin, an endless search, or a number where nothing varies."""
    assert stats.minimum_detectable_ratio(0.0, 0.0, 5, tests=3) == 1.0
    assert stats.minimum_detectable_ratio(0.1, 0.1, 5, tests=3, paired_spread=0.0) == 1.0
    assert stats.minimum_detectable_ratio(0.1, 0.0, 2, tests=1000, power=0.99) > 1
    assert stats.minimum_detectable_ratio(9.0, 9.0, 2, tests=1000, power=0.99) == math.inf
    for n in (2, 3, 20, 1000):
        for tests in (1, 100, 10_000):
            assert 1 < stats.minimum_detectable_ratio(0.01, 0.02, n, tests=tests) < math.inf
    for bad in ({"n": 1}, {"tests": 0}, {"power": 1.0}, {"power": 0.01}, {"paired_spread": -1.0}):
        given = {"n": 5, "tests": 1, **bad}
        with pytest.raises(ValueError):
            stats.minimum_detectable_ratio(0.1, 0.1, **given)
