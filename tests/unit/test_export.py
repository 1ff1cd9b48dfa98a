# SPDX-License-Identifier: Apache-2.0
"""``export``: nothing is lost or made up between the journal and the tidy tables, and what is not ok has no time."""

from __future__ import annotations

import builtins
import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from suite import collect, export, export_files, export_rows, journal, rows
from suite.cli import cli
from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import from_json
from suite.stack import ROOT
from tests.comparing import change_samples, copied

EXAMPLES = ROOT / "results" / "examples"
BENCH = EXAMPLES / "bench-tf1.14-cuda10"


@pytest.fixture(scope="module")
def tidy(tmp_path_factory):
    """All examples as both formats: the CSV's rows by table, and the folder."""
    to = tmp_path_factory.mktemp("tidy")
    for style in export_files.FORMATS:
        code, _ = export.export([EXAMPLES], to, style)
        assert code is Exit.DONE
    return {name: read(to, name) for name in export_rows.TABLES}, to


def read(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def journaled(tree: Path) -> list[tuple[str, dict]]:
    """Return every stored line with its run's id, read without the suite's own readers."""
    out = []
    for folder in collect.run_folders(tree):
        run_id = json.loads((folder / journal.RUN).read_bytes())["run_id"]
        out += [(run_id, from_json(line)) for line in (folder / journal.SAMPLES).read_bytes().splitlines()]
    return sorted(out, key=lambda each: each[0])


def test_every_sample_and_every_call_is_there_once(tidy):
    """Fault: a sample or a call is lost on the way, comes twice, or loses digits."""
    tables, _ = tidy
    stored = journaled(EXAMPLES)
    assert [(each["run_id"], each["sample"]) for each in tables["samples"]] == [
        (run_id, line["id"]) for run_id, line in stored
    ]
    wanted = [
        (run_id, line["id"], str(place), repr(call_s))
        for run_id, line in stored
        for place, call_s in enumerate((line["warm"] or {}).get("calls_s", []))
    ]
    assert [(each["run_id"], each["sample"], each["call"], each["call_s"]) for each in tables["calls"]] == wanted
    pairs = [
        (run_id, repr(pair["taken_s"])) for run_id, line in stored for pair in line["pairs"] if pair["taken_s"]
    ]
    assert [(each["run_id"], each["taken_s"]) for each in tables["pairs"] if each["taken_s"]] == pairs and pairs


def test_the_geometric_mean_of_a_cell_is_its_table_s_number(tidy):
    """Fault: whoever works with the export gets other numbers than the table: pilots or added samples are in."""
    table = list(csv.DictReader((BENCH / "table.csv").open()))
    run_id = journal.read_run(BENCH).run_id
    mine = [each for each in tidy[0]["samples"] if each["run_id"] == run_id]
    shown = [line for line in table if line["status"] == "ok"]
    assert shown
    for line in shown:
        of_cell = [
            each
            for each in mine
            if (each["target"], each["placement"], each["n"]) == (line["target"], line["placement"], line["n"])
        ]
        for column in ("cold_s", "warm_s", "first_result_s"):
            values = [float(each[column]) for each in of_cell if each[column]]
            if line[column]:
                assert statistics.geometric_mean(values) == pytest.approx(float(line[column]), rel=1e-12)
            else:
                assert values == []


def test_what_is_not_ok_has_no_time_of_a_cell_and_keeps_its_raw_ones(tmp_path):
    """Fault: the mean over a column holds the time of a sample whose result was wrong; or it is lost for good."""

    def spoil(sample):
        if sample["id"] == "prepared.CPU.device.50.1":
            sample.update(status="wrong_result", reason={"code": "proof_result", "text": "off by 7"})
            sample["tags"] = ["contended", "throttled: thermal"]

    run = copied(BENCH, tmp_path / "run", lambda fields: None)
    change_samples(run, spoil)
    export.export([run], tmp_path / "to")
    found = {each["sample"]: each for each in read(tmp_path / "to", "samples")}
    bad, other = found["prepared.CPU.device.50.1"], found["prepared.CPU.device.50.2"]
    assert (bad["status"], bad["reason"], bad["reason_text"]) == ("wrong_result", "proof_result", "off by 7")
    assert bad["tags"] == "contended; throttled: thermal"
    # One wrong result, and the whole cell shows no times.
    for each in (bad, other):
        assert (each["counted"], each["cell_status"], each["cold_s"], each["warm_s"]) == (
            "false",
            "wrong_result",
            "",
            "",
        )
        assert (
            float(each["raw_cold_s"]) > 0 and float(each["raw_warm_s"]) > 0 and float(each["phase_import_s"]) > 0
        )
    assert other["status"] == "ok" and found["prepared.CPU.device.500.1"]["counted"] == "true"
    calls = [each for each in read(tmp_path / "to", "calls") if each["sample"] == bad["sample"]]
    assert {(each["status"], each["counted"]) for each in calls} == {("wrong_result", "false")} and len(
        calls
    ) >= 10


def test_only_planned_prepared_and_fresh_samples_count(tidy):
    """Fault: a pilot, which warms with another series, is averaged with the samples."""
    by_kind: dict[str, set[str]] = {}
    for each in tidy[0]["samples"]:
        by_kind.setdefault(each["kind"], set()).add(each["counted"])
        times = bool(each["cold_s"] or each["warm_s"] or each["first_result_s"])
        assert times == (each["counted"] == "true"), each
        assert not (each["again"] and times)
    assert by_kind["probe"] == by_kind["pilot"] == by_kind["reproduce"] == {"false"}
    assert "true" in by_kind["prepared"] and "true" in by_kind["fresh"]


def test_phases_sum_to_the_wall(tidy):
    """Fault: a phase of several intervals counts once, or one has no column."""
    checked = 0
    for each in tidy[0]["samples"]:
        if each["status"] == "ok" and each["wall_s"]:
            lengths = [float(value) for name, value in each.items() if name.startswith("phase_") and value]
            assert sum(lengths) + float(each["untimed_s"]) == pytest.approx(float(each["wall_s"]), abs=1e-6)
            checked += 1
    assert checked > 100


def test_parquet_holds_what_the_csv_holds(tidy):
    """Fault: a column of another type or order, an empty text for nothing, a number that was rounded."""
    tables, to = tidy
    for name, columns in export_rows.TABLES.items():
        table = pyarrow.parquet.read_table(to / f"{name}.parquet")
        assert table.column_names == list(columns) == list(tables[name][0])
        types = {str: "string", int: "int64", float: "double", bool: "bool"}
        assert {field.name: str(field.type) for field in table.schema} == {
            column: types[kind] for column, kind in columns.items()
        }
        for ours, theirs in zip(table.to_pylist(), tables[name], strict=True):
            assert {key: str(export_files._csv_value(value)) for key, value in ours.items()} == theirs


def test_units_are_in_the_names():
    """Fault: a column of times that does not say its unit."""
    for columns in export_rows.TABLES.values():
        for name, kind in columns.items():
            assert kind in (str, int, float, bool)
            assert kind is not float or name.endswith("_s") or name in ("effective_cpus", "load_1"), name


def test_the_same_runs_are_the_same_bytes_anywhere(tmp_path, tidy):
    """Fault: the order of folders, a locale, a time zone or the hash seed changes an export."""
    for place, run in enumerate(sorted(EXAMPLES.glob("*/"), reverse=True)):
        shutil.copytree(run, tmp_path / "moved" / f"{place} {run.name[:5]}")
    for style in export_files.FORMATS:
        done = subprocess.run(
            [sys.executable, "-m", "suite", "export", str(tmp_path / "moved"), "--format", style]
            + ["--to", str(tmp_path / "to")],
            cwd=ROOT,
            env={**os.environ, "TZ": "Asia/Kolkata", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "7"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for name in export_rows.TABLES:
            path = tmp_path / "to" / f"{name}.{style}"
            assert path.read_bytes() == (tidy[1] / path.name).read_bytes()
            assert str(path) in done.stdout
    assert not [path for path in (tmp_path / "to").iterdir() if path.name.startswith(".")]


def test_without_pyarrow_it_is_said_what_installs_it(tmp_path, monkeypatch):
    """Fault: a traceback, or an empty file, where the optional package is missing; or CSV needs it, too."""
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError("No module named 'pyarrow'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SuiteError) as caught:
        export.export([BENCH], tmp_path / "to", "parquet")
    assert caught.value.exit_code is Exit.NOT_PREPARED and "pyarrow" in caught.value.what
    assert "pip install 'pyarrow" in caught.value.next_step and "FORMAT=csv" in caught.value.next_step
    assert not (tmp_path / "to").exists()
    assert export.export([BENCH], tmp_path / "to", "csv")[0] is Exit.DONE


def test_the_host_s_own_lock_has_no_pyarrow():
    """Fault: everybody fetches 50 MB for an export that few make."""
    assert "pyarrow" not in (ROOT / "requirements.lock").read_text()
    assert "jsonschema" not in (ROOT / "requirements.lock").read_text()


def test_what_cannot_be_used_is_said_and_stops_nothing(tmp_path):
    """Fault: one truncated run.json and nothing is exported; or two copies of a run are twice as many samples."""
    tree = tmp_path / "tree"
    good = copied(BENCH, tree / "a", lambda fields: None, "20260101T000000Z-aaaaaa")
    copied(BENCH, tree / "b", lambda fields: None, "20260101T000000Z-aaaaaa")
    for name, damage in (("c", b"{"), ("d", b""), ("e", b'{"schema": 99}')):
        copied(BENCH, tree / name, lambda fields: None)
        (tree / name / journal.RUN).write_bytes(damage)
    with (good / journal.SAMPLES).open("ab") as file:
        file.write(b'{"id": "torn')
    said: list[str] = []
    code, _ = export.export([tree], tmp_path / "to", say=said.append)
    assert code is Exit.CELLS_FAILED
    told = "\n".join(said)
    for part in (
        "/b: run 20260101T000000Z-aaaaaa a second time",
        "c/run.json",
        "d/run.json",
        "newer coldwarm",
        "torn",
    ):
        assert part in told, part
    found = read(tmp_path / "to", "samples")
    assert {each["run_id"] for each in found} == {"20260101T000000Z-aaaaaa"}
    assert len(found) == len((BENCH / journal.SAMPLES).read_bytes().splitlines())


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ({"paths": [Path("there/is/none")]}, "there is no such folder"),
        ({"paths": [ROOT / "docs"]}, "no usable run"),
        ({"paths": [BENCH], "stack": "tf0.1"}, "no usable run of tf0.1"),
        ({"paths": [BENCH], "style": "xlsx"}, "none of csv, parquet"),
    ],
)
def test_words_that_make_no_sense_are_usage(tmp_path, words, part):
    """Fault: an export of nothing that looks like one."""
    with pytest.raises(SuiteError) as caught:
        export.export(**words, to=tmp_path / "to")
    assert caught.value.exit_code is Exit.USAGE and part in caught.value.what
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("style", export_files.FORMATS)
def test_a_full_disk_leaves_the_export_of_before(tmp_path, monkeypatch, style):
    """Fault: half a table in the place of a whole one."""
    export.export([BENCH], tmp_path, style)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(run, samples):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_rows, "of_run", full)
    with pytest.raises(SuiteError) as caught:
        export.export([BENCH], tmp_path, style)
    assert caught.value.exit_code is Exit.NOT_PREPARED and "No space left" in caught.value.what
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_only_the_stack_that_was_named(tmp_path):
    """Fault: STACK= is passed over."""
    export.export([EXAMPLES], tmp_path, stack="tf2.21-cuda12")
    assert {each["stack"] for each in read(tmp_path, "samples")} == {"tf2.21-cuda12"}


def test_the_page_and_make_know_every_word_and_column():
    """Fault: a column that docs/export.md does not explain, or a word that make does not pass on."""
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    for name in dict.fromkeys(name for columns in export_rows.TABLES.values() for name in columns):
        family = re.match(r"phase_|proof_", name)
        assert f"`{name}`" in page or (family and f"`{family.group()}" in page), name
    [rule] = re.findall(r"^export:\n(.*?)\n\n", (ROOT / "Makefile").read_text(), re.DOTALL | re.MULTILINE)
    for parameter in cli.commands["export"].params:
        assert parameter.name == "paths" or f",{parameter.opts[0].removeprefix('--')})" in rule, parameter.name


def test_rows_know_the_counts_of_the_tables():
    """Fault: an export that counts otherwise than the tables do."""
    run, (samples, _) = journal.read_run(BENCH), journal.read_samples(BENCH)
    told = {
        each["cell"]: (each["cell_status"], each["cell_ok"], each["cell_planned"])
        for each in export_rows.of_run(run, samples)["samples"]
        if each["kind"] == "prepared"
    }
    for row in rows.cell_rows(run, samples):
        assert told[row.cell.id] == (row.count.status, row.count.ok, row.count.planned)
