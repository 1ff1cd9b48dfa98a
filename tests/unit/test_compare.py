# SPDX-License-Identifier: Apache-2.0
"""``compare``: what is planted in synthetic stacks is what the verdicts say, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from suite import collecting, compare, compare_csv, gate, journal, selftest, verdict
from suite.cli import cli
from suite.document import FORMATS
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT, names
from tests.comparing import (
    CPU,
    LATER,
    NEW,
    OLD,
    bench,
    change_samples,
    copied,
    model,
    played,
    stacks,
    stored,
    together,
)
from tests.synthetic import RECORDING, Synthetic

SLOWER_COLD = model(cold_s=0.10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return stacks(tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def three(tmp_path_factory, folder):
    """Three stacks, interleaved: NEW has twice the cold time of OLD, LATER a tenth of its warm time."""
    return together(
        tmp_path_factory.mktemp("three"),
        folder,
        {
            OLD: Synthetic({CPU: model()}, seed=1),
            NEW: Synthetic({CPU: SLOWER_COLD}, seed=2),
            LATER: Synthetic({CPU: model(warm_s=1e-4)}, seed=3),
        },
        stacks=f"{OLD} {NEW} {LATER}",
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory, folder):
    """Two stored runs of OLD and NEW, which takes twice as long cold, and one of OLD again."""
    out = tmp_path_factory.mktemp("runs")
    return (
        bench(out, folder, OLD, Synthetic({CPU: model()}, seed=1)),
        bench(out, folder, NEW, Synthetic({CPU: SLOWER_COLD}, seed=2)),
        bench(out, folder, OLD, Synthetic({CPU: model()}, seed=3)),
    )


# Verdicts


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


# Targets that are not there


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


# Stored runs


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


def _moved(path, to):
    def change(fields):
        at = fields
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = to

    return change


def _cells(name, to):
    def change(fields):
        for cell in fields["plan"]["cells"]:
            cell[name] = to

    return change


def _fact(name, to):
    def change(sample):
        if sample["facts"]:
            sample["facts"][name] = to

    return change


def _incomplete(sample):
    if "bytecode" in sample["proofs"]:
        sample["proofs"]["bytecode"]["state"] = "failed"


#: Field of the gate, what is changed of the run, what of its samples, and the value that must be told.
DIFFERENT = [
    ("cpu_model", _moved(("host", "cpu_model"), "another CPU"), None, "another CPU"),
    ("engine", _moved(("engine", "name"), "podman"), None, "podman"),
    ("effective_cpus", None, _fact("cpus", {"effective": 1.0}), "1"),
    ("threads", None, _fact("intra_op_threads", 1), "1"),
    ("precision", None, _fact("precision", "tf32"), "tf32"),
    ("dtype", _cells("dtype", "float64"), None, "float64"),
    ("level", _cells("level", "disk"), None, "disk"),
    ("bytecode", None, _incomplete, "incomplete"),
]


@pytest.mark.parametrize(
    ("field", "of_run", "of_samples", "value"), DIFFERENT, ids=[each[0] for each in DIFFERENT]
)
def test_the_gate_names_the_field_and_both_values_and_allow_marks(
    tmp_path, runs, field, of_run, of_samples, value
):
    """Fault: a speed-up that another machine, thread count or precision made; or ALLOW= that leaves no trace."""
    other = copied(runs[1], tmp_path / "other", of_run or (lambda fields: None))
    if of_samples:
        change_samples(other, of_samples)
    refused = stored(tmp_path / "refused", runs[0], other)
    for quantity in ("cold", "warm"):
        found = refused.judged(NEW, quantity)
        assert (found.verdict.word, found.verdict.reason) == ("INCOMPARABLE", field)
        assert found.verdict.ratio is None and found.verdict.p_adjusted is None
        differs = found.differs[0]
        assert differs.field == field and value in (differs.a, differs.b) and differs.a != differs.b
        assert f"{field} differs: {differs.a} and {differs.b}" in refused.words
    assert refused.code is Exit.IMPOSSIBLE and f"ALLOW={field}" in refused.words
    allowed = stored(tmp_path / "allowed", runs[0], other, allow=field)
    assert allowed.judged(NEW, "cold").verdict.word == "SLOWER" and allowed.code is Exit.SLOWER
    assert f"SLOWER (other {field})" in allowed.words and "no plain speed-up" in allowed.words
    [line] = [each for each in csv.DictReader((allowed.folder / "table.csv").open()) if each["arm"] == NEW]
    assert line["allowed"] == field
    another = "threads" if field != "threads" else "engine"
    assert stored(tmp_path / "wrong", runs[0], other, allow=another).code is Exit.IMPOSSIBLE


def test_the_engine_may_be_what_is_compared(tmp_path, runs):
    """Fault: a stack in a container cannot be set beside the same stack without one."""
    other = copied(runs[2], tmp_path / "other", _moved(("engine", "name"), "podman"))
    ended = stored(tmp_path, runs[0], other)
    assert "INCOMPARABLE" not in {each.verdict.word for each in ended.compared.judged}
    assert not any(each.differs for each in ended.compared.judged)


def test_a_gpu_cell_is_held_to_its_gpu_and_driver(tmp_path, folder):
    """Fault: two GPUs compared as if they were one; or a CPU row refused because of a GPU that it does not use."""
    gpus = {
        name: Synthetic({"GPU.device.50": model(), CPU: model()}, seed) for seed, name in enumerate((OLD, NEW))
    }
    first, second = (bench(tmp_path, folder, name, gpus[name], targets="CPU,GPU") for name in (OLD, NEW))

    def with_gpu(uuid, driver):
        found = {"gpus": [{"uuid": uuid, "driver_version": driver, "index": "0"}]}
        return lambda fields: fields["host"].update(nvidia=found)

    a = copied(first, tmp_path / "a", with_gpu("GPU-1", "535.1"))
    b = copied(second, tmp_path / "b", with_gpu("GPU-2", "535.1"))
    c = copied(second, tmp_path / "c", with_gpu("GPU-1", "580.2"))
    for other, field in ((b, "gpu"), (c, "driver")):
        ended = stored(tmp_path, a, other)
        words = {each.b.cell.target: each.verdict.word for each in ended.compared.judged}
        assert (words["GPU"], words["CPU"] == "INCOMPARABLE") == ("INCOMPARABLE", False)
        assert {each.verdict.reason for each in ended.compared.judged if each.b.cell.target == "GPU"} == {field}


def test_cells_on_one_side_are_listed_and_not_compared(tmp_path, folder):
    """Fault: a cell that only one side has vanishes without a word."""
    small = bench(tmp_path, folder, OLD, Synthetic())
    more = bench(tmp_path, folder, NEW, Synthetic(), targets="CPU,XLA_CPU", shapes="50,100")
    ended = stored(tmp_path, small, more, fail_on="none")
    assert {each.b.cell.id for each in ended.compared.judged} == {CPU}
    assert f"CPU device 100: in {NEW}, not in {OLD} (not in its plan)" in ended.words
    assert f"XLA_CPU device 50, 100: in {NEW}, not in {OLD} (not in its plan)" in ended.words
    assert ended.code is Exit.DONE
    nothing = bench(tmp_path, folder, NEW, Synthetic(), targets="XLA_CPU")
    assert stored(tmp_path, small, nothing).code is Exit.IMPOSSIBLE


def test_a_cell_that_failed_on_one_side_is_one_sided(tmp_path, runs):
    """Fault: a stack that crashed is compared by what it had measured before."""
    other = copied(runs[1], tmp_path / "other", lambda fields: None)

    def crash(sample):
        if sample["kind"] == "prepared":
            sample.update(status="crashed", reason={"code": "crashed", "text": "it crashed"})

    change_samples(other, crash)
    ended = stored(tmp_path, runs[0], other)
    assert not ended.compared.judged and f"CPU device 50: in {OLD}, not in {NEW} (crashed)" in ended.words
    assert ended.code is Exit.IMPOSSIBLE


def test_one_sample_that_is_not_ok_leaves_no_verdict(tmp_path, runs):
    """Fault: nine of ten are fast because the slow one crashed."""
    other = copied(runs[1], tmp_path / "other", lambda fields: None)

    def crash(sample):
        if sample["id"] == f"prepared.{CPU}.4":
            sample.update(status="crashed", reason={"code": "crashed", "text": "it crashed"})

    change_samples(other, crash)
    found = stored(tmp_path, runs[0], other).judged(NEW, "cold").verdict
    assert (found.word, found.reason) == ("AMBIGUOUS", "incomplete")


def test_another_placement_is_no_plain_speed_up(tmp_path, runs):
    """Fault: /device:XLA_GPU:0 and jit_compile, two ways to run, compared as if they were one."""
    other = copied(runs[1], tmp_path / "other", _cells("placement", "jit"))
    apart = stored(tmp_path / "apart", runs[0], other)
    assert not apart.compared.judged and apart.code is Exit.IMPOSSIBLE
    assert f"CPU jit 50: in {NEW}, not in {OLD} (its CPU is device)" in apart.words
    assert "ALLOW=placement" in apart.words
    allowed = stored(tmp_path / "allowed", runs[0], other, allow="placement")
    assert len(allowed.compared.judged) == 2
    assert "SLOWER (other placement)" in allowed.words
    assert "placement differs: device and jit (CPU jit 50): no plain speed-up" in allowed.words


def test_of_one_stack_the_placement_may_be_what_is_compared_and_is_told(tmp_path, runs):
    """Fault: device and jit of one stack side by side without a word that they are two ways to run."""
    other = copied(runs[2], tmp_path / "other", _cells("placement", "jit"))
    ended = stored(tmp_path, runs[0], other)
    assert [each.verdict.word in ("SAME", "AMBIGUOUS") for each in ended.compared.judged] == [True, True]
    assert "CPU 50 is jit beside device: the placement is what is compared" in ended.words


# Runs that cannot be used


def _newer(path):
    run = json.loads((path / journal.RUN).read_text())
    (path / journal.RUN).write_text(json.dumps({**run, "schema": 99}))


def _truncated(path):
    data = (path / journal.RUN).read_bytes()
    (path / journal.RUN).write_bytes(data[: len(data) // 2])


def _nan(path):
    text = (path / journal.RUN).read_text()
    (path / journal.RUN).write_text(text.replace('"budget_s": 600.0', '"budget_s": NaN'))


def _of_reproduce(path):
    run = json.loads((path / journal.RUN).read_text())
    (path / journal.RUN).write_text(json.dumps({**run, "protocol": "reproduce"}))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(_newer, "a newer coldwarm wrote it"), (_truncated, "not JSON"), (_nan, "NaN"), (_of_reproduce, "reproduce")],
)
def test_a_damaged_run_is_refused_with_its_reason(tmp_path, runs, capsys, damage, reason):
    """Fault: half a file is read as a run, or a newer format as if it were this one."""
    other = copied(runs[1], tmp_path / "tree" / "other", lambda fields: None)
    damage(other)
    with pytest.raises(SuiteError) as caught:
        stored(tmp_path, runs[0], other)
    assert caught.value.exit_code is Exit.IMPOSSIBLE and reason in caught.value.what
    assert str(other) in caught.value.what
    # Below a folder that was named it is listed, and stops nothing.
    for index, run in enumerate(runs[:2]):
        copied(run, tmp_path / "tree" / f"good{index}", lambda fields: None, f"20260101T00000{index}Z-abcdef")
    ended = stored(tmp_path, tmp_path / "tree", fail_on="none")
    assert len(ended.compared.arms) == 2 and ended.code is Exit.CELLS_FAILED
    said = " ".join(capsys.readouterr().err.split())
    assert "not used:" in said and reason in said


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"stacks": f"{OLD} {NEW}", "runs": "x"},
        {"stacks": OLD},
        {"stacks": f"{OLD} {OLD}"},
        {"stacks": f"{OLD} tf0.1"},
        {"stacks": f"{OLD} {NEW}", "baseline": LATER},
        {"stacks": f"{OLD} {NEW}", "allow": "weather"},
        {"stacks": f"{OLD} {NEW}", "margin": "-1"},
        {"stacks": f"{OLD} {NEW}", "margin": "much"},
        {"stacks": f"{OLD} {NEW}", "margin": "nan"},
        {"stacks": f"{OLD} {NEW}", "fail_on": "rain"},
        {"stacks": f"{OLD} {NEW}", "format": "pdf"},
        {"stacks": f"{OLD} {NEW}", "layout": "round"},
        {"runs": "there/is no/such"},
        {"runs": "'open"},
        {"runs": str(ROOT / "results"), "samples": "3"},
    ],
)
def test_words_that_make_no_sense_are_usage(tmp_path, folder, given):
    """Fault: a word that is passed over, so that something else is compared than was asked for."""
    with pytest.raises(SuiteError) as caught:
        compare.run({**given, "out": str(tmp_path)}, {}, [], print, stacks=folder, recording=RECORDING)
    assert caught.value.exit_code is Exit.USAGE
    assert list(tmp_path.iterdir()) == []


def test_the_same_run_twice_is_no_comparison(tmp_path, runs):
    """Fault: a run beside a copy of itself is SAME, to the last digit."""
    copy = copied(runs[0], tmp_path / "copy", lambda fields: None, runs[0].name)
    with pytest.raises(SuiteError) as caught:
        stored(tmp_path, runs[0], copy)
    assert caught.value.exit_code is Exit.USAGE and "a second time" in caught.value.what


def test_folders_with_spaces_in_their_names(tmp_path, runs):
    """Fault: results of a project whose folder has a space in its name cannot be compared."""
    first, second = (
        copied(run, tmp_path / f"my results {place}", lambda fields: None, f"20260101T00000{place}Z-abcdef")
        for place, run in enumerate(runs[:2])
    )
    asked = {"runs": f"{shlex.quote(str(first))} {shlex.quote(str(second))}", "out": str(tmp_path / "out")}
    code, _ = compare.run(asked, {}, [], lambda text: None)
    assert code is Exit.SLOWER


# What is left


def test_collect_derives_the_same_bytes_anywhere(tmp_path, three, runs):
    """Fault: tables that depend on the locale, the time zone or the time at which they are derived."""
    kept = stored(tmp_path / "kept", *runs[:2])
    for ended in (three, kept):
        before = {
            name: (ended.folder / name).read_bytes() for name in ("table.md", "table.csv", "comparison.json")
        }
        for zone, locale in (("Asia/Kolkata", "tr_TR.UTF-8"), ("America/St_Johns", "C")):
            (ended.folder / "table.md").unlink()
            (ended.folder / "table.csv").unlink()
            done = subprocess.run(
                [sys.executable, "-m", "suite", "collect", str(ended.folder)],
                cwd=ROOT,
                env={**os.environ, "TZ": zone, "LC_ALL": locale, "PYTHONHASHSEED": "7"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert ended.text in done.stdout
            for name, data in before.items():
                assert (ended.folder / name).read_bytes() == data, name
    again = stored(tmp_path / "kept", *runs[:2])
    assert again.folder == kept.folder and again.text == kept.text


def test_a_collect_of_nothing_but_a_stored_comparison(tmp_path, runs):
    """Fault: a comparison of stored runs holds no run.json, and so is not found."""
    kept = stored(tmp_path, *runs[:2])
    printed: list[str] = []
    assert collecting.collect_all([kept.folder], None, printed.append) is Exit.DONE
    assert printed == [kept.text]


def test_the_command_shown_makes_the_same_cells_again(tmp_path, folder):
    """Fault: a comparison that shows another command than the one that makes it."""
    by_stack = {OLD: Synthetic({CPU: model()}, 1), NEW: Synthetic({CPU: SLOWER_COLD}, 2)}
    first = together(
        tmp_path / "1", folder, by_stack, targets="CPU,XLA_CPU", shapes="100, 50", samples="4", baseline=NEW,
        margin="7%", level="process",
    )  # fmt: skip
    line = next(each for each in first.text.splitlines() if each.startswith("make compare "))
    given = {}
    for word in shlex.split(line)[2:]:
        name, _, value = word.partition("=")
        given[name.lower()] = value
    assert set(given) <= {parameter.name for parameter in cli.commands["compare"].params}
    with played(by_stack):
        _, again = compare.run(
            {**given, "out": str(tmp_path / "2")}, {}, [], lambda text: None, recording=RECORDING, stacks=folder
        )

    def cells(path):
        compared = compare.derive(path)[1]
        return [
            (arm.name, row.cell, row.count.planned, arm is compared.baseline)
            for arm in compared.arms
            for row in arm.cells
        ], selftest.read(path).judging

    assert cells(again) == cells(first.folder)
    assert {row.count.planned for arm in first.compared.arms for row in arm.cells} == {4}


def test_the_csv_is_ready_for_a_chart(three):
    """Fault: a chart of start-up, cold and warm by version needs another file, or loses digits."""
    lines = list(csv.DictReader(io.StringIO((three.folder / "table.csv").read_text())))
    assert [line["stack"] for line in lines] == [OLD, NEW, LATER]
    assert [line["framework_version"] for line in lines] == ["1.14.0", "1.14.0", "1.14.0"]  # as the worker told
    for arm, line in zip(three.compared.arms, lines, strict=True):
        [row] = arm.cells
        assert float(line["cold_s"]) == row.cold.centre and float(line["warm_high_s"]) == row.warm.high
        fresh = arm.fresh[CPU]
        assert float(line["start_up_s"]) == fresh.start_up.centre
        assert float(line["first_result_low_s"]) == fresh.first_result.low
        assert (line["ok"], line["planned"], line["status"], line["state"]) == ("10", "10", "ok", "built")
    assert [line["cold_verdict"] for line in lines][:2] == ["", "SLOWER"]
    assert float(lines[1]["cold_by_baseline"]) == three.judged(NEW, "cold").verdict.ratio.centre
    assert set(lines[0]) == set(compare_csv.CSV_COLUMNS)


@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize("style", FORMATS)
def test_every_format_shows_every_stack_and_number(three, style, layout):
    """Fault: a format in which a stack, an interval or a status is missing."""
    text, _ = compare.derive(three.folder, style, layout)
    for name in (OLD, NEW, LATER):
        assert name in text
    if style == "csv":
        assert text == (three.folder / "table.csv").read_text()
        return
    assert "10/10 ok" in text and "SLOWER" in text
    marks = {"html": "<table>", "latex": r"\begin{tabular}", "github": "|---", "grid": "+---", "simple": "-----"}
    assert marks.get(style, "") in text
    cold = three.compared.arms[1].cells[0].cold
    assert f"{cold.centre * 1e3:.0f}"[:2] in text


def test_two_stacks_and_three_fit_a_terminal(tmp_path, folder, three):
    """Fault: a table that wraps in 80 columns."""
    wide = {name: Synthetic({CPU: model(spread=0.9), "XLA_CPU.device.10000": model(1.0, 0.5, 0.9)}, seed)
            for seed, name in enumerate((OLD, NEW))}  # fmt: skip
    two = together(tmp_path, folder, wide, targets="CPU,XLA_CPU", shapes="50,10000", samples="3", budget="90000")
    for ended in (two, three):
        long = [line for line in ended.text.splitlines() if len(line) > 80 and not line.startswith("make ")]
        assert long == []


def test_markup_in_a_name_does_nothing(tmp_path, runs):
    """Fault: a host that is called <script> runs in the reader's browser."""
    evil = _moved(("host", "cpu_model"), "<script>alert(1)</script>&_%")
    first, second = (
        copied(run, tmp_path / f"run{place}", evil, f"20260101T00000{place}Z-abcdef")
        for place, run in enumerate(runs[:2])
    )
    ended = stored(tmp_path, first, second)
    html, _ = compare.derive(ended.folder, "html")
    assert "<script>" not in html and "&lt;script&gt;alert(1)&lt;/script&gt;&amp;_%" in html
    latex, _ = compare.derive(ended.folder, "latex")
    assert r"\&\_\%" in latex


