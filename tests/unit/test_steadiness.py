# SPDX-License-Identifier: Apache-2.0
"""Steady, trend, shift: series whose answer is known."""

from __future__ import annotations

import math
import random
import statistics
import time

import pytest

from suite import steadiness


def noisy(levels: list[float], seed: int, noise: float = 0.01) -> list[float]:
    """Return the levels, each with seeded noise of that share."""
    gauss = random.Random(seed).gauss
    return [level * (1 + noise * gauss(0, 1)) for level in levels]


def ramp(calls: int, by: float) -> list[float]:
    """Return a drift from 1 to 1 + by."""
    return [1 + by * k / calls for k in range(calls)]


def test_an_empty_series_is_refused():
    """Fault: a median of nothing."""
    with pytest.raises(ValueError, match="without calls"):
        steadiness.assess([])


def test_a_short_series_is_not_called_steady():
    """Fault: 3 calls of a pilot pass for a steady series."""
    assert steadiness.assess([1.0, 3.0, 2.0]) == steadiness.Steadiness("not_testable", 2.0)
    assert steadiness.assess(ramp(19, 1.0)).state == "not_testable"
    assert steadiness.assess(ramp(20, 1.0)).state == "trend"


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_steady(seed):
    """Fault: a test that is not sure: every hundredth series would be called a drift."""
    calls = noisy([1.0] * 200, seed, noise=0.2)
    assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls))


@pytest.mark.parametrize("by", [0.4, -0.4])
@pytest.mark.parametrize("seed", range(5))
def test_a_drift_is_a_trend_and_warm_is_its_last_half(by, seed):
    """Fault: a clock that is heating up; one direction only; or the whole series' median."""
    calls = noisy(ramp(200, by), seed)
    assert steadiness.assess(calls) == steadiness.Steadiness("trend", statistics.median(calls[100:]), 100)


@pytest.mark.parametrize("to", [1.2, 0.8])
@pytest.mark.parametrize("seed", range(20))
def test_a_step_is_not_steady_and_warm_is_what_comes_after_it(to, seed):
    """Fault: a series in two levels, given as one number between them."""
    calls = noisy([1.0] * 100 + [to] * 100, seed)
    found = steadiness.assess(calls)
    assert found.state in ("shift", "trend") and found.warm_s == statistics.median(calls[100:])


def test_a_step_with_falling_halves_is_a_shift():
    """Fault: the test between the halves is never made."""
    half = [1 - 0.1 * k / 100 for k in range(100)]
    found = steadiness.assess(half + [value + 0.3 for value in half])
    assert found.state == "shift" and found.warm_s == pytest.approx(1.2505)


def test_a_step_is_called_a_shift():
    """Fault: a step between two levels is called a monotone drift."""
    states = [steadiness.assess(noisy([1.0] * 100 + [1.2] * 100, seed)).state for seed in range(20)]
    assert states == ["shift"] * 20


def test_what_is_too_small_to_matter_is_steady():
    """Fault: 2000 calls make the least drift significant."""
    for levels in (ramp(2000, 0.08), [1.0] * 1000 + [1.04] * 1000):
        calls = noisy(levels, 1, noise=0.001)
        assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls))
    assert steadiness.assess(noisy(ramp(2000, 0.12), 1, noise=0.001)).state == "trend"


def test_a_few_spikes_decide_nothing():
    """Fault: means instead of medians: another program's second makes a trend."""
    calls = noisy([1.0] * 200, 3)
    for place in (0, 1, 150, 198, 199):
        calls[place] = 500.0
    found = steadiness.assess(calls)
    assert found.state == "steady" and found.warm_s == pytest.approx(1.0, rel=0.01)


def test_spikes_do_not_hide_a_drift():
    """Fault: as above: a block's mean is its one spike, and the drift below it is not seen."""
    calls = noisy(ramp(200, 0.5), 3)
    for place in (5, 31, 62, 88, 117, 131):
        calls[place] = 500.0 - place
    assert steadiness.assess(calls) == steadiness.Steadiness("trend", statistics.median(calls[100:]), 100)


