# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: verdicts, every stack, what is withheld, and that nothing in a run can act on it."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from suite import cli, collect, compare, journal, ready, together, units, words
from suite.exits import Exit
from suite.records import to_json
from suite.report import (
    compare_charts,
    compare_figures,
    compare_page,
    compare_sentence,
    compare_view,
    markup,
    svg,
    write,
)
from suite.report.compare_charts import Ratio
from suite.report.waterfall import Step
from suite.stack import ROOT
from suite.stats import Estimate
from tests import comparing, synthetic
from tests.comparing import CPU, LATER, NEW, OLD, Ended, model
from tests.reports import HOSTILE, Page
from tests.synthetic import RECORDING, STACK, Model, Synthetic, lognormal, noisy


@pytest.fixture(scope="module")
def stacks(tmp_path_factory) -> Path:
    return comparing.stacks(tmp_path_factory.mktemp("stacks"))


@pytest.fixture(scope="module")
def three(tmp_path_factory, stacks) -> Ended:
    """Three stacks: the second pays twice as much cold, the third is three times as quick warm."""
    models = {
        OLD: Synthetic({CPU: model()}),
        NEW: Synthetic({CPU: model(cold_s=0.1)}, seed=1),
        LATER: Synthetic({CPU: model(warm_s=1e-3 / 3)}, seed=2),
    }
    out = tmp_path_factory.mktemp("three")
    return comparing.together(out, stacks, models, stacks=f"{OLD} {NEW} {LATER}")


@pytest.fixture(scope="module")
def made(three) -> Page:
    return Page(write.report_of(three.folder))


def labels(page: Page, begin: str) -> list[str]:
    """Return what charts of one kind say to a screen reader."""
    return [str(each["aria-label"]) for each in page.all("svg") if str(each["aria-label"]).startswith(begin)]


def test_the_verdict_is_a_sentence_of_these_numbers(three, made):
    """Fault: a page whose sentence says something else than its table; a ratio turned round."""
    view = compare_view.read(three.folder)
    slower, faster = three.judged(NEW, "cold"), three.judged(LATER, "warm")
    assert (slower.verdict.word, faster.verdict.word) == ("SLOWER", "FASTER")
    cold, warm = (units.significant(each.verdict.ratio.centre) for each in (slower, faster))
    assert 1.8 < float(cold) < 2.2 and 0.3 < float(warm) < 0.37
    said = compare_sentence.verdict(view)
    assert f"Cold, the 2 other stacks are slower than {OLD} in 1 of 2 cells ({cold} times its time)" in said
    assert f"; warm, they are faster in 1 of 2 cells ({warm} times its time)" in said
    assert said in made.words()
    assert f"{OLD}, {NEW}, {LATER} side by side" in made.words()


def test_what_is_not_sure_is_not_said_to_be(tmp_path, stacks):
    """Fault: an AMBIGUOUS cell counted as a finding; "faster" of two stacks that are alike."""
    models = {name: Synthetic({CPU: model(spread=0.3)}, seed=seed) for seed, name in enumerate((OLD, NEW))}
    found = comparing.together(tmp_path, stacks, models, samples="3")
    assert {each.verdict.word for each in found.compared.judged} == {"AMBIGUOUS"}
    said = compare_sentence.verdict(compare_view.read(found.folder))
    assert said == (
        f"Cold, no difference between {NEW} and {OLD} is sure; warm, no difference is sure. "
        "2 of 2 verdicts are AMBIGUOUS."
    )


def test_what_was_let_pass_is_no_plain_difference(tmp_path, stacks):
    """Fault: the sentence drops the mark of ALLOW=; a refused comparison gives a ratio."""
    runs = [
        comparing.bench(tmp_path / "runs", stacks, name, Synthetic({CPU: model(cold_s)}))
        for name, cold_s in ((OLD, 0.05), (NEW, 0.1))
    ]
    comparing.change_samples(runs[1], lambda each: each["facts"].update(intra_op_threads=7))
    refused = comparing.stored(tmp_path / "a", *runs)
    view = compare_view.read(refused.folder)
    assert "2 of 2 verdicts are INCOMPARABLE." in compare_sentence.verdict(view)
    page = Page(write.report_of(refused.folder))
    assert labels(page, "Chart of times over") == [] and "ALLOW=threads compares all the same" in page.words()
    allowed = comparing.stored(tmp_path / "b", *runs, allow="threads")
    said = compare_sentence.verdict(compare_view.read(allowed.folder))
    assert "slower" in said and "2 marked: what ALLOW= named differs too" in said
    assert "SLOWER (other threads)" in Page(write.report_of(allowed.folder)).words()


