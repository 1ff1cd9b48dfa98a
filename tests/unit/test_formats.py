# SPDX-License-Identifier: Apache-2.0
"""FORMAT= and LAYOUT= of ``bench``, ``reproduce``, ``selftest`` and ``collect``: every way shows the whole."""

from __future__ import annotations

import csv
import html
import io
import os
import re
import shutil
import subprocess
import sys

import pytest

from suite import collect, collecting, document, journal, measure, rows, units, words
from suite.document import FORMATS, View
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT
from tests.comparing import played
from tests.resuming import RECORDING, SMALL

EXAMPLES = ROOT / "results" / "examples"
BENCH = EXAMPLES / "bench-tf1.14-cuda10"
MARKS = {
    "html": "<table>",
    "latex": r"\begin{tabular}",
    "github": "|---",
    "grid": "+---",
    "simple": "-----",
    "plain": "target    via",
}


@pytest.fixture(scope="module")
def stored():
    return (journal.read_run(BENCH), *journal.read_samples(BENCH))


def shown(stored, style, layout):
    return html.unescape(collect.text(*stored, View(style, layout)))


@pytest.mark.parametrize("layout", document.LAYOUTS)
@pytest.mark.parametrize("style", [each for each in FORMATS if each != "csv"])
def test_every_format_shows_every_cell_interval_and_status(stored, style, layout):
    """Fault: a format in which an interval, a status, the number of samples or a note is missing."""
    text = shown(stored, style, layout)
    assert MARKS[style] in text
    run, samples, _ = stored
    text = text.replace(r"\_", "_").replace(r"\%", "%")
    flat = " ".join(re.sub(r"[|&\\+]|</?[a-z]+[^>]*>", " ", text).split())
    for row in rows.cell_rows(run, samples):
        assert f"{row.cell.target} {row.cell.placement} {row.cell.n} " in flat
        if row.ratio:
            assert units.with_interval(row.ratio) in flat
            if layout == "long":
                assert (
                    units.seconds_with_interval(row.cold) in flat and units.seconds_with_interval(row.warm) in flat
                )
    for row in rows.target_rows(run, samples):
        if row.first_result:
            assert units.seconds_with_interval(row.first_result) in flat
            assert units.seconds_with_interval(row.start_up) in flat
    assert "3/3 ok" in flat and "unavailable" in flat
    for part in (run.run_id, "intervals of cold/warm", "load average"):
        assert part in flat, part


def test_tags_are_shown_in_either_layout(stored):
    """Fault: LAYOUT=long leaves out that a sample was disturbed."""
    run, samples, notes = stored
    import msgspec

    tagged = [
        msgspec.structs.replace(each, tags=["contended"]) if each.id == "prepared.CPU.device.50.1" else each
        for each in samples
    ]
    assert "3/3 ok (1!)" in collect.text(run, tagged, notes, View("simple", "wide"))
    long = collect.text(run, tagged, notes, View("plain", "long"))
    assert "contended 1" in long


@pytest.mark.parametrize("layout", document.LAYOUTS)
def test_csv_is_the_file_and_has_every_digit(stored, layout):
    """Fault: FORMAT=csv rounds, or is another table than table.csv."""
    text = collect.text(*stored, View("csv", layout))
    run, samples, _ = stored
    lines = list(csv.DictReader(io.StringIO(text)))
    for line, row in zip(lines, rows.cell_rows(run, samples), strict=True):
        assert line["cold_s"] == (repr(row.cold.centre) if row.cold else "")
        assert line["status"] == row.count.status