def test_seconds_of_any_size_are_judged_alike():
    """Fault: a least effect in seconds instead of a share."""
    calls = noisy(ramp(100, 0.5), 4)
    for scale in (1e-5, 1.0, 1e3):
        assert steadiness.assess([value * scale for value in calls]).state == "trend"
        assert steadiness.assess([scale] * 100).state == "steady"


@pytest.mark.parametrize("calls", range(20, 101))
def test_every_length_can_be_cut_into_blocks(calls):
    """Fault: an empty block, or calls at the end that no block holds."""
    assert steadiness.assess(ramp(calls, 1.0)).state == "trend"
    medians = steadiness._block_medians(list(range(calls)))
    assert len(medians) == steadiness.BLOCKS and medians == sorted(set(medians))
    assert medians[0] < calls / 20 and medians[-1] > calls - 1 - calls / 20


@pytest.mark.parametrize("count", [20, 50, 300, 2000])
def test_an_18_times_slower_first_call_is_left_out(count):
    """Fault: the call that compiles, or the one glued to it, is in the steady segment; or it makes a shift."""
    calls = noisy([18.0] + [1.0] * (count - 1), count, noise=0.05)
    assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls[1:]), 1)


@pytest.mark.parametrize("first", [3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_a_warm_up_ramp_is_left_out(first, seed):
    """Fault: the median of a series whose first quarter is slow, or a normal call among them ends the search."""
    calls = noisy([2.5 - k / 10 for k in range(first)] + [1.0] * (40 - first), seed)
    calls[1] = 1.0
    assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls[first:]), first)


def test_a_first_level_that_no_single_call_shows_is_left_out():
    """Fault: a level within the noise of the calls, which the blocks' medians show, biases the median."""
    calls = noisy([1.3] * 500 + [1.0] * 1500, 1, noise=0.1)
    found = steadiness.assess(calls)
    assert (found.state, found.steady_from) == ("steady", 500)
    assert found.warm_s == statistics.median(calls[500:])


def test_fast_calls_at_the_start_are_no_steady_state():
    """Fault: a clock's boost, or a queue that is empty, counts as warm."""
    calls = noisy([0.6] * 12 + [1.0] * 88, 1)
    assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls[12:]), 12)


@pytest.mark.parametrize("count", [20, 30, 60, 400])
def test_a_start_of_a_third_or_more_is_a_shift(count):
    """Fault: whatever comes first is called warm-up, up to the whole series."""
    first = count * 2 // 5
    found = steadiness.assess(noisy([1.3] * first + [1.0] * (count - first), count))
    assert (found.state, found.steady_from) == ("shift", count // 2)


@pytest.mark.parametrize("share", [0.5, 0.6, 0.7, 0.75, 0.8, 0.85])
@pytest.mark.parametrize("count", [20, 55, 400])
def test_a_level_that_comes_later_is_a_shift(count, share):
    """Fault: a step is sought in the middle only, where halves differ."""
    at = round(count * share)
    for to in (1.3, 0.75):
        found = steadiness.assess(noisy([1.0] * at + [to] * (count - at), count))
        assert (found.state, found.steady_from) == ("shift", count // 2)


@pytest.mark.parametrize("count", [20, 21, 60, 400])
@pytest.mark.parametrize("place", [0, 0.3, 0.5, 0.7, 1])
def test_one_spike_decides_nothing_but_where_a_series_begins(count, place):
    """Fault (Krun's): a change point that makes a segment of one sample, or glues a warm one to the cold one."""
    calls = noisy([1.0] * count, count, noise=0.03)
    at = min(count - 1, round(count * place))
    calls[at] = 18.0
    found = steadiness.assess(calls)
    assert (found.state, found.steady_from) == ("steady", 1 if at == 0 else 0)


@pytest.mark.parametrize("count", [20, 23])
@pytest.mark.parametrize("last", [1, 2])
def test_a_segment_has_a_least_length(count, last):
    """Fault: a call or two at the end are a level of their own, and the steady one ends before them."""
    calls = noisy([1.0] * (count - last) + [2.0] * last, count)
    assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls))
    assert steadiness.assess(noisy([1.0] * (count - 3) + [2.0] * 3, count)).state == "shift"


