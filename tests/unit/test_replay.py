# SPDX-License-Identifier: Apache-2.0
"""The whole tool driven by recorded samples: plan, journal, statistics, tables, exit codes. Nothing is timed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from suite import collect, journal, measure, words
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT

RECORDING = ROOT / "tests" / "data" / "recorded" / "tf1.14-cuda10"


def replayed(out: Path, environ: dict[str, str] | None = None, **given: str) -> tuple[Exit, Path, str]:
    asked = {"stack": "tf1.14-cuda10", "shapes": "500,2000", "out": str(out), **given}
    tables: list[str] = []
    code, folder = measure.run(words.parse(asked), environ or {}, ["bench"], tables.append, recording=RECORDING)
    return code, folder, "".join(tables)


def test_a_replayed_run_ends_as_a_real_one(tmp_path):
    """Fault: any step between the plan and the tables."""
    code, folder, table = replayed(tmp_path)
    assert code is Exit.DONE
    run, samples, notes = collect.derive(folder)
    assert notes == [] and len(samples) == len(run.plan.planned)
    assert {s.status for s in samples} == {"ok", "unavailable"}
    assert "replay" in table and "PARTIAL" not in table
    for sample in samples:
        if sample.kind in ("prepared", "fresh") and sample.status == "ok":
            assert sample.untimed_s is not None and 0 <= sample.untimed_s < 0.05
    assert all(len(line) <= 80 for line in table.splitlines())


def test_every_planned_sample_has_one_line_in_the_planned_order(tmp_path):
    """Fault: a sample lost, run twice, or out of its block."""
    _, folder, _ = replayed(tmp_path)
    run = journal.read_run(folder)
    samples, _ = journal.read_samples(folder)
    assert [s.id for s in samples] == [p.id for p in run.plan.planned]
    assert [s.order for s in samples] == list(range(len(samples)))


def test_targets_asked_for_by_name_that_are_not_there(tmp_path):
    """Fault: a GPU row on a machine without one, or its absence taken for success."""
    code, folder, table = replayed(tmp_path, targets="GPU,CPU")
    assert code is Exit.IMPOSSIBLE
    assert "unavailable" in table
    csv = (folder / "table.csv").read_text()
    gpu = [line for line in csv.splitlines() if ",GPU," in line]
    assert gpu and all(",unavailable,0,3,no_device,,,,,,,,,," in line for line in gpu)


def test_a_sample_of_another_status_withholds_the_cell_and_no_other(tmp_path, monkeypatch):
    """Fault: a failed cell that shows a time, or takes its neighbours with it."""
    from suite.replay import Replay

    call = Replay.__call__

    def crash(self, argv, *, folder, **rest):
        outcome = call(self, argv, folder=folder, **rest)
        if folder.name != "prepared.CPU.device.500.2":
            return outcome
        lines = (folder / "events.jsonl").read_text().splitlines()
        (folder / "events.jsonl").write_text("\n".join(lines[:9]) + "\n")
        return type(outcome)(**{**vars(outcome), "exit_code": None, "signal": 11})

    monkeypatch.setattr(Replay, "__call__", crash)
    code, folder, table = replayed(tmp_path)
    assert code is Exit.CELLS_FAILED
    cells = table.partition("What a process pays once")[0]
    rows = {tuple(line.split()[:3]): line for line in cells.splitlines() if "device" in line}
    assert "2/3 crashed" in rows[("CPU", "device", "500")] and " ms" not in rows[("CPU", "device", "500")]
    assert "3/3 ok" in rows[("CPU", "device", "2000")]
    assert "SIGSEGV" in table


def test_a_budget_that_is_too_small_is_said_and_cut_from_the_large_end(tmp_path):
    """Fault: shapes that do not fit vanish without a word, or a run that goes on for hours."""
    code, folder, table = replayed(tmp_path, budget="9", samples="1")
    assert code is Exit.DONE
    samples, _ = journal.read_samples(folder)
    over = {s.cell for s in samples if s.status == "over_budget"}
    assert "CPU.device.2000" in over and "CPU.device.500" not in over
    assert "over_budget" in table and "BUDGET is 9 s" in " ".join(table.split())


def test_two_runs_never_share_a_folder(tmp_path):
    """Fault: two runs of one second write into one folder."""
    folders = {replayed(tmp_path, samples="1")[1] for _ in range(5)}
    assert len(folders) == 5


def test_collect_gives_the_same_bytes(tmp_path, require):
    """Fault: a table that depends on when, where or in which language it was made."""
    require("locale_de")  # without it LC_ALL= would name nothing, and the test would hold nothing
    _, folder, _ = replayed(tmp_path)
    wanted = {name: (folder / name).read_bytes() for name in ("table.md", "table.csv")}
    environment = {**os.environ, "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kolkata", "PYTHONHASHSEED": "7"}
    for name in wanted:
        (folder / name).unlink()
    done = subprocess.run(
        [sys.executable, "-m", "suite", "collect", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "coldwarm: exit 0 (done)"
    assert {name: (folder / name).read_bytes() for name in wanted} == wanted


def test_a_killed_run_collects_as_partial(tmp_path):
    """Fault: a torn journal is refused, or a part is shown as the whole."""
    _, folder, _ = replayed(tmp_path)
    path = folder / "samples.jsonl"
    data = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(data[:-5]) + data[-5][:100])
    run, samples, notes = collect.derive(folder)
    assert len(samples) == len(data) - 5
    assert notes == [f"samples.jsonl line {len(data) - 4} skipped: torn"]
    table = (folder / "table.md").read_text()
    assert "PARTIAL: the run ended before 5 of" in table and "torn" in table


def test_the_parents_death_ends_the_run_as_interrupted(tmp_path):
    """Fault: make is killed and the run goes on unseen for hours."""
    child = subprocess.Popen(["true"])
    child.wait()
    code, folder, table = replayed(tmp_path, environ={"COLDWARM_WATCH": str(child.pid)})
    assert code is Exit.INTERRUPTED
    assert "PARTIAL" in table


def test_a_full_disk_keeps_what_was_measured(tmp_path, monkeypatch):
    """Fault: half a line in the journal, or a run that goes on without one."""
    write, count = os.write, [0]

    def full(descriptor: int, data: bytes) -> int:
        if b'"schema"' in data and b'"kind"' in data:
            count[0] += 1
            if count[0] > 6:
                write(descriptor, data[:40])
                raise OSError(28, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SuiteError) as caught:
        replayed(tmp_path)
    assert caught.value.exit_code is Exit.CELLS_FAILED and "No space left" in caught.value.what
    monkeypatch.undo()
    [folder] = (tmp_path / "tf1.14-cuda10").iterdir()
    samples, notes = journal.read_samples(folder)
    assert len(samples) == 6 and notes == []
