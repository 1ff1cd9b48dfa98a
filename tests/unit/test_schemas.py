# SPDX-License-Identifier: Apache-2.0
"""The published JSON Schemas: what the code gives, what is stored fits them, and what is damaged does not."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from suite import journal, migrate, schemas
from suite.collect import COMPARISON
from suite.records import SCHEMA, from_json
from suite.stack import ROOT
from tests.comparing import NEW, OLD, stacks, together
from tests.resuming import begin
from tests.validating import damaged, faults, problems_below

STORED = ROOT / "tests" / "data" / "stored"
EXAMPLES = [path for path in (ROOT / "results" / "examples", ROOT / "results" / "reference") if path.exists()]


def test_the_committed_files_are_what_the_code_gives(tmp_path):
    """Fault: a field was added and the published schema refuses every new run; or it was edited by hand."""
    schemas.main(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in schemas.FOLDER.glob("*.json")}
    assert kept == made, "python -m suite.schemas makes them again"
    assert sorted(kept) == [
        f"{name}.schema.json" for name in ("comparison", "experiment", "explain", "run", "sample")
    ]


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_each_is_a_schema_of_this_version(name):
    """Fault: a validator takes no notice of a misspelt keyword, and everything is valid."""
    schema = schemas.schemas()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == f"urn:coldwarm:{name}:{SCHEMA}"
    assert schema["properties"]["schema"]["const"] == SCHEMA
    for each in (schema, *schema["$defs"].values()):
        assert each["additionalProperties"] is False
        for field, told in each["properties"].items():
            assert told["description"], field
            assert (told.get("x-unit") == "s") == field.endswith("_s"), field
            assert not re.search(r"[`*]|\]\(", told["description"]), field


@pytest.mark.parametrize("tree", EXAMPLES, ids=lambda path: path.name)
def test_every_stored_example_fits(tree):
    """Fault: the schema describes other files than those that are written."""
    count, problems = problems_below(tree)
    assert problems == [] and count > 50


def test_a_fresh_run_and_a_fresh_comparison_fit(tmp_path):
    """Fault: what this version writes is not what it publishes; examples of yesterday do not show it."""
    begin(tmp_path / "bench")
    together(tmp_path / "compare", stacks(tmp_path / "docker"), {}, samples="2")
    count, problems = problems_below(tmp_path)
    assert problems == [] and count == 1 + 11 + 2 * (1 + 6) + 1
    assert sorted(path.name for path in (tmp_path / "compare" / "compare").glob("*/*/")) == sorted([OLD, NEW])


@pytest.mark.parametrize(
    "folder", sorted(STORED.glob("schema*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_what_earlier_versions_wrote_fits_after_migration_only(folder):
    """Fault: a migration leaves fields that this version does not have, or the new schema takes an old file as is."""
    raw = from_json((folder / journal.RUN).read_bytes())
    assert faults("run", raw) and faults("run", migrate.to_current(raw)) == []
    lines = [from_json(line) for line in (folder / journal.SAMPLES).read_bytes().splitlines()]
    for line in lines:
        assert faults("sample", line) and faults("sample", migrate.to_current(line)) == []


def test_every_earlier_version_has_its_fixtures():
    """Fault: a version was added, and no file of the one before it is kept to be migrated."""
    for version in range(1, SCHEMA):
        kinds = {path.name for path in (STORED / f"schema{version}").iterdir()}
        assert {"bench", "reproduce"} <= kinds
        # Comparisons began with format 2.
        assert version == 1 or "compare" in kinds


RUN = ROOT / "results" / "examples" / "bench-tf1.14-cuda10"
COMPARED = ROOT / "results" / "examples" / "compare-nine-stacks"


def _sample(kind):
    lines = (from_json(line) for line in (RUN / journal.SAMPLES).read_bytes().splitlines())
    return next(line for line in lines if line["kind"] == kind and line["status"] == "ok")


DOCUMENTS = {
    "run": lambda: from_json((RUN / journal.RUN).read_bytes()),
    "prepared": lambda: _sample("prepared"),
    "fresh": lambda: _sample("fresh"),
    "comparison": lambda: from_json((COMPARED / COMPARISON).read_bytes()),
}

#: Document, where, and what is put there ("absent" takes the field away).
DAMAGES = [
    *((name, ("schema",), value) for name in DOCUMENTS for value in (1, SCHEMA + 1, "2", True, None, "absent")),
    *((name, ("colour",), "red") for name in DOCUMENTS),
    ("run", ("run_id",), "absent"),
    ("run", ("created_utc",), "2026-12-02T14:30:32"),
    ("run", ("created_utc",), "2026-12-02T14:30:32+01:00"),
    ("run", ("protocol",), "guessed"),
    ("run", ("plan", "shapes"), ["50"]),
    ("run", ("plan", "budget_s"), "600"),
    ("run", ("plan", "cells", 0, "n"), 50.5),
    ("run", ("plan", "cells", 0, "targett"), "CPU"),
    ("run", ("plan", "planned", 0, "kind"), "warm"),
    ("run", ("worker_environment", "HOME"), 1),
    ("prepared", ("status",), "fine"),
    ("prepared", ("cold_s",), None),
    ("prepared", ("cold_s",), "absent"),
    ("prepared", ("cold_s",), "0,05"),
    ("prepared", ("cold_s",), -0.05),
    ("prepared", ("cold_s",), 0),
    ("prepared", ("cold_ms",), 50.0),
    ("prepared", ("wall_s",), 1e12),
    ("prepared", ("warm",), None),
    ("prepared", ("warm", "calls_s"), []),
    ("prepared", ("warm", "calls_s", 0), -1e-3),
    ("prepared", ("warm", "calls_s", 0), None),
    ("prepared", ("warm", "outer_s"), "absent"),
    ("prepared", ("phases", 0, "end_s"), "soon"),
    ("prepared", ("proofs", "result", "state"), "surely"),
    ("prepared", ("tags",), "contended"),
    ("fresh", ("first_result_s",), None),
    ("fresh", ("first_result_s",), "absent"),
    ("fresh", ("block",), 1.5),
    ("comparison", ("kind",), "bench"),
    ("comparison", ("arms", 0, "run_id"), "absent"),
    ("comparison", ("order", 0), [0]),
    ("comparison", ("order", 0), ["0", "probe"]),
    ("comparison", ("judging", "margin"), "5%"),
    ("comparison", ("arms",), {}),
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_damaged_below_is_whole_before(name):
    """Fault: the tests below pass because nothing ever fits."""
    assert faults("sample" if name in ("prepared", "fresh") else name, DOCUMENTS[name]()) == []


@pytest.mark.parametrize(("name", "where", "value"), DAMAGES, ids=lambda each: str(each)[:30])
def test_a_damaged_document_does_not_fit(name, where, value):
    """Fault: a schema so wide that what cannot be counted passes it."""
    document = damaged(DOCUMENTS[name](), where, value)
    assert faults("sample" if name in ("prepared", "fresh") else name, document)


def test_a_field_without_a_meaning_is_refused(monkeypatch, tmp_path):
    """Fault: a field is published of which nobody can say what it is."""
    page = schemas.MEANINGS.read_text(encoding="utf-8")
    (tmp_path / "values.md").write_text(page.replace("| `cpu_s` |", "| `gone_s` |"), encoding="utf-8")
    monkeypatch.setattr(schemas, "MEANINGS", tmp_path / "values.md")
    schemas._meanings.cache_clear()
    try:
        with pytest.raises(ValueError, match="'cpu_s' of `samples.jsonl`"):
            schemas.schemas()
    finally:
        schemas._meanings.cache_clear()


def test_the_page_s_own_example_runs(monkeypatch):
    """Fault: the first thing that somebody pastes from docs/schema/README.md fails."""
    page = (schemas.FOLDER / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README", "exec"), {"__name__": "example"})
    assert json.dumps(sorted(schemas.DOCUMENTS)) == '["comparison", "experiment", "explain", "run", "sample"]'