@pytest.mark.parametrize("period", [2, 3, 5])
@pytest.mark.parametrize("count", [30, 200, 2000])
def test_modes_that_alternate_faster_than_a_block_are_steady(count, period):
    """Fault: every other call of another kind is a change of level; decided so: a wide spread, but a steady one."""
    calls = noisy([1.6 if k % period == 0 else 1.0 for k in range(count)], count)
    assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls))


def test_slow_cycles_are_not_steady():
    """Fault: a rise and a fall cancel in every test of a drift, and the median is that of no stretch."""
    for count in (40, 300, 2000):
        calls = noisy([1 + 0.2 * math.sin(4 * math.pi * k / count) for k in range(count)], count)
        found = steadiness.assess(calls)
        assert found.state in ("trend", "shift") and found.warm_s == statistics.median(calls[count // 2 :])


def test_a_random_walk_is_not_steady():
    """Fault: it has no level, but neither a monotone drift nor one step."""
    for seed in range(40):
        gauss, level, calls = random.Random(seed).gauss, 0.0, []
        for _ in range(500):
            level += 0.05 * gauss(0, 1)
            calls.append(math.exp(level))
        found = steadiness.assess(calls)
        assert found.state in ("trend", "shift") and found.steady_from == 250


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_independent_noise_is_called_steady_in_99_of_100(noise):
    """Fault: several tests, each allowed its own false alarms, some of them for one shape of noise only."""
    draw, alarms, series = random.Random(1), 0, 0
    for count, repeats in ((20, 400), (27, 300), (60, 300), (200, 100), (2000, 10)):
        for _ in range(repeats):
            calls = [math.exp(noise * draw.gauss(0, 1)) for _ in range(count)]
            alarms += steadiness.assess(calls).state != "steady"
            series += 1
    assert alarms <= series / 100


def test_noise_in_two_modes_is_called_steady_in_98_of_100():
    """Fault: a spread by quartiles, which a mode that a fifth of the calls are in does not touch, makes levels."""
    draw = random.Random(2)
    alarms = 0
    for count in (20, 33, 60):
        for _ in range(200):
            calls = [(1.6 if draw.random() < 0.2 else 1.0) * (1 + 0.01 * draw.gauss(0, 1)) for _ in range(count)]
            alarms += steadiness.assess(calls).state != "steady"
    assert alarms <= 12


def test_the_time_to_a_steady_state():
    """Fault: the time of a steady call counts, or a series that is never steady has such a time."""
    calls = [3.0, 2.0] + [1.0] * 30
    found = steadiness.assess(calls)
    assert found == steadiness.Steadiness("steady", 1.0, 2)
    assert steadiness.time_to_steady_s(calls, found) == 5.0
    assert steadiness.time_to_steady_s(calls[2:], steadiness.assess(calls[2:])) == 0.0
    for never in (ramp(100, 1.0), [1.0] * 5):
        assert steadiness.time_to_steady_s(never, steadiness.assess(never)) is None


def test_a_clock_that_shows_nothing_divides_by_nothing():
    """Fault: a ZeroDivisionError for calls of 0 s, or a spread of 0."""
    assert steadiness.assess([0.0] * 50) == steadiness.Steadiness("steady", 0.0)
    assert steadiness.assess([0.0, 1.0] * 25).state == "steady"


def test_many_series_are_judged_at_once():
    """Fault: SciPy's tests for each series: 1,000 runs would take minutes. Here 1 of 20 of a million calls."""
    series = [noisy([1.0] * 50, seed) for seed in range(1000)]
    before = time.process_time()
    for calls in series:
        steadiness.assess(calls)
    assert time.process_time() - before < 1.0


@pytest.mark.parametrize(("first", "last"), [(5, 15), (10, 10), (15, 5), (7, 13)])
def test_the_p_of_a_u_is_that_of_scipy(first, last):
    """Fault: a p that is kept by its U is that of another one."""
    from scipy import stats

    rng = random.Random(first)
    for _ in range(50):
        ranks = rng.sample(range(1, first + last + 1), first + last)
        found = stats.mannwhitneyu(ranks[:first], ranks[first:], method="exact")
        assert steadiness._p_of_u(round(found.statistic), first, last) == found.pvalue
    for u in (0, first * last):
        assert steadiness._p_of_u(u, first, last) < 1e-3