def test_every_stack_is_in_the_table_and_in_the_charts(three, made):
    """Fault: a stack left out; a cell without its count, interval or verdict."""
    body = [each for each in made.all("th") if each.get("scope") == "row" and each.get("data-value") is not None]
    assert [each["data-value"] for each in body] == [OLD, NEW, LATER, *[NEW] * 2, *[LATER] * 2]
    words_ = made.words()
    for arm in three.compared.arms:
        [row] = arm.cells
        for estimate in (row.cold, row.warm, arm.fresh[row.cell.id].start_up):
            assert units.seconds(estimate.centre) in words_
        assert row.count.text() in words_
    [shown] = labels(made, "Chart of start-up, cold and warm by stack")
    assert all(f"{name} start-up" in shown for name in (OLD, NEW, LATER))
    [ratios] = labels(made, "Chart of times over")
    assert f"{NEW} cold" in ratios and "SLOWER" in ratios and f"{OLD} cold" not in ratios
    [first] = labels(made, "Chart of the phases")
    assert first.count("import ") == 3
    # The charts of each run by itself, closed: time against n, waterfall, spread, warm series.
    assert len(made.all("details", lambda each: each.get("class") == "arm")) == 3
    assert len(made.all("svg")) == 3 + 3 * 4


def test_a_withheld_cell_is_in_no_chart(tmp_path, stacks):
    """Fault: vanished work (n = 1500 in 0.3 ms on 2 cores) as the quickest stack of a chart, or as a ratio."""
    cell = "CPU.device.1500"
    honest = Model(lognormal(0.06, 0.03), noisy(lognormal(0.03, 0.03)))
    vanished = Model(lognormal(0.06, 0.03), noisy(lognormal(3e-4, 0.03)))
    models = {OLD: Synthetic({cell: honest}), NEW: Synthetic({cell: vanished}, seed=1)}
    found = comparing.together(tmp_path, stacks, models, shapes="1500", samples="3")
    page = Page(write.report_of(found.folder))
    assert labels(page, "Chart of times over") == []
    [shown] = labels(page, "Chart of start-up, cold and warm by stack")
    assert f"{OLD} start-up" in shown and NEW not in shown
    assert not [each for each in labels(page, "Chart of time against n") if "300 us" in each]
    said = page.words()
    assert "implausible (0/3 ok)" in said and f"CPU device 1500, cold, warm; {NEW}" in said
    assert f"in {OLD}, not in {NEW} (implausible)" in said
    assert "Nothing could be set beside" in said
    [row] = found.compared.arms[1].cells
    assert row.count.reason is not None and said.count(row.count.reason.text) == 1  # not among the notes once more


def test_a_stack_beside_itself(tmp_path):
    """Fault: a selftest that found nothing reads AMBIGUOUS, as if it had failed."""
    given = {"stack": STACK, "targets": "CPU", "shapes": "50", "samples": "5", "out": str(tmp_path)}
    made = ready.make_ready(words.parse(given), {}, recording=RECORDING)
    arms = {
        name: synthetic.made_ready(made, Synthetic({CPU: model(spread=0.3)}, seed=seed))
        for seed, name in enumerate("ab")
    }
    folder = together.measure(arms, "selftest", {}, ["selftest"]).folder
    page = Page(write.report_of(folder))
    said = page.words()
    view = compare_view.read(folder)
    assert compare_sentence.verdict(view).startswith("PASSED: no difference in 2 comparisons")
    assert compare_sentence.verdict(view) in said and f"{STACK} beside itself" in said
    assert "AMBIGUOUS" not in said and "smallest difference that so many samples find" in said
    assert {each.word for each in view.told} == {"no difference"}


def test_stored_runs_and_how_to_compare_them_again(tmp_path, stacks):
    """Fault: a comparison of stored runs has no page, or says that it measures again."""
    runs = [comparing.bench(tmp_path / "runs", stacks, name, Synthetic({CPU: model()})) for name in (OLD, NEW)]
    found = comparing.stored(tmp_path / "out", *runs)
    page = Page(write.write(found.folder).read_text(encoding="utf-8"))
    assert "stored runs, Welch's test" in page.words() and "The command that compares these runs:" in page.words()
    assert "make compare RUNS=" in page.words()
    (runs[1] / journal.RUN).unlink()
    with pytest.raises(journal.Unreadable, match="run.json"):
        write.write(found.folder)


