# SPDX-License-Identifier: Apache-2.0
"""From the rows of two cells to what a verdict is made of."""

from __future__ import annotations

import pytest

from suite import comparison, verdict
from suite.records import Cell
from suite.rows import CellRow, Count

CELL = Cell(
    "CPU.device.50",
    "s",
    "CPU",
    "device",
    "/device:CPU:0",
    "matmul",
    50,
    "float32",
    "default",
    "jit",
    "3.6",
    "local",
)


def row(colds, warms, planned=None, not_steady=None) -> CellRow:
    count = Count(len(colds), planned or len(colds), "ok")
    return CellRow(CELL, count, colds=colds, warms=warms, not_steady=not_steady or {})


def test_interleaved_sides_are_paired_by_block_and_stored_ones_are_not():
    """Fault: block 3 of one side is set beside block 4 of the other, because one sample in between is missing."""
    a, b = row({1: 1.0, 2: 2.0, 3: 4.0}, {}), row({1: 10.0, 3: 40.0, 4: 5.0}, {})
    paired = comparison.pairing("cold", a, b, paired=True)
    assert (paired.a, paired.b) == ([1.0, 4.0], [10.0, 40.0])
    stored = comparison.pairing("cold", a, b, paired=False)
    assert (stored.a, stored.b) == ([1.0, 2.0, 4.0], [10.0, 40.0, 5.0])


def test_a_series_that_wanders_is_no_same_and_a_cold_time_has_none():
    """Fault: warm times that never settle are called the same."""
    ours = row(
        {b: 1.0 + b / 1e4 for b in range(10)}, {b: 1.0 + b / 1e4 for b in range(10)}, not_steady={"trend": 3}
    )
    theirs = row(ours.colds, ours.warms)
    words = {
        quantity: verdict.decide([comparison.pairing(quantity, ours, theirs, paired=True)])[0].reason
        for quantity in comparison.QUANTITIES
    }
    assert words == {"cold": "within_margin", "warm": "not_steady"}


def test_a_missing_sample_makes_it_incomplete_on_either_side():
    """Fault: the cell whose slow sample crashed is FASTER."""
    whole, part = row({1: 1.0, 2: 1.1, 3: 1.2}, {}), row({1: 1.0, 2: 1.1, 3: 1.2}, {}, planned=4)
    for a, b in ((whole, part), (part, whole)):
        assert not comparison.pairing("cold", a, b, paired=True).complete
    assert comparison.pairing("cold", whole, whole, paired=True).complete


def test_what_is_blocked_says_so_in_words_and_is_not_tested():
    """Fault: a refusal by the gate without its values, or one that counts for Holm."""
    side = row({1: 1.0, 2: 1.1, 3: 1.2}, {})
    stop = comparison.pairing("cold", side, side, paired=True, blocked=("threads", "threads differs: 1 and 2"))
    free = comparison.pairing("cold", side, row({1: 2.0, 2: 2.1, 3: 2.5}, {}), paired=True, names=("old", "new"))
    first, second = verdict.decide([stop, free])
    assert (first.word, first.reason, first.p_adjusted) == ("INCOMPARABLE", "threads", None)
    assert first.text == "not comparable: threads differs: 1 and 2"
    assert "Holm" not in second.text and second.text.startswith("new takes ")
    assert " times as long as old" in second.text


@pytest.mark.parametrize("margin", [0.05, None])
def test_only_a_margin_makes_same(margin):
    """Fault: SAME where nobody has said how much is of no account."""
    side = row({b: 1.0 + b / 1e4 for b in range(10)}, {})
    other = row({b: 1.001 + (b % 3) / 1e4 for b in range(10)}, {})
    [found] = verdict.decide([comparison.pairing("cold", side, other, paired=False)], margin=margin)
    assert (found.word == "SAME") == (margin is not None)
