# SPDX-License-Identifier: Apache-2.0
"""What earlier versions wrote is read; what a later one wrote, or nobody, is refused in words.

``tests/data/stored/schema1`` holds two runs as the first version wrote them, never to be written anew. The bench run
lacks its six pilots that were ok, to be smaller.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from suite import collect, journal, migrate, rows
from suite.collecting import collect_all
from suite.exits import Exit
from suite.records import SCHEMA
from suite.stack import ROOT

STORED = ROOT / "tests" / "data" / "stored" / "schema1"
#: Cold and warm of each cell, as the first version printed them into its own table.csv.
PRINTED = {
    "CPU.device.50": (0.009472307291766874, 0.0001585745546631624),
    "CPU.device.500": (0.01158846776705695, 0.0014918350724670312),
    "CPU.device.2000": (0.07579442888735154, 0.0600098944330387),
    "XLA_CPU.device.50": (0.06097773864097741, 0.0003207115221615815),
    "XLA_CPU.device.500": (0.04459043833767281, 0.00175545056492492),
    "XLA_CPU.device.2000": (0.10624908354950681, 0.057900783997006385),
}


@pytest.fixture(params=["bench", "reproduce"])
def stored(request, tmp_path) -> Path:
    """A copy of a run that schema 1 wrote."""
    return Path(shutil.copytree(STORED / request.param, tmp_path / request.param))


def test_the_stored_runs_are_what_the_first_version_wrote():
    """Fault: somebody has written the fixtures anew, and nothing old is tested any more."""
    for name, count in (("bench", 55), ("reproduce", 2)):
        assert json.loads((STORED / name / "run.json").read_text())["schema"] == 1
        found = [json.loads(line) for line in (STORED / name / "samples.jsonl").read_text().splitlines()]
        assert [each["schema"] for each in found] == [1] * count
        assert not any({"again", "session", "cpu_s", "tags", "telemetry"} & set(each) for each in found)


def test_a_run_of_schema_1_is_read_whole(stored):
    """Fault: a line or a field of an earlier version is lost."""
    run = journal.read_run(stored)
    samples, notes = journal.read_samples(stored)
    raw = [json.loads(line) for line in (stored / "samples.jsonl").read_text().splitlines()]
    assert notes == [] and len(samples) == len(raw)
    assert run.schema == SCHEMA and {sample.schema for sample in samples} == {SCHEMA}
    for sample, before in zip(samples, raw, strict=True):
        for name in ("id", "status", "cold_s", "first_result_s", "wall_s", "order", "started_utc", "facts"):
            assert getattr(sample, name) == before[name]
        assert (sample.warm.calls_s if sample.warm else None) == (before["warm"] or {}).get("calls_s")


def test_nothing_is_made_up(stored):
    """Fault: what was not recorded is filled in, and a reader takes it for measured."""
    run = journal.read_run(stored)
    assert (run.words, run.arm) == ({}, "")
    for sample in journal.read_samples(stored)[0]:
        assert (sample.again, sample.session, sample.cpu_s, sample.tags, sample.telemetry) == ("", 0, None, [], {})


def test_a_run_of_schema_1_collects_to_its_tables(stored):
    """Fault: collect, after an update, no longer shows what was measured before it."""
    printed: list[str] = []
    assert collect_all([stored], None, printed.append) is Exit.DONE
    assert (stored / collect.TABLE_MD).is_file() and (stored / collect.TABLE_CSV).is_file()
    assert "skipped" not in printed[0]
    first = {name: (stored / name).read_bytes() for name in (collect.TABLE_MD, collect.TABLE_CSV)}
    assert collect_all([stored], None, printed.append) is Exit.DONE
    assert {name: (stored / name).read_bytes() for name in first} == first


def test_the_numbers_of_schema_1_are_the_same():
    """Fault: a new version shows other numbers for an old run than its own raw times give."""
    run, (samples, _) = journal.read_run(STORED / "bench"), journal.read_samples(STORED / "bench")
    found = {row.cell.id: row for row in rows.cell_rows(run, samples)}
    for cell, (cold_s, warm_s) in PRINTED.items():
        assert found[cell].count.text() == "3/3 ok" and found[cell].cold.centre == cold_s
        # What is steady is judged otherwise since: warm may be the median of another part of the same series.
        assert found[cell].warm.centre == pytest.approx(warm_s, rel=0.01)
    assert {row.count.status for cell, row in found.items() if cell not in PRINTED} == {"unavailable"}


@pytest.mark.parametrize("schema", [SCHEMA + 1, SCHEMA + 98])
def test_what_a_newer_version_wrote_is_refused(stored, schema):
    """Fault: half of a newer run, with fields that this version does not know, is shown as the whole."""
    said = f"schema {schema}; a newer coldwarm wrote it, this one reads up to {SCHEMA}"
    path = stored / journal.SAMPLES
    data = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([data[0].replace(b'"schema": 1', b'"schema": %d' % schema), *data[1:]]))
    samples, notes = journal.read_samples(stored)
    assert notes == [f"samples.jsonl line 1 skipped: {said}"] and len(samples) == len(data) - 1
    run = stored / journal.RUN
    # The stack's own definition has a schema of its own: the run's is the last.
    run.write_text(_with_schema(run, schema))
    with pytest.raises(journal.Unreadable) as caught:
        journal.read_run(stored)
    assert str(caught.value) == f"{run}: {said}"
    assert collect_all([stored], None, lambda _: None) is Exit.CELLS_FAILED


def _with_schema(path: Path, schema: object) -> str:
    return json.dumps({**json.loads(path.read_text()), "schema": schema})


@pytest.mark.parametrize("schema", [0, -1, None, "1", True, False, 1.0, 1.5, [], {}, "two"])
def test_a_schema_that_never_was_is_refused(stored, schema):
    """Fault: true is taken for 1, or "1" for a number; a file without a schema for one of the first."""
    run = stored / journal.RUN
    run.write_text(_with_schema(run, schema))
    with pytest.raises(journal.Unreadable) as caught:
        journal.read_run(stored)
    assert str(caught.value) == f"{run}: schema {schema!r}; expected a number from 1 to {SCHEMA}"
    with pytest.raises(ValueError):
        migrate.to_current({"schema": schema})


def test_a_run_without_any_schema_is_refused(stored):
    """Fault: any JSON object is taken for a run."""
    run = stored / journal.RUN
    fields = json.loads(run.read_text())
    del fields["schema"]
    run.write_text(json.dumps(fields))
    with pytest.raises(journal.Unreadable, match="schema None; expected a number from 1 to"):
        journal.read_run(stored)


@pytest.mark.parametrize("raw", [None, [], "run", 1, True])
def test_what_is_no_object_is_refused(raw):
    """Fault: a TypeError for a file that holds a list."""
    with pytest.raises(ValueError, match="not an object"):
        migrate.to_current(raw)


def test_there_is_a_step_for_every_schema():
    """Fault: a schema was added and the way there forgotten: a KeyError for whoever has an older run."""
    assert sorted(migrate.STEPS) == list(range(1, SCHEMA))


def test_steps_are_taken_in_order_and_what_was_read_is_left_alone(monkeypatch):
    """Fault: a run of the first schema skips a step, or a migration changes its own input."""
    steps = {
        1: lambda fields: {**fields, "a": fields["a"] + 1},
        2: lambda fields: {**fields, "a": fields["a"] * 10},
    }
    monkeypatch.setattr(migrate, "STEPS", steps)
    monkeypatch.setattr(migrate, "SCHEMA", 3)
    raw = {"schema": 1, "a": 1}
    assert migrate.to_current(raw) == {"schema": 3, "a": 20} and raw == {"schema": 1, "a": 1}
    assert migrate.to_current({"schema": 2, "a": 1}) == {"schema": 3, "a": 10}
    assert migrate.to_current({"schema": 3, "a": 1}) == {"schema": 3, "a": 1}
