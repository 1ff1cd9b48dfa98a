# SPDX-License-Identifier: Apache-2.0
"""``compare``: what it leaves: tables in every format, the same bytes anywhere, the command that makes it again."""

from __future__ import annotations

import csv
import io
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
from suite.exits import Exit
from suite.stack import ROOT, names
from tests.comparing import (
    CPU,
    LATER,
    NEW,
    OLD,
    SLOWER_COLD,
    copied,
    model,
    played,
    stacks,
    stored,
    three_runs,
    three_stacks,
    together,
)
from tests.synthetic import RECORDING, Synthetic


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return stacks(tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def three(tmp_path_factory, folder):
    return three_stacks(tmp_path_factory.mktemp("three"), folder)


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


def test_the_folder_of_a_comparison_holds_whole_runs(three):
    """Fault: an arm whose run is not a run like any other, which collect derives."""
    for name in (OLD, NEW, LATER):
        run = journal.read_run(Path(three.folder) / name)
        assert run.arm == name and run.stack["name"] == name and run.words["samples"] == "10"
