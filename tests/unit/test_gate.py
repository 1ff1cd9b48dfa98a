# SPDX-License-Identifier: Apache-2.0
"""What must be the same on both sides of a comparison."""

from __future__ import annotations

import pytest

from suite import gate

SAME = dict.fromkeys(gate.FIELDS, "x")


@pytest.mark.parametrize("field", gate.FIELDS)
def test_each_field_stands_in_the_way(field):
    """Fault: a field of the gate that nothing looks at."""
    [found] = gate.differences(SAME, {**SAME, field: "y"}, same_stack=False)
    assert (found.field, found.a, found.b) == (field, "x", "y") and found.text() == f"{field} differs: x and y"
    assert gate.blocked([found], []) is found and gate.blocked([found], [field]) is None


def test_of_one_stack_one_factor_may_differ():
    """Fault: a stack cannot be compared in two engines; or engine and placement differ at once, and pass."""
    engine, placement = ({**SAME, field: "y"} for field in gate.FACTORS)
    assert gate.differences(SAME, engine, same_stack=True) == []
    assert gate.differences(SAME, placement, same_stack=True) == []
    both = gate.differences(SAME, {**engine, "placement": "y"}, same_stack=True)
    assert [each.field for each in both] == ["placement"]
    threads = gate.differences(SAME, {**engine, "threads": "y"}, same_stack=True)
    assert [each.field for each in threads] == ["threads"]


def test_allowing_one_field_allows_no_other():
    """Fault: ALLOW=threads lets another CPU pass."""
    found = gate.differences(SAME, {**SAME, "threads": "y", "cpu_model": "y"}, same_stack=False)
    stop = gate.blocked(found, ["threads"])
    assert stop is not None and stop.field == "cpu_model"


def test_a_cell_on_the_cpu_has_no_gpu_to_differ_in():
    """Fault: a field that one side lacks raises, or passes for the same where the other has it."""
    bare = {field: "x" for field in gate.FIELDS if field not in gate.OF_GPU}
    assert gate.differences(bare, bare, same_stack=False) == []
    assert [
        each.field for each in gate.differences(SAME, {**SAME, "gpu": gate.NOT_RECORDED}, same_stack=False)
    ] == ["gpu"]


def test_what_neither_side_recorded_is_told():
    """Fault: two runs of an earlier version, which recorded no threads, are held to be the same without a word."""
    old = {**SAME, "threads": gate.NOT_RECORDED}
    assert gate.not_recorded(old, old) == ["threads"] and gate.not_recorded(old, SAME) == []
    [found] = gate.differences(old, SAME, same_stack=False)
    assert found.text() == "threads differs: not recorded and x"