def hostile(folder: Path) -> None:
    """Give every name of a comparison's stored files something that must do nothing."""
    path = folder / collect.COMPARISON
    fields = json.loads(path.read_text(encoding="utf-8"))
    for place, arm in enumerate(fields["arms"]):
        arm["name"] = f"{HOSTILE[:60]}{place}{HOSTILE[60:]}"
        run_path = folder / arm["folder"] / journal.RUN
        run = json.loads(run_path.read_text(encoding="utf-8"))
        run["stack"].update(name=HOSTILE, title=HOSTILE)
        run["host"].update(cpu_model=HOSTILE, os=HOSTILE)
        run["engine"].update(why=HOSTILE)
        run["environment"].update(python_version=HOSTILE)
        run_path.write_text(to_json(run), encoding="utf-8")
    fields["judging"]["baseline"] = fields["arms"][0]["name"]
    fields["words"]["targets"] = HOSTILE
    path.write_text(to_json(fields), encoding="utf-8")


def test_markup_in_names_does_nothing(tmp_path, stacks):
    """Fault: a script in the name of a stack runs; two names that make the same id."""
    models = {name: Synthetic({CPU: model()}, seed=seed) for seed, name in enumerate((OLD, NEW))}
    found = comparing.together(tmp_path, stacks, models, samples="3")
    hostile(found.folder)
    text = write.report_of(found.folder)
    page = Page(text)
    assert len(page.all("script")) == 1 and len(page.all("style")) == 1 and page.all("img") == []
    assert [name for _, attributes in page.elements for name in attributes if name.startswith("on")] == []
    assert page.words().count(markup.clean(HOSTILE)) > 5
    ids = [str(attributes["id"]) for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all("\n" not in line for line in page.text["text"])


def test_ids_are_its_own_and_all_links_lead_somewhere(made, three):
    """Fault: charts of two runs with one id, one clipped by the other's frame."""
    text = write.report_of(three.folder)
    ids = [str(attributes["id"]) for _, attributes in made.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    used |= {str(each) for _, attributes in made.elements if (each := attributes.get("aria-labelledby"))}
    used |= {str(each) for _, attributes in made.elements if (each := attributes.get("data-said"))}
    assert used <= set(ids)


def test_the_same_bytes_again_elsewhere(three, require):
    """Fault: a page that depends on when, where or in which language it was made."""
    require("locale_de")
    wanted = write.report_of(three.folder)
    assert wanted == write.report_of(three.folder)
    environment = {**os.environ, "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kolkata", "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-m", "suite", "report", str(three.folder)]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert (three.folder / write.REPORT).read_bytes() == wanted.encode("utf-8")


def test_charts_on_request(three):
    """Fault: CHARTS= of a comparison writes none, or those of its runs under one name."""
    paths = write.write_charts(three.folder, "svg")
    assert [path.name for path in paths] == [
        *("ratio-cpu-device-50.svg", "stacks-cpu-device-50.svg", "first-cpu-device-50.svg")
    ]
    assert all(path.read_bytes().startswith(b"<?xml") for path in paths)


def test_a_command_leaves_its_report(tmp_path, stacks, monkeypatch, capsys):
    """Fault: a comparison without a report."""
    given = functools.partial(compare.run, recording=RECORDING, stacks=stacks)
    monkeypatch.setattr(compare, "run", given)
    words_ = [
        "--stacks",
        f"{OLD} {NEW}",
        "--targets",
        "CPU",
        "--shapes",
        "50",
        "--samples",
        "3",
        "--out",
        str(tmp_path),
    ]
    with comparing.played({}):
        code = Exit(cli.main(["compare", *words_, "--fail-on", "none"]))
    assert code is Exit.DONE
    [left] = tmp_path.glob(f"compare/*/{write.REPORT}")
    assert str(left) in capsys.readouterr().err.split()


def test_many_runs_get_a_report_only_when_it_is_asked_for(tmp_path, stacks, monkeypatch, capsys):
    """Fault: a comparison of a thousand stored runs, done in seconds, then draws them for a quarter of an hour."""
    monkeypatch.setattr(compare_view, "MOST_RUNS", 2)
    monkeypatch.setattr(compare_page, "MOST_RUNS", 2)
    runs = [
        comparing.bench(tmp_path / "runs", stacks, name, Synthetic({CPU: model()})) for name in (OLD, NEW, LATER)
    ]
    asked = ["compare", "--runs", " ".join(map(str, runs)), "--out", str(tmp_path), "--fail-on", "none"]
    assert cli.main(asked) == Exit.DONE
    [folder] = tmp_path.glob("compare/*")
    assert not (folder / write.REPORT).exists()
    said = " ".join(capsys.readouterr().err.split())
    assert f"no report.html: 3 runs are more than 2; make report RUN={folder} makes it all the same" in said
    page = Page(write.write(folder).read_text(encoding="utf-8"))
    assert len(page.all("svg")) == 3 and "make report RUN=<its folder>" in page.words()
    monkeypatch.setattr(compare_view, "MOST_RUNS", 3)
    assert cli.main(asked) == Exit.DONE and str(folder / write.REPORT) in capsys.readouterr().err.split()


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((0.9, 1.1), [0.9, 1.0, 1.1]),
        ((0.5, 4.0), [0.5, 1.0, 2.0]),
        ((0.4, 30.0), [1.0, 10.0]),
        ((0.98, 1.02), [1.0]),
        ((0.01, 100.0), [0.01, 0.1, 1.0, 10.0, 100.0]),
    ],
)
def test_ticks_of_ratios_have_room(limits, wanted):
    """Fault: labels that lie upon each other; an axis that does not say where 1 is."""
    found = compare_charts.ticks(limits)
    assert 1.0 in found and len(found) <= 6
    assert set(wanted) <= set(found)
    assert all(
        math.log(b / a) >= 0.17 * math.log(limits[1] / limits[0]) for a, b in zip(found, found[1:], strict=False)
    )


