# SPDX-License-Identifier: Apache-2.0
"""The plan: what is run, how often, and in which order. Pure functions of their input."""

from __future__ import annotations

from collections import Counter

import pytest

from suite import plan, stack

HOW = {"dtype": "float32", "precision": "default", "level": "jit", "python": "3.6", "engine": "local"}


@pytest.fixture(scope="module")
def tf114():
    return stack.load("tf1.14-cuda10")


def test_the_order_of_a_seed_is_fixed_for_ever(tf114):
    """Fault: a stored seed no longer gives the order in which its run was measured."""
    cells = plan.cells(tf114, ["GPU", "CPU"], "device", [500], **HOW)
    assert [planned.id for planned in plan.schedule(cells, 2, "smallest", 42)] == [
        "probe",
        "pilot.GPU.device.500",
        "pilot.CPU.device.500",
        "fresh.GPU.device.500.1",
        "prepared.CPU.device.500.1",
        "fresh.CPU.device.500.1",
        "prepared.GPU.device.500.1",
        "fresh.CPU.device.500.2",
        "fresh.GPU.device.500.2",
        "prepared.GPU.device.500.2",
        "prepared.CPU.device.500.2",
    ]


def test_another_seed_gives_another_order_of_the_same_samples(tf114):
    """Fault: the seed is not used, or blocks are not shuffled at all."""
    cells = plan.cells(tf114, ["CPU", "GPU", "XLA_CPU"], "device", [50, 500], **HOW)
    orders = [[planned.id for planned in plan.schedule(cells, 3, "each", seed)] for seed in (1, 2)]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def test_pilots_come_first_and_smallest_shapes_first(tf114):
    """Fault: a cell that cannot fit is found out after the large ones were measured, or by target."""
    cells = plan.cells(tf114, ["XLA_CPU", "CPU"], "device", [2000, 50, 500], **HOW)
    planned = plan.schedule(cells, 1, "smallest", 7)
    assert [each.kind for each in planned[:8]] == ["probe", *["pilot"] * 6, planned[7].kind]
    assert "pilot" not in {each.kind for each in planned[7:]}
    assert [each.cell for each in planned[1:7]] == [
        f"{target}.device.{n}" for n in (50, 500, 2000) for target in ("XLA_CPU", "CPU")
    ]


def test_a_block_holds_one_prepared_sample_of_each_cell(tf114):
    """Fault: one cell is measured in the morning and the other at noon."""
    cells = plan.cells(tf114, ["CPU", "GPU"], "device", [50, 500], **HOW)
    rest = plan.schedule(cells, 4, "smallest", 3)[1 + len(cells) :]
    blocks = [each.block for each in rest]
    assert blocks == sorted(blocks) and set(blocks) == {1, 2, 3, 4}
    for block in range(1, 5):
        held = Counter((each.kind, each.cell) for each in rest if each.block == block)
        assert held == Counter(
            [("prepared", cell.id) for cell in cells] + [("fresh", c.id) for c in cells if c.n == 50]
        )
    in_order = [(c.id, k) for c in cells for k in ("prepared", "fresh")]
    assert any([(e.cell, e.kind) for e in rest if e.block == b] != in_order for b in range(1, 5))


def test_no_two_samples_share_an_id(tf114):
    """Fault: two samples write into one folder of raw files."""
    cells = plan.cells(tf114, ["CPU", "GPU", "XLA_GPU"], "all", [50, 100], **HOW)
    ids = [planned.id for planned in plan.schedule(cells, 5, "each", 0)]
    assert len(set(ids)) == len(ids) == 1 + 6 + 5 * 12


@pytest.mark.parametrize(
    ("profile", "wanted"),
    [("quick", [50]), ("full", [50, 15000]), ("publish", [50, 100, 500, 1000, 10000, 15000])],
)
def test_fresh_shapes_of_each_profile(profile, wanted):
    """Fault: first results are taken at shapes that the profile does not promise."""
    chosen = plan.PROFILES[profile]
    assert plan.fresh_shapes(reversed(chosen.shapes), chosen.fresh_at) == wanted


@pytest.mark.parametrize("fresh_at", ["smallest", "smallest and largest", "each"])
def test_one_shape_is_fresh_once(tf114, fresh_at):
    """Fault: where smallest and largest are one shape, it is measured twice."""
    cells = plan.cells(tf114, ["CPU"], "device", [500, 500], **HOW)
    assert [cell.n for cell in cells] == [500]
    assert plan.fresh_shapes([500, 500], fresh_at) == [500]
    assert len(plan.schedule(cells, 1, fresh_at, 0)) == 4


def test_cells_keep_the_targets_order_and_sort_the_shapes(tf114):
    """Fault: a table that does not follow what was asked for, or a shape measured twice."""
    cells = plan.cells(tf114, ["GPU", "CPU"], "device", [500, 50, 500], **HOW)
    assert [cell.id for cell in cells] == ["GPU.device.50", "GPU.device.500", "CPU.device.50", "CPU.device.500"]
    assert [cell.device for cell in cells] == ["/device:GPU:0"] * 2 + ["/device:CPU:0"] * 2


def test_a_level_is_claimed_only_where_there_is_a_cache(tf114):
    """Fault: a CPU row that says its JIT cache was emptied."""
    cells = plan.cells(tf114, stack.TARGETS, "device", [50], **HOW)
    assert {cell.target: cell.level for cell in cells} == {
        "CPU": "not_applicable",
        "GPU": "jit",
        "XLA_CPU": "not_applicable",
        "XLA_GPU": "jit",
    }


def test_a_placement_is_taken_alone_or_with_all(tf114):
    """Fault: PLACEMENT= is passed over."""
    assert plan.cells(tf114, ["CPU"], "jit", [50], **HOW) == []
    assert len(plan.cells(tf114, ["CPU"], "all", [50], **HOW)) == 1


def test_no_cell_at_all_is_a_plan_with_a_probe_only(tf114):
    """Fault: TARGETS=CPU PLACEMENT=jit with PROFILE=full ends as an internal error."""
    assert plan.cells(tf114, ["CPU"], "jit", [50, 500], **HOW) == []
    assert [each.id for each in plan.schedule([], 3, "smallest and largest", 0)] == ["probe"]


@pytest.mark.parametrize(
    ("median_s", "minimum", "seconds", "wanted"),
    [
        (0.01, 10, 0.5, 51),  # fills the time
        (0.3, 10, 0.5, 10),  # slow: the least number
        (60.0, 30, 1.0, 30),
        (1e-5, 10, 0.5, plan.WARM_CALLS_CAP),  # quick: the cap
        (0.0, 10, 0.5, plan.WARM_CALLS_CAP),  # a clock that stood still
    ],
)
def test_warm_calls(median_s, minimum, seconds, wanted):
    """Fault: a series too short for a median, one without end, or a division by zero."""
    assert plan.warm_calls(median_s, minimum, seconds) == wanted
