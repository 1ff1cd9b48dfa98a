# SPDX-License-Identifier: Apache-2.0
"""Numbers for people."""

from __future__ import annotations

import math

import pytest

from suite import units
from suite.explain import say
from suite.stats import Estimate


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1.5234, "1.52 s"),
        (12.34, "12.3 s"),
        (123.4, "123 s"),
        (12345.0, "12345 s"),
        (0.09312, "93.1 ms"),
        (0.00152, "1.52 ms"),
        (2.14e-4, "214 us"),
        (4.2e-6, "4.20 us"),
        (4.2e-7, "0.420 us"),
        (0.0, "0 us"),
    ],
)
def test_a_time_has_three_digits_and_the_unit_that_fits(value, wanted):
    """Fault: 0.000214 s, 1.5234 s, or an exponent."""
    assert units.seconds(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (9.994, "9.99 s"),
        (9.996, "10.0 s"),
        (99.94, "99.9 s"),
        (99.96, "100 s"),
        (0.00099949, "999 us"),
        (0.00099951, "1.00 ms"),
    ],
)
def test_rounding_up_takes_the_next_unit_along(value, wanted):
    """Fault: "1000 ms", or "10.00 s" beside "9.99 s"."""
    assert units.seconds(value) == wanted


@pytest.mark.parametrize("value", [1.5234, 0.9996, 0.0931, 2.14e-4, 99.96])
def test_a_negative_time_is_the_positive_one_with_a_sign(value):
    """Fault: a difference below zero falls through to microseconds."""
    assert units.seconds(-value) == "-" + units.seconds(value)


def test_an_interval_is_given_in_the_unit_of_its_centre():
    """Fault: ends in seconds beside a centre in milliseconds."""
    assert units.seconds_with_interval(Estimate(1.52, 1.449, 1.551, 3)) == "1.52 [1.4, 1.6] s"
    assert units.seconds_with_interval(Estimate(0.0152, 0.01449, 1.51, 3)) == "15.2 [14, 1600] ms"
    assert units.seconds_with_interval(Estimate(-0.5, -1.23, 0.212, 3)) == "-500 [-1300, 220] ms"


def test_an_interval_is_rounded_outward():
    """Fault: an interval that looks narrower than it is."""
    assert units.with_interval(Estimate(17.7, 17.04, 18.01, 3)) == "17.7 [17, 19]"
    assert units.with_interval(Estimate(0.251, 0.2199, 0.2801, 3)) == "0.251 [0.21, 0.29]"
    assert units.with_interval(Estimate(-0.251, -0.2801, -0.2199, 3)) == "-0.251 [-0.29, -0.21]"
    assert units.with_interval(Estimate(105.0, 99.5, 110.5, 3)) == "105 [99, 120]"
    assert units.with_interval(Estimate(0.1, 0.0, 0.2, 3)).startswith("0.100 [0, ")


@pytest.mark.parametrize("low", [10.0**k * m for k in range(-4, 4) for m in (1.234, 3.0, 5.67, 9.91)])
def test_no_interval_shrinks_and_none_grows_by_more_than_a_step(low):
    """Fault: an end that does not hold the value, or a step of the wrong size."""
    text = units.with_interval(Estimate(low * 1.01, low, low * 1.03, 3))
    ends = [float(part) for part in text[text.index("[") + 1 : -1].split(", ")]
    for end, value, side in ((ends[0], low, -1), (ends[1], low * 1.03, 1)):
        step = 10.0 ** (math.floor(math.log10(value)) - 1)
        assert -1e-9 * value <= (end - value) * side <= step * 1.000001


def test_no_interval_where_there_is_none():
    """Fault: "[None, None]"."""
    alone = Estimate(0.0931, None, None, 1)
    assert units.seconds_with_interval(alone) == "93.1 ms"
    assert units.with_interval(alone) == "0.0931"


def test_an_end_that_has_two_digits_stays():
    """Fault: an exact end of 1.2 is given as 1.1."""
    values = [float(f"{digits}e{power}") for digits in range(10, 100) for power in range(-4, 3)]
    texts = [units.with_interval(Estimate(value, value, value, 3)) for value in values]
    ends = [tuple(map(float, text[text.index("[") + 1 : -1].split(", "))) for text in texts]
    assert ends == [(value, value) for value in values]


def test_a_small_number_has_three_digits_too():
    """Fault: "0.1" beside "0.102", or an exponent."""
    assert units.significant(0.1) == "0.100"
    assert units.significant(2.14e-5) == "0.0000214"


def test_an_interval_that_two_processes_do_not_bound_is_short():
    """Fault: 1.10 [0.00000000000000000053, 2300000000000000000], which no terminal has the columns for."""
    wild = Estimate(1.1, 5.3e-19, 2.3e18, 2)
    assert units.with_interval(wild) == "1.10 [0, inf]"
    assert units.seconds_with_interval(Estimate(0.0054, 1e-12, 2.5e7, 2)) == "5.40 [0, inf] ms"
    assert say.seconds(Estimate(0.0054, 1e-12, 2.5e7, 2)) == "5.40 [0, inf] ms"
    # A difference may have its centre near 0, and ends on both sides.
    assert say.seconds(Estimate(1e-6, -0.02, 0.02, 3)) == "0.001 [-20.0, 20.0] ms"
    assert units.with_interval(Estimate(1.0, 1e-3, 1e3, 2)) == "1.00 [0.0010, 1000]"
