# SPDX-License-Identifier: Apache-2.0
"""The page of a run: what it shows, what it withholds, and that nothing in a run can act on it."""

from __future__ import annotations

import csv
import functools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest

from suite import cli, collect, measure, units
from suite.exits import Exit
from suite.records import Sample
from suite.report import markup, page, write
from suite.report.view import view
from suite.stack import ROOT
from suite.stats import Estimate
from tests import reports
from tests.reports import BENCH, HOSTILE, REPRODUCE, Page
from tests.synthetic import RECORDING, STACK

REFERENCE = re.compile(r"url\(\s*['\"]?(?!#)|@import", re.IGNORECASE)


@pytest.fixture(scope="module")
def made() -> Page:
    """The page of a real run."""
    return Page(write.report(*reports.read()))


def test_markup_in_names_does_nothing():
    """Fault: a host, stack, tag or reason that holds a script, and a page that runs it; a formula that is drawn."""
    run, samples = reports.hostile(*reports.read())
    text = write.report(run, samples)
    found = Page(text)
    assert len(found.all("script")) == 1 and len(found.all("style")) == 1
    assert found.all("img") == []
    assert [name for _, attributes in found.elements for name in attributes if name.startswith("on")] == []
    shown = markup.clean(HOSTILE)
    for where in ("host", "tag", "reason"):
        assert shown in found.words(), where
    assert found.words().count(shown) > 20
    assert "owned" not in "".join(found.text["script"]) + "".join(found.text["style"])
    assert not set("\x00\u202e\ud800") & set(text)
    text.encode("utf-8")
    drawn = "\n".join(found.text["text"])
    assert "<script>" in drawn and "$x^2$" in drawn  # a tag, beside its warm series


def test_markup_in_the_question_s_snippet_does_nothing():
    """Fault: the reproduce report escapes less than that of bench."""
    run, samples = reports.hostile(*reports.read(REPRODUCE))
    found = Page(write.report(run, samples))
    assert len(found.all("script")) == 1 and found.all("img") == []
    assert markup.clean(HOSTILE) in found.words()


@pytest.mark.parametrize("text", ["a\x00b", "a\x1bb", "\ud800", "\u202eevil", "\u2066x"])
def test_what_no_page_can_hold_is_replaced(text):
    """Fault: a NUL ends the page, half a pair cannot be written, a name turns the line around it."""
    assert "\ufffd" in markup.clean(text)
    assert markup.clean("line\n\ttab é 中") == "line\n\ttab é 中"


def test_attributes_are_escaped_and_left_out():
    """Fault: a quote ends an attribute; None is written as a word."""
    made = markup.element(
        "a", "<b>", markup.Markup("<i>"), None, class_='x" onload="y', hidden=True, id=None, data_n=0
    )
    assert made == '<a class="x&quot; onload=&quot;y" hidden data-n="0">&lt;b&gt;<i></a>'


@pytest.mark.parametrize("status", ["implausible", "wrong_result", "wrong_device", "not_cold", "timeout"])
def test_withheld_cells_are_in_no_chart_and_are_listed(status):
    """Fault: vanished work as the quickest point of a chart; a gap in a chart that nothing explains."""
    run, samples = reports.read()
    samples = reports.withheld(samples, "CPU.device.500", status)
    seen = view(run, samples)
    [group] = [each for each in seen.groups if (each.target, each.placement) == ("CPU", "device")]
    assert [n for line in group.lines() for n, _ in line.at] == [50, 2000, 50, 2000]
    assert {dots.n for dots in group.dots()} == {50, 2000}
    assert "CPU.device.500" not in {row.cell.id for row, _ in seen.warm}
    [listed] = [each for each in seen.withheld if each.cell.id == "CPU.device.500"]
    assert (listed.status, listed.count) == (status, "2/3 ok")
    found = Page(write.report(run, samples))
    assert "warm-cpu-device-500" not in {each.get("id") for each in found.all("figure")}
    assert "7e15 FLOP/s are above the ceiling. Report it." in found.words()
    time = next(
        each["aria-label"] for each in found.all("svg") if "against n, CPU device" in (each["aria-label"] or "")
    )
    assert "at 50" in time and "at 2000" in time and "at 500," not in time


