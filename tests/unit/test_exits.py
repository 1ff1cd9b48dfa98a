# SPDX-License-Identifier: Apache-2.0
"""Exit codes: which of several is given, and the line that says it."""

from __future__ import annotations

import itertools

import pytest

from suite.exits import MEANING, PRECEDENCE, Exit, closing_line, first_that_applies

ORDER = (130, 2, 4, 3, 70, 1, 5, 6)


def test_the_order():
    """Fault: a documented order that is not the one in force."""
    assert tuple(int(code) for code in PRECEDENCE) == ORDER
    left = set(Exit)
    given = []
    while left:
        given.append(first_that_applies(left))
        left.remove(given[-1])
    assert tuple(int(code) for code in given) == (*ORDER, 0)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(ORDER, 2)))
def test_of_two_the_earlier_is_given(first, second):
    """Fault: the number, or what happened last, decides."""
    both = [Exit(first), Exit(second)]
    for found in (both, both[::-1], [*both, Exit.DONE], iter(both)):
        assert first_that_applies(found) == first


def test_nothing_that_happened_is_done():
    """Fault: a run without faults ends with another code than 0."""
    assert first_that_applies([]) is Exit.DONE
    assert first_that_applies([Exit.DONE]) is Exit.DONE


def test_no_code_is_left_out():
    """Fault: a new code ends as 0, or with a KeyError in place of its line."""
    assert set(PRECEDENCE) == set(Exit) - {Exit.DONE} and len(PRECEDENCE) == len(set(PRECEDENCE))
    assert set(MEANING) == set(Exit) and len(set(MEANING.values())) == len(MEANING)


def test_the_closing_line():
    """Fault: a line that scripts look for, in other words."""
    assert closing_line(Exit.DONE) == "coldwarm: exit 0 (done)"
    assert closing_line(Exit.INTERRUPTED) == "coldwarm: exit 130 (interrupted)"
    for code in Exit:
        assert closing_line(code) == f"coldwarm: exit {code.value} ({MEANING[code]})"
        assert "\n" not in closing_line(code)