@pytest.mark.parametrize("style", FORMATS)
def test_collect_shows_a_tree_s_index_and_tables_in_every_format(style, tmp_path):
    """Fault: one kind of result, or the index, that a format does not know: collect ends in the middle of a tree."""
    for name in ("bench-tf1.14-cuda10", "reproduce-tf1.14-cuda10", "compare-nine-stacks"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / journal.RUN).write_text("{")
    for layout in document.LAYOUTS:
        printed: list[str] = []
        view = View(style, layout)
        code = collecting.collect_all([tmp_path], None, printed.append, tables=True, view=view)
        assert code is Exit.CELLS_FAILED
        text = "".join(printed)
        assert text.count("tf2.10-cuda11") >= 2 and "unavailable" in text
        mark = MARKS.get(style, "")
        assert all(mark in each for each in (printed[0], printed[-1]) if style not in ("csv", "plain"))
        assert "bad/run.json" in printed[-1] and "not JSON" in printed[-1]
        assert journal.read_run(tmp_path / "bench-tf1.14-cuda10").run_id in printed[-1]
        if style == "csv":
            assert "beside" not in text


def test_a_history_is_for_a_terminal():
    """Fault: FORMAT= beside CELL= is passed over."""
    with pytest.raises(SuiteError) as caught:
        collecting.collect_all([BENCH], None, print, cell="CPU device 50", view=View("csv"))
    assert caught.value.exit_code is Exit.USAGE


def test_a_selftest_has_every_format(tmp_path):
    """Fault: FORMAT= of a selftest is passed over."""
    from suite import selftest

    asked = words.parse({**SMALL, "targets": "CPU", "shapes": "50", "out": str(tmp_path)})
    with played({}):
        printed: list[str] = []
        _, folder = selftest.run(asked, {}, [], printed.append, recording=RECORDING, style="html")
    assert "<table>" in printed[0]
    for style in FORMATS:
        text, _ = selftest.derive(folder, style)
        assert MARKS.get(style, "") in text or style == "plain"
        assert (
            "detectable_ratio" in text
            if style == "csv"
            else "of the stack with itself" in text or "NOT TOLD" in text
        )


def test_bench_prints_in_the_format_that_was_asked_for(tmp_path):
    """Fault: FORMAT= changes what is kept, or is passed over where something is measured."""
    printed: list[str] = []
    asked = words.parse({**SMALL, "out": str(tmp_path)})
    _, folder = measure.run(asked, {}, ["bench"], printed.append, recording=RECORDING, view=View("latex", "long"))
    assert r"\begin{tabular}" in printed[0] and r"\section*{tf1.14-cuda10}" in printed[0]
    assert (folder / "table.md").read_text().startswith("# tf1.14-cuda10\n")
    assert "format" not in journal.read_run(folder).words and "layout" not in journal.read_run(folder).words


@pytest.mark.parametrize("given", [{"format": "pdf"}, {"layout": "round"}, {"format": "fancy_grid"}])
def test_a_format_that_there_is_not_is_usage(given):
    """Fault: an unknown format is printed as some other, or a run is measured before it is refused."""
    with pytest.raises(SuiteError) as caught:
        document.view(given)
    assert caught.value.exit_code is Exit.USAGE and next(iter(given.values())) in caught.value.what


@pytest.mark.parametrize("verb", ["bench", "reproduce", "selftest", "collect", "compare"])
def test_the_command_line_refuses_before_anything_is_done(verb, tmp_path):
    """Fault: a typing error in FORMAT= is told after an hour of measuring."""
    given = [] if verb in ("collect", "compare") else ["--stack", "tf1.14-cuda10"]
    given += ["--runs", str(BENCH)] if verb == "compare" else []
    done = subprocess.run(
        [sys.executable, "-m", "suite", verb, *given, "--out", str(tmp_path), "--format", "pdf"],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "FORMAT=pdf" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_markup_and_specials_of_a_name_do_nothing(stored):
    """Fault: a host that is called <script> runs in a reader's browser, or breaks a LaTeX table."""
    run, samples, notes = stored
    import msgspec

    evil = msgspec.structs.replace(run, host={**run.host, "cpu_model": "<script>alert(1)</script>&_%"})
    text = collect.text(evil, samples, notes, View("html"))
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert r"\&\_\%" in collect.text(evil, samples, notes, View("latex"))


def test_no_line_of_a_terminal_is_too_long(stored):
    """Fault: a table that wraps in 80 columns (LAYOUT=long is as wide as it is)."""
    for style in ("simple", "plain"):
        assert [line for line in shown(stored, style, "wide").splitlines() if len(line) > document.WIDTH] == []
