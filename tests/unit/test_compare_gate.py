# SPDX-License-Identifier: Apache-2.0
"""``compare``: what must be the same on both sides, what may differ on purpose, and cells of one side only."""

from __future__ import annotations

import csv

import pytest

from suite.exits import Exit
from tests.comparing import (
    CPU,
    NEW,
    OLD,
    bench,
    change_samples,
    copied,
    model,
    stacks,
    stored,
    three_runs,
)
from tests.synthetic import Synthetic


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return stacks(tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory, folder):
    return three_runs(tmp_path_factory.mktemp("runs"), folder)


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
    assert "no plain speed-up" in allowed.words
    table = allowed.text.partition(f"\n{NEW} beside {OLD}\n")[2].partition("\n\n")[0].splitlines()
    assert " SLOWER (other" in table[2] and table[3].strip() == f"{field})" and max(map(len, table)) <= 80
    assert f"SLOWER (other {field}) | significant" in (allowed.folder / "table.md").read_text()
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
    assert "SLOWER (other" in allowed.words and " placement)" in allowed.words
    assert "placement differs: device and jit (CPU jit 50): no plain speed-up" in allowed.words


def test_of_one_stack_the_placement_may_be_what_is_compared_and_is_told(tmp_path, runs):
    """Fault: device and jit of one stack side by side without a word that they are two ways to run."""
    other = copied(runs[2], tmp_path / "other", _cells("placement", "jit"))
    ended = stored(tmp_path, runs[0], other)
    assert [each.verdict.word in ("SAME", "AMBIGUOUS") for each in ended.compared.judged] == [True, True]
    assert "CPU 50 is jit beside device: the placement is what is compared" in ended.words


def test_what_is_held_to_be_the_same_is_told_by_the_prepared_samples(tmp_path, runs):
    """Fault: a fact of a probe or a crashed sample stands in the way of cells that were measured otherwise."""
    other = copied(runs[1], tmp_path / "other", lambda fields: None)

    def only_others(sample):
        if sample["kind"] != "prepared" and sample["facts"]:
            sample["facts"]["intra_op_threads"] = 7

    change_samples(other, only_others)
    assert not any(each.differs for each in stored(tmp_path, runs[0], other).compared.judged)
