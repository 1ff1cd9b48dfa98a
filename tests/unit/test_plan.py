# SPDX-License-Identifier: Apache-2.0
"""The plan: what is run, how often, and in which order. Pure functions of their input."""

from __future__ import annotations

from collections import Counter

import pytest

from suite import plan, stack
from suite.errors import SuiteError
from suite.exits import Exit

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


def test_the_whole_order_of_a_small_plan(tf114):
    """Fault: as above, for a plan with several shapes: what is shuffled, and what is not."""
    cells = plan.cells(tf114, ["CPU", "XLA_CPU"], "device", [50, 500], **HOW)
    assert [planned.id for planned in plan.schedule(cells, 2, "smallest and largest", 20190614)] == [
        "probe",
        "pilot.CPU.device.50",
        "pilot.XLA_CPU.device.50",
        "pilot.CPU.device.500",
        "pilot.XLA_CPU.device.500",
        "fresh.CPU.device.50.1",
        "fresh.CPU.device.500.1",
        "fresh.XLA_CPU.device.500.1",
        "prepared.CPU.device.50.1",
        "fresh.XLA_CPU.device.50.1",
        "prepared.XLA_CPU.device.50.1",
        "prepared.CPU.device.500.1",
        "prepared.XLA_CPU.device.500.1",
        "prepared.XLA_CPU.device.500.2",
        "prepared.XLA_CPU.device.50.2",
        "fresh.XLA_CPU.device.500.2",
        "prepared.CPU.device.50.2",
        "fresh.CPU.device.50.2",
        "fresh.XLA_CPU.device.50.2",
        "fresh.CPU.device.500.2",
        "prepared.CPU.device.500.2",
    ]


def test_the_whole_order_of_a_plan_that_keeps_caches(tf114):
    """Fault: a cell is measured before its caches are filled, or one that has none is primed."""
    how = {**HOW, "level": "process"}
    cells = plan.cells(tf114, ["XLA_GPU", "CPU"], "device", [50], **how)
    assert [planned.id for planned in plan.schedule(cells, 3, "smallest", 7)] == [
        "probe",
        "pilot.XLA_GPU.device.50",
        "pilot.CPU.device.50",
        "priming.XLA_GPU.device.50",
        "fresh.CPU.device.50.1",
        "prepared.CPU.device.50.1",
        "prepared.XLA_GPU.device.50.1",
        "fresh.XLA_GPU.device.50.1",
        "prepared.CPU.device.50.2",
        "fresh.XLA_GPU.device.50.2",
        "fresh.CPU.device.50.2",
        "prepared.XLA_GPU.device.50.2",
        "prepared.CPU.device.50.3",
        "prepared.XLA_GPU.device.50.3",
        "fresh.CPU.device.50.3",
        "fresh.XLA_GPU.device.50.3",
    ]


@pytest.mark.parametrize(("level", "primed"), [("process", ["GPU", "XLA_GPU"]), ("jit", []), ("disk", [])])
def test_one_priming_for_each_cell_that_keeps_its_caches(tf114, level, primed):
    """Fault: a shape's caches are filled by another shape's sample, after the first block, or more than once."""
    cells = plan.cells(tf114, stack.TARGETS, "device", [50, 500], **{**HOW, "level": level})
    planned = plan.schedule(cells, 2, "each", 5)
    primings = [each for each in planned if each.kind == "priming"]
    assert [each.cell for each in primings] == [f"{target}.device.{n}" for n in (50, 500) for target in primed]
    assert {each.block for each in primings} <= {0}
    begin = next(k for k, each in enumerate(planned) if each.block == 1)
    assert {each.kind for each in planned[:begin]} == {"probe", "pilot", *(["priming"] if primed else [])}


@pytest.fixture(scope="module")
def arms(tf114):
    """Return the cells of two stacks that are compared: one with two shapes, one with three placements."""
    newer = stack.load("tf2.21-cuda12")
    return [
        plan.cells(tf114, ["CPU"], "device", [50, 500], **HOW),
        plan.cells(newer, ["CPU", "XLA_CPU"], "all", [50], **{**HOW, "python": "3.12"}),
    ]


