# SPDX-License-Identifier: Apache-2.0
"""``collect`` as people call it, over real stored runs and over a tree full of damage: processes of their own."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from pathlib import Path

import pytest

from suite import index, journal
from suite.stack import ROOT
from tests import damaged, peaks
from tests.damaged import LINES, RUNS

EXAMPLES = ROOT / "results" / "examples"
#: "ambient": whatever the machine has, so that something is held where no German is installed.
PLACES = {
    "ambient": {"TZ": "UTC", "PYTHONHASHSEED": "1"},
    "plain": {"LC_ALL": "C", "TZ": "America/St_Johns", "PYTHONHASHSEED": "2"},
    "german": {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "3"},
}


def suite(*arguments: str | Path, place: str = "ambient") -> tuple[int, str, str, float]:
    """Run ``python -m suite``; return exit code, output, errors and the peak of its memory in MB."""
    command = [sys.executable, "-m", "suite", *map(str, arguments)]
    done = peaks.ran(command, str(ROOT), {**os.environ, **PLACES[place]})
    return done.code, done.out, done.err, done.peak_mb


def derived(top: Path) -> dict[str, tuple[bytes, int]]:
    """Return every derived file below a folder, with the time at which it was written."""
    names = ("table.md", "table.csv", index.INDEX_MD, index.INDEX_CSV)
    return {
        str(path.relative_to(top)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(top.rglob("*"))
        if path.name in names
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    top = tmp_path_factory.mktemp("damaged") / "results"
    damaged.make(top)
    return top


def test_damage_is_told_and_what_is_good_is_shown(tree):
    """Fault: one bad file ends collect, is passed over in silence, or its numbers are shown."""
    code, out, err, _ = suite("collect", tree)
    assert (code, err) == (5, "coldwarm: exit 5 (some cells failed)\n")
    assert max(map(len, out.splitlines())) <= 80
    words = " ".join(out.split())
    assert out.startswith("2 runs\n") and "Not used (20)" in out
    for name, (_, why) in RUNS.items():
        assert f"run-{name}/run.json: " in words and why in words, name
    for name, (_, _, why) in LINES.items():
        assert why in words, name
    assert "twin: run 20261202T000000Z-00000a a second time, with other contents than good" in words
    assert "linked/run.json: a link: files are read where they lie" in words
    assert "itself: Too many levels of symbolic links" in words
    assert "pipe/run.json: not a regular file" in words
    assert "orphan/samples.jsonl: no run.json beside it" in words
    assert "Left out (2) - loop: a link, not followed - z-copy: a copy of good" in words
    table = (tree / "good" / "table.md").read_bytes()
    assert b"skipped" not in table and table.count(b"3/3 ok") == 8


def test_the_same_bytes_twice_and_elsewhere(tree, require):
    """Fault: tables or an index that depend on locale, time zone, order of a folder or what was there before."""
    first = suite("collect", tree)[:3]
    before = derived(tree)
    # Written once, and not again where nothing is new.
    assert suite("collect", tree)[:3] == first and derived(tree) == before
    assert suite("collect", tree, place="plain")[:3] == first and derived(tree) == before
    require("locale_de")
    for path in before:
        (tree / path).unlink()
    assert suite("collect", tree, place="german")[:3] == first
    assert {name: data for name, (data, _) in derived(tree).items()} == {
        n: data for n, (data, _) in before.items()
    }


def test_a_line_without_end_is_not_read_into_memory(tmp_path):
    """Fault: a file of one endless line, or a run.json of gigabytes, takes all memory that there is."""
    run = damaged.copied(tmp_path / "a" / "run", "20261202T000000Z-00000c")
    lines = len((run / journal.SAMPLES).read_bytes().splitlines())
    with (run / journal.SAMPLES).open("ab") as file:
        file.truncate(2**30)
    broken = damaged.copied(tmp_path / "a" / "broken", "20261202T000000Z-00000d")
    with (broken / journal.RUN).open("ab") as file:
        file.truncate(2**32)
    code, out, _, peak = suite("collect", tmp_path / "a")
    words = " ".join(out.split())
    assert code == 5 and "1 run stack" in words and peak < 300
    assert "broken/run.json: longer than 16 MiB" in words
    assert f"run: samples.jsonl line {lines + 1} skipped: longer than 16 MiB" in words


def test_the_stored_examples(tmp_path, require):
    """Fault: an index that lacks a run, mixes machines, does not fit a terminal, or a tree that is indexed twice."""
    tree = shutil.copytree(EXAMPLES, tmp_path / "examples")
    folders = sorted(path.parent for path in tree.rglob("run.json"))
    code, out, err, _ = suite("collect", tree)
    assert (code, err) == (0, "coldwarm: exit 0 (done)\n") and "Not used" not in out
    assert out.startswith(f"{len(folders)} runs\n") and max(map(len, out.splitlines())) <= 80
    lines = (tree / index.INDEX_CSV).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(folders) + 1
    text = (tree / index.INDEX_MD).read_text(encoding="utf-8")
    for folder in folders:
        run = journal.read_run(folder)
        assert run.run_id in out and f"({folder.relative_to(tree)}/table.md)" in text
        assert (folder / "table.md").is_file()
    before = derived(tree)
    assert suite("collect", tree, place="plain")[:3] == (code, out, err) and derived(tree) == before
    cell = suite("collect", tree, "--cell", "CPU device 500", "--stack", "tf2.21-cuda12")
    assert cell[0] == 0 and max(map(len, cell[1].splitlines())) <= 80
    machines = {
        each["machine"]
        for each in csv.DictReader(lines)
        if each["stack"] == "tf2.21-cuda12" and each["protocol"] == "isolated"
    }
    assert {f"machine {each}" in cell[1] for each in machines} == {True}
    assert cell[1].count("CPU device 500 on tf2.21-cuda12\n") == len(machines)
    assert derived(tree) == before
