# SPDX-License-Identifier: Apache-2.0
"""``compare``: what is planted in synthetic stacks is what the verdicts say, and nothing else."""

from __future__ import annotations

import csv
import io
import json

import pytest

from suite import compare, journal, selftest
from suite.errors import SuiteError
from suite.exits import Exit
from tests.comparing import (
    CPU,
    LATER,
    NEW,
    OLD,
    model,
    stacks,
    stored,
    three_runs,
    three_stacks,
    together,
)
from tests.synthetic import Synthetic


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return stacks(tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def three(tmp_path_factory, folder):
    return three_stacks(tmp_path_factory.mktemp("three"), folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, folder):
    return three_runs(tmp_path_factory.mktemp("runs"), folder)


def test_what_was_planted_is_found_and_nothing_else(three):
    """Fault: a difference is lost between samples and verdict, is given to the wrong stack, or has the wrong sign."""
    assert three.judged(NEW, "cold").verdict.word == "SLOWER"
    assert three.judged(NEW, "cold").verdict.ratio.centre == pytest.approx(2, rel=0.1)
    assert three.judged(LATER, "warm").verdict.word == "FASTER"
    assert three.judged(LATER, "warm").verdict.ratio.centre == pytest.approx(0.1, rel=0.1)
    for arm, quantity in ((NEW, "warm"), (LATER, "cold")):
        assert three.judged(arm, quantity).verdict.word in ("SAME", "AMBIGUOUS")
    assert three.code is Exit.SLOWER
    assert f"{NEW} beside {OLD}: cold 1 SLOWER; warm 1 " in three.words
    assert f"{LATER} beside {OLD}: cold 1 " in three.words and "; warm 1 FASTER" in three.words


def test_all_cells_of_all_stacks_are_one_family(three):
    """Fault: with nine stacks, nine times the chance of a difference that is none."""
    tested = [each.verdict for each in three.compared.judged if each.verdict.p_adjusted is not None]
    assert len(tested) == 4 and "Holm over 4 tests" in three.words
    assert "after Holm over 4 tests" in three.judged(NEW, "cold").verdict.text
    assert f"{NEW} takes" in three.judged(NEW, "cold").verdict.text
    assert f"as long as {OLD}" in three.judged(NEW, "cold").verdict.text


def test_stacks_are_interleaved_in_blocks(three):
    """Fault: one stack after the other, so that a machine that warms up makes the last one slower."""
    order = selftest.read(three.folder).order
    taken = [(arm, name.rpartition(".")[2]) for arm, name in order if name.startswith("prepared")]
    assert [block for _, block in taken] == sorted((block for _, block in taken), key=int)
    for block in map(str, range(1, 11)):
        assert sorted(arm for arm, its in taken if its == block) == [0, 1, 2]
    assert len({tuple(arm for arm, its in taken if its == block) for block in map(str, range(1, 11))}) > 1


def test_without_a_margin_nothing_is_the_same(tmp_path, folder):
    """Fault: SAME without anybody having said how much is of no account."""
    steady = {OLD: Synthetic({CPU: model(spread=0.002)}, 1), NEW: Synthetic({CPU: model(spread=0.002)}, 2)}
    with_margin = together(tmp_path / "with", folder, steady)
    without = together(tmp_path / "without", folder, steady, margin="none")
    assert [each.verdict.word for each in with_margin.compared.judged] == ["SAME", "SAME"]
    assert with_margin.code is Exit.DONE
    assert "SAME" not in {each.verdict.word for each in without.compared.judged}
    assert "no margin is given, so nothing is SAME" in without.words
    narrow = together(tmp_path / "narrow", folder, steady, margin="0.01%")
    assert "SAME" not in {each.verdict.word for each in narrow.compared.judged}


@pytest.mark.parametrize(
    ("word", "wanted"), [("ambiguous", Exit.SLOWER), ("slower", Exit.SLOWER), ("none", Exit.DONE)]
)
def test_fail_on_says_what_fails(three, word, wanted):
    """Fault: a CI job that fails where it was told not to, or passes a slower stack."""
    found = compare.exits(three.compared, word)
    assert (Exit.SLOWER in found) == (wanted is Exit.SLOWER)
    assert word == "ambiguous" or Exit.AMBIGUOUS not in found


def test_what_cannot_be_told_is_exit_6_where_that_is_asked_for(tmp_path, folder):
    """Fault: two samples a side, which tell nothing, pass for no difference."""
    ended = together(tmp_path, folder, {}, samples="2")
    assert {each.verdict.reason for each in ended.compared.judged} == {"too_few"}
    assert ended.code is Exit.AMBIGUOUS
    assert together(tmp_path / "2", folder, {}, samples="2", fail_on="slower").code is Exit.DONE


def test_targets_that_this_machine_lacks_are_rows_and_no_failure(tmp_path, folder):
    """Fault: a comparison on a machine without a GPU fails because of it, or leaves its rows out."""
    devices = ["/device:CPU:0", "/device:XLA_CPU:0"]
    by_stack = {name: Synthetic(devices=devices) for name in (OLD, NEW)}
    ended = together(tmp_path / "all", folder, by_stack, targets="", fail_on="none")
    table = list(csv.DictReader(io.StringIO((ended.folder / "table.csv").read_text())))
    of_gpu = [line for line in table if line["target"] == "GPU"]
    assert {line["status"] for line in of_gpu} == {"unavailable"} and len(of_gpu) == 2
    assert {line["cold_s"] + line["cold_verdict"] for line in of_gpu} == {""}
    assert ended.code is Exit.DONE
    # Side by side once, among the cold times; the reason in a note.
    assert ended.words.count("GPU device 50 unavailable unavailable") == 2 and "XLA_GPU device 50" in ended.words
    assert f"{OLD}, {NEW}: GPU device: unavailable: " in ended.words
    named = together(tmp_path / "named", folder, by_stack, targets="CPU,GPU", fail_on="none")
    assert named.code is Exit.IMPOSSIBLE


def test_stored_runs_find_what_was_planted_by_welch(tmp_path, runs):
    """Fault: stored runs compared block by block, although their blocks have nothing in common."""
    ended = stored(tmp_path, *runs[:2])
    assert ended.judged(NEW, "cold").verdict.word == "SLOWER" and ended.code is Exit.SLOWER
    assert not selftest.read(ended.folder).paired and "Welch" in ended.words
    assert ended.compared.baseline.name == OLD


def test_the_baseline_is_a_name_an_id_or_a_folder(tmp_path, runs):
    """Fault: what is judged beside what depends on the order of the folders alone."""
    by_id = json.loads((runs[1] / journal.RUN).read_text())["run_id"]
    for word in (NEW, by_id, str(runs[1])):
        ended = stored(tmp_path, *runs[:2], baseline=word)
        assert ended.judged(OLD, "cold").verdict.word == "FASTER" and ended.code in (Exit.DONE, Exit.AMBIGUOUS)
    with pytest.raises(SuiteError) as caught:
        stored(tmp_path, *runs[:2], baseline="nobody")
    assert caught.value.exit_code is Exit.USAGE and OLD in caught.value.next_step


def test_a_stack_beside_itself_at_another_time(tmp_path, runs):
    """Fault: two runs of one stack cannot be told apart in the tables."""
    ended = stored(tmp_path, runs[0], runs[2])
    assert [arm.name for arm in ended.compared.arms] == [f"{OLD}:1", f"{OLD}:2"]
    assert ended.judged(f"{OLD}:2", "cold").verdict.word in ("SAME", "AMBIGUOUS")
    for run in (runs[0], runs[2]):
        assert json.loads((run / journal.RUN).read_text())["run_id"] in ended.words


def test_a_comparison_may_be_judged_again_in_another_way(three, tmp_path):
    """Fault: RUNS= of a comparison forgets that its blocks were measured together."""
    ended = stored(tmp_path, three.folder, baseline=NEW, margin="none")
    assert selftest.read(ended.folder).paired
    ours, theirs = ended.judged(OLD, "cold").verdict.ratio, three.judged(NEW, "cold").verdict.ratio
    assert ours.centre == pytest.approx(1 / theirs.centre) and ours.low == pytest.approx(1 / theirs.high)


def test_the_budget_is_shared_and_by_default_one_run_s_for_each(tmp_path, folder):
    """Fault: nine stacks in the time of one, so that most cells are over budget; or BUDGET= taken nine times."""

    def budgets(ended):
        return [arm.run.plan.budget_s for arm in ended.compared.arms]

    assert budgets(together(tmp_path / "1", folder, {}, samples="2")) == [600.0, 600.0]
    assert budgets(together(tmp_path / "2", folder, {}, samples="2", budget="500")) == [250.0, 250.0]