def test_a_withheld_first_result_is_in_no_waterfall():
    """Fault: the phases of a process that computed on another device."""
    run, samples = reports.read()
    changed = [
        msgspec.structs.replace(each, status="wrong_device") if each.id == "fresh.CPU.device.50.2" else each
        for each in samples
    ]
    assert "CPU" in {row.cell.target for row, _ in view(run, samples).first}
    seen = view(run, changed)
    assert "CPU" not in {row.cell.target for row, _ in seen.first}
    assert "first result" in {each.what for each in seen.withheld if each.cell.id == "CPU.device.50"}


def test_samples_taken_again_are_in_no_chart():
    """Fault: a sample that was added because another is tagged, drawn as one of the plan's."""
    run, samples = reports.read()
    first = next(each for each in samples if each.id == "prepared.CPU.device.50.1")
    added = msgspec.structs.replace(first, id=f"{first.id}.again.1", again=first.id, cold_s=99.0, order=999)
    before, after = view(run, samples), view(run, [*samples, added])
    assert [len(drawn) for _, drawn in before.warm] == [len(drawn) for _, drawn in after.warm]
    assert before.groups[0].dots() == after.groups[0].dots()


def test_the_same_bytes_again_elsewhere(tmp_path, require):
    """Fault: a page that depends on when, where, in which language or with which plot settings it was made."""
    require("locale_de")
    (tmp_path / "matplotlibrc").write_text("axes.formatter.use_locale: True\nfont.size: 20\nsvg.hashsalt: other\n")
    for folder in (BENCH, REPRODUCE):
        wanted = write.report(*reports.read(folder))
        assert wanted == write.report(*reports.read(folder))
        copy = tmp_path / folder.name
        copy.mkdir()
        for name in ("run.json", "samples.jsonl"):
            (copy / name).write_bytes((folder / name).read_bytes())
        environment = {
            **os.environ,
            **{"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kolkata", "PYTHONHASHSEED": "7"},
            **{"MATPLOTLIBRC": str(tmp_path / "matplotlibrc"), "SOURCE_DATE_EPOCH": "1"},
        }
        command = [sys.executable, "-m", "suite", "report", str(copy)]
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        assert (copy / write.REPORT).read_bytes() == wanted.encode("utf-8")


