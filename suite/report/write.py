# SPDX-License-Identifier: Apache-2.0
"""Make report.html of a run's or a comparison's folder, and its charts as files of their own on request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from suite import collect, journal, pairs, selftest
from suite.errors import SuiteError
from suite.exits import Exit
from suite.question import question
from suite.records import Run, Sample
from suite.report import (
    bench_page,
    compare_figures,
    compare_page,
    compare_view,
    explain_page,
    figures,
    reproduce_page,
    svg,
)
from suite.report.figures import Drawn
from suite.report.view import view

REPORT = "report.html"
CHARTS = "charts"
Format = Literal["svg", "png"]


def report(run: Run, samples: Sequence[Sample], notes: Sequence[str] = ()) -> str:
    """Return the report of a run: the same bytes for the same input, wherever and whenever."""
    with svg.settings():
        if run.protocol == "reproduce":
            return reproduce_page.reproduce_page(run, samples, notes)
        return bench_page.bench_page(view(run, samples, notes))


def report_of(folder: Path) -> str:
    """Return the report of what is in a folder: a run, or a comparison or an explanation with its runs.

    Raises
    ------
    journal.Unreadable
        run.json, comparison.json or the run.json of an arm cannot be used.
    """
    if (folder / collect.COMPARISON).is_file():
        with svg.settings():
            return compare_page.compare_page(compare_view.read(folder))
    if (folder / journal.EXPERIMENT).is_file():
        with svg.settings():
            return explain_page.explain_page(folder)
    return report(journal.read_run(folder), *journal.read_samples(folder))


def drawings(folder: Path) -> list[Drawn]:
    """Return the charts of a folder's report; of a comparison those of its runs are the runs' own. Raises as above."""
    if (folder / collect.COMPARISON).is_file():
        return compare_figures.every(compare_view.read(folder))
    if (folder / journal.EXPERIMENT).is_file():
        return explain_page.figures(folder)
    run = journal.read_run(folder)
    samples, _ = journal.read_samples(folder)
    if run.protocol == "reproduce":
        return reproduce_page.figures(pairs.rows(run, samples, question()))
    return figures.every(view(run, samples))


def write(folder: Path) -> Path:
    """Write report.html into a folder and return its path.

    Raises
    ------
    journal.Unreadable
        As :func:`report_of` does.
    OSError
        The report cannot be written.
    """
    path = folder / REPORT
    journal.write_atomically(path, report_of(folder))
    return path


def left_out(folder: Path) -> str:
    """Return why no report of a folder is made unless it is asked for, or "" where one is. Raises as above."""
    if not (folder / collect.COMPARISON).is_file():
        return ""
    many = len(selftest.read(folder).arms)
    return f"{many} runs are more than {compare_view.MOST_RUNS}" if many > compare_view.MOST_RUNS else ""


def on_request(folder: Path, format_: Format | None) -> list[Path]:
    """Write a folder's report, and its charts in a format that was asked for; return the paths.

    Raises
    ------
    SuiteError
        USAGE where the folder holds no run or comparison that can be read, CELLS_FAILED where it cannot be written to.
    """
    try:
        return [write(folder), *(write_charts(folder, format_) if format_ else [])]
    except journal.Unreadable as error:
        next_step = f"Name the folder of a run or a comparison: it holds {journal.RUN} or {collect.COMPARISON}."
        raise SuiteError(Exit.USAGE, str(error), next_step) from error
    except OSError as error:
        what = f"{folder}: the report cannot be written: {error.strerror or error}"
        raise SuiteError(Exit.CELLS_FAILED, what, "The folder must be yours, and there must be room.") from error


def write_charts(folder: Path, format_: Format) -> list[Path]:
    """Write every chart of a folder as a file below ``charts/`` and return their paths; raises as :func:`write`."""
    found = drawings(folder)
    (folder / CHARTS).mkdir(exist_ok=True)
    paths = []
    with svg.settings():
        for each in found:
            path = folder / CHARTS / f"{each.name}.{format_}"
            figure = each.draw()
            if format_ == "png":
                path.write_bytes(svg.png(figure))
            else:
                journal.write_atomically(path, svg.standalone(figure))
            paths.append(path)
    return paths