def test_limits_of_ratios_hold_them_and_one():
    """Fault: 1 is off the axis; one boundless interval flattens all others."""

    def ratio(centre: float, low: float, high: float) -> Ratio:
        return Ratio("x", "cold", Estimate(centre, low, high, 3), "SLOWER", True)

    low, high = compare_charts.span([ratio(3.0, 2.5, 3.6)])
    assert low < 1 < 3.6 < high
    low, high = compare_charts.span([ratio(3.0, 1e-4, 1e5)])
    assert 0.2 < low < 0.25 and 12 < high < 13


@pytest.mark.parametrize("name", ["tf1.14-cuda10", "x" * 17, "x" * 18, HOSTILE])
def test_names_fit_their_rows(name):
    """Fault: a long name runs into the chart; a short one is cut."""
    made = compare_charts.short(name)
    assert len(made) <= compare_charts.LONGEST and made.rstrip("\u2026") == name[: len(made.rstrip("\u2026"))]
    assert (made == name) is (len(name) <= compare_charts.LONGEST)


def test_a_start_up_of_nothing_is_in_no_logarithmic_chart(three):
    """Fault: a difference that is below 0 ends the drawing."""
    view = compare_view.read(three.folder)
    stand = view.across[0].stands[0]
    below = dataclasses.replace(stand.fresh, start_up=Estimate(-0.1, -0.3, 0.1, 3))
    assert set(compare_figures.times(dataclasses.replace(stand, fresh=below))) == {"cold", "warm"}
    reaching = dataclasses.replace(stand.fresh, start_up=Estimate(0.1, -0.3, 0.5, 3))
    assert set(compare_figures.times(dataclasses.replace(stand, fresh=reaching))) == {"start-up", "cold", "warm"}
    figure = compare_charts.by_stack(
        [compare_charts.Stack("a", compare_figures.times(dataclasses.replace(stand, fresh=reaching)))],
        (1e-4, 10.0),
    )
    [bar] = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2 and line.get_xdata()[1] == 0.5]
    assert bar.get_xdata()[0] == 1e-4


def test_a_finding_is_full_and_no_finding_is_hollow():
    """Fault: what is not sure looks like what is; the verdict of one stack stands beside another."""
    sure, unsure = Estimate(2.0, 1.8, 2.2, 5), Estimate(1.1, 0.8, 1.5, 5)
    drawn = [Ratio("b", "cold", sure, "SLOWER", True), Ratio("c", "warm", unsure, "AMBIGUOUS", False)]
    [axes] = compare_charts.ratios(drawn, ["b", "c"], (0.5, 4.0), 0.05).axes
    markers = {line.get_ydata()[0]: line for line in axes.lines if line.get_marker() in ("o", "s")}
    assert sorted(markers) == [-0.2, 1.2]
    full, hollow = markers[-0.2], markers[1.2]
    assert full.get_markerfacecolor() == svg.COLD and hollow.get_markerfacecolor() == svg.PAPER
    assert (full.get_xdata()[0], hollow.get_xdata()[0]) == (2.0, 1.1)
    assert {text.get_text(): text.xy[1] for text in axes.texts} == {"SLOWER": -0.2, "AMBIGUOUS": 1.2}


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        ("interpreter", "process", "process"),
        ("import", "process", "import"),
        ("device_init", "process", "process"),
        ("compile", "shape", "shape"),
        ("untimed", "untimed", "untimed"),
    ],
)
def test_the_parts_of_a_first_result(name, kind, wanted):
    """Fault: import, the most of a start, in the colour of something else."""
    assert compare_charts.part(Step(name, kind, [(0.0, 1.0)], 1.0)) == wanted