def test_nothing_is_fetched_and_every_link_leads_somewhere(made):
    """Fault: a font or script from elsewhere; two figures with the same ids, one clipped by the other's frame."""
    text = write.report(*reports.read())
    assert REFERENCE.search(text) is None
    for tag, attributes in made.elements:
        assert "src" not in attributes and "srcset" not in attributes, tag
        target = attributes.get("href") or attributes.get("xlink:href") or "#"
        assert target.startswith("#") or target == "data:,", (tag, target)
    ids = [str(attributes["id"]) for _, attributes in made.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    used |= {str(each) for _, attributes in made.elements if (each := attributes.get("aria-labelledby"))}
    assert used <= set(ids)
    assert "default-src 'none'" in str(made.all("meta", lambda each: "http-equiv" in each)[0]["content"])


def test_every_chart_has_words_and_a_table(made):
    """Fault: a chart that says nothing to a screen reader."""
    figures = made.all("svg")
    assert len(figures) == 3 + 3 + 3 + 9
    assert all(each["role"] == "img" and len(each["aria-label"] or "") > 60 for each in figures)
    assert len(made.all("details")) == 4  # one a section with charts, a table in each
    assert len(made.all("caption")) == 1 + 1 + 4


def test_the_table_has_every_cell_with_status_n_and_interval(made):
    """Fault: a cell left out of the page because it has no time; an interval or a count that only a tooltip has."""
    run, samples = reports.read()
    words = made.words()
    shown = [row for row in view(run, samples).cells if row.cold and row.warm and row.ratio]
    for row in view(run, samples).cells:
        status = row.count.text() if row.cold else f"{row.count.status} ({row.count.text()})"
        assert status in words
    for row in shown:
        number, _, interval = units.with_interval(row.ratio).partition(" ")
        assert interval.startswith("[") and interval in words and number in words
        assert all(f"* {state} {many}/{row.count.ok}" in words for state, many in row.not_steady.items())
    assert len(shown) == 9 and any(row.not_steady for row in shown)
    rows = [each for each in made.all("th") if each.get("scope") == "row" and "data-value" in each]
    assert len(rows) == len(run.plan.cells)


def test_the_verdict_says_the_widest_gap(made):
    """Fault: a verdict that is no sentence of these numbers."""
    [at] = [place for place, (tag, attributes) in enumerate(made.elements) if attributes.get("id") == "verdict"]
    assert made.elements[at][0] == "p"
    with (BENCH / collect.TABLE_CSV).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    row = max(rows, key=lambda each: float(each["ratio"] or 0))
    ratio, low, high = (float(row[name]) for name in ("ratio", "ratio_low", "ratio_high"))
    cold, warm, start_up = (units.seconds(float(row[f"{name}_s"])) for name in ("cold", "warm", "start_up"))
    assert row["n"] == "50" and ratio > 100
    assert (
        f"The first call costs up to {units.with_interval(Estimate(ratio, low, high, 3))} times a later one: "
        f"{row['target']} ({row['placement']}) at n = 50, {cold} cold and {warm} warm; "
        f"before that its process pays {start_up} to start up." in made.words()
    )
    assert "9 of 18 cells show a time; withheld: 9 unavailable" in made.words()


def test_a_run_without_samples():
    """Fault: a run that was killed at once has no page, or one that says nothing of it."""
    run, _ = reports.read()
    found = Page(write.report(run, []))
    assert found.all("svg") == []
    assert "Nothing was measured that could be shown" in found.words()
    assert "PARTIAL" in found.words() and "interrupted (0/3 ok)" in found.words()


def only(run, samples: list[Sample], cell: str, block: int):
    """Return a run of one cell with one sample of each kind."""
    plan = msgspec.structs.replace(
        run.plan,
        cells=[each for each in run.plan.cells if each.id == cell],
        planned=[each for each in run.plan.planned if each.cell == cell and each.block in (0, block)],
        samples=1,
        shapes=[500],
    )
    kept = [each for each in samples if each.cell == cell and each.block in (0, block)]
    return msgspec.structs.replace(run, plan=plan), kept


def test_one_cell_and_one_sample():
    """Fault: no interval, one point or one size is an error of a logarithm or of an empty axis."""
    run, samples = only(*reports.read(), "CPU.device.500", 1)
    found = Page(write.report(run, samples))
    assert len(found.all("svg")) == 3  # no fresh sample, so no waterfall
    assert "no interval" in found.words() and "1 of 1 cell shows a time." in found.words()


def test_marks_that_nobody_may_miss():
    """Fault: results of a stand-in or of an adopted interpreter that look like the stack's own."""
    run, samples = reports.read()
    stand_in = {**run.environment, "base": "stand-in", "labels": {"coldwarm.base": "debian:12"}}
    words = Page(write.report(msgspec.structs.replace(run, environment=stand_in), samples)).words()
    assert "base=stand-in: base debian:12; not the stack's own image" in words
    adopted = {**run.environment, "wheels": "adopted"}
    words = Page(write.report(msgspec.structs.replace(run, environment=adopted), samples)).words()
    assert "ADOPTED: an interpreter as it was found" in words


def test_command_and_environment_are_there(made):
    """Fault: numbers that nobody can make again."""
    words, (run, _) = made.words(), reports.read()
    assert shlex.join(run.command) in words
    for text in (
        run.environment["packages"]["tensorflow"],
        run.host["cpu_model"],
        str(run.plan.seed),
        run.engine["why"],
        run.coldwarm["git_commit"],
        run.run_id,
    ):
        assert text in words, text


def test_the_question_beside_its_numbers():
    """Fault: a reproduce report without the verdict, the question's seconds or the reason for a gap."""
    found = Page(write.report(*reports.read(REPRODUCE)))
    words = found.words()
    assert "Cannot be tested here: its rule needs XLA_GPU and CPU" in words
    assert "93.73 s" in words and "no XLA_GPU: the framework sees" in words
    labels = [str(each["aria-label"]) for each in found.all("svg")]
    assert [label.split(":")[0] for label in labels] == [
        "Chart of time against n, CPU",
        "Chart of time against n, XLA_CPU",
    ]


def test_ids_are_made_of_anything():
    """Fault: a space or a quote in an id, to which then nothing can refer."""
    assert page.identity("Warm", "XLA_GPU:0", HOSTILE, 50).replace("-", "").isalnum()
    assert page.identity("a", "", "-") == "a"


def copied(tmp_path, folder=BENCH):
    """Return a copy of a run's raw files."""
    target = tmp_path / "run"
    target.mkdir()
    for name in ("run.json", "samples.jsonl"):
        (target / name).write_bytes((folder / name).read_bytes())
    return target


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_charts_on_request(tmp_path, kind):
    """Fault: charts with a date in them, or with the page's variables in place of colours."""
    folder = copied(tmp_path)
    paths = write.write_charts(folder, kind)
    assert len(paths) == 18 and {path.suffix for path in paths} == {f".{kind}"}
    first = {path: path.read_bytes() for path in paths}
    write.write_charts(folder, kind)
    assert {path: path.read_bytes() for path in paths} == first
    start = first[folder / "charts" / f"time-cpu-device.{kind}"]
    assert start.startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    assert b"var(--" not in start and (kind == "png" or b"#0072b2" in start)


def suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "suite", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_report_of_no_run_says_what_to_name(tmp_path):
    """Fault: a traceback where a folder holds no run."""
    done = suite("report", str(tmp_path))
    assert done.returncode == Exit.USAGE and "run.json" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def replaying(tmp_path, monkeypatch) -> Callable[[], Exit]:
    """Return a function that runs the whole command `bench`, its samples replayed."""
    monkeypatch.setattr(measure, "run", functools.partial(measure.run, recording=RECORDING))
    words = ["--stack", STACK, "--targets", "CPU,XLA_CPU", "--shapes", "500", "--samples", "1"]
    return lambda: Exit(cli.main(["bench", *words, "--out", str(tmp_path / "out")]))


def test_a_command_leaves_its_report(tmp_path, replaying, capsys):
    """Fault: a run without a report, or one that is not what `report` makes of the same folder."""
    replaying()
    [left] = (tmp_path / "out").glob(f"{STACK}/*/{write.REPORT}")
    before = left.read_bytes()
    assert write.write(left.parent).read_bytes() == before and b"<svg" in before
    said = capsys.readouterr().err.split()
    assert str(left) in said and " ".join(said).index("results:") < " ".join(said).index("report:")


def test_a_report_that_cannot_be_made_is_no_failed_run(tmp_path, replaying, monkeypatch, capsys):
    """Fault: minutes of measuring end as an error because a picture of them cannot be drawn."""
    wanted = replaying()

    def broken(folder):
        raise RuntimeError("no font at all")

    monkeypatch.setattr(write, "write", broken)
    assert replaying() is wanted
    assert len(list((tmp_path / "out").glob(f"{STACK}/*/{collect.TABLE_MD}"))) == 2
    assert len(list((tmp_path / "out").glob(f"{STACK}/*/{write.REPORT}"))) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "report.html cannot be made: no font at all; make report RUN=" in said


def test_plots_are_imported_for_a_report_alone():
    """Fault: list and --help wait for a plotting library, and collect draws."""
    modules = "suite.cli, suite.collecting, suite.listing, suite.measure"
    code = f"import sys, {modules}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
