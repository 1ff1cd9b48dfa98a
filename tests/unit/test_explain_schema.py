# SPDX-License-Identifier: Apache-2.0
"""The published schemas of experiment.json and explain.json: what is written fits, and what is damaged does not."""

from __future__ import annotations

import json

import pytest

from suite import collecting, journal
from suite.exits import Exit
from suite.explain import record
from suite.explain import run as explaining
from suite.records import SCHEMA
from tests.explaining import Arm, explained
from tests.synthetic import lognormal
from tests.unit.test_explain_synthetic import TUNING
from tests.validating import damaged, faults, problems_below

FILES = {"experiment": journal.EXPERIMENT, "explain": explaining.JSON}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    arms = {
        "unablated": Arm(cold=lognormal(6.1, 0.01), warm=0.02, said=TUNING),
        "same-shape-again": Arm(cold=lognormal(0.3, 0.01), warm=0.02),
        "autotuning-off": Arm(cold=lognormal(0.43, 0.01), warm=0.14),
        "plain-GPU": Arm(cold=0.03, warm=0.02),
    }
    return explained(tmp_path_factory.mktemp("explained"), arms, targets="XLA_GPU", samples="3")


@pytest.fixture
def documents(done):
    return {name: json.loads((done.folder / file).read_bytes()) for name, file in FILES.items()}


def test_all_that_an_explanation_leaves_fits(done, documents):
    """Fault: the schemas describe other files than those that are written, or only what is not in these."""
    count, problems = problems_below(done.folder.parent)
    arms, order = documents["experiment"]["arms"], documents["experiment"]["order"]
    assert problems == [] and count == 2 + len(arms) + len(order)
    [cell] = documents["explain"]["cells"]
    assert cell["account"]["entries"] and cell["effects"] and cell["together"] and cell["instead"]
    assert any(each["mechanism"] for each in (arm["ablation"] for arm in arms) if each)


def test_an_explanation_without_times_fits(tmp_path):
    """Fault: only what went well fits: a cell that shows no times, an account that is not there."""
    done = explained(tmp_path, {}, targets="XLA_CPU", samples="1")
    samples = done.folder / "unablated" / journal.SAMPLES
    kept = [line for line in samples.read_text().splitlines(keepends=True) if '"kind": "prepared"' not in line]
    samples.write_text("".join(kept))
    explaining.derive(done.folder)
    document = json.loads((done.folder / explaining.JSON).read_bytes())
    assert document["cells"][0]["account"] is None and document["missing_samples"] == 1
    assert problems_below(done.folder)[1] == []


#: Document, where, and what is put there ("absent" takes the field away).
DAMAGES = [
    *((name, ("schema",), value) for name in FILES for value in (1, SCHEMA + 1, "2", True, None, "absent")),
    *((name, ("colour",), "red") for name in FILES),
    *((name, ("id",), "absent") for name in FILES),
    ("experiment", ("created_utc",), "2026-12-02T14:30:32+01:00"),
    ("experiment", ("arms", 0, "kind"), "guessed"),
    ("experiment", ("arms", 0, "run_id"), "absent"),
    ("experiment", ("arms", 1, "ablation", "nam"), "second shape"),
    ("experiment", ("arms", 1, "ablation", "mechanism", "kind"), "smell"),
    ("experiment", ("order", 0), ["0", "probe"]),
    ("experiment", ("words", "samples"), 3),
    ("explain", ("missing_samples",), "none"),
    ("explain", ("cells", 0, "cell", "n"), 50.5),
    ("explain", ("cells", 0, "cold", "centre"), "6,1"),
    ("explain", ("cells", 0, "cold", "low"), "absent"),
    ("explain", ("cells", 0, "account", "entries", 0, "proven"), "surely"),
    ("explain", ("cells", 0, "effects", 0, "by_block", "1"), "0.5 s"),
    ("explain", ("cells", 0, "instead", 0, "break_even", "kind"), "soon"),
]


@pytest.mark.parametrize(("name", "where", "value"), DAMAGES, ids=lambda each: str(each)[:40])
def test_a_damaged_document_does_not_fit(documents, name, where, value):
    """Fault: a schema so wide that what cannot be read passes it."""
    assert faults(name, documents[name]) == []
    assert faults(name, damaged(documents[name], where, value))


def test_a_newer_experiment_is_refused_by_name(tmp_path):
    """Fault: fields of a version to come are passed over, and another explanation is printed; or a traceback."""
    done = explained(tmp_path, {}, samples="1")
    path = done.folder / journal.EXPERIMENT
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "schema": SCHEMA + 1}))
    why = f"schema {SCHEMA + 1}; a newer coldwarm wrote it, this one reads up to {SCHEMA}"
    with pytest.raises(journal.Unreadable, match=why):
        record.read(done.folder)
    texts: list[str] = []
    assert collecting.collect_all([tmp_path], None, texts.append) is Exit.CELLS_FAILED
    assert why in " ".join("".join(texts).split())


def test_a_newer_derived_file_is_made_again(tmp_path):
    """Fault: what is derived is believed, and a file of another version stays beside this one's samples."""
    done = explained(tmp_path, {}, samples="1")
    path = done.folder / explaining.JSON
    before = path.read_bytes()
    path.write_text(json.dumps({"schema": SCHEMA + 1}))
    explaining.derive(done.folder)
    assert path.read_bytes() == before