def test_make_knows_every_word_of_compare():
    """Fault: a word of compare that make does not pass on."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for parameter in cli.commands["compare"].params:
        flag = parameter.name.replace("_", "-")
        assert f"flag,{parameter.name.upper()},{flag})" in makefile.replace(" \\\n  ", " "), parameter.name
    assert {"compare"} <= set(cli.commands) and len(names()) >= 2


def test_the_page_names_every_word_reason_and_column():
    """Fault: a word, a reason code or a column that docs/comparing.md does not explain."""
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    for word in (*compare.OWN_WORDS, *compare.FAIL_ON, *FORMATS):
        assert f"`{word}" in page or f"`{word.upper()}=" in page, word
    reasons = re.findall(r"``(\w+)``  +(?:SAME|AMBIGUOUS|FASTER)", verdict.decide.__doc__ or "")
    assert len(reasons) == 7
    for name in (*reasons, *gate.FIELDS):
        assert f"`{name}`" in page, name
    for column in compare_csv.CSV_COLUMNS:
        stem = column.replace("_low", "").replace("_high", "")
        assert f"`{stem}`" in page, column


def test_the_budget_is_shared_and_by_default_one_run_s_for_each(tmp_path, folder):
    """Fault: nine stacks in the time of one, so that most cells are over budget; or BUDGET= taken nine times."""

    def budgets(ended):
        return [arm.run.plan.budget_s for arm in ended.compared.arms]

    assert budgets(together(tmp_path / "1", folder, {}, samples="2")) == [600.0, 600.0]
    assert budgets(together(tmp_path / "2", folder, {}, samples="2", budget="500")) == [250.0, 250.0]


def test_what_is_held_to_be_the_same_is_told_by_the_prepared_samples(tmp_path, runs):
    """Fault: a fact of a probe or a crashed sample stands in the way of cells that were measured otherwise."""
    other = copied(runs[1], tmp_path / "other", lambda fields: None)

    def only_others(sample):
        if sample["kind"] != "prepared" and sample["facts"]:
            sample["facts"]["intra_op_threads"] = 7

    change_samples(other, only_others)
    assert not any(each.differs for each in stored(tmp_path, runs[0], other).compared.judged)


def test_a_run_of_one_stack_is_pointed_to_selftest(tmp_path, folder):
    """Fault: one stack twice is refused without saying what does that."""
    with pytest.raises(SuiteError) as caught:
        compare.run({"stacks": OLD, "out": str(tmp_path)}, {}, [], print, stacks=folder)
    assert "selftest" in caught.value.next_step


def test_the_folder_of_a_comparison_holds_whole_runs(three):
    """Fault: an arm whose run is not a run like any other, which collect derives."""
    for name in (OLD, NEW, LATER):
        run = journal.read_run(Path(three.folder) / name)
        assert run.arm == name and run.stack["name"] == name and run.words["samples"] == "10"