def test_the_whole_order_of_two_stacks(arms):
    """Fault: one stack is measured before the other, so that a machine that warms up makes one of them slower."""
    assert [(arm, planned.id) for arm, planned in plan.schedule_arms(arms, 2, "smallest", 42)] == [
        (0, "probe"),
        (1, "probe"),
        (0, "pilot.CPU.device.50"),
        (1, "pilot.CPU.device.50"),
        (1, "pilot.XLA_CPU.jit.50"),
        (1, "pilot.XLA_CPU.device.50"),
        (0, "pilot.CPU.device.500"),
        (1, "prepared.CPU.device.50.1"),
        (1, "fresh.CPU.device.50.1"),
        (1, "fresh.XLA_CPU.jit.50.1"),
        (1, "prepared.XLA_CPU.jit.50.1"),
        (1, "fresh.XLA_CPU.device.50.1"),
        (0, "fresh.CPU.device.50.1"),
        (1, "prepared.XLA_CPU.device.50.1"),
        (0, "prepared.CPU.device.50.1"),
        (0, "prepared.CPU.device.500.1"),
        (1, "fresh.XLA_CPU.jit.50.2"),
        (0, "fresh.CPU.device.50.2"),
        (1, "prepared.XLA_CPU.device.50.2"),
        (1, "fresh.CPU.device.50.2"),
        (0, "prepared.CPU.device.50.2"),
        (1, "prepared.CPU.device.50.2"),
        (1, "prepared.XLA_CPU.jit.50.2"),
        (0, "prepared.CPU.device.500.2"),
        (1, "fresh.XLA_CPU.device.50.2"),
    ]


@pytest.mark.parametrize("fresh_at", ["smallest", "smallest and largest", "each"])
def test_each_block_holds_the_samples_of_all_stacks(arms, fresh_at):
    """Fault: a pair that is compared by block was not measured in one block; one stack has a sample less."""
    order = plan.schedule_arms(arms, 4, fresh_at, 3)
    blocks = [planned.block for _, planned in order]
    assert blocks == sorted(blocks)
    wanted = Counter()
    for arm, cells in enumerate(arms):
        wanted += Counter((arm, "prepared", cell.id) for cell in cells)
        at = plan.fresh_shapes([cell.n for cell in cells], fresh_at)
        wanted += Counter((arm, "fresh", cell.id) for cell in cells if cell.n in at)
    for block in (1, 2, 3, 4):
        held = Counter((arm, planned.kind, planned.cell) for arm, planned in order if planned.block == block)
        assert held == wanted
    for arm, cells in enumerate(arms):
        mine = [planned for number, planned in order if number == arm]
        alone = plan.schedule(cells, 4, fresh_at, 3)
        assert sorted(each.id for each in mine) == sorted(each.id for each in alone)
        assert len({each.id for each in mine}) == len(mine)


def test_what_a_run_of_a_comparison_plans_is_its_part_of_the_order(tmp_path):
    """Fault: run.json of one side names another order than it was measured in."""
    from suite import ready, selftest, together, words
    from suite.journal import read_run, read_samples
    from tests.resuming import RECORDING, SMALL

    made = ready.make_ready(words.parse({**SMALL, "out": str(tmp_path)}), {}, recording=RECORDING)
    try:
        measured = together.measure({"a": made, "b": made}, "compare", {}, ["compare"])
    finally:
        folders = sorted(path.parent for path in tmp_path.rglob("run.json"))
    compared = selftest.read(measured.folder)
    for number, folder in enumerate(folders):
        mine = [name for arm, name in compared.order if arm == number]
        assert [each.id for each in read_run(folder).plan.planned] == mine
        assert [each.id for each in read_samples(folder)[0]] == mine
    assert [arm.name for arm in compared.arms] == ["a", "b"] and {arm for arm, _ in compared.order} == {0, 1}


def test_the_order_of_several_stacks_comes_from_the_seed_alone(arms):
    """Fault: an order that cannot be told again from what is recorded, or that is always the same."""
    first, same, other = (plan.schedule_arms(arms, 3, "smallest", seed) for seed in (1, 1, 2))
    assert first == same != other

    def sorted_ids(order):
        return sorted((arm, planned.id) for arm, planned in order)

    assert sorted_ids(first) == sorted_ids(other)


def test_the_order_does_not_depend_on_what_else_is_random(arms):
    """Fault: the global generator, or the hash seed, has a part in the order."""
    import random

    orders = []
    for seed in (1, 2):
        random.seed(seed)
        orders.append(plan.schedule_arms(arms, 3, "smallest", 99))
    assert orders[0] == orders[1]


def test_no_stack_at_all_is_an_empty_order():
    """Fault: an internal error for a comparison of nothing."""
    assert plan.schedule_arms([], 3, "smallest", 1) == []


def test_a_dtype_that_a_stack_does_not_measure_is_refused(tmp_path):
    """Fault: bfloat16 asked of TensorFlow crashes in every worker, one after the other."""
    from suite import ready, words

    asked = words.parse({"stack": "tf1.14-cuda10", "dtype": "bfloat16", "out": str(tmp_path)})
    with pytest.raises(SuiteError) as caught:
        ready.make_ready(asked, {}, recording=tmp_path)
    assert caught.value.exit_code is Exit.IMPOSSIBLE
    assert "measures float32" in caught.value.what
